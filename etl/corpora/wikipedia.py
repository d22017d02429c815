"""MediaWiki XML exports: the articles of a dump as documents of running text.

The export is split at ``<page>`` and ``</page>``, which is exact: everywhere else ``<`` is written
as an entity. Therefore a task can begin in the middle of a file, no XML tree is held in memory, and
no entity declaration or external reference in a hostile file is ever followed.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from adnominal.etl.corpora.documents import (
    EVERY_DOCUMENT,
    Document,
    DocumentFilter,
    Event,
    LeftOut,
    Rejected,
    sample_of,
)
from adnominal.etl.corpora.files import Unit, UnitStream, Unreadable
from adnominal.etl.corpora.wikitext import running_text

MAX_PAGE_BYTES = 64 << 20
"""A longer page is rejected: MediaWiki accepts 2 MB of text, so it is a history or not a page."""

_BLOCK = 1 << 20
_OPEN, _CLOSE = b"<page>", b"</page>"
_TITLE = re.compile(rb"<title>([^<]*)</title>")
_NAMESPACE = re.compile(rb"<ns>\s*(-?\d{1,9})\s*</ns>")
_MODEL = re.compile(rb"<model>([^<]*)</model>")
_CONTENT = re.compile(rb"<content(?:\s[^>]*)?>.*?</content>", re.DOTALL)
_MAIN_ROLE = re.compile(rb"<role>\s*main\s*</role>")
_REDIRECT = re.compile(r"\s*#redirect\b", re.IGNORECASE)
_ENTITY = re.compile(rb"&(?:[lg]t|quot|amp|apos|#(\d{1,7})|#x([0-9a-fA-F]{1,6}));")
_ENTITIES = {b"&lt;": b"<", b"&gt;": b">", b"&quot;": b'"', b"&amp;": b"&", b"&apos;": b"'"}


def read_unit(unit: Unit, document_filter: DocumentFilter = EVERY_DOCUMENT) -> Iterator[Event]:
    """At least one event for each page that begins in `unit`, in the order of the file.

    A page of the main namespace that is not a redirect yields a `Document` (id: its title), or
    several if its text is longer than a parser accepts. `LeftOut` reasons: ``namespace``,
    ``redirect``, ``model`` (not wikitext), ``empty`` (no running text: deleted, or only lists),
    those of `document_filter`, and those of `wikitext.running_text`, which leave out a construct
    and not the page.
    `Rejected` reasons: ``no_title``, ``no_namespace``, ``no_text``, ``invalid_utf8``, ``nul``,
    ``unterminated`` (no ``</page>`` before the next page or the end), ``page_too_long``,
    ``too_long``. The main slot of a page's last revision is read. One page at a time is held in
    memory.

    Raises `Unreadable` if the file is damaged, or if the unit is a whole file without a page.
    """
    empty = True
    with UnitStream(unit) as stream:
        for offset, page, fault in _pages_of_unit(stream):
            empty = False
            unread: Counter[str] = Counter()
            event = Rejected(fault, _label(page)) if fault else _event_of_page(page, unread)
            if isinstance(event, Document):
                yield from document_filter.events(event, offset)
            else:
                yield replace(event, offset=offset) if isinstance(event, Rejected) else event
            for reason in unread.elements():
                yield LeftOut(reason, _label(page))
    if empty and unit.is_whole_file:
        raise Unreadable(unit.path, "not a MediaWiki XML export: it has no <page>")


def _pages_of_unit(stream: UnitStream) -> Iterator[tuple[int, bytes, str]]:
    """Offset in the stream, bytes and fault (empty if none) of each page of the unit."""
    buffer = bytearray()
    base = 0  # offset of the buffer in the stream
    while True:
        start = buffer.find(_OPEN)
        while start < 0:
            # The last bytes may be the beginning of a tag and are kept.
            dropped_bytes = max(0, len(buffer) - len(_OPEN) + 1)
            del buffer[:dropped_bytes]
            base += dropped_bytes
            left = None if stream.limit is None else max(0, stream.limit - base)
            if left is not None and left <= len(buffer) and buffer.find(b"<", 0, left) < 0:
                return
            block = stream.read(_BLOCK)
            if not block:
                return
            buffer += block
            start = buffer.find(_OPEN)
        if stream.limit is not None and base + start >= stream.limit:
            return
        del buffer[:start]
        base += start

        search_start = len(_OPEN)
        fault = ""
        beginning = b""  # of a page that is too long to be kept
        while True:
            next_page = buffer.find(_OPEN, search_start)
            end = buffer.find(_CLOSE, search_start, next_page if next_page >= 0 else len(buffer))
            if end >= 0:
                end += len(_CLOSE)
                break
            if next_page >= 0:
                fault, end = fault or "unterminated", next_page
                break
            if len(buffer) > MAX_PAGE_BYTES:
                fault = "page_too_long"
                beginning = beginning or bytes(buffer[:4096])
                dropped_bytes = len(buffer) - len(_CLOSE) + 1
                del buffer[:dropped_bytes]
                base += dropped_bytes
            search_start = max(0 if fault else len(_OPEN), len(buffer) - len(_CLOSE) + 1)
            block = stream.read(_BLOCK)
            if not block:
                fault, end = fault or "unterminated", len(buffer)
                break
            buffer += block
        yield base, beginning or bytes(buffer[:end]), fault
        del buffer[:end]
        base += end


def _decoded_entity(entity: re.Match[bytes]) -> bytes:
    """The bytes of a predefined or numeric XML entity; no other entity is expanded."""
    known = _ENTITIES.get(entity[0])
    if known is not None:
        return known
    code = int(entity[1]) if entity[1] else int(entity[2], 16)
    # XML allows neither NUL nor surrogates.
    if 0 < code < 0xD800 or 0xDFFF < code < 0x110000:
        return chr(code).encode()
    return b""


def _label(page: bytes) -> str:
    """The title of a page, or its beginning if it has none."""
    title = _TITLE.search(page, 0, 4096)
    return sample_of(title[1] if title else page)


def _main_slot(revision: bytes) -> bytes:
    """The main slot of a revision: its model and text.

    Since version 0.11 of the export, further slots (captions of media, templates' data) are
    ``<content>`` elements after the main one, which is without such an element, or has the role
    ``main``.
    """
    contents = _CONTENT.findall(revision)
    main = [content for content in contents if _MAIN_ROLE.search(content)]
    return main[0] if main else _CONTENT.sub(b"", revision)


def _event_of_page(page: bytes, unread: Counter[str]) -> Event:
    """The event of a page; `unread` counts what its text lacks (`wikitext.running_text`)."""
    revision = page.find(b"<revision")
    head = page[:revision] if revision >= 0 else page
    title = _TITLE.search(head)
    if title is None or not title[1].strip():
        return Rejected("no_title", _label(page))
    namespace = _NAMESPACE.search(head)
    if namespace is None:
        return Rejected("no_namespace", _label(page))
    if int(namespace[1]) != 0:
        return LeftOut("namespace", _label(page))
    if b"<redirect" in head:
        return LeftOut("redirect", _label(page))
    slot = _main_slot(page[page.rfind(b"<revision") :]) if revision >= 0 else b""
    opening = slot.find(b"<text")
    begin = slot.find(b">", opening) + 1
    if opening < 0 or not begin:
        return Rejected("no_text", _label(page))
    if slot[begin - 2 : begin] == b"/>":
        return LeftOut("empty", _label(page))
    end = slot.find(b"</text>", begin)
    if end < 0:
        return Rejected("no_text", _label(page))
    model = _MODEL.search(slot)
    if model is not None and model[1].strip() != b"wikitext":
        return LeftOut("model", _label(page))
    raw = slot[begin:end]
    if b"\0" in raw or b"\0" in title[1]:
        return Rejected("nul", _label(page))
    try:
        name = _ENTITY.sub(_decoded_entity, title[1]).decode().strip()
        wikitext = _ENTITY.sub(_decoded_entity, raw).decode()
    except UnicodeDecodeError:
        return Rejected("invalid_utf8", _label(page))
    if _REDIRECT.match(wikitext):
        return LeftOut("redirect", name)
    text = running_text(wikitext, unread)
    return Document(name, text) if text else LeftOut("empty", name)
