"""`Table`, which declares a table, and the columns and types that several tables share."""

from dataclasses import dataclass

import pyarrow as pa


@dataclass(frozen=True)
class Table:
    """One table: `schema` in column order, `partition_by` naming the partition columns.

    `group_rows` is the maximum number of rows in a row group, if that matters to readers.
    `built_by` is the job with the settings it needs, for the error about a missing table. `sort_by`
    names the columns by which the rows of each file are sorted, if they are.
    """

    name: str
    meaning: str
    schema: pa.Schema
    partition_by: tuple[str, ...] = ()
    built_by: str = "etl/extract_amod.py source=… input=…"
    sort_by: tuple[str, ...] = ()
    group_rows: int | None = None

    @property
    def stored_schema(self) -> pa.Schema:
        """The columns stored in the files: all but the partition columns."""
        return pa.schema([field for field in self.schema if field.name not in self.partition_by])


_LATER = "later"


def column(name: str, kind: pa.DataType, meaning: str, *, later: bool = False) -> pa.Field:
    """Return a column with its meaning in the ``comment`` of its metadata.

    A table that was made before a `later` column was declared lacks it: it is read as null there,
    and the next write adds it. Later columns come last.
    """
    metadata = {"comment": meaning, **({_LATER: "true"} if later else {})}
    return pa.field(name, kind, nullable=True, metadata=metadata)


def is_later(field: pa.Field) -> bool:
    """Whether a stored table may lack the column."""
    return _LATER.encode() in (field.metadata or {})


def schema(*columns: pa.Field) -> pa.Schema:
    """Return the schema of a table with these columns."""
    return pa.schema(columns)


def meaning(field: pa.Field) -> str:
    """Return the meaning of a column; empty if it has none."""
    return str((field.metadata or {}).get(b"comment", b"").decode())


TEXT = pa.string()
COUNT = pa.int64()
FLAG = pa.bool_()
TIME = pa.timestamp("us", tz="UTC")

CORPUS = column("corpus", TEXT, "name of the corpus, by default the source's")
ADJECTIVE = column("adjective", TEXT, "lower-cased surface form of the dependent")
NOUN = column("noun", TEXT, "lower-cased lemma of the head")
EDITION = column("edition", TEXT, "published, paper, clean, demo or a user's own name")
