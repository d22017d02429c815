"""Rows of declared tables from literals, and a table with a column of each type."""

from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime

import pyarrow as pa

from adnominal.etl.lake.columns import Table
from adnominal.etl.lake.tables import TABLES

PAIRS = [("uk", "false", "key", 3), ("uk", "red", "moon", 1), ("de", "new", "key", 2)]
MOMENT = datetime(2024, 2, 29, 23, 59, 59, 123456, tzinfo=UTC)
DAY = date(1969, 12, 31)
KINDS = Table(
    "kinds",
    "One column of each type.",
    pa.schema(
        [
            ("edition", pa.string()),
            ("depth", pa.int32()),
            ("last", pa.bool_()),
            ("when", pa.timestamp("us", tz="UTC")),
            ("day", pa.date32()),
            ("scores", pa.list_(pa.float64())),
            ("entries", pa.list_(pa.struct([("adjective", pa.string()), ("count", pa.int64())]))),
            ("digest", pa.binary()),
            ("share", pa.float32()),
        ]
    ),
    ("edition", "depth", "last"),
)


def rows(table: str, records: Iterable[Sequence[object]]) -> pa.Table:
    """The records as a table; each has its values in the order of the columns."""
    schema = TABLES[table].schema
    return pa.Table.from_pylist([dict(zip(schema.names, r, strict=True)) for r in records], schema)


def pairs(*records: Sequence[object]) -> pa.Table:
    """Rows of amod_pairs."""
    return rows("amod_pairs", records)
