"""Common Crawl's WET files: one record per page, with its text, named by its URL.

Records are read by warcio from the decompressed file, so that a damaged archive is reported as for
every other source (`etl.corpora.files.Unreadable`). Only records of the kind ``conversion`` contain
text.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from warcio.archiveiterator import ArchiveIterator
from warcio.exceptions import ArchiveLoadFailed

from adnominal.etl.corpora.documents import (
    EVERY_DOCUMENT,
    DocumentFilter,
    Event,
    LeftOut,
    Rejected,
    sample_of,
)
from adnominal.etl.corpora.files import Unit, Unreadable, open_input
from adnominal.etl.corpora.languages import header_languages
from adnominal.etl.corpora.text import MAX_LINE_BYTES, text_events

_LENGTH = re.compile(r"\d{1,18}")
_NEXT_RECORD, _NEXT_BYTES = re.compile(rb"\r\n\r\nWARC/1\.\d\r\n"), 16


class _Records(ArchiveIterator):  # type: ignore[misc]
    INC_RECORD = ""  # warcio would print it on standard error; `err_count` counts the same faults


def read_unit(unit: Unit, document_filter: DocumentFilter = EVERY_DOCUMENT) -> Iterator[Event]:
    """The documents of a file, in order; the unit that begins the file reads all of it.

    `Rejected` reasons: ``bad_header`` (no URL or length), ``truncated_record`` (fewer bytes than
    its header says), ``bad_length`` (more), ``line_too_long`` (a record over 64 MB),
    ``invalid_utf8`` and those of `etl.corpora.text.text_events`. `LeftOut` reasons:
    ``cut_by_crawler`` (the page was truncated when it was fetched), ``empty`` and those of
    `document_filter`; the first language in a record's header, if it has any, is that of its text.

    Raises:
        Unreadable: truncated or damaged; not WARC; no record that contains text.
    """
    if unit.start:
        return
    with open_input(unit.path) as stream:
        head = stream.peek(8)[:8]
        if not head.startswith(b"WARC/"):
            raise Unreadable(
                unit.path, f"not a WARC file, whatever its name: it begins with {head!r}"
            )
        records = _Records(stream)
        texts = 0
        try:
            for record in records:
                if record.rec_type == "conversion":
                    texts += 1
                    yield from _checked_events(records, record, document_filter)
        except ArchiveLoadFailed as error:
            words = " ".join(str(error).split())
            raise Unreadable(unit.path, f"damaged WARC data: {words}") from error
    if not texts:
        raise Unreadable(
            unit.path,
            "it has no record of the kind conversion; expected the text of pages, as in "
            ".warc.wet.gz (a .warc.gz of responses has HTML)",
        )


def _checked_events(
    records: _Records, record: Any, document_filter: DocumentFilter
) -> Iterator[Event]:
    """The events of a record if its length is that of its header; else its rejection."""
    events = list(_events(record, document_filter))
    faults = records.err_count
    records.read_to_end(record)  # to the first line of the next record
    if records.err_count > faults and not any(isinstance(event, Rejected) for event in events):
        name = record.rec_headers.get_header("WARC-Target-URI") or ""
        yield Rejected("bad_length", sample_of(name))
    else:
        yield from events


def _events(record: Any, document_filter: DocumentFilter) -> Iterator[Event]:
    """The documents of a record, or the reason why it gives none.

    A language in the record's header is believed; without one, it is detected from the text.
    """
    headers = record.rec_headers
    name = (headers.get_header("WARC-Target-URI") or "").strip()
    text = _text_of(record, name)
    if not isinstance(text, str):
        yield text
        return
    stated = header_languages(headers.get_header("WARC-Identified-Content-Language"))
    if document_filter.language and stated:
        if stated[0] != document_filter.language:
            yield LeftOut("language", name)
            return
        document_filter = replace(document_filter, language=None)
    yield from text_events(name, text, sample_of(text[:400]), document_filter)


def _refuse_records_inside(record: Any, name: str, data: bytes = b"") -> None:
    """Raise `ArchiveLoadFailed` if other records lie in the rest of a record, after `data`.

    warcio reads a record without a length, or with one beyond the file's end, to that end.
    """
    while data or (data := record.raw_stream.read(1 << 20)):
        if _NEXT_RECORD.search(data):
            raise ArchiveLoadFailed(
                f"the record of {name or 'no URL'} has no length or a wrong one, and the records "
                "behind it cannot be told from it"
            )
        block = record.raw_stream.read(1 << 20)
        data = data[-_NEXT_BYTES:] + block if block else b""


def _text_of(record: Any, name: str) -> str | Event:
    """The text of a record called `name`, or the event that it gives instead.

    Raises:
        ArchiveLoadFailed: the record's length is wrong, and other records follow within what was
            read as this one (`_refuse_records_inside`).
    """
    headers = record.rec_headers
    length = headers.get_header("Content-Length") or ""
    if not name or not _LENGTH.fullmatch(length):
        _refuse_records_inside(record, name)
        return Rejected("bad_header", sample_of(name or str(headers.to_str())))
    if int(length) > MAX_LINE_BYTES:
        _refuse_records_inside(record, name)
        return Rejected("line_too_long", sample_of(f"{length} bytes: {name}"))
    data = record.raw_stream.read(int(length))
    if len(data) < int(length):
        _refuse_records_inside(record, name, data)
        return Rejected("truncated_record", sample_of(f"{len(data)} of {length} bytes: {name}"))
    if headers.get_header("WARC-Truncated"):
        return LeftOut("cut_by_crawler", name)
    try:
        return str(data.decode())
    except UnicodeDecodeError:
        return Rejected("invalid_utf8", sample_of(data))
