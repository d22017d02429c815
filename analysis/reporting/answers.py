"""What runs answered, as reports need it: the rows of table predictions, a run at a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa

from analysis.reporting.lake import Lake
from analysis.reporting.page import Block, RunsText
from analysis.reporting.runs import Run
from etl.lake import arrow
from etl.lake.tables import TABLES

COLUMNS = (
    "task",
    "edition",
    "scheme",
    "fold",
    "item_id",
    "gold",
    "predicted",
    "text",
    "seed",
    "model",
)


def runs_text(runs: Iterable[Run]) -> list[Block]:
    """Which runs the numbers of ours are of; nothing where there are none."""
    names = tuple(dict.fromkeys((run.model, run.id) for run in runs))
    if not names:
        return []
    return [RunsText(f"Runs: {'; '.join(f'{model} {run}' for model, run in names)}.", names)]


def rows_of(lake: Lake, run: Run, columns: Sequence[str] = COLUMNS) -> pa.Table:
    """A run's predictions with their gold labels, sorted by item; no rows where it has none."""
    if not lake.has("predictions"):
        empty = TABLES["predictions"].schema
        return pa.schema([empty.field(name) for name in columns]).empty_table()
    table = arrow.read(lake.root, "predictions", where=[("run_id", "=", run.id)], columns=columns)
    table = table.filter(table.column("gold").is_valid())
    return table.sort_by([("item_id", "ascending"), ("gold", "ascending")])


def answered(lake: Lake, runs: Sequence[Run]) -> list[Run]:
    """Those of the runs that the lake has predictions of."""
    if not lake.has("predictions") or not runs:
        return []
    there: set[str] = set()
    wanted = [run.id for run in runs]
    for batch in arrow.batches(
        lake.root, "predictions", where=[("run_id", "in", wanted)], columns=["run_id"]
    ):
        there.update(batch.column("run_id").unique().to_pylist())
    return [run for run in runs if run.id in there]
