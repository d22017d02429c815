"""Rows for small tables of a lake, written without an engine."""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from etl.lake import arrow
from etl.lake.tables import table


def rows(names: str, *cells: Sequence[Any], **constants: Any) -> list[dict[str, Any]]:
    """A row for each of `cells`, the values of the columns `names`, plus columns with one value."""
    columns = names.split()
    return [{**dict(zip(columns, values, strict=True)), **constants} for values in cells]


def write(lake: str | Path, name: str, records: Iterable[Mapping[str, Any]]) -> None:
    """Append rows to a table; missing columns are null."""
    data = pa.Table.from_pylist(list(records), table(name).schema)
    arrow.append(os.fspath(lake), name, data, job="test")
