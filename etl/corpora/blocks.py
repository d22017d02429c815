"""Pre-parsed corpora as blocks of bytes that contain whole sentences.

A block ends between two sentences: after a blank line, or before a line that begins with ``>>>>>``
(the flat layout of DepCC). A file that has neither is split before a ``#`` line that follows a row,
which also ends a sentence.
"""

import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from typing import Any, Protocol

from adnominal.etl.corpora.dialects import SENTENCE_MARK, WHITE_SPACE

BLOCK = 1 << 20  # fits the second-level cache of a core, so that it is still cached when it is read
LIMIT = 64 << 20

_SENTENCE_MARK_LINE = b"\n" + SENTENCE_MARK
_BOUNDARY = re.compile(rb"\n(?=(" + WHITE_SPACE + rb"*\n)|" + SENTENCE_MARK + rb")")
_LINE_OF_WHITE_SPACE = re.compile(rb"\n" + WHITE_SPACE + rb"+\n")
_WINDOW = 1 << 16
_FIRST_WINDOW = 1 << 12  # some sentences


class NoBoundary(ValueError):
    """More bytes without the end of a sentence than any known layout has."""


class Stream(Protocol):
    """A binary stream; reading ranges needs one that can seek."""

    def readinto(self, buffer: Any, /) -> int | None: ...
    def seek(self, offset: int, /) -> int: ...


def blocks(
    stream: Stream, *, size: int = BLOCK, limit: int = LIMIT, start: int = 0, end: int | None = None
) -> Iterator[memoryview]:
    """The bytes of `stream`, in order, as blocks of about `size` bytes with whole sentences.

    A block is valid until the next one is requested, because all share one buffer. `start` and
    `end` (bytes) restrict the reading to a range of a file that can seek: it begins at the first
    boundary at or after `start` and stops at the first one at or after `end`, so that adjacent
    ranges read each byte exactly once. Ranges meet only at blank lines and ``>>>>>`` lines, which
    are recognised without reading far back. A byte order mark at the beginning of the file is
    skipped.

    Raises `NoBoundary` if `limit` bytes contain no boundary, and whatever `stream` raises.
    """
    is_beginning = not start
    for block in _blocks(stream, size, limit, start, end):
        if is_beginning and block[: len(BOM_UTF8)].tobytes() == BOM_UTF8:
            block = block[len(BOM_UTF8) :]
        is_beginning = False
        if block:
            yield block


def _blocks(
    stream: Stream, size: int, limit: int, start: int, end: int | None
) -> Iterator[memoryview]:
    """The blocks of the file, including a byte order mark."""
    stop = None
    if start or end is not None:
        stop = None if end is None else _boundary_from(stream, end)
        start = _boundary_from(stream, start)
        stream.seek(start)
    remaining = None if stop is None else max(0, stop - start)

    buffer = bytearray(size)
    view = memoryview(buffer)
    fill_size = 0
    while True:
        while fill_size < len(view):
            read_end = len(view) if remaining is None else min(len(view), fill_size + remaining)
            read_size = stream.readinto(view[fill_size:read_end]) or 0
            if not read_size:
                break
            fill_size += read_size
            if remaining is not None:
                remaining -= read_size
        else:
            boundary = _last_boundary(buffer, fill_size)
            if boundary:
                yield view[:boundary]
                view[: fill_size - boundary] = view[boundary:fill_size]
                fill_size -= boundary
                continue
            if fill_size >= limit:
                raise NoBoundary(
                    f"{fill_size} bytes without the end of a sentence; expected a blank line, a "
                    "comment or a `>>>>>` line after each (is the file in a known layout?)"
                )
            buffer = bytearray(min(2 * fill_size, limit))
            buffer[:fill_size] = view
            view = memoryview(buffer)
            continue
        if fill_size:
            yield view[:fill_size]
        return


def _last_boundary(buffer: bytearray, stop: int) -> int:
    """The last boundary in the first `stop` bytes, 0 if there is none."""
    # The end is searched first: a search for a mark that does not occur reads the whole buffer.
    window = _FIRST_WINDOW
    while True:
        window_start = max(0, stop - window)
        blank = buffer.rfind(b"\n\n", window_start, stop)
        blank_crlf = buffer.rfind(b"\n\r\n", window_start, stop)
        marked = buffer.rfind(_SENTENCE_MARK_LINE, window_start, stop)
        boundary = max(blank + 2 if blank >= 0 else 0, blank_crlf + 3 if blank_crlf >= 0 else 0)
        boundary = max(boundary, marked + 1)
        if boundary or not window_start:
            break
        window *= 8
    if boundary:
        return boundary
    for match in _LINE_OF_WHITE_SPACE.finditer(buffer, 0, stop):
        boundary = match.end()
    if boundary:
        return boundary
    comment = buffer.rfind(b"\n#", 0, stop)
    while comment >= 0:
        line = buffer.rfind(b"\n", 0, comment) + 1
        if not buffer.startswith((b"#", SENTENCE_MARK), line):
            return comment + 1
        comment = buffer.rfind(b"\n#", 0, comment)
    return 0


def _boundary_from(stream: Stream, offset: int) -> int:
    """The first boundary at or after `offset`.

    A boundary is the byte after a blank line, the first byte of a ``>>>>>`` line, and the beginning
    or the end of the file.
    """
    if offset <= 0:
        return 0
    # The bytes that make a boundary begin at most 3 bytes before it and end 5 bytes after it.
    base = max(0, offset - 3)
    stream.seek(base)
    window = bytearray(_WINDOW)
    data = b""
    while True:
        read_size = stream.readinto(window) or 0
        data += window[:read_size]
        for match in _BOUNDARY.finditer(data):
            boundary = base + match.end() + len(match[1] or b"")
            if boundary >= offset:
                return boundary
        if not read_size:
            return max(offset, base + len(data))
        overlap = min(len(data), len(_SENTENCE_MARK_LINE))
        base += len(data) - overlap
        data = data[-overlap:]
