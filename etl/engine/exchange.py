"""Large values on their way between tasks of the embedded engine: in files, not in its sorts.

The engine carries values in batches of 8,192 rows. Packed pairs (`etl.amod.sums`) are some 100 kB
each, so that a batch of them comes to a gigabyte; and a sort that has to spill keeps a batch of
every run in memory to merge them, which no limit of memory allows for once there are a few. So
tasks write such values to files, as they are, and what the engine sorts is where they lie.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql import types as T

_PLACE = ("file", "start", "length")


class Exchange:
    """The values of a binary column in files of `folder`; the rows have their places instead."""

    def __init__(self, folder: str, schema: T.StructType) -> None:
        """Of rows with that schema, one of whose columns is binary and never null."""
        self._names = schema.names
        self.folder = Path(folder)
        self._column = next(f.name for f in schema if f.dataType == T.BinaryType())
        other_fields = [field for field in schema if field.name != self._column]
        kinds = (T.StringType(), T.LongType(), T.IntegerType())
        place = [T.StructField(*field) for field in zip(_PLACE, kinds, strict=True)]
        self.schema = T.StructType([*other_fields, *place])

    def write(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Append the values of a task to a file; its rows, with the place of each value."""
        path = self.folder / uuid.uuid4().hex
        with pa.OSFile(str(path), "wb") as file:
            for batch in batches:
                values = batch.column(self._column).cast(pa.binary())
                _, offsets_buffer, data = values.buffers()
                offsets = np.frombuffer(offsets_buffer, np.int32)
                offsets = offsets[values.offset : values.offset + len(values) + 1]
                start = file.tell()
                if data is not None:
                    file.write(data[int(offsets[0]) : int(offsets[-1])])
                columns = batch.drop_columns(self._column)
                place = (
                    pa.repeat(str(path), len(values)),
                    pa.array(start + (offsets[:-1] - offsets[0]).astype(np.int64)),
                    pa.array(np.diff(offsets)),
                )
                for name, column in zip(_PLACE, place, strict=True):
                    columns = columns.append_column(name, column)
                yield columns

    def read(self, rows: pa.Table) -> pa.Table:
        """Rows that `write` gave, with their values, which stay where they lie until used."""
        # In the order in which they were written, that files are read from front to end.
        rows = rows.sort_by([("file", "ascending"), ("start", "ascending")])
        files: dict[str, pa.MemoryMappedFile] = {}
        values = []
        for name, start, length in zip(*(rows[name].to_pylist() for name in _PLACE), strict=True):
            if name not in files:
                files[name] = pa.memory_map(name)
            files[name].seek(start)
            data = files[name].read_buffer(length) if length else pa.py_buffer(b"")
            offsets = pa.array([0, length], pa.int32()).buffers()[1]
            values.append(pa.Array.from_buffers(pa.binary(), 1, [None, offsets, data]))
        column = pa.chunked_array(values, pa.binary())
        return rows.append_column(self._column, column).select(self._names)
