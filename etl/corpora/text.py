"""Texts as documents: plain text and JSON lines here; Parquet, Arrow and WET by their own modules.

Plain text: a document is a block of lines between blank lines, named ``path#byte=N`` after its
first byte in the decompressed file (``tail -c +$((N+1))`` shows it). So a file of any length is
read as a stream, and its documents have the same names however it is cut into units. A file without
blank lines is cut at line ends into documents of at most `MAX_CHARACTERS` bytes.

JSON lines (``.jsonl``, ``.ndjson``, ``.json``, compressed or not): one object a line, its text in
the field `text_field`, its id in `id_field`, or else in ``id``, ``url`` or ``title`` if one is
there, else as above.

A line is a paragraph, except in blocks that were wrapped at a fixed width, as the files of Project
Gutenberg are: their lines are joined again, since a parser would take each for a sentence.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from etl.corpora.documents import (
    MAX_CHARACTERS,
    Document,
    Event,
    LeftOut,
    Rejected,
    normal_form,
    pieces,
    sample_of,
)
from etl.corpora.files import Unit, UnitStream

MAX_LINE_BYTES = 64 << 20
"""A longer line is rejected."""

# A unit ends at the first blank line behind its end; where none comes within so many bytes, at the
# first line end behind them.
_BLANK_WITHIN = 4 << 20
_BLOCK = 1 << 20
_BOM = b"\xef\xbb\xbf"
_JSON_NAME = re.compile(r"\.(?:jsonl|ndjson|json)(?:\.\w+)?$", re.IGNORECASE)
_WARC_NAME = re.compile(r"\.(?:warc|wet)(?:\.wet)?(?:\.(?:gz|zst|bz2))?$", re.IGNORECASE)
ID_FIELDS = ("id", "url", "title")
"""Where a record's id is looked for, in this order, if no field is named."""


def is_json_lines(path: str) -> bool:
    """Whether a file's name, without the suffix of its compression, says that it is JSON lines."""
    return _JSON_NAME.search(path) is not None


def is_wet(path: str) -> bool:
    """Whether a file's name, without the suffix of its compression, says that it is a WARC file."""
    return _WARC_NAME.search(path) is not None


def read_unit(unit: Unit, text_field: str = "text", id_field: str | None = None) -> Iterator[Event]:
    """The documents of a unit (see `etl.corpora.files.units`, kind ``lines``), in order.

    `Rejected` reasons: ``invalid_utf8``, ``nul``, ``line_too_long``, ``too_long``; in JSON lines
    also ``bad_json`` (no JSON object), ``no_field``, ``not_text``, ``invalid_unicode`` (half a
    surrogate pair). In plain text a bad line takes its block along: a sentence that is torn at the
    gap would give wrong pairs. `LeftOut` reason: ``empty``. CRLF line ends and a byte order mark
    are taken off.

    Raises `etl.corpora.files.Unreadable` if the file is damaged.
    """
    with UnitStream(unit) as stream:
        if is_json_lines(unit.path):
            yield from _json_documents(unit, stream, text_field, id_field)
        else:
            yield from _plain_documents(unit, stream)


# ------------------------------------------------------------------------------------- lines


@dataclass(slots=True)
class _Line:
    data: bytes  # without its end; the first bytes alone where it is too long
    start: int  # offset in the stream
    number: int | None  # from 1, where the stream begins with the file
    too_long: bool = False


def _lines(stream: UnitStream) -> Iterator[_Line]:
    """The lines of a stream, from the first that begins in it, to the end of the file."""
    buffer = b""
    base = 0
    number = 0
    first = stream.from_start
    skipping: _Line | None = None
    if first:
        buffer = stream.read(_BLOCK)
        if buffer.startswith(_BOM):
            buffer, base = buffer[len(_BOM) :], len(_BOM)
    while True:
        *whole, rest = buffer.split(b"\n")
        for data in whole:
            if not first:
                first, skipping = True, None
            elif skipping is not None:
                yield skipping
                skipping = None
            else:
                number += 1
                numbered = number if stream.from_start else None
                yield _Line(data[:-1] if data[-1:] == b"\r" else data, base, numbered)
            base += len(data) + 1
        if len(rest) > MAX_LINE_BYTES or skipping is not None:
            if skipping is None:
                number += 1
                numbered = number if stream.from_start else None
                skipping = _Line(rest[:4096], base, numbered, too_long=True)
            base += len(rest)
            rest = b""
        # A long line is put together once for each doubling, not once for each block.
        blocks = [rest]
        wanted = max(_BLOCK, len(rest))
        while wanted > 0 and (block := stream.read(min(wanted, _BLOCK))):
            blocks.append(block)
            wanted -= len(block)
        if len(blocks) == 1:
            break
        buffer = b"".join(blocks)
    if skipping is not None:
        if first:
            yield skipping
    elif rest and first:
        numbered = number + 1 if stream.from_start else None
        yield _Line(rest[:-1] if rest[-1:] == b"\r" else rest, base, numbered)


def _place(unit: Unit, start: int) -> int:
    """An offset in the stream as an offset in the decompressed file: ranges are of plain files."""
    return unit.start + start


# ------------------------------------------------------------------------------------- plain text


def _plain_documents(unit: Unit, stream: UnitStream) -> Iterator[Event]:
    # The border of two units behind byte x is the first line beginning after x that is blank, or
    # begins more than _BLANK_WITHIN after x: both find it from the file alone.
    inside = stream.from_start
    block: list[_Line] = []
    size = 0
    for line in _lines(stream):
        blank = not line.data.strip() and not line.too_long
        if not inside:
            if not blank and line.start <= _BLANK_WITHIN:
                continue
            inside = True
        limit = stream.limit
        if (
            limit is not None
            and line.start > limit
            and (blank or line.start > limit + _BLANK_WITHIN)
        ):
            break
        if block and (blank or size + len(line.data) >= MAX_CHARACTERS):
            yield from _block_documents(unit, block)
            block, size = [], 0
        if not blank:
            block.append(line)
            size += len(line.data) + 1
    if block:
        yield from _block_documents(unit, block)


def _block_documents(unit: Unit, block: list[_Line]) -> Iterator[Event]:
    texts = []
    for line in block:
        place = _place(unit, line.start)
        if line.too_long:
            yield Rejected("line_too_long", sample_of(line.data), line.number, place)
            return
        fault = "nul" if b"\0" in line.data else ""
        try:
            texts.append(line.data.decode())
        except UnicodeDecodeError:
            fault = "invalid_utf8"
        if fault:
            yield Rejected(fault, sample_of(line.data), line.number, place)
            return
    place = _place(unit, block[0].start)
    text = normal_form("\n".join(_paragraphs(texts)))
    for event in pieces(Document(f"{unit.path}#byte={place}", text), offset=place):
        if isinstance(event, Rejected):
            event = Rejected(event.reason, event.sample, block[0].number, place)
        yield event


_MIN_WIDTH, _MAX_WIDTH = 40, 120
_BROKEN_WORD = re.compile(r".*[^\W\d_]-", re.DOTALL).fullmatch


def _paragraphs(lines: list[str]) -> list[str]:
    """The paragraphs of a block of lines: the lines, or all in one if the block was wrapped.

    It was wrapped if its longest line has between 40 and 120 characters and no line but the last
    has room for the first word of the next.
    """
    lines = [" ".join(line.split()) for line in lines]
    width = max(map(len, lines))
    if len(lines) == 1 or not _MIN_WIDTH <= width <= _MAX_WIDTH:
        return lines
    for line, following in itertools.pairwise(lines):
        if len(line) + 1 + len(following.partition(" ")[0]) <= width:
            return lines
    joined = lines[0]
    for line in lines[1:]:
        # "well-" and "known" were one word, whatever broke it.
        space = "" if line[:1].islower() and _BROKEN_WORD(joined[-2:]) else " "
        joined = f"{joined}{space}{line}"
    return [joined]


# ------------------------------------------------------------------------------------- JSON lines


def _json_documents(
    unit: Unit, stream: UnitStream, text_field: str, id_field: str | None
) -> Iterator[Event]:
    names = (id_field,) if id_field else ID_FIELDS
    for line in _lines(stream):
        if stream.limit is not None and line.start > stream.limit:
            return
        place = _place(unit, line.start)
        if line.too_long:
            yield Rejected("line_too_long", sample_of(line.data), line.number, place)
        elif line.data.strip():
            for event in _json_document(line.data, f"{unit.path}#byte={place}", text_field, names):
                if isinstance(event, Rejected):
                    event = Rejected(event.reason, event.sample, line.number, place)
                yield event


def _json_document(
    data: bytes, place: str, text_field: str, id_fields: Sequence[str]
) -> Iterator[Event]:
    sample = sample_of(data)
    if b"\0" in data:
        yield Rejected("nul", sample)
        return
    try:
        record = json.loads(data.decode())
    except UnicodeDecodeError:
        yield Rejected("invalid_utf8", sample)
        return
    except (ValueError, RecursionError):
        yield Rejected("bad_json", sample)
        return
    if not isinstance(record, dict):
        yield Rejected("bad_json", sample)
        return
    if text_field not in record:
        yield Rejected("no_field", sample)
        return
    text = record[text_field]
    if not isinstance(text, str):
        yield Rejected("not_text", sample)
        return
    name = place
    for field in id_fields:
        value = record.get(field)
        if isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip():
            name = str(value)
            break
    yield from text_events(name, text, sample)


# ------------------------------------------------------------------------------------- records


def text_events(name: str, text: str, sample: str) -> Iterator[Event]:
    """A record's text as a document called `name`, or the reason why it is none.

    Lines are paragraphs, but for blocks wrapped at a fixed width; blank lines are taken out.
    `sample` shows the record where it is rejected.
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
    if not paragraphs:
        yield LeftOut("empty", name)
        return
    yield from pieces(Document(name, normal_form("\n".join(paragraphs))))
