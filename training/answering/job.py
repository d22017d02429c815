"""The runs of ``training/score.py`` and ``training/predict.py``: answered, recorded, committed."""

import contextlib
import functools
import gc
import logging
import shutil
from collections.abc import Mapping, Sequence
from typing import Any

from adnominal.conf import JobFailed
from adnominal.conf.progress import Progress
from adnominal.etl.lake import arrow, upkeep
from adnominal.etl.lake.errors import LakeFailed
from adnominal.etl.lake.tables import table
from adnominal.training import launch
from adnominal.training.answering.answers import Answers, Work, answer_rows
from adnominal.training.answering.classifier import classifier, writer
from adnominal.training.answering.settings import PredictSettings, ScoreSettings
from adnominal.training.runs import Outcome, Plan, Runs
from adnominal.training.tracking import Run

log = logging.getLogger("adnominal")


def results_of(
    runs: Runs,
    settings: ScoreSettings | PredictSettings,
    all_work: Sequence[Work],
    parent: Run | None = None,
) -> list[dict[str, Any]]:
    """Return the result of each work, of an earlier start or made now.

    Predictions that the lake lacks are committed to it, if the settings ask for that.
    """
    results: list[dict[str, Any]] = []
    launch.start()
    with contextlib.ExitStack() as loaded_models:
        loaded_model: Any = None
        for work in all_work:
            result = runs.finish(work.folder, parent=parent)
            if result is None:
                if loaded_model is None or loaded_model.source.name != work.source.name:
                    # One model at a time: the previous one's memory is freed first.
                    loaded_model = None
                    loaded_models.close()
                    gc.collect()
                    loaded_model = loaded_models.enter_context(_model_of(work, settings))
                label = (settings.run_name if len(all_work) == 1 else None) or work.label
                plan = Plan(work.folder, label, settings, work.facts, work.sources)
                outcome = functools.partial(_outcome, settings, work, loaded_model)
                result = runs.start(plan, outcome, parent)
            if launch.rank() == 0:
                shutil.rmtree(work.folder / "rows", ignore_errors=True)
                if settings.predictions:
                    _commit(runs.job, settings.lake, work, result)
            results.append(result)
    return results


def _model_of(
    work: Work, settings: ScoreSettings | PredictSettings
) -> contextlib.AbstractContextManager[Any]:
    """Return the context of a model with its weights on this process's device."""
    if work.load is not None:
        return work.load()
    if work.names is None:
        return writer(work.source)
    return classifier(
        work.source,
        max_length=settings.max_length,
        precision=settings.precision,
        deepspeed=settings.deepspeed,
    )


def _outcome(
    settings: ScoreSettings | PredictSettings, work: Work, model: Any, run: Run
) -> Outcome:
    rows = work.rows(run)
    total = sum(rows.sizes)
    finished = sum(rows.sizes[chunk] for chunk in Answers(work.folder).chunks())
    is_first = launch.rank() == 0
    if is_first and finished:
        log.info("resuming: %s of %s rows are left", f"{total - finished:,}", f"{total:,}")
    with Progress(work.label, total, finished, unit="rows", silent=not is_first) as progress:

        def advance(count: int) -> None:
            # The other processes have done about as much.
            progress.advance(count * launch.world_size())

        speed = answer_rows(model, work, rows, settings.batch_size, advance)
    if launch.rank() != 0:
        return Outcome({})
    answers = Answers(work.folder)
    truncated = answers.truncated()
    if truncated:
        what = "were cut" if work.load is None else "have no score"
        log.info("%s: %d of %d rows exceed the limit and %s", work.label, truncated, total, what)
    summary = work.summary(answers, run.name)
    result = {
        "model": work.source.name,
        "rows": total,
        "rows_now": speed.rows,
        "seconds": speed.seconds,
        "cut": truncated,
        "run_id": run.name,
        **summary,
    }
    final = {f"final/{name}": value for name, value in summary["figures"].items()}
    final |= {"final/rows_per_second": speed.rows / max(speed.seconds, 1e-9), "cut": truncated}
    texts = {path.name: path.read_text("utf-8") for path in work.folder.glob("*.md")}
    return Outcome(result, metrics=final, texts=texts)


def _commit(job: str, lake: str, work: Work, result: Mapping[str, Any]) -> None:
    """Commit the predictions of a run that the lake lacks, each chunk in one transaction."""
    answers, run_id = Answers(work.folder), result["run_id"]
    by_transaction = {(f"{job}/{run_id}/{chunk}", 0): chunk for chunk in answers.chunks()}
    committed = set(arrow.committed_transactions(lake, "predictions", list(by_transaction)))
    written = 0
    for transaction, chunk in by_transaction.items():
        rows = answers.read(chunk, run_id)
        written += rows.num_rows
        if transaction not in committed:
            metadata = {"run": run_id, "chunk": str(chunk), "model": work.source.name}
            arrow.append(
                lake, "predictions", rows, job=job, metadata=metadata, transaction=transaction
            )
    if written != result["rows"]:
        raise JobFailed(
            f"{work.folder}: answers to {written:,} rows, expected {result['rows']:,}; "
            "some are missing: delete the folder to answer them again"
        )
    if len(by_transaction) - len(committed) > 1:
        try:
            upkeep.compact(lake, table("predictions"))
        except LakeFailed as error:
            # They are in the table all the same.
            log.warning("the files of the predictions were not merged: %s", error)
