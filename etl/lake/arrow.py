"""Read the tables as Arrow without Spark, and write tables that fit in memory.

Training and analysis read through this module. Nothing in it or below it imports pyspark. Tables
are checked against their declarations as in `etl.lake.spark`, and commits use the same code.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeAlias, Unpack
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.fs as pa_fs
import pyarrow.parquet as pq
from deltalake import DeltaTable, QueryBuilder

from adnominal.conf.hints import hint_for_condition
from adnominal.etl.lake import doubled, log
from adnominal.etl.lake.errors import LakeError
from adnominal.etl.lake.handles import safe_path
from adnominal.etl.lake.log import Change, Commit, CommitOptions, File, Record
from adnominal.etl.lake.schema import (
    check_partition_types,
    check_replaced,
    differences,
    named_types,
)
from adnominal.etl.lake.staging import DATA, Staged, parts
from adnominal.etl.lake.storage import filesystem, table_uri
from adnominal.etl.lake.tables import TABLES
from adnominal.etl.lake.tables import table as declaration
from adnominal.etl.lake.writing import publish

# (column, operator, value) triples that must all hold, groups of triples of which one must hold, or
# an Arrow expression.
Filter: TypeAlias = (
    Sequence[tuple[str, str, Any]] | Sequence[Sequence[tuple[str, str, Any]]] | pc.Expression
)

_OPERATORS = ("=", "!=", "<", "<=", ">", ">=", "in", "not in")

# Rows of a file that are in memory at once.
_FILE_BATCH = 65_536


def _open(root: str, table: str, version: int | None) -> DeltaTable:
    table_spec = declaration(table)
    handle = log.open_table(table_uri(root, table), table_spec, version=version)
    if handle is None:
        raise log.missing_table(root, table_spec, tables(root))
    return handle


def tables(root: str) -> list[str]:
    """Return the declared tables that exist, in the order of their declaration."""
    return [name for name in TABLES if DeltaTable.is_deltatable(table_uri(root, name))]


def version(root: str, table: str) -> int | None:
    """Return the table's newest version, from 0; None if there is no table."""
    handle = log.open_table(table_uri(root, table), declaration(table))
    return None if handle is None else handle.version()


def history(root: str, table: str, limit: int | None = None) -> list[Record]:
    """The table's commits, newest first."""
    return log.history(_open(root, table, None), limit)


def committed_transactions(
    root: str, table: str, transactions: Sequence[tuple[str, int]]
) -> list[tuple[str, int]]:
    """Return those of `transactions` (application id, number) that the table already holds."""
    handle = log.open_table(table_uri(root, table), declaration(table))
    if handle is None:
        return []
    return [transaction for transaction in transactions if log.done_already(handle, transaction)]


def files(root: str, table: str, *, version: int | None = None) -> list[File]:
    """Return the files that make up the table, with their rows, bytes and partitions."""
    handle = _open(root, table, version)
    return _sound_files(handle, table)


def _sound_files(handle: DeltaTable, table: str) -> list[File]:
    """Return the active files; raise `LakeError` if rows of theirs are doubled."""
    active_files = log.active_files(handle)
    doubled.refuse(handle, declaration(table), active_files)
    return active_files


def partition_values(
    root: str, table: str, column: str, where: Mapping[str, str] | None = None
) -> list[str]:
    """Return the sorted values of a partition column from the log; `where` as for `File`.

    Raises:
        LakeError: the table does not exist.
    """
    values: set[str] = set()
    for file in files(root, table):
        value = dict(file.partition).get(column)
        if value is not None and file.lies_in(where or {}):
            values.add(str(value))
    return sorted(values)


def row_count(root: str, table: str) -> int:
    """Return the row count in the table's log; 0 if there is no table or no count."""
    if table not in tables(root):
        return 0
    return sum(file.rows or 0 for file in files(root, table))


def dataset(root: str, table: str, *, version: int | None = None) -> ds.Dataset:
    """Return the table as an Arrow dataset of the declared schema; no rows are read yet.

    Filters on it skip files by partition and by the statistics in the log.

    Raises:
        LakeError: the table or version does not exist, the schema is not as declared, or the table
            uses deletion vectors or column mapping.
    """
    handle = _open(root, table, version)
    _sound_files(handle, table)
    schema = declaration(table).schema
    files = filesystem(table_uri(root, table))
    parquet = ds.ParquetFileFormat(
        default_fragment_scan_options=ds.ParquetFragmentScanOptions(pre_buffer=True)
    )
    fragments = [
        parquet.make_fragment(path, filesystem=files, partition_expression=guarantee)
        for path, guarantee in _guarantees(handle, schema)
    ]
    return ds.FileSystemDataset(fragments, schema, parquet, files)


def _guarantees(handle: DeltaTable, schema: pa.Schema) -> Iterator[tuple[str, pc.Expression]]:
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


def _scanner(source: ds.Dataset, table: str, where: Filter | None, **options: Any) -> ds.Scanner:
    """A scan of the rows that satisfy a condition; no rows are read yet.

    Raises:
        LakeError: the condition is malformed, or does not fit the table's columns.
    """
    try:
        return source.scanner(filter=_expression(where, source.schema), **options)
    except (TypeError, ValueError, LookupError, pa.ArrowException) as error:
        columns = ", ".join(f"{field.name} ({field.type})" for field in source.schema)
        raise LakeError(
            f"{table}: where={where!r}: expected (column, operator, value) triples with the "
            f"columns {columns} and the operators {', '.join(_OPERATORS)} (with a list)"
        ) from error


def _expression(where: Filter | None, schema: pa.Schema) -> pc.Expression | None:
    if where is None or isinstance(where, pc.Expression):
        return where
    if not where:
        return None
    is_group = isinstance(where[0][0], str)
    groups = [where] if is_group else where
    typed = [[_with_typed_values(triple, schema) for triple in group] for group in groups]
    return pq.filters_to_expression(typed)


def _with_typed_values(triple: Any, schema: pa.Schema) -> tuple[str, str, Any]:
    """A triple; no values of `in` get the column's type, which Arrow cannot infer from none."""
    column, operator, values = triple
    if operator in ("in", "not in") and isinstance(values, str):
        raise TypeError("Arrow would look for each letter of the text")
    if operator in ("in", "not in") and not len(values):
        values = pa.array([], schema.field(column).type)
    return column, operator, values


def check_columns(table: str, columns: Iterable[str] | None) -> list[str] | None:
    """Return the names of columns as a list; None for all columns.

    Raises:
        LakeError: the table has no such column.
    """
    if columns is None:
        return None
    if isinstance(columns, str):
        raise LakeError(f"columns={columns!r}: expected a list of names")
    names = list(columns)  # a generator has them once
    if not names:
        raise LakeError("columns=[]: expected one or more names, or None for all columns")
    known = declaration(table).schema.names
    unknown = [str(name) for name in names if name not in known]
    if unknown:
        raise LakeError(f"{table} has no column {', '.join(unknown)}; it has {', '.join(known)}")
    return names


def read(
    root: str,
    table: str,
    *,
    version: int | None = None,
    where: Filter | None = None,
    columns: Iterable[str] | None = None,
) -> pa.Table:
    """Read the table's rows into memory; `where` and `columns` narrow what is read.

    Raises:
        LakeError: as `dataset`; also if a column is unknown or vacuum removed the version's files.
    """
    columns_read = check_columns(table, columns)
    source = dataset(root, table, version=version)
    with _named_where_gone(table, version):
        return _scanner(source, table, where, columns=columns_read).to_table()


@contextmanager
def _named_where_gone(table: str, version: int | None) -> Iterator[None]:
    """Name the version in the error when its files are gone: the log may reach further back.

    Raises:
        LakeError: a file of the requested `version` does not exist.
    """
    try:
        yield
    except FileNotFoundError as error:
        if version is None:
            raise
        raise LakeError(
            f"{table} version {version} can no longer be read: vacuum has removed files that it "
            "needs; omit version= to read the newest, or give a later one"
        ) from error


def batches(
    root: str,
    table: str,
    *,
    version: int | None = None,
    where: Filter | None = None,
    columns: Iterable[str] | None = None,
    batch_size: int = 65_536,
) -> Iterator[pa.RecordBatch]:
    """Stream the table's rows in batches of at most `batch_size`; settings as for `read`.

    Memory holds a few batches, whatever the table's size. Empty batches are skipped.
    """
    columns_read = check_columns(table, columns)
    source = dataset(root, table, version=version)
    scanner = _scanner(
        source,
        table,
        where,
        columns=columns_read,
        batch_size=batch_size,
        batch_readahead=4,
        fragment_readahead=1,
    )
    stream = scanner.to_batches()

    def with_rows() -> Iterator[pa.RecordBatch]:
        with _named_where_gone(table, version):
            yield from (batch for batch in stream if batch.num_rows)

    return with_rows()


def read_items(
    root: str,
    table: str,
    ids: pa.Array,
    columns: Sequence[str],
    edition: str,
    *,
    version: int | None = None,
) -> pa.Table:
    """Return the rows of an edition whose id, the first of `columns`, is among `ids`.

    The table is streamed: only the rows with these ids stay in memory.
    """
    where = [("edition", "=", edition)]
    stream = batches(root, table, version=version, where=where, columns=columns)
    filtered = [batch.filter(pc.is_in(batch.column(columns[0]), value_set=ids)) for batch in stream]
    fields = declaration(table).schema
    return pa.Table.from_batches(filtered, pa.schema([fields.field(name) for name in columns]))


def query(
    root: str, table: str, sql: str, *, version: int | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield the batches that `sql` returns; the query refers to the table by its name.

    DataFusion streams filters, sorting with a limit, and aggregation.

    Raises:
        LakeError: as `dataset`; also if the SQL is invalid or a file of the `version` is missing.
    """
    handle = _open(root, table, version)
    _sound_files(handle, table)  # checks as well that all are within the table's folder
    with _named_where_gone(table, version):
        try:
            stream = QueryBuilder().register(table, handle).execute(sql)
            for batch in pa.RecordBatchReader.from_stream(stream):
                if batch.num_rows:
                    yield _decoded_batch(batch)
        except Exception as error:  # DataFusion's errors come as several unrelated types
            text = " ".join(str(error).split())
            if version is not None and re.search("Object at location .* not found", text):
                raise FileNotFoundError(text) from error
            condition = sql.partition(" WHERE ")[2]
            hint = hint_for_condition(condition, declaration(table).schema.names)
            text = text.replace(f"{table}.", "").rstrip(".")
            raise LakeError(f"{table}: the query failed: {text}{hint}") from error


def records(root: str, table: str, sql: str, *, version: int | None = None) -> list[dict[str, Any]]:
    """Return the rows that `query` yields, as dictionaries."""
    return [row for batch in query(root, table, sql, version=version) for row in batch.to_pylist()]


def _decoded_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Convert views, which few libraries accept, to plain strings and binaries."""
    plain = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}
    schema = pa.schema(
        [field.with_type(plain.get(field.type, field.type)) for field in batch.schema]
    )
    return batch.cast(schema)


def append(root: str, table: str, data: pa.Table, **commit: Unpack[CommitOptions]) -> Commit:
    """Add rows in one commit, as `etl.lake.spark.Lake.append` does, without Spark.

    Raises:
        LakeError: columns are missing, undeclared, of another type or duplicated.
        LakeConflict: a partition written to was replaced after version `base`.
        LakeFailed: the files or the log could not be written.
    """
    return write(root, table, data, Change("append", allow_empty=True, **commit))


def replace(
    root: str,
    table: str,
    data: pa.Table,
    partition: Mapping[str, str],
    *,
    allow_empty: bool = False,
    **commit: Unpack[CommitOptions],
) -> Commit:
    """Replace a partition's rows in one commit, as `etl.lake.spark.Lake.replace` does.

    Raises:
        LakeError: columns are missing, undeclared, of another type or duplicated, or the table has
            no such partition column.
        LakeConflict: the partition changed after version `base`.
        LakeFailed: there are rows outside the partition, there are no rows without `allow_empty`,
            or the files or the log could not be written.
    """
    check_replaced(declaration(table), partition)
    change = Change("replace", partition=partition, allow_empty=allow_empty, **commit)
    return write(root, table, data, change)


def append_file(root: str, table: str, path: Path, **commit: Unpack[CommitOptions]) -> Commit:
    """Add the rows of a Parquet file in one commit, as `append`, with few of them in memory."""
    with pq.ParquetFile(path) as file:

        def pieces() -> Iterator[pa.Table]:
            for batch in file.iter_batches(_FILE_BATCH):
                yield pa.Table.from_batches([batch])

        change = Change("append", allow_empty=True, **commit)
        return _write(root, table, file.schema_arrow, pieces, change)


def write(root: str, table: str, data: pa.Table, change: Change) -> Commit:
    """Write rows held in memory, on behalf of `append`, `replace` and `etl.lake.spark.Lake`."""
    return _write(root, table, data.schema, lambda: [data], change)


def _write(
    root: str,
    table: str,
    schema: pa.Schema,
    pieces: Callable[[], Iterable[pa.Table]],
    change: Change,
) -> Commit:
    """Write rows that come in pieces of a schema, in one file for each partition."""
    table_spec = declaration(table)
    check_partition_types(table_spec)
    declared_columns, columns = named_types(table_spec.schema), named_types(schema)
    if lines := differences(declared_columns, columns, ordered=False):
        raise LakeError(f"a table for {table} is not as declared: {'; '.join(lines)}")

    def stage(target: pa_fs.FileSystem, write: str) -> Staged:
        writers: dict[str, pq.ParquetWriter] = {}
        size = 0
        with ExitStack() as open_files:
            for piece in pieces():
                rows = piece.select(table_spec.schema.names).cast(table_spec.schema)
                size += rows.num_rows
                for folder, part in parts(rows, table_spec.partition_by):
                    path = "/".join([DATA, write, *folder])
                    stored_columns = part.select(table_spec.stored_schema.names)
                    if path not in writers:
                        target.create_dir(path, recursive=True)
                        stream = open_files.enter_context(
                            target.open_output_stream(f"{path}/part-0.parquet")
                        )
                        writers[path] = open_files.enter_context(
                            pq.ParquetWriter(stream, stored_columns.schema)
                        )
                    writers[path].write_table(stored_columns, table_spec.group_rows)
        return Staged(write, size)

    return publish(table_uri(root, table), table_spec, stage, change)
