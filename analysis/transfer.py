"""Labelled predictions of runs, and the groups of their items, for `training.scoring.matrix`."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from conf import UserError
from etl.lake import arrow
from etl.lake.tables import table
from etl.registry import of_task
from training.scoring.matrix import COLUMNS


def read(lake: str, runs: Sequence[str]) -> pa.Table:
    """The labelled predictions of runs, as `training.scoring.matrix` takes them.

    Raises:
        UserError: a run without such rows.
    """
    rows = arrow.read(lake, "predictions", where=[("run_id", "in", list(runs))], columns=COLUMNS)
    rows = rows.filter(rows.column("gold").is_valid())
    missing = set(runs) - set(rows.column("run_id").to_pylist())
    if missing:
        raise UserError(
            f"runs {', '.join(sorted(missing))}: no labelled rows in the table predictions of "
            f"{lake}; expected runs of training/score.py or training/finetune.py"
        )
    return rows


def groups_of(lake: str, predictions: pa.Table, column: str) -> dict[str, str]:
    """What a column of the items' table says of each: class (PLANE), test or variant (ASP).

    Tables are read at their newest version; items are content hashes, so an item is the same there.

    Raises:
        UserError: a task whose tables have no such column.
    """
    tasks = set(predictions.column("task").to_pylist())
    editions = sorted(set(predictions.column("edition").to_pylist()))
    ids = pc.unique(predictions.column("item_id").combine_chunks())
    datasets = [dataset for task in tasks if (dataset := of_task(task)) is not None]
    tables = {items.name: items for dataset in datasets for items in dataset.tables}
    groups: dict[str, str] = {}
    for name, items in sorted(tables.items()):
        if column not in table(name).schema.names or arrow.version(lake, name) is None:
            continue
        where = [("edition", "in", editions)]
        for batch in arrow.batches(lake, name, where=where, columns=[items.item, column]):
            rows = batch.filter(pc.is_in(batch.column(items.item), value_set=ids))
            pairs = zip(*(values.to_pylist() for values in rows.columns), strict=True)
            groups |= {item: str(value) for item, value in pairs if value is not None}
    if not groups:
        raise UserError(
            f"{column}: not a column of the tables of {', '.join(sorted(tasks))} in {lake}, or "
            "none of these items is there"
        )
    return groups
