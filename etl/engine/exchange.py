"""Large values on their way between tasks of the embedded engine: in files, not in its sorts.

The engine carries values in batches of 8,192 rows. Packed pairs (`etl.amod.sums`) are some 100 kB
each, so that a batch of them comes to a gigabyte; and a sort that has to spill keeps a batch of
every run in memory to merge them, which no limit of memory allows for once there are a few. So
tasks append such rows to files, key by key, and what the engine sorts is where they lie.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

_OPTIONS = pa.ipc.IpcWriteOptions(compression="lz4" if pa.Codec.is_available("lz4") else None)


class Exchange:
    """Rows in files of `folder`, found by the values of their column `key`.

    A file has a stream of Arrow's for the rows of each key in each batch, one behind the other.
    """

    def __init__(self, folder: str, key: str) -> None:
        self.folder = Path(folder)
        self._key = key

    def write(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Append the rows of a task to a file; the key, file and first byte of each batch."""
        path = self.folder / uuid.uuid4().hex
        with pa.OSFile(str(path), "wb") as file:
            for batch in batches:
                keys, starts = [], []
                for piece in by_key(batch, self._key):
                    keys.append(piece.column(self._key)[0])
                    starts.append(file.tell())
                    file.write(_serialized(piece))
                if keys:
                    yield pa.record_batch(
                        {
                            self._key: pa.array(keys, batch.schema.field(self._key).type),
                            "file": pa.array([str(path)] * len(keys)),
                            "start": pa.array(starts, pa.int64()),
                        }
                    )

    def read(self, places: pa.Table) -> pa.Table:
        """The rows that lie at places which `write` has named."""
        rows: list[pa.RecordBatch] = []
        names, starts = (places.column(name).to_pylist() for name in ("file", "start"))
        for name, start in sorted(zip(names, starts, strict=True)):
            with pa.memory_map(name) as file:
                file.seek(start)
                rows += pa.ipc.open_stream(file)
        return pa.Table.from_batches(rows)


def by_key(batch: pa.RecordBatch, key: str) -> Iterator[pa.RecordBatch]:
    """The rows of a batch with each value of the column `key`, in the order of the values."""
    if not batch.num_rows:
        return
    if pc.count_distinct(batch.column(key)).as_py() > 1:
        batch = batch.take(pc.sort_indices(batch.column(key)))
    values = batch.column(key)
    changes = pc.not_equal(values[1:], values[:-1])
    starts = [at + 1 for at in pc.indices_nonzero(changes).to_pylist()]
    for start, end in pairwise([0, *starts, batch.num_rows]):
        yield batch.slice(start, end - start)


def _serialized(batch: pa.RecordBatch) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=_OPTIONS) as writer:
        writer.write_batch(batch)
    return sink.getvalue()
