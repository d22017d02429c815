"""Find the input files that paths, globs, folders and URIs name."""

import glob
import logging
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, NoReturn, cast
from urllib.request import url2pathname

import fsspec
from fsspec.registry import known_implementations

from adnominal.conf import UserError

_MAGIC_CHARACTERS = re.compile(r"[*?[]")
_INDEX_NAME = re.compile(r"-multistream-index\d*\.txt(-p\d+p\d+)?(\.bz2)?$")
_ALIASES = {"s3a": "s3", "s3n": "s3"}
_UNKNOWN_TIME = datetime(1970, 1, 1, tzinfo=UTC)

log = logging.getLogger("adnominal")


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file to read: absolute path or URI, stored size, and time of modification.

    The time is in UTC, 1970-01-01 if the store does not report it.
    """

    path: str
    bytes: int
    modified: datetime


def list_inputs(patterns: Sequence[str]) -> list[InputFile]:
    """The files that `patterns` name, each once, sorted by path.

    A pattern is a local path, a glob (``*``, ``**``, ``?``, ``[]``), a folder (every file below it,
    including links to folders) or a URI that fsspec knows (``file://``, ``s3://``, ``s3a://``,
    ``hdfs://``, ``hf://``, ``https://`` ...), with the same globs and folders. A path that exists
    under its literal name is not read as a glob. Below a folder or a wildcard, names that begin
    with ``.`` or ``_`` are ignored (``_SUCCESS``). A file and symbolic links to it are listed once,
    by the path with the fewest links. The index files of multistream Wikipedia dumps are always
    ignored: they contain no text, and the beginning of a stream is recognised without them.

    Raises `UserError` for a pattern without files, an empty or unreadable file, a pipe, a name that
    is not UTF-8, and a kind of URI whose package is not installed.
    """
    if not patterns:
        raise UserError("no input given; write input=PATH, a glob, a folder or a URI")
    by_path: dict[str, InputFile] = {}
    for pattern in patterns:
        protocol, separator, rest = pattern.partition("://")
        if separator and protocol.lower() not in ("file", "local"):
            files = _remote_files(pattern)
        else:
            files = _local_files(url2pathname(rest) if separator else pattern, pattern)
        dumps = [file for file in files if not _INDEX_NAME.search(file.path)]
        if not dumps:
            problem = "only the index of a dump; give the dump itself" if files else "no file found"
            raise UserError(f"input {pattern!r}: {problem}")
        for file in dumps:
            if file.bytes == 0:
                raise UserError(f"input {file.path}: the file is empty; remove it from the input")
            by_path[file.path] = file
    return [by_path[path] for path in _one_path_per_file(by_path)]


def _one_path_per_file(paths: Iterable[str]) -> list[str]:
    """`paths` sorted, without those that are symbolic links to another of them."""
    by_target: dict[str, list[str]] = {}
    for path in sorted(paths):
        by_target.setdefault(physical_path(path), []).append(path)
    several = [paths_of_file for paths_of_file in by_target.values() if len(paths_of_file) > 1]
    for paths_of_file in several:
        paths_of_file.sort(key=_number_of_links)
    if several:
        log.warning(
            "%d paths of the input are links to other files of the input; each file is read once "
            "(for example %s, not %s)",
            sum(map(len, several)) - len(several),
            *several[0][:2],
        )
    return sorted(paths_of_file[0] for paths_of_file in by_target.values())


def physical_path(path: str) -> str:
    """A local path without symbolic links; a URI is returned as it is."""
    return path if "://" in path else os.path.realpath(path)


def _number_of_links(path: str) -> int:
    """The number of parts of a local path that are symbolic links."""
    return sum(part.is_symlink() for part in (Path(path), *Path(path).parents))


def _is_hidden(relative: str) -> bool:
    return any(part.startswith((".", "_")) for part in relative.split("/") if part)


def _fixed_part(pattern: str) -> str:
    """The folder above the first wildcard of a pattern."""
    wildcard = _MAGIC_CHARACTERS.search(pattern)
    return pattern if wildcard is None else pattern[: pattern.rfind("/", 0, wildcard.start()) + 1]


def _glob_filter(pattern: str) -> Callable[[str], bool]:
    """A test of the matches of a glob: hidden names pass only if the pattern spells them out."""
    if re.search(r"(^|/)[._]", pattern[len(_fixed_part(pattern)) :]):
        return lambda path: True
    return lambda path: not _is_hidden(path[len(_fixed_part(pattern)) :])


def _local_files(path: str, pattern: str) -> list[InputFile]:
    """The files that a path or pattern stands for, those below folders included."""
    path = os.path.abspath(os.path.expanduser(path))
    if os.path.lexists(path) or not _MAGIC_CHARACTERS.search(path):
        if not os.path.exists(path):
            raise UserError(f"input {pattern!r}: no such file or folder")
        return [_local_file(file) for file in _files_below(path)]
    is_wanted = _glob_filter(path)
    matches = [match for match in glob.glob(path, recursive=True) if is_wanted(match)]
    return [_local_file(file) for match in matches for file in _files_below(match)]


def _files_below(path: str) -> Iterator[str]:
    """The files below a folder that are not hidden, in the order of their names."""
    if not os.path.isdir(path):
        yield path
        return

    def fail(error: OSError) -> NoReturn:
        reason = error.strerror or str(error)
        raise UserError(f"input {error.filename}: the folder cannot be read: {reason}")

    # Links to folders are followed after everything else, so that a folder is listed by its own
    # path if there is one, and never twice.
    starts = [path]
    visited: set[str] = set()
    for start in starts:
        for folder, folders, names in os.walk(start, onerror=fail):
            target = os.path.realpath(folder)
            if target in visited:
                folders.clear()
                continue
            visited.add(target)
            folders[:] = sorted(name for name in folders if not _is_hidden(name))
            below = (os.path.join(folder, name) for name in folders)
            starts += [subfolder for subfolder in below if os.path.islink(subfolder)]
            for name in sorted(names):
                if not _is_hidden(name):
                    yield os.path.join(folder, name)


def _local_file(path: str) -> InputFile:
    """A file that can be read, with its size and date; `UserError` says why it cannot."""
    try:
        path.encode()
    except UnicodeEncodeError as error:
        raise UserError(f"input {path!r}: the name is not UTF-8; rename the file") from error
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):  # opening a named pipe waits for its writer
            raise UserError(
                f"input {path}: expected a regular file, not a pipe, socket or device; write the "
                "data to a file, or remove it from the input"
            )
        with open(path, "rb"):
            pass
    except OSError as error:
        reason = error.strerror or str(error)
        raise UserError(f"input {path}: the file cannot be read: {reason}") from error
    return InputFile(path, status.st_size, datetime.fromtimestamp(status.st_mtime, UTC))


def _with_standard_protocol(uri: str) -> str:
    protocol, separator, rest = uri.partition("://")
    return _ALIASES.get(protocol.lower(), protocol.lower()) + separator + rest


def file_system(uri: str) -> tuple[Any, str]:
    """The fsspec file system of a URI, and the path in it; `UserError` if there is none."""
    uri = _with_standard_protocol(uri)
    protocol = uri.partition("://")[0]
    # Without this option the hub's client does not ask for the time of a file's last commit.
    options = {"expand_info": True} if protocol == "hf" else {}
    try:
        system, path = fsspec.core.url_to_fs(uri, **options)
    except ImportError as error:
        hint = known_implementations.get(protocol, {}).get("err") or str(error)
        raise UserError(f"input {uri}: {protocol}:// needs a package: {hint}") from error
    except ValueError as error:
        raise UserError(f"input {uri}: {error}; give a path or a URI that fsspec knows") from error
    except OSError as error:
        raise UserError(f"input {uri}: {protocol}:// cannot be used: {error}") from error
    return system, cast("str", path)


def _remote_files(uri: str) -> list[InputFile]:
    """The files of an object store that an address or pattern stands for."""
    system, path = file_system(uri)
    # The part before the path (protocol, host) is put into every file's URI, so that a worker
    # reaches the same store.
    plain = _with_standard_protocol(uri).rstrip("/")
    prefix = plain.removesuffix(path.rstrip("/"))
    try:
        # A listing with details needs one request for each page of it, not one for each object.
        if system.exists(path):
            matches = {path: system.info(path)}
        elif _MAGIC_CHARACTERS.search(path):
            is_wanted = _glob_filter(path)
            globbed = system.glob(path, detail=True)
            matches = {match: info for match, info in globbed.items() if is_wanted(match)}
        else:
            raise UserError(f"input {uri!r}: no such file or folder")
        infos = {}
        for match, info in matches.items():
            if info["type"] != "directory":
                infos[match] = info
                continue
            nested = system.find(match, detail=True)
            infos |= {f: nested[f] for f in nested if not _is_hidden(f[len(match) :])}
    except UserError:
        raise
    except Exception as error:
        # The client of each store raises its own exceptions (missing credentials, no such host).
        raise UserError(f"input {uri}: cannot be listed: {error}") from error
    return [_remote_file(prefix + path, info) for path, info in sorted(infos.items())]


# The key of the time in the clients of S3, Azure, Google, Arrow (HDFS), the memory store and HTTP.
_TIME_KEYS = (
    "LastModified",
    "last_modified",
    "updated",
    "mtime",
    "modified",
    "created",
    "Last-Modified",
)


def _remote_file(uri: str, info: dict[str, Any]) -> InputFile:
    if info.get("size") is None:
        raise UserError(f"input {uri}: the store does not report its size; copy the file first")
    modified = _modification_time(info)
    if modified.tzinfo is None:
        modified = modified.replace(tzinfo=UTC)
    return InputFile(uri, int(info["size"]), modified.astimezone(UTC))


def _modification_time(info: dict[str, Any]) -> datetime:
    """When a file was modified, from what its store's client reports."""
    last_commit = info.get("last_commit")
    if last_commit is not None:  # Hugging Face's hub
        return cast("datetime", last_commit.date)
    milliseconds = info.get("modificationTime")
    if milliseconds is not None:  # HDFS through its web server
        return datetime.fromtimestamp(milliseconds / 1000, UTC)
    modified = next((info[key] for key in _TIME_KEYS if info.get(key)), _UNKNOWN_TIME)
    if isinstance(modified, datetime):
        return modified
    if not isinstance(modified, str):
        return datetime.fromtimestamp(modified, UTC)
    try:
        return datetime.fromisoformat(modified)
    except ValueError:
        return parsedate_to_datetime(modified)  # in an HTTP header
