"""``training/predict.py``: a classifier on the rows of a table, without labels."""

import logging
import os
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from adnominal.conf import UserError
from adnominal.conf.numbers import count_of
from adnominal.etl.lake import arrow
from adnominal.training import launch
from adnominal.training.answering.answers import Answers, LabelNames, Work
from adnominal.training.answering.classifier import learner_of
from adnominal.training.answering.job import results_of
from adnominal.training.answering.settings import PredictSettings
from adnominal.training.answering.table_rows import (
    Query,
    TableRows,
    check,
    columns,
    staged_rows,
)
from adnominal.training.files import check_folder
from adnominal.training.models.loading import resolve
from adnominal.training.runs import Runs, folder_name
from adnominal.training.sharding import read_deepspeed

JOB = "predict"
log = logging.getLogger("adnominal")


def predict(settings: PredictSettings) -> None:
    """Classify rows of a table with a trained model.

    Rows are read without Spark, distributed over the launcher's processes and committed in chunks
    to the table predictions, each once. The same command resumes a killed run.
    """
    work = prepare(settings)
    runs = Runs(JOB, settings, settings.experiment or JOB)
    (result,) = results_of(runs, settings, [work])
    if launch.rank() == 0:
        answers = count_of(result["rows"], "row"), settings.table, result["model"]
        log.info("run %s: %s of %s answered by %s", result["run_id"], *answers)


def prepare(settings: PredictSettings) -> Work:
    """Prepare the model and the rows, and report mistakes before weights are read.

    Raises:
        UserError: the model, table, column or version does not exist, the condition is not valid
            SQL or matches no row, the model generates text, or folder= is a file.
    """
    launch.environment()
    check_folder("folder", Path(settings.folder))
    read_deepspeed(settings.deepspeed)
    source = resolve(settings.model, settings.tracking)
    if source.generates:
        raise UserError(f"model={source.name}: it generates texts; expected one that classifies")
    if settings.max_length is not None:
        learner_of(source, settings.max_length)  # refuses an unsupported length
    text_columns = columns(
        settings.table, source, item=settings.item, first=settings.first, second=settings.second
    )
    content = source.content()
    lake = settings.lake if "://" in settings.lake else os.path.abspath(settings.lake)
    identity = {"model": source.name, "content": content, "lake": lake}
    name = folder_name(settings, **identity, columns=asdict(text_columns))
    version = _version(settings, name)
    query = Query(settings.lake, settings.table, version, text_columns, settings.where)
    folder = Path(settings.folder) / f"{name}-v{version}"
    if not (folder / "rows").exists():
        check(query)
    names, outcome_of = source.outcomes
    outcomes = [names[number] for number in outcome_of]
    facts = {
        "model_name": source.name,
        "model_content": content,
        "model_run_id": source.run_id,
        "labels": list(source.labels),
        "columns": asdict(text_columns),
        "table_version": version,
        "processes": launch.world_size(),
    }
    common_columns = {
        "task": settings.table,
        "scheme": JOB,
        "fold": "",
        "seed": source.trained.seed if source.trained else None,
        "model": source.name,
    }
    return Work(
        source,
        folder,
        f"{settings.table} by {source.name}",
        LabelNames(outcomes, range(len(outcomes))),
        common_columns,
        facts,
        rows=partial(
            staged_rows,
            query,
            folder / "rows",
            chunk=settings.chunk,
            seed=settings.seed,
            limit=settings.limit,
        ),
        summary=partial(_summary, query, folder / "rows"),
    )


def _summary(query: Query, folder: Path, answers: Answers, run_id: str) -> dict[str, Any]:
    counts = answers.counts()
    rows = sum(counts.values())
    return {
        "table": query.table,
        "version": query.version,
        "left_out": TableRows(folder, query).staged.left_out,
        "predicted": counts,
        "figures": {f"share/{label}": count / rows for label, count in counts.items()},
    }


def _version(settings: PredictSettings, name: str) -> int:
    """Return the version of the table: a run that was started continues with its own."""
    if settings.version is not None:
        return settings.version
    for begun in sorted(Path(settings.folder).glob(f"{name}-v*/settings.yaml")):
        if not begun.with_name("result.json").exists():
            return int(begun.parent.name.rpartition("-v")[2])
    # The newest version; a missing table is reported by the function that reads it.
    return arrow.version(settings.lake, settings.table) or 0
