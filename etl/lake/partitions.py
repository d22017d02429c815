"""Split rows by the values of a table's partition columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

from etl.lake.schema import partition_text
from etl.lake.storage import escape


def parts(rows: pa.Table, partition_by: tuple[str, ...]) -> Iterator[tuple[list[str], pa.Table]]:
    """Yield the rows of each partition and its folder names; a single partition is not copied."""
    if not partition_by:
        yield [], rows
        return
    partitions = rows.group_by(list(partition_by)).aggregate([]).to_pylist()
    for values in partitions:
        part = rows
        if len(partitions) > 1:
            part = rows.filter(reduce(pc.and_, (_has(rows[n], values[n]) for n in partition_by)))
        yield folder_names(values), part


def _has(column: pa.ChunkedArray, value: object) -> pa.ChunkedArray:
    if value is None:
        return pc.is_null(column)
    return pc.equal(column, pa.scalar(value, column.type))


def folder_names(values: Mapping[str, object]) -> list[str]:
    """Return the names of the folders of a partition, one for each of its columns."""
    return [f"{name}={escape(partition_text(value))}" for name, value in values.items()]
