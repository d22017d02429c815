"""Plan the files into waves and update the ledger.

A wave is the unit of commit and of resume: its files are read by one Spark job whose counts become
visible in one commit. The plan is stored before any work, so a killed run continues with the same
waves, and new files (another part, next month's dump) become further waves.
"""

import logging
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby

from adnominal.conf import JobFailed, UserError
from adnominal.conf.numbers import count_of
from adnominal.etl.corpora.inputs import InputFile, physical_path

PLANNED, DONE, FAILED = "planned", "done", "failed"


log = logging.getLogger("adnominal")


@dataclass(frozen=True)
class Entry:
    """One row of the ledger (table ``amod_files``) without its corpus."""

    path: str
    bytes: int
    modified: datetime
    wave: int
    status: str = PLANNED
    sentences: int = 0
    tokens: int = 0
    pairs: int = 0
    rejected_lines: int = 0
    reason: str | None = None


def _size_date(size: int, modified: datetime) -> str:
    return f"{size} bytes of {modified:%Y-%m-%d %H:%M:%S}"


def plan(ledger: Sequence[Entry], files: Sequence[InputFile], wave_bytes: int) -> list[Entry]:
    """The ledger after planning: its previous entries and the new ones of `files`.

    Files are planned in the order of their paths; a wave is full when the next file would bring it
    over `wave_bytes` (a larger file is its own wave). A file that failed before is planned again,
    changed or not, since it is not counted yet.

    Raises:
        UserError: a file already counted (or planned) has changed.
        JobFailed: a planned file is not among `files`.
    """
    entries = {entry.path: entry for entry in ledger}
    files = _under_known_paths(entries, files)
    listed = {file.path: file for file in files}
    for entry in ledger:
        file = listed.get(entry.path)
        if file is None:
            if entry.status == PLANNED:
                raise JobFailed(
                    f"{entry.path} was planned by another run, which is running or was stopped, "
                    "and is not in input=; run the same command again once that run has ended, or "
                    "name the file as well, or give another corpus= name, or restart=true to read "
                    "everything again"
                )
            continue
        changed = (file.bytes, file.modified) != (entry.bytes, entry.modified)
        if changed and entry.status != FAILED:
            raise UserError(
                f"{entry.path} has changed since it was {entry.status}: it was "
                f"{_size_date(entry.bytes, entry.modified)}, now "
                f"{_size_date(file.bytes, file.modified)}; give another corpus= name, or "
                "restart=true to read everything again"
            )
    new_files = [
        file
        for file in sorted(files, key=lambda file: file.path)
        if file.path not in entries or entries[file.path].status == FAILED
    ]
    wave = max((entry.wave for entry in ledger), default=-1) + 1
    wave_size = 0
    for file in new_files:
        if wave_size and wave_size + file.bytes > wave_bytes:
            wave, wave_size = wave + 1, 0
        entries[file.path] = Entry(file.path, file.bytes, file.modified, wave)
        wave_size += file.bytes
    return sorted(entries.values(), key=lambda entry: (entry.wave, entry.path))


def _under_known_paths(entries: Mapping[str, Entry], files: Sequence[InputFile]) -> list[InputFile]:
    """`files`, each under the path that the ledger has for it.

    An earlier run may have reached the same file by other symbolic links. Only files of equal size
    and date are compared, so that a long ledger costs no access to the disk.
    """
    paths_by_state = defaultdict(list)
    for entry in entries.values():
        paths_by_state[entry.bytes, entry.modified].append(entry.path)
    known_files = []
    for file in files:
        candidates = paths_by_state.get((file.bytes, file.modified), [])
        if file.path not in entries and candidates:
            target = physical_path(file.path)
            same = [path for path in candidates if physical_path(path) == target]
            file = replace(file, path=same[0]) if same else file
        known_files.append(file)
    return known_files


def pending_waves(ledger: Iterable[Entry]) -> list[tuple[int, list[Entry]]]:
    """The unread waves in order, each with its files sorted by path."""
    unread = [entry for entry in ledger if entry.status == PLANNED]
    unread.sort(key=lambda entry: (entry.wave, entry.path))
    return [(wave, list(entries)) for wave, entries in groupby(unread, lambda entry: entry.wave)]


def updated_ledger(ledger: Sequence[Entry], outcomes: Sequence[Entry]) -> list[Entry]:
    """The ledger with the planned entries of `outcomes` replaced by them."""
    by_place = {(entry.path, entry.wave, PLANNED): entry for entry in outcomes}
    return [by_place.get((entry.path, entry.wave, entry.status), entry) for entry in ledger]


def refuse_failed(ledger: Sequence[Entry], where: str, read_paths: Container[str]) -> None:
    """Raise `JobFailed` if files that were read failed; `where` says where the rest are listed.

    A run reads every file of its input that failed before, so other failed files are those of
    earlier runs that are not in its input. They are only logged.
    """
    failed = [entry for entry in ledger if entry.status == FAILED]
    failures = [entry for entry in failed if entry.path in read_paths]
    earlier = [entry for entry in failed if entry.path not in read_paths]
    if earlier:
        log.warning(
            "not counted: %s of earlier runs that failed, such as %s; give them in input= again to "
            "read them",
            count_of(len(earlier), "file"),
            earlier[0].path,
        )
    if failures:
        reasons = "; ".join(f"{entry.path}: {entry.reason}" for entry in failures[:5])
        more = f"; and {len(failures) - 5} more ({where})" if len(failures) > 5 else ""
        raise JobFailed(
            f"{len(failures)} of {len(ledger) - len(earlier)} files failed and are not counted: "
            f"{reasons}{more}"
        )
