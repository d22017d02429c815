"""The rows of a table that satisfy a condition, in SQL or as Arrow's filters."""

from collections.abc import Iterable, Iterator

import pyarrow as pa

from adnominal.etl.lake import arrow
from adnominal.etl.lake.arrow import Filter
from adnominal.etl.lake.tables import table as declaration
from adnominal.etl.looking.show import sql_names, sql_where


def row_batches(
    root: str,
    table: str,
    *,
    version: int | None = None,
    where: str | None = None,
    columns: Iterable[str] | None = None,
) -> Iterator[pa.RecordBatch]:
    """Stream the rows that satisfy the SQL condition `where`, all of them without one.

    The batches have the declared types of `columns`, by default of all columns.

    Raises:
        LakeError: the table, its `version` or a column does not exist, or the SQL is not valid.
    """
    if where is None:
        yield from arrow.batches(root, table, version=version, columns=columns)
        return
    declared = declaration(table).schema
    names = arrow.check_columns(table, columns) or declared.names
    schema = pa.schema([declared.field(name) for name in names])
    sql = f"SELECT {sql_names(names)} FROM {table}{sql_where(where)}"
    for batch in arrow.query(root, table, sql, version=version):
        yield batch.cast(schema)


def read_rows(
    root: str,
    table: str,
    *,
    where: str | Filter | None = None,
    columns: Iterable[str] | None = None,
) -> pa.Table:
    """Read the rows that satisfy `where`: a condition in SQL, or what `etl.lake.arrow` takes.

    Raises:
        LakeError: as `row_batches`.
    """
    if not isinstance(where, str):
        return arrow.read(root, table, where=where, columns=columns)
    declared = declaration(table).schema
    names = arrow.check_columns(table, columns) or declared.names
    schema = pa.schema([declared.field(name) for name in names])
    return pa.Table.from_batches(row_batches(root, table, where=where, columns=names), schema)
