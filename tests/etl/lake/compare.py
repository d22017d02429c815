"""Comparison of tables by content: the same rows, equally often, in any order."""

from collections import Counter
from typing import Any

import pyarrow as pa

from adnominal.etl.engine.versions import to_arrow

_MAX_ROWS = 10


def rows_of(data: Any) -> tuple[tuple[str, ...], Counter[str]]:
    """Column names and counted rows (as text) of an Arrow table, Spark or pandas DataFrame."""
    if isinstance(data, pa.Table):
        names, records = tuple(data.column_names), data.to_pylist()
    elif hasattr(data, "mapInArrow"):
        return rows_of(to_arrow(data))
    else:
        return rows_of(pa.Table.from_pandas(data, preserve_index=False))
    return names, Counter(repr([record[name] for name in names]) for record in records)


def assert_same_rows(actual: Any, expected: Any) -> None:
    """Fail unless both hold the same columns and the same rows equally often, in any order.

    The message shows rows that only one of them has.
    """
    names, actual_rows = rows_of(actual)
    expected_names, expected_rows = rows_of(expected)
    assert names == expected_names, f"columns {names}, expected {expected_names}"
    missing, extra = expected_rows - actual_rows, actual_rows - expected_rows
    if missing or extra:
        lines = [f"{sum(missing.values())} rows missing, {sum(extra.values())} not expected"]
        lines += [f"  missing  x{n}  {row}" for row, n in sorted(missing.items())[:_MAX_ROWS]]
        lines += [f"  extra    x{n}  {row}" for row, n in sorted(extra.items())[:_MAX_ROWS]]
        raise AssertionError("\n".join(lines))
