"""Pass large values between tasks of the embedded engine in files, not through its sorts.

The engine handles batches of 8,192 rows. Packed pairs (`etl.amod.sums`) take about 100 kB each, so
a batch of them takes a gigabyte, and a spilling sort keeps one batch of every run in memory to
merge them. A few runs exceed any memory limit. Therefore tasks write such values to files, and the
engine sorts only their positions.
"""

import uuid
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql import types as T

_PLACE = ("file", "start", "length")


class Exchange:
    """Stores the values of a binary column in files of `folder`; rows hold their positions."""

    def __init__(self, folder: str, schema: T.StructType) -> None:
        """`schema` is that of the rows; one of its columns is binary and never null."""
        self._names = schema.names
        self.folder = Path(folder)
        self._column = next(f.name for f in schema if f.dataType == T.BinaryType())
        other_fields = [field for field in schema if field.name != self._column]
        kinds = (T.StringType(), T.LongType(), T.IntegerType())
        place = [T.StructField(*field) for field in zip(_PLACE, kinds, strict=True)]
        self.schema = T.StructType([*other_fields, *place])

    def write(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Append the values of a task to a file; yield its rows with the position of each value."""
        path = self.folder / uuid.uuid4().hex
        with pa.OSFile(str(path), "wb") as file:
            for batch in batches:
                # The values of an Arrow column lie one after another in a buffer, so they are
                # written at once; their offsets in the buffer give their places in the file.
                values = batch.column(self._column).cast(pa.binary())
                _, offsets_buffer, data = values.buffers()
                offsets = np.frombuffer(offsets_buffer, np.int32)
                offsets = offsets[values.offset : values.offset + len(values) + 1]
                start = file.tell()
                if data is not None:
                    file.write(data[int(offsets[0]) : int(offsets[-1])])
                columns = batch.drop_columns(self._column)
                starts = start + (offsets[:-1] - offsets[0]).astype(np.int64)
                lengths = np.diff(offsets)
                place = (
                    pa.repeat(str(path), len(values)),
                    pa.array(starts),
                    pa.array(lengths),
                )
                for name, column in zip(_PLACE, place, strict=True):
                    columns = columns.append_column(name, column)
                yield columns

    def read(self, rows: pa.Table) -> pa.Table:
        """Return rows from `write` with their values, which stay in the files until used."""
        # In the order of writing, so that files are read from front to end.
        rows = rows.sort_by([("file", "ascending"), ("start", "ascending")])
        files: dict[str, pa.MemoryMappedFile] = {}
        values = []
        for place in rows.select(_PLACE).to_pylist():
            name = place["file"]
            if name not in files:
                files[name] = pa.memory_map(name)
            values.append(_mapped_value(files[name], place["start"], place["length"]))
        column = pa.chunked_array(values, pa.binary())
        return rows.append_column(self._column, column).select(self._names)


def _mapped_value(file: pa.MemoryMappedFile, start: int, length: int) -> pa.BinaryArray:
    """An array of one value, whose bytes are those of the mapped file and are not copied."""
    data = pa.py_buffer(b"")
    if length:
        file.seek(start)
        data = file.read_buffer(length)
    offsets = pa.array([0, length], pa.int32())
    return pa.Array.from_buffers(pa.binary(), 1, [None, offsets.buffers()[1], data])
