"""Let tasks write their rows as Arrow tables; the engine sees only the names of the files.

Every write of a DataFrame goes this way, on either engine: a task takes the batches of a partition
in order, or derives rows from them, and writes Parquet through Arrow. The files of a table are then
identical on both engines, and no row is converted to an engine's own format and back.

The files go where `etl.lake.staging` puts those of every write, so tasks need the same access to
the table's store as the driver (`etl.lake.storage`: credentials in the environment).
"""

import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from adnominal.etl.engine import group_arrow, map_arrow
from adnominal.etl.engine.versions import to_arrow
from adnominal.etl.lake.columns import Table
from adnominal.etl.lake.errors import LakeError
from adnominal.etl.lake.frames import declared_rows, spark_schema
from adnominal.etl.lake.lookup import as_dictionary
from adnominal.etl.lake.schema import differences, named_types
from adnominal.etl.lake.staging import DATA, Staged, parts
from adnominal.etl.lake.storage import filesystem, table_uri

_BATCH_ROWS = 10_000
_BATCH_BYTES = 16 << 20

_WRITTEN = pa.schema([("path", pa.string()), ("rows", pa.int64())])

# Rows of a row group: enough to compress well. A look-up reads at least one row group.
_GROUP_BYTES = 16 << 20

Make = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.Table]]
MakeGroup = Callable[[pa.Table], pa.Table]


class Blocks(NamedTuple):
    """Rows of a table, as Arrow tables that a function makes from a DataFrame.

    Attributes:
        frame: the input DataFrame.
        make: a pure function, called in a worker. Without `group_by` it is called once per task
            with the task's batches, and yields tables; each becomes a row group in every partition
            it has rows of (tens of MB each work well). With `group_by` it is called once per group
            with its table, and returns one table, which becomes a file. Tables have the declared
            columns in order; text may be dictionary-encoded and is then written so.
        group_by: column of the frame whose equal values form a group.
        compiled: as for `etl.engine.map_arrow`; grouped blocks always are.
        large: as for `etl.engine.group_arrow`, for grouped blocks.
    """

    frame: DataFrame
    make: Make | MakeGroup
    group_by: str | None = None
    compiled: bool = False
    large: bool = False


def blocks_of(frame: DataFrame, table_spec: Table) -> Blocks:
    """Return the rows of a frame, in the order of its partitions.

    Raises:
        LakeError: the frame's columns are not as declared.
    """
    schema = table_spec.schema.remove_metadata()

    def make(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
        for rows in join_batches(batches):
            yield rows.cast(schema)

    return Blocks(declared_rows(frame, table_spec), make, compiled=True)


def join_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Join batches into tables the size of a row group."""
    pending: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        pending.append(batch)
        size += batch.nbytes
        if size >= _GROUP_BYTES:
            yield pa.Table.from_batches(pending)
            pending, size = [], 0
    if pending:
        yield pa.Table.from_batches(pending)


def read_files(files: pa.Table, columns: list[str]) -> pa.Table:
    """Read columns of the files that rows of `etl.lake.spark.Lake.files` name, in the task.

    Text comes dictionary-encoded, as `Blocks.make` may return it.
    """
    tables = []
    for uri, path in zip(files["table"].to_pylist(), files["file"].to_pylist(), strict=True):
        with filesystem(uri).open_input_file(path) as stream:
            file = pq.ParquetFile(stream)
            texts = [field.name for field in file.schema_arrow if pa.types.is_string(field.type)]
            file = pq.ParquetFile(stream, read_dictionary=texts, metadata=file.metadata)
            tables.append(file.read(columns=columns, use_threads=False))
    return pa.concat_tables(tables).select(columns)


def frame_of(blocks: Blocks, table_spec: Table) -> DataFrame:
    """Return the rows as a DataFrame, for an engine that writes only DataFrames."""
    make, schema = blocks.make, table_spec.schema

    def rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for table in make(batches):
            yield from _pieces(_with_schema(table, table_spec).cast(schema))

    def group(table: pa.Table) -> pa.Table:
        return _with_schema(make(table), table_spec).cast(schema)

    if blocks.group_by:
        return group_arrow(blocks.frame, blocks.group_by, group, spark_schema(schema), blocks.large)
    return map_arrow(blocks.frame, rows, spark_schema(schema), compiled=blocks.compiled)


def _pieces(table: pa.Table) -> list[pa.RecordBatch]:
    """Batches for Spark, bounded in rows and in bytes: a row may hold a list of any length."""
    most = _BATCH_BYTES * table.num_rows // max(table.nbytes, 1)
    return list(table.to_batches(max_chunksize=max(1, min(_BATCH_ROWS, most))))


def _with_schema(table: pa.Table, table_spec: Table) -> pa.Table:
    """The table, if it is as declared; its texts may be dictionaries."""
    plain = [
        (field.name, field.type.value_type if pa.types.is_dictionary(field.type) else field.type)
        for field in table.schema
    ]
    lines = differences(named_types(table_spec.schema), named_types(pa.schema(plain)))
    if lines:
        raise LakeError(f"rows made for {table_spec.name} are not as declared: {'; '.join(lines)}")
    return table


def stage(blocks: Blocks, table_spec: Table, root: str, write: str) -> Staged:
    """Let tasks make their rows and write them as files of write `write`.

    Every attempt of a task writes its own files; those of the attempt that the engine took count.
    """
    uri, make = table_uri(root, table_spec.name), blocks.make

    def save(tables: Iterator[pa.Table]) -> pa.Table:
        files = _Files(uri, table_spec, write)
        for table in tables:
            files.add(_with_schema(table, table_spec))
        rows = files.close()
        return pa.table([list(rows), list(rows.values())], schema=_WRITTEN)

    def save_task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from save(make(batches)).to_batches()

    def save_group(table: pa.Table) -> pa.Table:
        return save(iter([make(table)]))

    schema = spark_schema(_WRITTEN)
    if blocks.group_by:
        frame = group_arrow(blocks.frame, blocks.group_by, save_group, schema, blocks.large)
    else:
        frame = map_arrow(blocks.frame, save_task, schema, compiled=blocks.compiled)
    written = to_arrow(frame)
    rows, paths = (written.column(name).to_pylist() for name in ("rows", "path"))
    return Staged(write, sum(rows), frozenset(paths))


class _Files:
    """The files of one attempt of a task: one for each of the table's partitions."""

    def __init__(self, uri: str, table_spec: Table, write: str) -> None:
        self._target = filesystem(uri)
        self._table_spec = table_spec
        self._folder = f"{DATA}/{write}"
        self._name = f"part-{uuid.uuid4().hex}.parquet"
        self._writers: dict[str, pq.ParquetWriter] = {}
        self._rows: Counter[str] = Counter()

    def add(self, table: pa.Table) -> None:
        """Write the rows of a table to the files of their partitions."""
        for folders, rows in parts(table, self._table_spec.partition_by):
            path = "/".join([self._folder, *folders, self._name])
            part = rows.select(self._table_spec.stored_schema.names)
            if path not in self._writers:
                self._writers[path] = self._writer(path, part)
            group_rows = self._table_spec.group_rows
            if group_rows is None:
                self._writers[path].write_table(part)
            else:
                for start in range(0, part.num_rows, group_rows):
                    self._writers[path].write_table(needed_words(part.slice(start, group_rows)))
            self._rows[path] += part.num_rows

    def _writer(self, path: str, part: pa.Table) -> pq.ParquetWriter:
        """The writer of a new file, with statistics for the columns that have a range."""
        self._target.create_dir(path.rpartition("/")[0], recursive=True)
        return pq.ParquetWriter(
            path,
            part.schema,
            filesystem=self._target,
            use_dictionary=[f.name for f in part.schema if pa.types.is_dictionary(f.type)],
            # Omit the Arrow schema: with it, readers would take dictionaries for the type.
            store_schema=False,
            write_statistics=[f.name for f in part.schema if says_a_range(part[f.name])],
        )

    def close(self) -> dict[str, int]:
        """Close the files; return the number of rows of each path."""
        for writer in self._writers.values():
            writer.close()
        return self._rows


def needed_words(rows: pa.Table) -> pa.Table:
    """Reduce the dictionaries to the words that occur in the rows, in their previous order.

    Arrow writes whole dictionaries with every row group; a slice has the whole table's.
    """
    columns = []
    for column in rows.columns:
        if not pa.types.is_dictionary(column.type):
            columns.append(column)
            continue
        coded = as_dictionary(column)
        codes = coded.indices.to_numpy(zero_copy_only=False)
        is_used = np.zeros(len(coded.dictionary), np.bool_)
        is_used[codes] = True
        place = (np.cumsum(is_used) - 1).astype(np.int32)
        words = coded.dictionary.filter(pa.array(is_used))
        columns.append(pa.DictionaryArray.from_arrays(pa.array(place[codes]), words))
    return pa.table(columns, names=rows.column_names)


def says_a_range(column: pa.ChunkedArray) -> bool:
    """Whether minimum and maximum of a column are worth computing.

    For dictionary-encoded text, Arrow takes three times as long to find them as to write the
    column. If such rows are unsorted, both are about the same in every file.
    """
    if not pa.types.is_dictionary(column.type):
        return True
    codes = [chunk.indices.to_numpy(zero_copy_only=False) for chunk in column.chunks]
    return all(bool((part[1:] >= part[:-1]).all()) for part in codes)
