"""Parquet and Arrow IPC files as texts: one document per row.

Only the column of the texts and that of the ids are read. A unit has the row groups (or record
batches) whose share of the file begins in it, so that one file keeps all cores busy. Rows are
yielded unchanged as Arrow arrays; the parser's side makes documents of them (`documents_of`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from etl.corpora.documents import (
    EVERY_DOCUMENT,
    DocumentFilter,
    Event,
    LeftOut,
    Rejected,
    sample_of,
)
from etl.corpora.files import Unit, Unreadable, open_stored
from etl.corpora.text import ID_FIELDS, MAX_LINE_BYTES, text_events

PARQUET, ARROW_FILE, ARROW_STREAM = b"PAR1", b"ARROW1", b"\xff\xff\xff\xff"
SUFFIXES = {
    ".parquet": "Parquet",
    ".pq": "Parquet",
    ".arrow": "Arrow IPC",
    ".arrows": "Arrow IPC",
    ".feather": "Arrow IPC",
    ".ipc": "Arrow IPC",
}
_ROWS_PER_BATCH = 1024  # texts have some kilobytes each
_TEXT_TYPES = (pa.string(), pa.large_string(), pa.string_view())
# Rows of a unit, each batch with the number of its first row in the file.
_Batches = Iterator[tuple[pa.RecordBatch, int]]


class WrongColumn(Unreadable):
    """A file without the column that a setting names, or with one of the wrong type."""


class Texts(NamedTuple):
    """Rows of a file.

    Attributes:
        path: the file.
        ids: null where there is none.
        texts: what they contain; the bytes may not be UTF-8 until `valid_rows` has seen them.
        rows: their numbers in the file, from 0.
    """

    path: str
    ids: pa.Array
    texts: pa.Array
    rows: pa.Array

    def take(self, places: Sequence[int]) -> Texts:
        """Some of the rows, by their places here."""
        taken = pa.array(places, pa.int64())
        columns = self.ids, self.texts, self.rows
        return Texts(self.path, *(column.take(taken) for column in columns))


def format_of(path: str, head: bytes) -> str | None:
    """``Parquet`` or ``Arrow IPC``, by the first bytes of a file or its name; else None."""
    if head.startswith(PARQUET):
        return "Parquet"
    if head.startswith((ARROW_FILE, ARROW_STREAM)):
        return "Arrow IPC"
    name = path.lower()
    return next((kind for suffix, kind in SUFFIXES.items() if name.endswith(suffix)), None)


def read_unit(
    unit: Unit, text_field: str = "text", id_field: str | None = None
) -> Iterator[Texts | Event]:
    """The rows of a unit, in order; `LeftOut` with the reason ``no_rows`` if a file has none.

    Raises:
        Unreadable: neither Parquet nor Arrow IPC; truncated or damaged; no column `text_field`, or
            one that does not contain text; no column `id_field`.
    """
    with _library_errors_as_unreadable(unit.path), open_stored(unit.path) as stream:
        schema, read = _open(unit.path, stream)
        columns = _columns_to_read(unit.path, schema, text_field, id_field)
        empty = True
        for batch, first in read(unit, columns):
            empty = empty and not batch.num_rows
            yield from _texts(unit.path, batch, columns, first)
        if empty and unit.is_whole_file:
            yield LeftOut("no_rows", unit.path)


def check_columns(path: str, text_field: str, id_field: str | None) -> None:
    """Raise `Unreadable` if the file cannot be opened or lacks one of the columns."""
    with _library_errors_as_unreadable(path), open_stored(path) as stream:
        _columns_to_read(path, _open(path, stream)[0], text_field, id_field)


def valid_rows(rows: Texts) -> tuple[Texts, list[Rejected]]:
    """The rows whose texts are valid UTF-8, and the others as rejected."""
    try:
        rows.texts.validate(full=True)
        return rows, []
    except pa.ArrowInvalid:
        pass
    valid, faults = [], []
    values, numbers = rows.texts.view(pa.binary()).to_pylist(), rows.rows.to_pylist()
    for place, (value, number) in enumerate(zip(values, numbers, strict=True)):
        try:
            value.decode()
            valid.append(place)
        except UnicodeDecodeError:
            faults.append(Rejected("invalid_utf8", f"row {number}: {sample_of(value)}"))
    return rows.take(valid), faults


def documents_of(rows: Texts, document_filter: DocumentFilter = EVERY_DOCUMENT) -> Iterator[Event]:
    """The documents that the rows contain, or the reason why a row contains none.

    They are named by their ids; ``path#row=N`` where there is none.
    """
    rows, faults = valid_rows(rows)
    yield from faults
    columns = (column.to_pylist() for column in (rows.ids, rows.texts, rows.rows))
    for id_of_row, text, number in zip(*columns, strict=True):
        is_named = id_of_row is not None and id_of_row.strip()
        name = id_of_row if is_named else f"{rows.path}#row={number}"
        yield from text_events(name, text, sample_of(text[:400]), document_filter)


@contextmanager
def _library_errors_as_unreadable(path: str) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError, ValueError) as error:
        words = " ".join(str(error).split()) or type(error).__name__
        raise Unreadable(path, f"damaged or truncated: {words}") from error


# ------------------------------------------------------------------------------------- the files


def _parquet(file: pq.ParquetFile, unit: Unit, columns: list[str]) -> _Batches:
    count = file.metadata.num_row_groups
    groups = [group for group in range(count) if _in_unit(unit, group, count)]
    if not groups:
        return
    # The groups of a unit are adjacent; one reader for all costs less than one for each.
    first = sum(file.metadata.row_group(group).num_rows for group in range(groups[0]))
    for batch in file.iter_batches(
        _ROWS_PER_BATCH, row_groups=groups, columns=columns, use_threads=False
    ):
        yield batch, first
        first += batch.num_rows


def _arrow_file(file: pa.RecordBatchFileReader, unit: Unit, columns: list[str]) -> _Batches:
    row = 0
    count = file.num_record_batches
    for number in range(count):
        batch = file.get_batch(number)  # memory-mapped: other columns are not read
        if _in_unit(unit, number, count):
            yield batch.select(columns), row
        row += batch.num_rows


def _arrow_stream(file: pa.RecordBatchStreamReader, unit: Unit, columns: list[str]) -> _Batches:
    if not _in_unit(unit, 0, 1):
        return  # only the first unit reads a stream, from its beginning
    row = 0
    for batch in file:
        yield batch.select(columns), row
        row += batch.num_rows


def _in_unit(unit: Unit, number: int, count: int) -> bool:
    """Whether part `number` of `count` equal shares of the file begins in the unit."""
    return unit.start <= unit.bytes * number // count < unit.end


def _open(path: str, stored: object) -> tuple[pa.Schema, Callable[[Unit, list[str]], _Batches]]:
    """The schema of a file, and what reads the rows of a unit."""
    head = stored.read(8)  # type: ignore[attr-defined]
    stored.seek(0)  # type: ignore[attr-defined]
    kind = format_of(path, head)
    stream = pa.memory_map(path) if "://" not in path else pa.PythonFile(stored, mode="r")
    if head.startswith(PARQUET):
        file = pq.ParquetFile(stream, page_checksum_verification=True)
        return file.schema_arrow, partial(_parquet, file)
    if head.startswith(ARROW_FILE):
        file = pa.ipc.open_file(stream)
        return file.schema, partial(_arrow_file, file)
    if head.startswith(ARROW_STREAM):
        file = pa.ipc.open_stream(stream)
        return file.schema, partial(_arrow_stream, file)
    raise Unreadable(path, f"no {kind} file, whatever its name: it begins with {head!r}")


def _columns_to_read(
    path: str, schema: pa.Schema, text_field: str, id_field: str | None
) -> list[str]:
    """The columns to read: that of the texts, and that of the ids if there is one."""
    if id_field is None:
        kinds = {name: _value_type(schema, name) for name in ID_FIELDS if name in schema.names}
        fitting = (n for n, k in kinds.items() if k in _TEXT_TYPES or pa.types.is_integer(k))
        id_field = next(fitting, None)
    for setting, name in (("text_field", text_field), ("id_field", id_field)):
        if name is None:
            continue
        if name not in schema.names:
            known = ", ".join(schema.names)
            nested = "; nested columns are not read" if "." in name else ""
            raise WrongColumn(path, f"no column {setting}={name}; it has {known}{nested}")
        kind = _value_type(schema, name)
        if kind not in _TEXT_TYPES and (setting == "text_field" or not pa.types.is_integer(kind)):
            expected = "text" if setting == "text_field" else "text or whole numbers"
            raise WrongColumn(path, f"column {setting}={name} holds {kind}; expected {expected}")
    return [text_field] if id_field in (None, text_field) else [text_field, str(id_field)]


def _value_type(schema: pa.Schema, name: str) -> pa.DataType:
    kind = schema.field(name).type
    return kind.value_type if pa.types.is_dictionary(kind) else kind


# ------------------------------------------------------------------------------------- the rows


def _texts(
    path: str, batch: pa.RecordBatch, columns: list[str], first: int
) -> Iterator[Texts | Event]:
    """The rows of a batch that are text, and an event for each of the others."""
    column = batch.column(columns[0])
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_string_view(column.type):
        column = column.cast(pa.binary_view()).cast(pa.large_binary()).view(pa.large_string())
    ids = _ids(batch, columns)
    rows = pa.array(np.arange(first, first + len(column)))
    faults: dict[int, Rejected] = {}
    if column.null_count:
        for row in pc.indices_nonzero(pc.is_null(column)).to_pylist():
            faults[row] = Rejected("not_text", f"row {first + row}: null")
    if column.nbytes > MAX_LINE_BYTES:
        lengths = pc.binary_length(column)
        for row in pc.indices_nonzero(pc.greater(lengths, MAX_LINE_BYTES)).to_pylist():
            faults[row] = Rejected("line_too_long", f"row {first + row}: {lengths[row]} bytes")
    if faults:
        yield from (faults[row] for row in sorted(faults))
        good = pa.array([row for row in range(len(column)) if row not in faults], pa.int64())
        column, ids, rows = column.take(good), ids.take(good), rows.take(good)
    if pa.types.is_large_string(column.type):
        # Through binary, since texts are not yet known to be UTF-8.
        column = column.view(pa.large_binary()).cast(pa.binary()).view(pa.string())
    if len(column):
        yield Texts(path, ids, column, rows)


def _ids(batch: pa.RecordBatch, columns: list[str]) -> pa.Array:
    """The ids of the rows as text; null where there is none."""
    if len(columns) < 2:
        return pa.nulls(batch.num_rows, pa.string())
    column = batch.column(columns[1])
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return pa.nulls(batch.num_rows, pa.string())
    return column.cast(pa.string())
