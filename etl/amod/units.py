"""Units of work as rows, so that tasks can be given them: parts of the input files of a wave."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from etl.corpora.files import Unit, Unreadable

UNITS = pa.schema(
    [
        ("file", pa.int32()),
        ("path", pa.string()),
        ("bytes", pa.int64()),
        ("start", pa.int64()),
        ("end", pa.int64()),
    ]
)


def units_of(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, Unit]]:
    """The units that rows of `UNITS` stand for, each with the number of its file."""
    for batch in batches:
        for row in batch.to_pylist():
            yield row.pop("file"), Unit(**row)


def error_text(error: Exception) -> str:
    """What went wrong with a file, in words."""
    return error.reason if isinstance(error, Unreadable) else str(error)
