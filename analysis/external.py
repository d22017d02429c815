"""Runs whose answers were imported (``etl/import_predictions.py``): they are in the lake alone."""

from dataclasses import replace

from adnominal.analysis.rows import tuples
from adnominal.etl.external import JOB, PREFIX
from adnominal.etl.lake import arrow
from adnominal.etl.registry import of_task
from adnominal.training.finished_runs import Run, Runs

# The id of no run comes between these two.
_END = PREFIX[:-1] + chr(ord(PREFIX[-1]) + 1)
_WHERE = [("run_id", ">=", PREFIX), ("run_id", "<", _END)]
_COLUMNS = ("run_id", "task", "edition", "model")


def external_runs(lake: str) -> list[Run]:
    """The runs with imported answers, by name.

    Their parameters are those that exhibits choose runs by: dataset, edition and model.
    """
    if "predictions" not in arrow.tables(lake):
        return []
    found: set[tuple[str, ...]] = set()
    for batch in arrow.batches(lake, "predictions", where=_WHERE, columns=_COLUMNS):
        found.update(tuples(batch, *_COLUMNS))
    runs = []
    for run_id, task, edition, model in sorted(found):
        dataset = of_task(task)
        params = {"task.edition": edition, "model_name": model}
        if dataset is not None:
            params["task.name"] = dataset.name
        runs.append(Run(run_id, JOB, ended=0, params=params, group=run_id))
    return runs


def with_external_runs(runs: Runs, lake: str) -> Runs:
    """The runs of the tracking store, then those whose answers were imported."""
    return replace(runs, runs=(*runs.runs, *external_runs(lake)))
