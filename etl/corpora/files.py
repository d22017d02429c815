"""Open input files in any supported compression, and split them into units.

The first bytes of a file decide its compression, never its name. Every fault of an archive, from
any library, is raised as `Unreadable` with a plain reason, so that a job can record the file and
continue with the others.
"""

from __future__ import annotations

import io
import itertools
import re
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, BinaryIO, Literal, cast

import zstandard
from isal.igzip_lib import IsalError

# GzipFile.readinto, which IGzipFile inherits, reads bytes and copies them; its C reader fills the
# caller's buffer. isal names that class with an underscore but exports it from both its modules.
from isal.isal_zlib import _GzipReader

from adnominal.etl.corpora.decompression import (
    BLOCK,
    EXPANSION_VARIABLE,
    NOT_READ,
    Bz2Reader,
    Compression,
    ZstdReader,
    compression_of,
    max_expansion,
)
from adnominal.etl.corpora.inputs import InputFile, file_system
from adnominal.etl.engine import progress

_HARMLESS_BYTES = 1 << 30  # less decompressed data than this is never refused
_REPORTED_AT_ONCE = 8 << 20  # bytes of decompressed data


class Unreadable(Exception):
    """A file that cannot be read to its end; `reason` states why in plain words."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason

    def __reduce__(self) -> tuple[type[Unreadable], tuple[str, str]]:
        # Spark sends it between processes; the default would call the class with one argument.
        return type(self), (self.path, self.reason)


@dataclass(frozen=True, slots=True)
class Unit:
    """A share of a file for one task: the records that begin in the stored bytes from start to end.

    `bytes` is the size of the whole file. For bz2 the range is in compressed bytes and selects the
    streams that begin in it. Readers find the first record after a border from the file alone, so
    adjacent units yield every record exactly once, wherever the borders are.
    """

    path: str
    bytes: int
    start: int
    end: int

    @property
    def is_whole_file(self) -> bool:
        """Whether the unit is the whole file."""
        return self.start == 0 and self.end >= self.bytes


# ------------------------------------------------------------------------------------- opening


# The stub of isal declares IsalError as an instance.
_READ_ERRORS = (OSError, ValueError, cast("type[Exception]", IsalError), zstandard.ZstdError)


def _error_types(path: str) -> tuple[type[Exception], ...]:
    # The client of each remote store raises its own exceptions.
    return (Exception,) if "://" in path else _READ_ERRORS


def _error_text(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def open_stored(path: str) -> BinaryIO:
    """The bytes of the file as stored, seekable; raises `Unreadable` if it cannot be opened."""
    try:
        if "://" not in path:
            return open(path, "rb", buffering=0)
        system, inside = file_system(path)
        return cast("BinaryIO", system.open(inside, "rb"))
    except _error_types(path) as error:
        raise Unreadable(path, f"cannot be opened: {_error_text(error)}") from error


def _head(path: str, source: BinaryIO, size: int) -> bytes:
    """Up to `size` first bytes; afterwards the file is positioned at its beginning."""
    try:
        parts = []
        while size > 0 and (part := source.read(size)):
            parts.append(part)
            size -= len(part)
        source.seek(0)
    except _error_types(path) as error:
        raise Unreadable(path, f"cannot be read: {_error_text(error)}") from error
    return b"".join(parts)


def check_expansion(path: str, unpacked_bytes: int, stored_bytes: int, limit: int) -> None:
    """Raise `Unreadable` where data unpacked to more than `limit` times its size, and to a GiB."""
    if unpacked_bytes > max(_HARMLESS_BYTES, limit * max(stored_bytes, 1)):
        raise Unreadable(
            path,
            f"{unpacked_bytes} bytes unpacked from {stored_bytes}, more than {limit} times as "
            f"much: no text is so repetitive; where it is meant, set {EXPANSION_VARIABLE}",
        )


class _CheckedReader(io.RawIOBase):
    """The reader `inner`, with every error of reading or decompressing turned into `Unreadable`.

    Data that decompresses to more than text does (gigabytes from megabytes of zeros) is such an
    error too.
    """

    def __init__(self, path: str, inner: Any, source: BinaryIO, compression: Compression) -> None:
        self._path = path
        self._inner = inner
        self._stored = source
        self._compression = compression
        # Bound once, because it is called for every block.
        self._fill: Callable[[Any], int | None] = inner.readinto
        self._bytes_read = 0
        self._next_report = _REPORTED_AT_ONCE
        self._next_check = _HARMLESS_BYTES if compression != "plain" else sys.maxsize
        self._max_expansion = max_expansion()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        # Only plain files are read in ranges: a byte of an archive has no fixed position.
        return self._compression == "plain"

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        if not self.seekable():
            raise io.UnsupportedOperation(f"{self._compression} data is read forwards only")
        try:
            return int(self._inner.seek(offset, whence))
        except _error_types(self._path) as error:
            raise Unreadable(self._path, f"cannot be read: {_error_text(error)}") from error

    def tell(self) -> int:
        return int(self._inner.tell()) if self.seekable() else super().tell()

    def readinto(self, buffer: Any) -> int:
        try:
            size = self._fill(buffer) or 0
        except EOFError as error:
            reason = f"truncated: the file ends in the middle of its {self._compression} data"
            raise Unreadable(self._path, reason) from error
        except _error_types(self._path) as error:
            if self._compression == "plain":
                reason = f"cannot be read: {_error_text(error)}"
            else:
                reason = f"damaged {self._compression} data: {_error_text(error)}"
            raise Unreadable(self._path, reason) from error
        self._bytes_read += size
        if self._bytes_read > self._next_report:
            progress.reached(self._stored.tell())
            self._next_report = self._bytes_read + _REPORTED_AT_ONCE
        if self._bytes_read > self._next_check:
            check_expansion(self._path, self._bytes_read, self._stored.tell(), self._max_expansion)
            self._next_check = self._bytes_read + _HARMLESS_BYTES
        return size

    def close(self) -> None:
        if not self.closed:
            self._stored.close()
        super().close()


def open_input(path: str) -> io.BufferedReader:
    """The decompressed bytes of a file, as a buffered stream that is read forwards.

    The stream of a plain file can seek. gzip, bz2 and zstd are recognised by the first bytes of the
    file, as are xz, zip and lz4, which are not read; anything else is read unchanged. All members
    of an archive are read. ``readinto`` with a large buffer decompresses gzip directly into it.

    Raises `Unreadable` if the file cannot be opened or has another compression, and on reading if
    it is truncated or damaged.
    """
    return _open(path, 0, None)[0]


def _open(path: str, start: int, end: int | None) -> tuple[io.BufferedReader, Bz2Reader | None]:
    """The unpacked bytes of a file from byte `start` on, and the reader if it is bz2.

    Of a bz2 file, `end` is where no further stream is begun.
    """
    source = open_stored(path)
    compression = compression_of(_head(path, source, 4))
    if compression in NOT_READ:
        source.close()
        expected = "expected gz, bz2, zst or an uncompressed file; unpack it first"
        raise Unreadable(path, f"{compression} data; {expected}")
    if start:
        source.seek(start)
    bz2_reader = None
    inner: Any
    if compression == "gzip":
        inner = _GzipReader(source, 4 * BLOCK)
    elif compression == "zstd":
        inner = ZstdReader(source)
    elif compression == "bz2":
        inner = bz2_reader = Bz2Reader(source, start, end)
    else:
        inner = source if hasattr(source, "readinto") else io.BufferedReader(cast("Any", source))
    checked_reader: io.RawIOBase = _CheckedReader(path, inner, source, compression)
    reader: io.BufferedReader = io.BufferedReader(checked_reader, BLOCK)
    if compression != "plain" and not start and compression_of(reader.peek(4)) != "plain":
        reader.close()
        raise Unreadable(path, "compressed twice; decompress it once")
    return reader, bz2_reader


# --------------------------------------------------------------------------------------- units

# The magic bytes of a stream and of its first block. Random data has these ten bytes once in 2^77.
_STREAM_MAGIC = re.compile(rb"BZh[1-9]\x31\x41\x59\x26\x53\x59")
_STREAM_BYTES = 10
# A stream of a multistream dump contains 100 pages, well under 1 MB; those of pbzip2 contain 900 kB
# of text. A file without a second stream in its first 8 MB is treated as a single stream.
_SECOND_STREAM_WITHIN = 8 << 20


def units(
    file: InputFile, kind: Literal["xml", "lines", "whole"], target_bytes: int = 64 << 20
) -> list[Unit]:
    """Split `file` into adjacent units of about `target_bytes` stored bytes, in order.

    ``xml`` (a MediaWiki export) can be split if it is plain or bz2 with many streams, ``lines``
    (JSON lines, plain text) if it is plain; everything else is one unit. The first bytes of the
    file are read, and up to 8 MB of a bz2 file larger than `target_bytes`.

    Raises `Unreadable` if the file cannot be opened.
    """
    uncut = [Unit(file.path, file.bytes, 0, file.bytes)]
    count = round(file.bytes / max(1, target_bytes))
    if count < 2 or kind == "whole":
        return uncut
    with open_stored(file.path) as stored:
        compression = compression_of(_head(file.path, stored, 4))
        if compression == "bz2" and kind == "xml":
            head = _head(file.path, stored, _SECOND_STREAM_WITHIN)
            if _STREAM_MAGIC.search(head, 1) is None:
                return uncut
        elif compression != "plain":
            return uncut
    borders = [file.bytes * part // count for part in range(count + 1)]
    return [Unit(file.path, file.bytes, start, end) for start, end in itertools.pairwise(borders)]


class UnitStream(AbstractContextManager["UnitStream"]):
    """The decompressed data of a unit, from its first byte to the end of the file.

    A record that begins in the unit may end after it, so `read` continues to the end of the file.
    `from_start` tells whether the stream begins with the file.
    """

    def __init__(self, unit: Unit) -> None:
        self.from_start = unit.start == 0
        self._limit: int | None = None
        self._bz2: Bz2Reader | None = None
        self._stream: io.BufferedReader | io.BytesIO
        start, end = unit.start, None if unit.end >= unit.bytes else unit.end
        if unit.is_whole_file:
            self._stream = open_input(unit.path)
            return
        with open_stored(unit.path) as stored:
            compression = compression_of(_head(unit.path, stored, 4))
            if compression == "bz2" and start:
                start = _first_stream_offset(unit, stored)
        if compression not in ("plain", "bz2"):
            raise ValueError(f"{unit.path}: {compression} data has no ranges")
        if start >= unit.end:
            self._limit = 0
            self._stream = io.BytesIO()
            return
        self._stream, self._bz2 = _open(unit.path, start, end)
        if compression == "plain" and end is not None:
            self._limit = end - start

    @property
    def limit(self) -> int | None:
        """The offset in this stream at which the data of the unit ends.

        None until it is known, and always if the unit ends with the file. It is known before `read`
        returns a byte after it.
        """
        return self._limit if self._bz2 is None else self._bz2.limit

    def read(self, size: int) -> bytes:
        """Up to `size` further bytes; nothing at the end of the file."""
        return self._stream.read(size)

    def __exit__(self, *exc: object) -> None:
        self._stream.close()


def _first_stream_offset(unit: Unit, source: BinaryIO) -> int:
    """The offset of the first bz2 stream at or after `unit.start`; `unit.end` if there is none."""
    try:
        source.seek(unit.start)
        position, overlap = unit.start, b""
        # The magic bytes of a stream that begins just before the end extend beyond it.
        while position < unit.end + _STREAM_BYTES and (data := source.read(8 * BLOCK)):
            window = overlap + data
            match = _STREAM_MAGIC.search(window)
            if match:
                return min(unit.end, position - len(overlap) + match.start())
            position += len(data)
            overlap = window[-(_STREAM_BYTES - 1) :]
    except _error_types(unit.path) as error:
        raise Unreadable(unit.path, f"cannot be read: {_error_text(error)}") from error
    return unit.end
