"""Rows that tasks make and write as Arrow tables: no row of them passes through Spark.

A builder that makes many rows of one (PLANE: thirty items of a phrase) would pay for each as a
Spark row on its way into a file, several times what it costs to make. Here a task makes its rows
from batches of a frame and writes them itself; Spark sees the names of the files.

The files lie where `etl.lake.staging` has those of every write, so tasks need access to the table's
store as the driver has it (`etl.lake.storage`: credentials in the environment).
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from etl.lake.errors import LakeError
from etl.lake.frames import spark_schema
from etl.lake.partitions import parts
from etl.lake.schema import data_schema, differences, named_types
from etl.lake.staging import DATA, Staged
from etl.lake.storage import filesystem, table_uri
from etl.lake.tables import Table

__all__ = ["Blocks", "frame_of", "stage"]

_BATCH_ROWS = 10_000
_BATCH_BYTES = 16 << 20

_WRITTEN = pa.schema([("path", pa.string()), ("rows", pa.int64())])

Make = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.Table]]


class Blocks(NamedTuple):
    """What `make` yields for the batches of each of the frame's partitions.

    Attributes:
        frame: what is read.
        make: pure, called once a task in a worker, with the batches of the task; yields tables of
            the declared columns in their order, texts also as dictionaries, which are then written
            as such. A table's rows of a partition become a row group: some tens of MB are good.
    """

    frame: DataFrame
    make: Make


def frame_of(blocks: Blocks, declared: Table) -> DataFrame:
    """The rows as a frame, for an engine that writes only those."""
    make, schema = blocks.make, declared.schema

    def rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for table in make(batches):
            yield from _pieces(_checked(table, declared).cast(schema))

    return blocks.frame.mapInArrow(rows, spark_schema(schema))


def _pieces(table: pa.Table) -> list[pa.RecordBatch]:
    """Batches for Spark, bounded in rows and in bytes: a row may hold a list of any length."""
    most = _BATCH_BYTES * table.num_rows // max(table.nbytes, 1)
    return list(table.to_batches(max_chunksize=max(1, min(_BATCH_ROWS, most))))


def _checked(table: pa.Table, declared: Table) -> pa.Table:
    plain = [
        (field.name, field.type.value_type if pa.types.is_dictionary(field.type) else field.type)
        for field in table.schema
    ]
    lines = differences(named_types(declared.schema), named_types(pa.schema(plain)))
    if lines:
        raise LakeError(f"rows made for {declared.name} are not as declared: {'; '.join(lines)}")
    return table


def stage(blocks: Blocks, declared: Table, root: str, write: str) -> Staged:
    """Have tasks make and write their rows as files of write `write`.

    Every attempt of a task has files of its own; those that count are named by the attempt that
    Spark took.
    """
    uri, make = table_uri(root, declared.name), blocks.make

    def written(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        files = _Files(uri, declared, write)
        for table in make(batches):
            files.add(_checked(table, declared))
        found = files.close()
        yield pa.RecordBatch.from_pylist(
            [{"path": path, "rows": rows} for path, rows in found.items()], schema=_WRITTEN
        )

    found = blocks.frame.mapInArrow(written, spark_schema(_WRITTEN)).toArrow()
    return Staged(
        write,
        sum(found.column("rows").to_pylist()),
        frozenset(found.column("path").to_pylist()),
    )


class _Files:
    """The files of one attempt of a task: one for each of the table's partitions."""

    def __init__(self, uri: str, declared: Table, write: str) -> None:
        self._target = filesystem(uri)
        self._declared = declared
        self._folder = f"{DATA}/{write}"
        self._name = f"part-{uuid.uuid4().hex}.parquet"
        self._schema = data_schema(declared.schema, declared.partition_by)
        self._open: dict[str, _File] = {}

    def add(self, table: pa.Table) -> None:
        for folders, part in parts(table, self._declared.partition_by):
            path = "/".join([self._folder, *folders, self._name])
            if path not in self._open:
                self._target.create_dir(path.rpartition("/")[0], recursive=True)
                self._open[path] = _File(self._target.open_output_stream(path))
            self._open[path].add(part.select(self._schema.names))

    def close(self) -> dict[str, int]:
        """Rows by path."""
        return {path: file.close() for path, file in self._open.items()}


class _File:
    def __init__(self, stream: pa.NativeFile) -> None:
        self._stream = stream
        self._writer: pq.ParquetWriter | None = None
        self._rows = 0

    def add(self, part: pa.Table) -> None:
        if self._writer is None:
            coded = [f.name for f in part.schema if pa.types.is_dictionary(f.type)]
            # Without the Arrow schema, which would have readers take dictionaries for the type.
            self._writer = pq.ParquetWriter(
                self._stream, part.schema, use_dictionary=coded, store_schema=False
            )
        self._writer.write_table(part)
        self._rows += part.num_rows

    def close(self) -> int:
        if self._writer is not None:
            self._writer.close()
        self._stream.close()
        return self._rows
