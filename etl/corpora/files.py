"""Input files: finding them, opening them whatever their compression, cutting them into units.

Compression is told by a file's first bytes, never by its name. Every fault of an archive, from
whatever library, comes out as `Unreadable` with plain words, so that a job can record the file and
go on with the others.

What follows a complete archive member: another member is read on (gzip members, bz2 streams, zstd
frames), zero bytes are padding and end the file, and anything else is damage. Readers that ignore
such a tail, as ``bzip2`` does, lose the rest of a badly joined download without a word.
"""

from __future__ import annotations

import bz2
import glob
import io
import itertools
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, BinaryIO, Literal, NoReturn, cast

import fsspec
import zstandard
from fsspec.registry import known_implementations
from isal.igzip_lib import IsalError

# GzipFile.readinto, which IGzipFile inherits, reads bytes and copies them; its C reader fills the
# caller's buffer. isal names that class with an underscore but exports it from both its modules.
from isal.isal_zlib import _GzipReader

from conf import UserError

Compression = Literal["gzip", "bz2", "zstd", "plain"]

_BLOCK = 1 << 17
# zstd gives no way to bound what one call puts out, and 4 bytes can stand for 128 KiB: small
# portions keep a hostile file from taking the memory.
_ZSTD_PORTION = 1 << 13

EXPANSION_VARIABLE = "ADNOMINAL_MAX_EXPANSION"
"""Environment variable: how many times its stored size a file may decompress to (200)."""
_NO_BOMB = 1 << 30  # what so little unpacks to does no harm


class Unreadable(Exception):
    """A file that cannot be read to its end: `path`, and `reason` in plain words."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason

    def __reduce__(self) -> tuple[type[Unreadable], tuple[str, str]]:
        # Spark sends it between processes; the default would call it with one argument.
        return type(self), (self.path, self.reason)


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file to read: an absolute path or a URI, its size as stored and its last modification
    (UTC; 1970-01-01 where the store does not tell)."""

    path: str
    bytes: int
    modified: datetime


@dataclass(frozen=True, slots=True)
class Unit:
    """A share of a file for one task: the records that begin in the stored bytes from start to end.

    `bytes` is the size of the whole file. For bz2 the range counts compressed bytes and stands for
    the streams that begin in it. Readers find the first record behind a border from the file alone,
    so adjacent units give every record exactly once, wherever the borders fall.
    """

    path: str
    bytes: int
    start: int
    end: int

    @property
    def whole(self) -> bool:
        """Whether the unit is the whole file."""
        return self.start == 0 and self.end >= self.bytes


# ------------------------------------------------------------------------------------- finding

_MAGIC_CHARACTERS = re.compile(r"[*?[]")
_INDEX_NAME = re.compile(r"-multistream-index\d*\.txt(-p\d+p\d+)?(\.bz2)?$")
_ALIASES = {"s3a": "s3", "s3n": "s3"}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def list_inputs(patterns: Sequence[str]) -> list[InputFile]:
    """The files that `patterns` name, each once, sorted by path.

    A pattern is a local path, a glob (``*``, ``**``, ``?``, ``[]``), a folder (every file below it)
    or a URI that fsspec knows (``file://``, ``s3://``, ``s3a://``, ``hdfs://`` ...), with the same
    globs and folders. A path that exists under its literal name is not read as a glob. Below a
    folder or a wildcard, names that begin with ``.`` or ``_`` are left out (``_SUCCESS``).
    The index files of multistream Wikipedia dumps are left out everywhere: they hold no text, and
    a stream's beginning is recognised without them.

    Raises `UserError` for a pattern without files, an empty or unreadable file, and a kind of URI
    whose package is not installed.
    """
    if not patterns:
        raise UserError("no input given; write input=PATH, a glob, a folder or a URI")
    found: dict[str, InputFile] = {}
    for pattern in patterns:
        protocol, separator, rest = pattern.partition("://")
        if separator and protocol.lower() not in ("file", "local"):
            files = _remote(pattern)
        else:
            files = _local(rest if separator else pattern, pattern)
        kept = [file for file in files if not _INDEX_NAME.search(file.path)]
        if not kept:
            what = "only the index of a dump; give the dump itself" if files else "no file found"
            raise UserError(f"input {pattern!r}: {what}")
        for file in kept:
            if file.bytes == 0:
                raise UserError(f"input {file.path}: the file is empty; remove it from the input")
            found[file.path] = file
    return [found[path] for path in sorted(found)]


def _left_out(relative: str) -> bool:
    return any(part.startswith((".", "_")) for part in relative.split("/") if part)


def _fixed_part(pattern: str) -> str:
    """The folder above the first wildcard of a pattern."""
    found = _MAGIC_CHARACTERS.search(pattern)
    return pattern if found is None else pattern[: pattern.rfind("/", 0, found.start()) + 1]


def _asked_for(pattern: str) -> Callable[[str], bool]:
    """Whether a match of a glob is meant: hidden names only if the pattern spells them out."""
    if re.search(r"(^|/)[._]", pattern[len(_fixed_part(pattern)) :]):
        return lambda path: True
    return lambda path: not _left_out(path[len(_fixed_part(pattern)) :])


def _local(path: str, pattern: str) -> list[InputFile]:
    path = os.path.abspath(os.path.expanduser(path))
    if os.path.lexists(path) or not _MAGIC_CHARACTERS.search(path):
        if not os.path.exists(path):
            raise UserError(f"input {pattern!r}: no such file or folder")
        return [_local_file(found) for found in _below(path)]
    meant = _asked_for(path)
    matches = [match for match in glob.glob(path, recursive=True) if meant(match)]
    return [_local_file(found) for match in matches for found in _below(match)]


def _below(path: str) -> Iterator[str]:
    if not os.path.isdir(path):
        yield path
        return

    def fail(error: OSError) -> NoReturn:
        reason = error.strerror or str(error)
        raise UserError(f"input {error.filename}: the folder cannot be read: {reason}")

    for folder, folders, names in os.walk(path, onerror=fail):
        folders[:] = sorted(name for name in folders if not _left_out(name))
        for name in sorted(names):
            if not _left_out(name):
                yield os.path.join(folder, name)


def _local_file(path: str) -> InputFile:
    try:
        status = os.stat(path)
        with open(path, "rb"):
            pass
    except OSError as error:
        reason = error.strerror or str(error)
        raise UserError(f"input {path}: the file cannot be read: {reason}") from error
    return InputFile(path, status.st_size, datetime.fromtimestamp(status.st_mtime, UTC))


def _aliased(uri: str) -> str:
    protocol, separator, rest = uri.partition("://")
    return _ALIASES.get(protocol.lower(), protocol.lower()) + separator + rest


def _file_system(uri: str) -> tuple[Any, str]:
    """The fsspec file system of a URI, and the path in it; `UserError` where there is none."""
    uri = _aliased(uri)
    protocol = uri.partition("://")[0]
    try:
        system, path = fsspec.core.url_to_fs(uri)
    except ImportError as error:
        hint = known_implementations.get(protocol, {}).get("err") or str(error)
        raise UserError(f"input {uri}: {protocol}:// needs a package: {hint}") from error
    except ValueError as error:
        raise UserError(f"input {uri}: {error}; give a path or a URI that fsspec knows") from error
    except OSError as error:
        raise UserError(f"input {uri}: {protocol}:// cannot be used: {error}") from error
    return system, cast("str", path)


def _remote(uri: str) -> list[InputFile]:
    system, path = _file_system(uri)
    # What stands before the path (protocol, host) and comes back in every file's URI: a worker
    # must reach the same store.
    plain = _aliased(uri).rstrip("/")
    prefix = plain.removesuffix(path.rstrip("/"))
    try:
        # With details, a listing of 100,000 objects costs its pages and no request for each object.
        if system.exists(path):
            matches = {path: system.info(path)}
        elif _MAGIC_CHARACTERS.search(path):
            meant = _asked_for(path)
            globbed = system.glob(path, detail=True)
            matches = {match: info for match, info in globbed.items() if meant(match)}
        else:
            raise UserError(f"input {uri!r}: no such file or folder")
        infos = {}
        for match, info in matches.items():
            if info["type"] != "directory":
                infos[match] = info
                continue
            below = system.find(match, detail=True)
            infos |= {f: below[f] for f in below if not _left_out(f[len(match) :])}
    except UserError:
        raise
    except Exception as error:
        # Each store's client raises its own kinds (missing credentials, no such host).
        raise UserError(f"input {uri}: cannot be listed: {error}") from error
    return [_remote_file(prefix + path, info) for path, info in sorted(infos.items())]


# What the clients of S3, Azure, Google, Arrow (HDFS) and the memory store call it.
_TIMES = ("LastModified", "last_modified", "updated", "mtime", "modified", "created")


def _remote_file(uri: str, info: dict[str, Any]) -> InputFile:
    if info.get("size") is None:
        raise UserError(f"input {uri}: the store does not tell its size; copy the file first")
    modified = next((info[key] for key in _TIMES if info.get(key)), _EPOCH)
    if isinstance(modified, str):
        modified = datetime.fromisoformat(modified)
    elif not isinstance(modified, datetime):
        modified = datetime.fromtimestamp(modified, UTC)
    if modified.tzinfo is None:
        modified = modified.replace(tzinfo=UTC)
    return InputFile(uri, int(info["size"]), modified.astimezone(UTC))


# ------------------------------------------------------------------------------------- opening


def compression_of(first_bytes: bytes) -> Compression:
    """The compression that a file's first four bytes (or more) show; a shorter file is plain."""
    if first_bytes[:2] == b"\x1f\x8b":
        return "gzip"
    if first_bytes[:3] == b"BZh" and first_bytes[3:4] in b"123456789" and len(first_bytes) > 3:
        return "bz2"
    # A zstd file may begin with a skippable frame (as pzstd's do), magic 184D2A50 to 184D2A5F.
    if first_bytes[:4] == b"\x28\xb5\x2f\xfd" or (
        first_bytes[1:4] == b"\x2a\x4d\x18" and first_bytes[0] & 0xF0 == 0x50
    ):
        return "zstd"
    return "plain"


# isal's stub gives IsalError as an instance.
_FAULTS = (OSError, ValueError, cast("type[Exception]", IsalError), zstandard.ZstdError)


def _faults(path: str) -> tuple[type[Exception], ...]:
    # The clients of remote stores raise exceptions of their own.
    return (Exception,) if "://" in path else _FAULTS


def _words(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def open_stored(path: str) -> BinaryIO:
    """The file's bytes as stored, seekable; `Unreadable` where it cannot be opened."""
    try:
        if "://" not in path:
            return open(path, "rb", buffering=0)
        system, inside = _file_system(path)
        return cast("BinaryIO", system.open(inside, "rb"))
    except _faults(path) as error:
        raise Unreadable(path, f"cannot be opened: {_words(error)}") from error


def _head(path: str, stored: BinaryIO, size: int) -> bytes:
    """Up to `size` first bytes; the file stands at its beginning afterwards."""
    try:
        parts = []
        while size > 0 and (part := stored.read(size)):
            parts.append(part)
            size -= len(part)
        stored.seek(0)
    except _faults(path) as error:
        raise Unreadable(path, f"cannot be read: {_words(error)}") from error
    return b"".join(parts)


def _padding_only(rest: bytes, stored: BinaryIO) -> bool:
    """Whether nothing but zero bytes follows up to the end of the file."""
    while not rest.strip(b"\0"):
        rest = stored.read(_BLOCK)
        if not rest:
            return True
    return False


class _Bz2Reader(io.RawIOBase):
    """All bz2 streams from where `stored` stands; `limit` as in `UnitStream`."""

    def __init__(self, stored: BinaryIO, position: int, end: int | None) -> None:
        self._stored = stored
        self._end = end
        self._next = position  # stored offset behind the bytes read so far
        self._decompressor: bz2.BZ2Decompressor | None = None
        self._waiting = b""
        self._put_out = 0
        self.limit: int | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        while True:
            if self._decompressor is None and not self._begin():
                return 0
            decompressor = cast("bz2.BZ2Decompressor", self._decompressor)
            if decompressor.needs_input and not self._waiting:
                self._waiting = self._stored.read(_BLOCK)
                self._next += len(self._waiting)
                if not self._waiting:
                    raise EOFError
            data = decompressor.decompress(self._waiting, len(view))
            self._waiting = b""
            if decompressor.eof:
                self._waiting = decompressor.unused_data
                self._decompressor = None
                if (
                    self._end is not None
                    and self.limit is None
                    and self._next - len(self._waiting) >= self._end
                ):
                    self.limit = self._put_out + len(data)
            if data:
                view[: len(data)] = data
                self._put_out += len(data)
                return len(data)

    def _begin(self) -> bool:
        """Start on the next stream, if there is one."""
        while len(self._waiting) < 4 and (more := self._stored.read(_BLOCK)):
            self._waiting += more
            self._next += len(more)
        if not self._waiting:
            return False
        if compression_of(self._waiting) != "bz2":
            if len(self._waiting) < 4 and b"BZh".startswith(self._waiting[:3]):
                raise EOFError
            if _padding_only(self._waiting, self._stored):
                self._waiting = b""
                return False
            raise OSError("bytes that are not bz2 follow a complete stream")
        self._decompressor = bz2.BZ2Decompressor()
        return True


class _ZstdReader(io.RawIOBase):
    """All zstd frames from where `stored` stands; windows up to 2 GiB (``--long=31``)."""

    def __init__(self, stored: BinaryIO) -> None:
        self._stored = stored
        self._decompressor = zstandard.ZstdDecompressor(max_window_size=2**31)
        self._frame: Any = None
        self._waiting = b""
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        while not self._ready:
            data = self._waiting or self._stored.read(_ZSTD_PORTION)
            self._waiting = b""
            if self._frame is None:
                if not data.strip(b"\0") and _padding_only(data, self._stored):
                    return 0
                self._frame = self._decompressor.decompressobj()
            if not data:
                # zstandard itself takes the end of the input for the end of the frame.
                raise EOFError
            self._ready = memoryview(self._frame.decompress(data))
            if self._frame.eof:
                self._waiting = self._frame.unused_data
                self._frame = None
        count = min(len(view), len(self._ready))
        view[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count


def most_expansion() -> int:
    """How many times its stored size a file may decompress to, from `EXPANSION_VARIABLE`.

    Raises:
        UserError: the variable holds no whole number above 0.
    """
    text = os.environ.get(EXPANSION_VARIABLE, "200")
    if not text.isascii() or not text.isdigit() or not int(text):
        raise UserError(f"{EXPANSION_VARIABLE}={text}: expected a whole number above 0")
    return int(text)


class _Checked(io.RawIOBase):
    """`inner`, with every fault of reading or decompressing turned into `Unreadable`.

    So is data that unpacks to more than text does: gigabytes out of megabytes of zeros.
    """

    def __init__(self, path: str, inner: Any, stored: BinaryIO, compression: Compression) -> None:
        self._path = path
        self._inner = inner
        self._stored = stored
        self._compression = compression
        # Bound once: the call is made for every block read.
        self._fill: Callable[[Any], int | None] = inner.readinto
        self._put_out = 0
        self._looked_at = _NO_BOMB if compression != "plain" else sys.maxsize
        self._most = most_expansion()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        # Ranges are read of plain files alone; in an archive a byte has no place of its own.
        return self._compression == "plain"

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        if not self.seekable():
            raise io.UnsupportedOperation(f"{self._compression} data is read forwards only")
        try:
            return int(self._inner.seek(offset, whence))
        except _faults(self._path) as error:
            raise Unreadable(self._path, f"cannot be read: {_words(error)}") from error

    def tell(self) -> int:
        return int(self._inner.tell()) if self.seekable() else super().tell()

    def readinto(self, buffer: Any) -> int:
        try:
            size = self._fill(buffer) or 0
        except EOFError as error:
            reason = f"truncated: the file ends in the middle of its {self._compression} data"
            raise Unreadable(self._path, reason) from error
        except _faults(self._path) as error:
            if self._compression == "plain":
                reason = f"cannot be read: {_words(error)}"
            else:
                reason = f"damaged {self._compression} data: {_words(error)}"
            raise Unreadable(self._path, reason) from error
        self._put_out += size
        if self._put_out > self._looked_at:
            self._refuse_bomb()
        return size

    def _refuse_bomb(self) -> None:
        taken = max(self._stored.tell(), 1)
        if self._put_out > self._most * taken:
            raise Unreadable(
                self._path,
                f"{self._put_out} bytes unpacked from {taken}, more than {self._most} times as "
                f"much: no text is so repetitive; where it is meant, set {EXPANSION_VARIABLE}",
            )
        self._looked_at = self._put_out + _NO_BOMB

    def close(self) -> None:
        if not self.closed:
            self._stored.close()
        super().close()


def open_input(path: str, start: int = 0) -> BinaryIO:
    """The decompressed bytes of a file, as a buffered stream to be read forwards; that of a plain
    file can seek.

    gzip, bz2 and zstd are told by the file's first bytes, anything else is read as it stands; all
    members of an archive are read. `start` is a byte of the stored file: for an archive it must be
    the beginning of a member. ``readinto`` with a large buffer decompresses gzip right into it.

    Raises `Unreadable` here if the file cannot be opened, and on reading if it is truncated or
    damaged.
    """
    return _open(path, start, None)[0]


def _open(path: str, start: int, end: int | None) -> tuple[BinaryIO, _Bz2Reader | None]:
    stored = open_stored(path)
    compression = compression_of(_head(path, stored, 4))
    if start:
        stored.seek(start)
    bz2_reader = None
    inner: Any
    if compression == "gzip":
        inner = _GzipReader(stored, 4 * _BLOCK)
    elif compression == "zstd":
        inner = _ZstdReader(stored)
    elif compression == "bz2":
        inner = bz2_reader = _Bz2Reader(stored, start, end)
    else:
        inner = stored if hasattr(stored, "readinto") else io.BufferedReader(cast("Any", stored))
    checked = _Checked(path, inner, stored, compression)
    return cast("BinaryIO", io.BufferedReader(checked, _BLOCK)), bz2_reader


# --------------------------------------------------------------------------------------- units

# The magic bytes of a stream and of its first block: ten bytes that random data shows once in 2^77.
_STREAM = re.compile(rb"BZh[1-9]\x31\x41\x59\x26\x53\x59")
_STREAM_BYTES = 10
# A stream of a multistream dump holds 100 pages, well under 1 MB; those of pbzip2 hold 900 kB of
# text, less when compressed. A file without a second stream in its first 8 MB is taken as one.
_SECOND_STREAM_WITHIN = 8 << 20


def units(
    file: InputFile, kind: Literal["xml", "lines", "whole"], target_bytes: int = 64 << 20
) -> list[Unit]:
    """`file` as units of about `target_bytes` stored bytes, in order, covering it without overlap.

    ``xml`` (a MediaWiki export) can be cut where it is plain or bz2 of many streams, ``lines``
    (JSON lines, plain text) where it is plain; everything else is one unit. Costs one read of the
    file's first bytes, and of up to 8 MB for a bz2 file larger than `target_bytes`.

    Raises `Unreadable` if the file cannot be opened.
    """
    one = [Unit(file.path, file.bytes, 0, file.bytes)]
    count = round(file.bytes / max(1, target_bytes))
    if count < 2 or kind == "whole":
        return one
    with open_stored(file.path) as stored:
        compression = compression_of(_head(file.path, stored, 4))
        if compression == "bz2" and kind == "xml":
            head = _head(file.path, stored, _SECOND_STREAM_WITHIN)
            if _STREAM.search(head, 1) is None:
                return one
        elif compression != "plain":
            return one
    borders = [file.bytes * part // count for part in range(count + 1)]
    return [Unit(file.path, file.bytes, start, end) for start, end in itertools.pairwise(borders)]


class UnitStream:
    """The decompressed data of a unit, from its first byte on and past its end.

    A record that begins in the unit may end behind it, so `read` goes on to the end of the file.
    `limit` is the offset in this stream at which the unit's own data ends: None until it is
    known, and for ever where the unit ends with the file. It is known before a byte behind it is
    handed out. `from_start` tells whether the stream begins with the file.
    """

    def __init__(self, unit: Unit) -> None:
        self.from_start = unit.start == 0
        self._limit: int | None = None
        self._bz2: _Bz2Reader | None = None
        self._stream: BinaryIO
        start, end = unit.start, None if unit.end >= unit.bytes else unit.end
        if unit.whole:
            self._stream = open_input(unit.path)
            return
        with open_stored(unit.path) as stored:
            compression = compression_of(_head(unit.path, stored, 4))
            if compression == "bz2" and start:
                start = _first_stream(unit, stored)
        if compression not in ("plain", "bz2"):
            raise ValueError(f"{unit.path}: {compression} data has no ranges")
        if start >= unit.end:
            self._limit = 0
            self._stream = cast("BinaryIO", io.BytesIO())
            return
        self._stream, self._bz2 = _open(unit.path, start, end)
        if compression == "plain" and end is not None:
            self._limit = end - start

    @property
    def limit(self) -> int | None:
        """Where in this stream the unit's own data ends, as far as that is known by now."""
        return self._limit if self._bz2 is None else self._bz2.limit

    def read(self, size: int) -> bytes:
        """Up to `size` further bytes; nothing at the end of the file."""
        return self._stream.read(size)

    def close(self) -> None:
        self._stream.close()

    def __enter__(self) -> UnitStream:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _first_stream(unit: Unit, stored: BinaryIO) -> int:
    """Where the first bz2 stream at or behind `unit.start` begins; `unit.end` if none before it."""
    try:
        stored.seek(unit.start)
        position, kept = unit.start, b""
        # The magic of a stream that begins just before the end reaches behind it.
        while position < unit.end + _STREAM_BYTES and (data := stored.read(8 * _BLOCK)):
            window = kept + data
            found = _STREAM.search(window)
            if found:
                return min(unit.end, position - len(kept) + found.start())
            position += len(data)
            kept = window[-(_STREAM_BYTES - 1) :]
    except _faults(unit.path) as error:
        raise Unreadable(unit.path, f"cannot be read: {_words(error)}") from error
    return unit.end
