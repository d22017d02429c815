"""Hashes of models' folders, kept so that unchanged files are not read again.

Reading 16 GB takes most of a minute at each start. A hash is therefore kept with what the file
system says of each file: size, inode, and times of change. It is used while all of that is the
same, and computed again otherwise.
"""

import hashlib
import json
import logging
import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

CACHE = Path("~/.cache/adnominal/contents.json")
# Files that changed less than so many seconds ago may change again without another time.
_SETTLED = 2.0
_BLOCK = 1 << 24
log = logging.getLogger("adnominal")

FileFacts: TypeAlias = list[Any]


def files_hash(
    folder: Path, files: Sequence[Path], start: str = "", *, verify: bool = False
) -> str:
    """Return a hash of the names and bytes of `files` in `folder`, after the text `start`.

    With `verify`, all files are read, whatever is kept.
    """
    now = time.time()
    facts = [_facts(path) for path in files]
    entry = _read_cache().get(os.path.abspath(folder))
    same_files = entry is not None and entry["start"] == start and entry["files"] == facts
    if entry is not None and same_files and not verify:
        return str(entry["hash"])
    content = _computed_hash(files, start)
    if entry is not None and same_files and entry["hash"] != content:
        log.warning("%s: its files have changed, although their sizes and times have not", folder)
    is_settled = all(max(times) / 1e9 < now - _SETTLED for _, _, _, *times in facts)
    if is_settled and facts == [_facts(path) for path in files]:
        _write_entry(folder, {"start": start, "files": facts, "hash": content})
    return content


def _facts(path: Path) -> FileFacts:
    """Return a file's name, size, inode and times of change, in nanoseconds."""
    status = path.stat()
    return [path.name, status.st_size, status.st_ino, status.st_mtime_ns, status.st_ctime_ns]


def _computed_hash(files: Sequence[Path], start: str) -> str:
    digest = hashlib.blake2b(start.encode(), digest_size=16)
    for path in files:
        digest.update(f"{path.name} {path.stat().st_size}\n".encode())
        with path.open("rb") as stream:
            while block := stream.read(_BLOCK):
                digest.update(block)
    return digest.hexdigest()


def _read_cache() -> dict[str, Any]:
    """Return the kept entries by folder; none if the file is missing or damaged."""
    try:
        entries = json.loads(CACHE.expanduser().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return entries if isinstance(entries, dict) else {}


def _write_entry(folder: Path, entry: dict[str, Any]) -> None:
    """Add an entry, and drop those of folders that are gone.

    Each process replaces the file at once. If two do so at the same time, one entry is lost and
    computed again.
    """
    cache = CACHE.expanduser()
    entries = {path: kept for path, kept in _read_cache().items() if os.path.isdir(path)}
    entries[os.path.abspath(folder)] = entry
    try:
        cache.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(
            "w", dir=cache.parent, prefix=f"{cache.name}.", delete=False, encoding="utf-8"
        ) as file:
            json.dump(entries, file)
        os.replace(file.name, cache)
    except OSError as error:
        log.debug("%s: not written (%s); models are read again at the next start", cache, error)
