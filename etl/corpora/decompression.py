"""Detect the compression of a file; read bz2 and zstd files with many members.

A complete member of an archive (gzip member, bz2 stream, zstd frame) may be followed by another
member, which is read too, or by zero bytes, which are padding and end the file. Anything else is
damage. Readers that ignore such a tail, as ``bzip2`` does, silently lose the rest of a download
whose parts were joined badly.
"""

import bz2
import io
import os
from typing import Any, BinaryIO, Literal, cast

import zstandard

from adnominal.conf import UserError

EXPANSION_VARIABLE = "ADNOMINAL_MAX_EXPANSION"
"""Environment variable for the largest ratio of decompressed to stored size (default 200)."""

Compression = Literal["gzip", "bz2", "zstd", "plain", "xz", "zip", "lz4"]
_NOT_READ: dict[bytes, Compression] = {
    b"\xfd7zX": "xz",
    b"PK\x03\x04": "zip",
    b"\x04\x22\x4d\x18": "lz4",
}
NOT_READ = frozenset(_NOT_READ.values())
"""Compressions that are recognised only to name them in the error."""

BLOCK = 1 << 17
# zstd has no limit for the output of one call, and 4 bytes can expand to 128 KiB: small portions
# keep a hostile file from exhausting the memory.
_ZSTD_PORTION = 1 << 13


def compression_of(first_bytes: bytes) -> Compression:
    """The compression of a file by its first four or more bytes; a shorter file is plain."""
    if first_bytes[:2] == b"\x1f\x8b":
        return "gzip"
    if first_bytes[:3] == b"BZh" and first_bytes[3:4] in b"123456789" and len(first_bytes) > 3:
        return "bz2"
    # A zstd file may begin with a skippable frame (as pzstd's do), magic 184D2A50 to 184D2A5F.
    if first_bytes[:4] == b"\x28\xb5\x2f\xfd" or (
        first_bytes[1:4] == b"\x2a\x4d\x18" and first_bytes[0] & 0xF0 == 0x50
    ):
        return "zstd"
    return _NOT_READ.get(first_bytes[:4], "plain")


def max_expansion() -> int:
    """The largest ratio of decompressed to stored size, from `EXPANSION_VARIABLE`.

    Raises:
        UserError: the variable is not a whole number above 0.
    """
    text = os.environ.get(EXPANSION_VARIABLE, "200")
    if not text.isascii() or not text.isdigit() or not int(text):
        raise UserError(f"{EXPANSION_VARIABLE}={text}: expected a whole number above 0")
    return int(text)


def _only_padding_follows(tail: bytes, source: BinaryIO) -> bool:
    """Whether only zero bytes follow up to the end of the file."""
    while not tail.strip(b"\0"):
        tail = source.read(BLOCK)
        if not tail:
            return True
    return False


class Bz2Reader(io.RawIOBase):
    """All bz2 streams from the position of `source` on.

    `limit` is that of `etl.corpora.files.UnitStream`.
    """

    def __init__(self, source: BinaryIO, position: int, end: int | None) -> None:
        self._source = source
        self._end = end
        self._read_position = position  # stored offset after the bytes read so far
        self._decompressor: bz2.BZ2Decompressor | None = None
        self._unread = b""
        self._bytes_written = 0
        self.limit: int | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        while True:
            if self._decompressor is None and not self._begin_stream():
                return 0
            decompressor = cast("bz2.BZ2Decompressor", self._decompressor)
            if decompressor.needs_input and not self._unread:
                self._unread = self._source.read(BLOCK)
                self._read_position += len(self._unread)
                if not self._unread:
                    raise EOFError
            data = decompressor.decompress(self._unread, len(view))
            self._unread = b""
            if decompressor.eof:
                self._unread = decompressor.unused_data
                self._decompressor = None
                if (
                    self._end is not None
                    and self.limit is None
                    and self._read_position - len(self._unread) >= self._end
                ):
                    self.limit = self._bytes_written + len(data)
            if data:
                view[: len(data)] = data
                self._bytes_written += len(data)
                return len(data)

    def _begin_stream(self) -> bool:
        """Begin the next stream, if there is one."""
        while len(self._unread) < 4 and (more := self._source.read(BLOCK)):
            self._unread += more
            self._read_position += len(more)
        if not self._unread:
            return False
        if compression_of(self._unread) != "bz2":
            if len(self._unread) < 4 and b"BZh".startswith(self._unread[:3]):
                raise EOFError
            if _only_padding_follows(self._unread, self._source):
                self._unread = b""
                return False
            raise OSError("bytes that are not bz2 follow a complete stream")
        self._decompressor = bz2.BZ2Decompressor()
        return True


class ZstdReader(io.RawIOBase):
    """All zstd frames from the position of `source` on; windows up to 2 GiB (``--long=31``)."""

    def __init__(self, source: BinaryIO) -> None:
        self._source = source
        self._decompressor = zstandard.ZstdDecompressor(max_window_size=2**31)
        self._frame: Any = None
        self._unread = b""
        self._decompressed = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        while not self._decompressed:
            data = self._unread or self._source.read(_ZSTD_PORTION)
            self._unread = b""
            if self._frame is None:
                if not data.strip(b"\0") and _only_padding_follows(data, self._source):
                    return 0
                self._frame = self._decompressor.decompressobj()
            if not data:
                # zstandard itself treats the end of the input as the end of the frame.
                raise EOFError
            self._decompressed = memoryview(self._frame.decompress(data))
            if self._frame.eof:
                self._unread = self._frame.unused_data
                self._frame = None
        count = min(len(view), len(self._decompressed))
        view[:count] = self._decompressed[:count]
        self._decompressed = self._decompressed[count:]
        return count
