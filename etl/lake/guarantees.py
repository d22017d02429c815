"""Bounds that the log of a table states for each of its files."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from etl.lake.handles import safe_path


def guarantees(handle: DeltaTable, schema: pa.Schema) -> Iterator[tuple[str, pc.Expression]]:
    """Yield each file of the table with an expression that holds for all of its rows.

    delta-rs's own expressions compare with null if a column has no bounds (booleans, floating-point
    numbers, only nulls), which holds for no row, and they exclude nulls from any column with
    bounds. Filters on such columns would find nothing.
    """
    listed = pa.table(handle.get_add_actions(flatten=True))
    columns = set(listed.column_names)
    for action in listed.to_pylist():
        guarantee = pc.scalar(True)
        for field in schema:
            column, name = pc.field(field.name), field.name
            if f"partition.{name}" in columns:
                value = action[f"partition.{name}"]
                is_value = column == pa.scalar(value, field.type)
                guarantee &= column.is_null() if value is None else is_value
                continue
            nulls = action.get(f"null_count.{name}")
            for bound, low in (("min", True), ("max", False)):
                value = action.get(f"{bound}.{name}")
                if value is None:
                    continue
                limit = pa.scalar(value, field.type)
                condition = column >= limit if low else column <= limit
                guarantee &= condition if nulls == 0 else condition | column.is_null()
        yield safe_path(unquote(action["path"])), guarantee
