"""Rows apart by the values of a table's partition columns."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from etl.lake.schema import partition_text
from etl.lake.storage import escape


def parts(rows: pa.Table, partition_by: tuple[str, ...]) -> Iterator[tuple[list[str], pa.Table]]:
    """The rows of each partition, with the names of its folders; rows of one are not copied."""
    if not partition_by:
        yield [], rows
        return
    partitions = (
        rows.select(list(partition_by)).group_by(list(partition_by)).aggregate([]).to_pylist()
    )
    for values in partitions:
        mask = None
        for name in partition_by if len(partitions) > 1 else ():
            column, value = rows.column(name), values[name]
            matches = (
                pc.is_null(column)
                if value is None
                else pc.equal(column, pa.scalar(value, column.type))
            )
            matches = pc.fill_null(matches, False)
            mask = matches if mask is None else pc.and_(mask, matches)
        folders = [f"{name}={escape(partition_text(values[name]))}" for name in partition_by]
        yield folders, rows if mask is None else rows.filter(mask)
