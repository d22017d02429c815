"""Parquet and Arrow IPC files as texts: one document per row.

Only the column of the texts and those of the ids are read. With a condition (`conditions`), its
columns are read first, and the others only of row groups that have a row for which it is true. A
unit has the row groups (or record batches) whose share of the file begins in it, so that one file
keeps all cores busy. Rows are yielded unchanged as Arrow arrays; the parsing tasks make documents
of them (`documents_of`).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from adnominal.etl.corpora.arrow_headers import ARROW_STREAM, rows_of_batches
from adnominal.etl.corpora.conditions import (
    Condition,
    batches_with_rows,
    first_missing,
    matching_rows,
    text_or_none,
)
from adnominal.etl.corpora.decompression import max_expansion
from adnominal.etl.corpora.documents import (
    EVERY_DOCUMENT,
    DocumentFilter,
    Event,
    LeftOut,
    Rejected,
    sample_of,
)
from adnominal.etl.corpora.files import Unit, Unreadable, check_expansion, open_stored
from adnominal.etl.corpora.text import ID_FIELDS, MAX_LINE_BYTES, text_events

if TYPE_CHECKING:
    import numpy.typing as npt

PARQUET, ARROW_FILE = b"PAR1", b"ARROW1"
SUFFIXES = {
    ".parquet": "Parquet",
    ".pq": "Parquet",
    ".arrow": "Arrow IPC",
    ".arrows": "Arrow IPC",
    ".feather": "Arrow IPC",
    ".ipc": "Arrow IPC",
}
_ROWS_PER_BATCH = 1024  # texts have some kilobytes each
_BATCH_BYTES = 16 << 20  # of texts in memory at once, but for a longer text
_ROWS_PER_DELTA_BATCH = 16  # of texts that may each repeat nearly all of the one before
_TEXT_TYPES = (pa.string(), pa.large_string(), pa.string_view())
# Rows, and their numbers in the file.
_NumberedRows: TypeAlias = tuple[pa.RecordBatch, "npt.NDArray[np.int64]"]


class WrongColumn(Unreadable):
    """A file without the column that a setting names, or with one of the wrong type."""


class Texts(NamedTuple):
    """Rows of a file.

    Attributes:
        path: path of the file.
        ids: the ids; null for rows without one.
        texts: the texts; their bytes may not be UTF-8 until `valid_rows` has checked them.
        rows: the numbers of the rows in the file, from 0.
    """

    path: str
    ids: pa.Array
    texts: pa.Array
    rows: pa.Array

    def take(self, places: Sequence[int]) -> Texts:
        """The rows at the given positions."""
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
    unit: Unit,
    text_field: str = "text",
    id_field: str | None = None,
    where: Condition | None = None,
) -> Iterator[Texts | Event]:
    """The rows of a unit, in order; `LeftOut` with the reason ``no_rows`` if a file has none.

    The rows for which the condition `where` is not true are left out with the reason ``where``.

    Raises:
        Unreadable: neither Parquet nor Arrow IPC; truncated or damaged; no column `text_field`, or
            one that does not contain text; no column `id_field`; or a condition that does not fit.
    """
    with _library_errors_as_unreadable(unit.path), open_stored(unit.path) as stream:
        source = _open(unit.path, stream)
        columns = _columns_to_read(unit.path, source.schema, text_field, id_field)
        events: Iterator[_NumberedRows | LeftOut]
        if where is None:
            events = _all_rows(source, unit, columns)
        else:
            events = _selected_rows(source, unit, columns, where)
        empty = True
        for event in events:
            empty = False
            if isinstance(event, LeftOut):
                yield event
            else:
                yield from _texts(unit.path, *event, columns)
        if empty and unit.is_whole_file:
            yield LeftOut("no_rows", unit.path)


def check_columns(
    path: str, text_field: str, id_field: str | None, where: Condition | None = None
) -> None:
    """Raise `Unreadable` if the file cannot be opened or lacks one of the columns."""
    with _library_errors_as_unreadable(path), open_stored(path) as stream:
        schema = _open(path, stream).schema
        _columns_to_read(path, schema, text_field, id_field)
        if where is not None:
            where.columns(path, schema)


def valid_rows(rows: Texts) -> tuple[Texts, list[Rejected]]:
    """The rows whose texts are valid UTF-8, and the others as `Rejected`."""
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

    A document is named by the row's id, or ``path#row=N`` without one.
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
    except (pa.ArrowException, OSError, ValueError, struct.error) as error:
        words = " ".join(str(error).split()) or type(error).__name__
        raise Unreadable(path, f"damaged or truncated: {words}") from error


# ------------------------------------------------------------------------------------- the files


class _Source(NamedTuple):
    """An open file, whose parts are its row groups or record batches.

    Attributes:
        schema: its columns.
        parts: the number of parts.
        rows_before: the number of rows before a part.
        batches: the rows of adjacent parts, with only the given columns.
    """

    schema: pa.Schema
    parts: int
    rows_before: Callable[[int], int]
    batches: Callable[[Sequence[int], list[str]], Iterator[pa.RecordBatch]]

    def parts_of(self, unit: Unit) -> list[int]:
        """The parts whose share of the file begins in the unit."""
        return [part for part in range(self.parts) if _in_unit(unit, part, self.parts)]


def _parquet(stream: pa.NativeFile) -> _Source:
    file = pq.ParquetFile(stream, page_checksum_verification=True)
    metadata = file.metadata

    def rows_before(group: int) -> int:
        return sum(metadata.row_group(earlier).num_rows for earlier in range(group))

    def batches(groups: Sequence[int], columns: list[str]) -> Iterator[pa.RecordBatch]:
        # One reader for all groups costs less than one for each.
        rows = _rows_at_once(stream, file, groups, columns)
        yield from file.iter_batches(rows, row_groups=groups, columns=columns, use_threads=False)

    return _Source(file.schema_arrow, metadata.num_row_groups, rows_before, batches)


def _rows_at_once(
    stream: pa.NativeFile, file: pq.ParquetFile, groups: Sequence[int], columns: Sequence[str]
) -> int:
    """How many rows have about `_BATCH_BYTES` at most, once their values are decoded.

    A value of a dictionary may be that of any number of rows, and one in the encoding
    DELTA_BYTE_ARRAY repeats the beginning of the one before.
    """
    of_text = [name for name in columns if _value_type(file.schema_arrow, name) in _TEXT_TYPES]
    dictionaries = pq.ParquetFile(stream, metadata=file.metadata, read_dictionary=of_text)
    longest, rows = 1, _ROWS_PER_BATCH
    for group in groups:
        metadata = file.metadata.row_group(group)
        longest = max(longest, metadata.total_byte_size // max(1, metadata.num_rows))
        try:
            # A row comes with the dictionary of all rows. (The metadata of a column would tell of
            # one too, but asked for those of a damaged file, pyarrow ends the process.)
            for batch in dictionaries.iter_batches(1, row_groups=[group], columns=of_text):
                for column in batch.columns:
                    longest = max(longest, pc.max(_lengths(column.dictionary)).as_py() or 0)
                break
        except OSError:  # not implemented for DELTA_BYTE_ARRAY
            rows = _ROWS_PER_DELTA_BATCH
    return max(1, min(rows, _BATCH_BYTES // longest))


def _arrow_file(stream: pa.NativeFile) -> _Source:
    file = pa.ipc.open_file(stream)

    def rows_before(number: int) -> int:
        return sum(rows_of_batches(stream, number))

    def batches(numbers: Sequence[int], columns: list[str]) -> Iterator[pa.RecordBatch]:
        reader = pa.ipc.open_file(stream, options=_column_options(file.schema, columns))
        return (reader.get_batch(number) for number in numbers)

    return _Source(file.schema, file.num_record_batches, rows_before, batches)


def _arrow_stream(stream: pa.NativeFile) -> _Source:
    schema = pa.ipc.open_stream(stream).schema

    def batches(parts: Sequence[int], columns: list[str]) -> Iterator[pa.RecordBatch]:
        stream.seek(0)
        yield from pa.ipc.open_stream(stream, options=_column_options(schema, columns))

    # A stream is one part, which the first unit reads from its beginning.
    return _Source(schema, 1, lambda part: 0, batches)


def _column_options(schema: pa.Schema, columns: Sequence[str]) -> pa.ipc.IpcReadOptions:
    return pa.ipc.IpcReadOptions(included_fields=[schema.get_field_index(c) for c in columns])


def _in_unit(unit: Unit, number: int, count: int) -> bool:
    """Whether part `number` of `count` equal shares of the file begins in the unit."""
    return unit.start <= unit.bytes * number // count < unit.end


def _open(path: str, stored: BinaryIO) -> _Source:
    """The file as the format that its first bytes show; its name may say something else."""
    head = stored.read(8)
    stored.seek(0)
    stream = pa.memory_map(path) if "://" not in path else pa.PythonFile(stored, mode="r")
    if head.startswith(PARQUET):
        return _parquet(stream)
    if head.startswith(ARROW_FILE):
        return _arrow_file(stream)
    if head.startswith(ARROW_STREAM):
        return _arrow_stream(stream)
    kind = format_of(path, head)
    raise Unreadable(path, f"not in {kind} format, whatever its name: it begins with {head!r}")


def _columns_to_read(
    path: str, schema: pa.Schema, text_field: str, id_field: str | None
) -> list[str]:
    """The columns to read: that of the texts, then those of the ids."""
    _check_column(path, schema, "text_field", text_field)
    ids = [id_field] if id_field else [n for n in ID_FIELDS if n in schema.names]
    if not id_field:
        kinds = {name: _value_type(schema, name) for name in ids}
        ids = [n for n, k in kinds.items() if k in _TEXT_TYPES or pa.types.is_integer(k)]
    for name in ids:
        _check_column(path, schema, "id_field", name)
    return [text_field, *(name for name in ids if name != text_field)]


def _check_column(path: str, schema: pa.Schema, setting: str, name: str) -> None:
    """Raise `WrongColumn` for a column that is missing, duplicated or of another type."""
    number = schema.names.count(name)
    if not number:
        known = ", ".join(schema.names)
        nested = "; nested columns are not read" if "." in name else ""
        raise WrongColumn(path, f"no column {setting}={name}; it has {known}{nested}")
    if number > 1:
        raise WrongColumn(path, f"{number} columns are named {name}; expected one")
    kind = _value_type(schema, name)
    if kind not in _TEXT_TYPES and (setting == "text_field" or not pa.types.is_integer(kind)):
        expected = "text" if setting == "text_field" else "text or whole numbers"
        raise WrongColumn(path, f"column {setting}={name} is of type {kind}; expected {expected}")


def _value_type(schema: pa.Schema, name: str) -> pa.DataType:
    kind = schema.field(schema.names.index(name)).type
    return kind.value_type if pa.types.is_dictionary(kind) else kind


# ------------------------------------------------------------------------------------- the rows


class _Expansion:
    """Refuses a unit whose data unpacks to far more than text does."""

    def __init__(self, unit: Unit) -> None:
        self._unit = unit
        self._limit = max_expansion()
        self._unpacked_bytes = 0

    def small_batches(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows in batches of about `_BATCH_BYTES`, none of which is empty."""
        for batch in batches:
            lengths = _row_lengths(batch)
            for start, stop in _slices(lengths):
                self._unpacked_bytes += int(lengths[start:stop].sum())
                unit = self._unit
                check_expansion(unit.path, self._unpacked_bytes, unit.bytes, self._limit)
                yield batch.slice(start, stop - start)


def _all_rows(source: _Source, unit: Unit, columns: list[str]) -> Iterator[_NumberedRows]:
    parts = source.parts_of(unit)
    if not parts:
        return
    first = source.rows_before(parts[0])
    batches = source.batches(parts, columns)
    for batch in _Expansion(unit).small_batches(batches):
        yield batch, np.arange(first, first + batch.num_rows)
        first += batch.num_rows


def _selected_rows(
    source: _Source, unit: Unit, columns: list[str], where: Condition
) -> Iterator[_NumberedRows | LeftOut]:
    """The rows for which the condition is true; the number of the others after each part."""
    names = where.columns(unit.path, source.schema)
    expansion = _Expansion(unit)
    parts = source.parts_of(unit)
    first = source.rows_before(parts[0]) if parts else 0
    for part in parts:
        condition_batches = expansion.small_batches(source.batches([part], names))
        selected, count = matching_rows(unit.path, condition_batches, where)
        if len(selected):
            batches = expansion.small_batches(source.batches([part], columns))
            for batch, rows in batches_with_rows(batches, selected):
                yield batch, first + rows
        if len(selected) < count:
            sample = f"{unit.path}#row={first + first_missing(selected)}"
            yield LeftOut("where", sample, count - len(selected))
        first += count


def _texts(
    path: str, batch: pa.RecordBatch, numbers: npt.NDArray[np.int64], columns: list[str]
) -> Iterator[Texts | Event]:
    """The rows of a batch that are text, and an event for each of the others."""
    column = _decode_column(batch.column(columns[0]))
    ids = _ids(batch, columns[1:])
    rows = pa.array(numbers)
    faults: dict[int, Rejected] = {}
    if column.null_count:
        for row in pc.indices_nonzero(pc.is_null(column)).to_pylist():
            faults[row] = Rejected("not_text", f"row {numbers[row]}: null")
    if column.nbytes > MAX_LINE_BYTES:
        lengths = pc.binary_length(column)
        for row in pc.indices_nonzero(pc.greater(lengths, MAX_LINE_BYTES)).to_pylist():
            faults[row] = Rejected("line_too_long", f"row {numbers[row]}: {lengths[row]} bytes")
    if faults:
        yield from (faults[row] for row in sorted(faults))
        good = pa.array([row for row in range(len(column)) if row not in faults], pa.int64())
        column, ids, rows = column.take(good), ids.take(good), rows.take(good)
    if pa.types.is_large_string(column.type):
        # Through binary, since texts are not yet known to be UTF-8.
        column = column.view(pa.large_binary()).cast(pa.binary()).view(pa.string())
    if len(column):
        yield Texts(path, ids, column, rows)


def _ids(batch: pa.RecordBatch, names: Sequence[str]) -> pa.Array:
    """The ids of the rows as text, each from the first column that has one; else null."""
    ids = pa.nulls(batch.num_rows, pa.string())
    for name in names:
        if ids.null_count:
            ids = pc.coalesce(ids, _id_column(batch.column(name)))
    return ids


def _id_column(column: pa.Array) -> pa.Array:
    """A column as text, with null for blank and invalid values."""
    column = _decode_column(column)
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        values = column.cast(pa.large_binary()).to_pylist()
        column = pa.array([text_or_none(value) for value in values])
    column = column.cast(pa.string())
    is_blank = pc.equal(pc.binary_length(pc.utf8_trim_whitespace(column)), 0)
    return pc.if_else(is_blank, pa.scalar(None, pa.string()), column)


def _decode_column(column: pa.Array) -> pa.Array:
    """A column without dictionary or views; the bytes of its texts may not be UTF-8."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_string_view(column.type):
        column = column.cast(pa.binary_view()).cast(pa.large_binary()).view(pa.large_string())
    return column


def _row_lengths(batch: pa.RecordBatch) -> npt.NDArray[np.int64]:
    """The bytes of the values of each row, once decoded."""
    lengths = np.zeros(batch.num_rows, np.int64)
    for column in batch.columns:
        lengths += pc.fill_null(_lengths(column), 0).to_numpy(zero_copy_only=False)
    return lengths


def _lengths(column: pa.Array) -> pa.Array:
    """The bytes of each text of a column, once decoded; 0 for numbers."""
    if pa.types.is_dictionary(column.type):
        return _lengths(column.dictionary).take(column.indices)
    if pa.types.is_string_view(column.type):
        # A view has 16 bytes, of which the first 4 are the length of its text.
        views = np.frombuffer(column.buffers()[1] or b"", np.int32)[::4]
        lengths = pa.array(views[column.offset : column.offset + len(column)])
        return pc.if_else(column.is_valid(), lengths, 0)
    if column.type in _TEXT_TYPES:
        return pc.binary_length(column)
    return pa.array(np.zeros(len(column), np.int32))


def _slices(lengths: npt.NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Runs of rows with about `_BATCH_BYTES` together; a longer row is a run of its own."""
    ends = np.cumsum(lengths)
    start = 0
    while start < len(ends):
        limit = (ends[start - 1] if start else 0) + _BATCH_BYTES
        stop = max(start + 1, int(np.searchsorted(ends, limit, "right")))
        yield start, stop
        start = stop
