"""The result of reading a release: tables, dropped rows by reason, and the rows of every file."""

import gzip
import logging
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from adnominal.conf.numbers import count_of
from adnominal.etl.dropped import Dropped

log = logging.getLogger("adnominal")

EDITION = "published"
# Suffixes of files that may contain rows.
_DATA = {".csv", ".tsv", ".txt", ".json", ".jsonl", ".pkl", ".pickle", ".parquet", ".yaml"}
_COMPRESSED_SUFFIXES = {".gz", ".bz2", ".zst", ".xz"}
_MAX_LISTED = 20


@dataclass
class FileRows:
    """Rows of one file that were read and not read; `reason` if the whole file was not read."""

    read: int = 0
    not_read: int = 0
    reason: str = ""


@dataclass
class Reading:
    """Rows by table in the declared schemas; count and sample of dropped rows by table and reason.

    `notes` are lines of a validation report: properties of the release, and faults that are kept.
    `dropped_of` has the dropped rows of each source if a release has several. `files` counts the
    rows of every file, by its path within the release.
    """

    tables: dict[str, pa.Table] = field(default_factory=dict)
    dropped: dict[tuple[str, str], tuple[int, str]] = field(default_factory=dict)
    dropped_of: dict[str, dict[tuple[str, str], tuple[int, str]]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    files: dict[str, FileRows] = field(default_factory=dict)

    def rows_of(self, name: str) -> FileRows:
        """The counts of a file, which the caller increments."""
        return self.files.setdefault(name, FileRows())

    def drop(
        self,
        table: str,
        reason: str,
        sample: str,
        file: str | None = None,
        source: str | None = None,
    ) -> None:
        """Count a row of `table` that is dropped; the first sample of each reason is kept."""
        sample = sample.encode(errors="backslashreplace").decode()
        for dropped in (self.dropped, *([] if source is None else [self.dropped_of[source]])):
            count, first = dropped.get((table, reason), (0, sample))
            dropped[table, reason] = (count + 1, first)
        if file is not None:
            self.rows_of(file).not_read += 1

    def drops(self, source: str | None = None) -> list[Dropped]:
        """The dropped rows, all or those of a source, for the table dropped."""
        dropped = self.dropped if source is None else self.dropped_of[source]
        return [Dropped(*key, *value) for key, value in sorted(dropped.items())]

    def reasons(self) -> str:
        """Why rows were dropped, each reason with its sample; empty if none was."""
        return "; ".join(
            f"{reason}, as {sample}" for (_, reason), (_, sample) in self.dropped.items()
        )

    def pass_over(self, file: Path, root: Path, reason: str) -> None:
        """Count the lines of a file that is not read, with the reason."""
        counts = self.rows_of(relative(file, root))
        counts.not_read, counts.reason = _lines(file), reason

    def pass_over_others(self, root: Path, files: Collection[Path]) -> None:
        """Count the lines of the data files below `root` that are not in `files`."""
        known = {file.resolve() for file in files}
        for file in sorted(root.rglob("*")):
            hidden = any(part.startswith(".") for part in file.relative_to(root).parts)
            suffixes = [suffix for suffix in file.suffixes if suffix not in _COMPRESSED_SUFFIXES]
            if hidden or not suffixes or suffixes[-1].lower() not in _DATA:
                continue
            if file.is_file() and not (
                {file.resolve()} & known or relative(file, root) in self.files
            ):
                self.pass_over(file, root, "not a file of the release's layout")

    def account(self) -> list[str]:
        """A line for each file with its rows read and not read, and a line with the sums."""
        read_files = {name: rows for name, rows in self.files.items() if not rows.reason}
        lines = [
            f"{name}: {count_of(rows.read, 'row')} read, {rows.not_read:,} not read"
            for name, rows in read_files.items()
        ]
        unread_files = [
            f"{name}: not read, {count_of(rows.not_read, 'line')} ({rows.reason})"
            for name, rows in self.files.items()
            if rows.reason
        ]
        lines += unread_files[:_MAX_LISTED]
        if len(unread_files) > _MAX_LISTED:
            lines.append(f"{len(unread_files) - _MAX_LISTED} more files not read")
        rows_read = sum(rows.read for rows in read_files.values())
        rows_not_read = sum(rows.not_read for rows in read_files.values())
        lines.append(
            f"in all {count_of(rows_read, 'row')} read and {rows_not_read:,} not read, of "
            f"{count_of(len(read_files), 'file')}; {count_of(len(unread_files), 'other file')} "
            "not read"
        )
        return lines


def relative(file: Path, root: Path) -> str:
    """The path of a file within its release, or its name if it is the release."""
    return file.relative_to(root).as_posix() if root in file.parents else file.name


def _lines(file: Path) -> int:
    """The number of lines of a text file; 0 for a binary file."""
    try:
        with gzip.open(file) if file.suffix == ".gz" else file.open("rb") as stream:
            count = 0
            while block := stream.read(1 << 20):
                if b"\0" in block:
                    return 0
                count += block.count(b"\n")
            return count
    except (OSError, EOFError):
        return 0
