"""The maintenance commands: ``python -m etl.lake compact|vacuum|verify``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from conf import JobFailed
from etl.lake import arrow, upkeep, verify
from etl.lake.errors import LakeError
from etl.lake.tables import table as declaration
from etl.looking.layout import aligned, size


def run(command: str, settings: Any, table: str | None) -> str:
    """Run `command` on one table or on all; return one line per table about the result.

    Raises:
        LakeError: the table does not exist, or there is no table at all.
        JobFailed: `verify` found a fault; the report is printed first.
    """
    names = [declaration(table).name] if table else arrow.tables(settings.lake)
    if not names:
        raise LakeError(f"lake={settings.lake}: no table there; expected the folder of a lake")
    if command == "compact":
        return _compact(settings, names)
    if command == "vacuum":
        return _vacuum(settings, names)
    return _verify(settings, names, everything=table is None)


def _compact(settings: Any, names: Sequence[str]) -> str:
    rows = []
    for name in names:
        compacted = upkeep.compact(settings.lake, declaration(name), dry_run=settings.dry_run)
        rows.append((name, compacted.merged, compacted.merged_into))
    verb = "would be merged" if settings.dry_run else "merged"
    return aligned(["table", f"files {verb}", "into"], rows)


def _vacuum(settings: Any, names: Sequence[str]) -> str:
    older_than = upkeep.age(settings.older_than)
    rows = []
    for name in names:
        declared = declaration(name)
        vacuumed = upkeep.vacuum(settings.lake, declared, older_than, dry_run=settings.dry_run)
        rows.append((name, vacuumed.files, vacuumed.logs, size(vacuumed.bytes)))
    verb = "that would be deleted" if settings.dry_run else "deleted"
    return aligned(["table", f"files {verb}", "logs", "size"], rows)


def _verify(settings: Any, names: Sequence[str], *, everything: bool) -> str:
    results = [verify.verify(settings.lake, declaration(name)) for name in names]
    rows = [(result.table, result.files, result.commits, len(result.faults)) for result in results]
    lines = [aligned(["table", "files", "commits", "faults"], rows)]
    for result in results:
        lines += [f"{result.table}: {fault}" for fault in result.faults]
        lines += [f"{result.table}: note: {note}" for note in result.notes]
    if everything:
        lines += [f"note: {name} is no declared table" for name in verify.undeclared(settings.lake)]
    text = "\n".join(lines)
    faults = sum(len(result.faults) for result in results)
    if faults:
        print(text, flush=True)
        tables = ", ".join(result.table for result in results if result.faults)
        raise JobFailed(f"{faults} faults in {tables}; build these tables again in a new lake")
    return text
