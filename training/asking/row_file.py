"""Rows in a file of this process, so that memory has only those that are worked on."""

import tempfile
from collections.abc import Iterator, Sequence

import pyarrow as pa

# The rows of a batch of the file: what is in memory at least.
BATCH = 1000


class RowFile:
    """The rows of a table in a temporary file, which is deleted with the object.

    Attributes:
        schema: the columns.
        num_rows: the number of rows.
    """

    def __init__(self, rows: pa.Table) -> None:
        """Write the rows."""
        self.schema: pa.Schema = rows.schema
        self.num_rows: int = rows.num_rows
        with tempfile.NamedTemporaryFile(prefix="rows-") as file:
            with pa.ipc.new_file(file.name, rows.schema) as writer:
                # A table's batches end where its chunks do; with one chunk, all but the last are
                # full.
                for batch in rows.combine_chunks().to_batches(BATCH):
                    writer.write_batch(batch)
            # The system keeps the file for those who have it open.
            self._reader = pa.ipc.open_file(pa.OSFile(file.name))

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the rows in order, a thousand at a time."""
        for number in range(self._reader.num_record_batches):
            yield self._reader.get_batch(number).select(list(columns))

    def slice(self, start: int, stop: int) -> pa.Table:
        """Return the rows from `start` to before `stop`."""
        first = start // BATCH
        last = (stop - 1) // BATCH
        batches = [self._reader.get_batch(number) for number in range(first, last + 1)]
        rows = pa.Table.from_batches(batches, self.schema)
        return rows.slice(start - first * BATCH, stop - start)

    def read(self) -> pa.Table:
        """Return all rows."""
        return self._reader.read_all()
