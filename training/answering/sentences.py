"""``training/score.py method=logprob``: language models on the texts of a table's rows.

A row of the table predictions has in `scores` the log-probability of each text in nats, and in
`text` those of its tokens (`training.asking.sentences`).
"""

import contextlib
import functools
import os
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from adnominal.conf import UserError
from adnominal.etl.lake import arrow
from adnominal.etl.registry import DATASET_OF
from adnominal.training import launch, metrics
from adnominal.training.answering.answers import Answers, Work
from adnominal.training.answering.job import results_of
from adnominal.training.answering.settings import ScoreSettings
from adnominal.training.answering.table_rows import Query, check, columns, staged_rows
from adnominal.training.files import check_folder
from adnominal.training.models.loading import resolve
from adnominal.training.runs import Runs, folder_name
from adnominal.training.sharding import read_deepspeed, stage_of

JOB = "logprob"
# Rows of a chunk, of which a killed run repeats at most one.
_CHUNK = 512
_Floats = npt.NDArray[np.float64]


def score_texts(settings: ScoreSettings) -> None:
    """Score the texts of a table by each model; a killed run continues where it was."""
    all_work = [prepare(settings, uri) for uri in settings.uris]
    runs = Runs(JOB, settings, settings.experiment or JOB)
    results = results_of(runs, settings, all_work)
    if launch.rank() == 0:
        for work, result in zip(all_work, results, strict=True):
            print(work.label)
            for name, value in result["figures"].items():
                print(f"  {name:<40}{value:>12.4f}")


def prepare(settings: ScoreSettings, uri: str) -> Work:
    """Prepare a model and the rows, and report mistakes before weights are read.

    Raises:
        UserError: the model has no language-model head; the table or a column does not exist; the
            condition is not valid SQL or matches no row; the weights would be sharded.
    """
    from adnominal.training.asking.sentences import SentenceScorer, sentence_model

    launch.environment()
    check_folder("out", Path(settings.out))
    read_deepspeed(settings.deepspeed)
    if stage_of(settings.deepspeed) == 3:
        raise UserError("method=logprob: its weights are not sharded; expected deepspeed=zero0")
    assert settings.table is not None
    source = resolve(uri, settings.tracking)
    model = sentence_model(source, settings.masking)
    text_columns = columns(
        settings.table, None, item=settings.item, first=settings.first, second=settings.second
    )
    version = arrow.version(settings.lake, settings.table) or 0
    query = Query(settings.lake, settings.table, version, text_columns, settings.where)
    content = source.content()
    # Only masked models mask.
    masking = settings.masking if model.kind == "masked" else ""
    identity = {
        "model": source.name,
        "content": content,
        "masking": masking,
        "table": settings.table,
        "version": version,
        "lake": settings.lake if "://" in settings.lake else os.path.abspath(settings.lake),
        "where": settings.where,
        "columns": asdict(text_columns),
        "limit": settings.limit,
        "seed": settings.seed,
        "precision": settings.precision,
    }
    folder = Path(settings.out) / folder_name(identity)
    if not (folder / "rows").exists():
        check(query)

    @contextlib.contextmanager
    def load() -> Iterator[SentenceScorer]:
        model.load(settings.precision)
        try:
            yield SentenceScorer(source, model)
        finally:
            model.free()

    return Work(
        source,
        folder,
        f"{settings.table} by {source.name}",
        None,
        {
            "task": settings.table,
            "scheme": JOB,
            "fold": masking,
            "seed": settings.seed,
            "model": source.name,
        },
        facts={
            "model_name": source.name,
            "model_content": content,
            "kind": model.kind,
            "columns": asdict(text_columns),
            "table_version": version,
            "processes": launch.world_size(),
        },
        rows=functools.partial(
            staged_rows,
            query,
            folder / "rows",
            chunk=_CHUNK,
            seed=settings.seed,
            limit=settings.limit,
        ),
        summary=functools.partial(_summary, query),
        load=load,
    )


def _summary(query: Query, answers: Answers, run_id: str) -> dict[str, Any]:
    """Return the figures of all rows: means of the texts, and of a pair its comparison."""
    rows = answers.read_all(run_id)
    # A text without a score has null, which becomes NaN.
    scores = np.array(rows["scores"].to_pylist(), dtype=np.float64)
    names = query.columns.texts
    figures: dict[str, float] = {}
    for column, name in enumerate(names):
        figures[f"mean/{name}"] = float(np.nanmean(scores[:, column]))
    if len(names) == 2:
        differences = scores[:, 1] - scores[:, 0]
        known = differences[~np.isnan(differences)]
        figures[f"share/{names[0]}_more_probable"] = float(np.mean(known < 0))
        figures |= _against_labels(query, rows, differences)
    return {"table": query.table, "version": query.version, "figures": figures}


def _against_labels(query: Query, rows: pa.Table, differences: _Floats) -> dict[str, float]:
    """Return the rank correlation of differences with the table's labels, if they are degrees."""
    dataset = DATASET_OF.get(query.table)
    if dataset is None or dataset.labels is None or not dataset.labels.ordered:
        return {}
    labels = query.values(dataset.labels.column)
    difference_of = dict(zip(rows["item_id"].to_pylist(), differences.tolist(), strict=True))
    known = [(difference_of[item], label) for item, label in labels if item in difference_of]
    return metrics.rank_correlations([d for d, _ in known], [label for _, label in known])
