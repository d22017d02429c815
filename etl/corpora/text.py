"""Plain text and JSON lines as documents (Parquet, Arrow and WET have their own modules).

Plain text: a document is a block of lines between blank lines. Its name is ``path#byte=N`` with
its first byte in the decompressed file (``tail -c +$((N+1))`` shows it). Therefore a file of any
length is read as a stream, and its documents have the same names however it is split into units. A
file without blank lines is split at line ends into documents of at most `MAX_CHARACTERS` bytes.

JSON lines (by the first line or the name, ``.jsonl``, ``.ndjson``, ``.json``): one object per line,
with its text in the field `text_field` and its id in `id_field`. Without `id_field` the id is in
the first of ``id``, ``url`` and ``title`` that the object has, else it is ``path#byte=N``.

A line is a paragraph, except in blocks that were wrapped at a fixed width, such as the files of
Project Gutenberg: their lines are joined again, because a parser would treat each as a sentence.
"""

import itertools
import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from adnominal.conf.texts import json_value
from adnominal.etl.corpora.contents import (
    EXTRACTED,
    EXTRACTED_MARK,
    JSON_LINES,
    form_of,
    head_of,
)
from adnominal.etl.corpora.dialects import is_blank
from adnominal.etl.corpora.documents import (
    EVERY_DOCUMENT,
    MAX_CHARACTERS,
    Document,
    DocumentFilter,
    Event,
    LeftOut,
    Rejected,
    sample_of,
)
from adnominal.etl.corpora.files import Unit, UnitStream
from adnominal.etl.corpora.normalisation import (
    has_line_end_hyphen,
    is_cut,
    join_lines,
    normal_form,
    without_marks,
    without_page_numbers,
)

MAX_LINE_BYTES = 64 << 20
"""A longer line is rejected."""

# A unit is read to the first blank line after its end; if there is none within this many bytes, to
# the first line end after them.
_BLANK_WITHIN = 4 << 20
_BLOCK = 1 << 20
_JSON_NAME = re.compile(r"\.(?:jsonl|ndjson|json)(?:\.\w+)?$", re.IGNORECASE)
_WARC_NAME = re.compile(r"\.(?:warc|wet)(?:\.wet)?(?:\.(?:gz|zst|bz2))?$", re.IGNORECASE)
ID_FIELDS = ("id", "url", "title")
"""The fields that may contain the id of a record, in this order, if no field is named."""


def is_json_lines(path: str) -> bool:
    """Whether a file's name, apart from its compression suffix, is that of JSON lines."""
    return _JSON_NAME.search(path) is not None


def is_wet(path: str) -> bool:
    """Whether a file's name, apart from its compression suffix, is that of a WARC file."""
    return _WARC_NAME.search(path) is not None


def read_unit(
    unit: Unit,
    text_field: str = "text",
    id_field: str | None = None,
    document_filter: DocumentFilter = EVERY_DOCUMENT,
) -> Iterator[Event]:
    """The documents of a unit (see `etl.corpora.files.units`, kind ``lines``), in order.

    `Rejected` reasons: ``invalid_utf8``, ``nul``, ``line_too_long``, ``too_long``; in JSON lines
    also ``bad_json`` (not a JSON object), ``no_field``, ``not_text``, ``invalid_unicode`` (half a
    surrogate pair). In plain text a bad line rejects its whole block, because a sentence with a gap
    would yield wrong pairs. `LeftOut` reasons: ``empty`` and those of `document_filter`. CRLF line
    ends and a byte order mark are removed.

    Raises `etl.corpora.files.Unreadable` if the file is damaged.
    """
    form = form_of(head_of(unit.path))
    with UnitStream(unit) as stream:
        if form == JSON_LINES or is_json_lines(unit.path):
            yield from _json_documents(unit, stream, text_field, id_field, document_filter)
        else:
            mark = EXTRACTED_MARK if form == EXTRACTED else None
            yield from _plain_documents(unit, stream, document_filter, mark)


# ------------------------------------------------------------------------------------- lines


@dataclass(slots=True)
class _Line:
    data: bytes  # without the line end; only the first bytes if the line is too long
    start: int  # offset in the stream of the unit: only plain files have ranges
    number: int | None  # from 1, if the stream begins with the file
    too_long: bool = False


def _lines(stream: UnitStream) -> Iterator[_Line]:
    """The lines of a stream, from the first that begins in it to the end of the file."""
    buffer = b""
    base = 0
    number = 0
    reached_line_start = stream.from_start
    long_line: _Line | None = None

    def next_line(data: bytes, too_long: bool = False) -> _Line:
        nonlocal number
        number += 1
        if too_long or len(data) > MAX_LINE_BYTES:
            data, too_long = data[:4096], True
        data = data.removesuffix(b"\r")
        return _Line(data, base, number if stream.from_start else None, too_long)

    if reached_line_start:
        buffer = stream.read(_BLOCK)
        if buffer.startswith(BOM_UTF8):
            buffer, base = buffer[len(BOM_UTF8) :], len(BOM_UTF8)
    while True:
        *complete, tail = buffer.split(b"\n")
        for data in complete:
            if not reached_line_start:
                reached_line_start, long_line = True, None
            elif long_line is not None:
                yield long_line
                long_line = None
            else:
                yield next_line(data)
            base += len(data) + 1
        if len(tail) > MAX_LINE_BYTES or long_line is not None:
            if long_line is None:
                long_line = next_line(tail, too_long=True)
            base += len(tail)
            tail = b""
        # The parts of a long line are joined once per doubling, not once per block.
        blocks = [tail]
        missing_bytes = max(_BLOCK, len(tail))
        while missing_bytes > 0 and (block := stream.read(min(missing_bytes, _BLOCK))):
            blocks.append(block)
            missing_bytes -= len(block)
        if len(blocks) == 1:
            break
        buffer = b"".join(blocks)
    if reached_line_start and (long_line or tail):
        yield long_line or next_line(tail)


# ------------------------------------------------------------------------------------- plain text


def _plain_documents(
    unit: Unit,
    stream: UnitStream,
    document_filter: DocumentFilter,
    mark: re.Pattern[bytes] | None = None,
) -> Iterator[Event]:
    """The documents of a unit of plain text: blocks of lines between blank ones."""
    # A line that is a `mark` counts as blank.
    # Two units that meet at byte x are separated at the first line that begins after x and is
    # blank, or that begins more than _BLANK_WITHIN after x. Both find it from the file alone.
    in_unit = stream.from_start
    block: list[_Line] = []
    size = 0
    for line in _lines(stream):
        blank = is_blank(line.data) and not line.too_long
        if mark is not None and not blank:
            blank = mark.fullmatch(line.data) is not None
        if not in_unit:
            if not blank and line.start <= _BLANK_WITHIN:
                continue
            in_unit = True
        beyond = 0 if stream.limit is None else line.start - stream.limit
        if beyond > (0 if blank else _BLANK_WITHIN):
            break
        if block and (blank or size + len(line.data) >= MAX_CHARACTERS):
            yield from _documents_of_block(unit, block, document_filter)
            block, size = [], 0
        if not blank:
            block.append(line)
            size += len(line.data) + 1
    if block:
        yield from _documents_of_block(unit, block, document_filter)


def _documents_of_block(
    unit: Unit, block: list[_Line], document_filter: DocumentFilter
) -> Iterator[Event]:
    """The document that a block of lines is, or the reason why it gives none."""
    texts = []
    for line in block:
        fault = "line_too_long" if line.too_long else "nul" if b"\0" in line.data else ""
        try:
            texts.append(line.data.decode())
        except UnicodeDecodeError:
            fault = fault if line.too_long else "invalid_utf8"
        if fault:
            offset = unit.start + line.start
            yield Rejected(fault, sample_of(line.data), line.number, offset)
            return
    offset = unit.start + block[0].start
    text = normal_form(without_marks("\n".join(_paragraphs(texts))))
    document = Document(f"{unit.path}#byte={offset}", text)
    if not text.strip():  # it had only invisible characters
        yield LeftOut("empty", document.id)
        return
    for event in document_filter.events(document, offset):
        yield replace(event, line=block[0].number) if isinstance(event, Rejected) else event


_MIN_WRAP_WIDTH, _MAX_WRAP_WIDTH = 40, 120


def _paragraphs(lines: list[str]) -> list[str]:
    """The paragraphs of a block: its lines, or one paragraph if the block was wrapped.

    The block was wrapped if a line ends within a word, or if its longest line has between 40 and
    120 characters and no line but the last has room for the first word of the next.
    """
    lines = [" ".join(line.split()) for line in lines]
    # Most blocks have no hyphen at a line end, which one search tells.
    may_be_cut = len(lines) > 1 and has_line_end_hyphen("\n".join(lines))
    if may_be_cut:
        lines = without_page_numbers(lines)
    if len(lines) == 1 or not _is_wrapped(lines, may_be_cut):
        return lines
    parts = [lines[0]]
    for line in lines[1:]:
        if is_cut(parts[-1], line):
            parts[-1] = join_lines(parts[-1], line)
        elif parts[-1][-2:-1].isalpha() and parts[-1][-1] == "-" and line[:1].isupper():
            parts[-1] += line  # "non-", "English"
        else:
            parts.append(line)
    return [" ".join(parts)]


def _is_wrapped(lines: list[str], may_be_cut: bool) -> bool:
    """Whether the lines of a block were cut at a width, and are one paragraph.

    They were if a word is cut at the end of one (which `may_be_cut` lets expect), or if no line has
    room for the first word of the next.
    """
    if may_be_cut and any(itertools.starmap(is_cut, itertools.pairwise(lines))):
        return True
    width = max(map(len, lines))
    if not _MIN_WRAP_WIDTH <= width <= _MAX_WRAP_WIDTH:
        return False
    return all(
        len(line) + 1 + len(following.partition(" ")[0]) > width
        for line, following in itertools.pairwise(lines)
    )


# ------------------------------------------------------------------------------------- JSON lines


def _json_documents(
    unit: Unit,
    stream: UnitStream,
    text_field: str,
    id_field: str | None,
    document_filter: DocumentFilter,
) -> Iterator[Event]:
    """The documents of a unit of JSON lines, or the reason why a line gives none."""
    id_fields = [id_field] if id_field else [name for name in ID_FIELDS if name != text_field]
    for line in _lines(stream):
        if stream.limit is not None and line.start > stream.limit:
            return
        if not line.too_long and is_blank(line.data):
            continue
        line.data = line.data.removeprefix(BOM_UTF8)  # of a file that another was appended to
        offset, sample = unit.start + line.start, sample_of(line.data)
        record, fault = ({}, "line_too_long") if line.too_long else _record(line.data, text_field)
        if fault:
            yield Rejected(fault, sample, line.number, offset)
            continue
        ids = (record.get(field) for field in id_fields)
        name = next(filter(None, map(_id_text, ids)), f"{unit.path}#byte={offset}")
        for event in text_events(name, record[text_field], sample, document_filter):
            if isinstance(event, Rejected):
                event = replace(event, line=line.number, offset=offset)
            yield event


def _record(data: bytes, text_field: str) -> tuple[dict[str, Any], str]:
    """The JSON object on a line, and the reason why it is not a document; empty if it is one."""
    if b"\0" in data:
        return {}, "nul"
    try:
        record = json_value(data.decode())
    except UnicodeDecodeError:
        return {}, "invalid_utf8"
    except ValueError:
        return {}, "bad_json"
    if not isinstance(record, dict):
        return {}, "bad_json"
    if text_field not in record:
        return {}, "no_field"
    return record, "" if isinstance(record[text_field], str) else "not_text"


def _id_text(value: object) -> str:
    """The id that a field contains; empty if it is blank, or neither text nor a whole number."""
    is_id = isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip()
    return str(value) if is_id else ""


# ------------------------------------------------------------------------------------- records


def text_events(
    name: str, text: str, sample: str, document_filter: DocumentFilter = EVERY_DOCUMENT
) -> Iterator[Event]:
    """The text of a record as a document called `name`, or the reason why it is not a document.

    Lines are paragraphs, except in blocks wrapped at a fixed width; blank lines are removed.
    `sample` shows the record if it is rejected.
    """
    if "\0" in text or "\0" in name:
        yield Rejected("nul", sample)
        return
    try:
        (text + name).encode()
    except UnicodeEncodeError:  # half a surrogate pair
        yield Rejected("invalid_unicode", sample)
        return
    paragraphs: list[str] = []
    block: list[str] = []
    for line in [*text.splitlines(), ""]:
        if line.strip():
            block.append(line)
        elif block:
            paragraphs += _paragraphs(block)
            block = []
    readable_text = normal_form(without_marks("\n".join(paragraphs)))
    if not readable_text.strip():
        yield LeftOut("empty", name)
        return
    yield from document_filter.events(Document(name, readable_text))
