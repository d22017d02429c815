"""Groups of rows that follow each other in sorted batches."""

from collections.abc import Iterator
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc


def groups_of(batches: Iterator[pa.RecordBatch], key: str) -> Iterator[pa.Table]:
    """Yield a table for each value of the column `key` of batches that are sorted by it."""
    group: list[pa.RecordBatch] = []
    for batch in batches:
        values = batch.column(key)
        changes = pc.not_equal(values[1:], values[:-1])
        starts = [at + 1 for at in pc.indices_nonzero(changes).to_pylist()]
        for start, end in pairwise([0, *starts, batch.num_rows]):
            piece = batch.slice(start, end - start)
            if group and piece.num_rows and piece.column(key)[0] != group[-1].column(key)[0]:
                yield pa.Table.from_batches(group)
                group = []
            if piece.num_rows:
                group.append(piece)
    if group:
        yield pa.Table.from_batches(group)
