"""The maintenance commands: ``python -m etl.lake compact|vacuum|repair|verify``."""

from collections.abc import Sequence
from typing import Any

from adnominal.conf import JobFailed
from adnominal.etl.lake import arrow, doubled, upkeep, verify
from adnominal.etl.lake.columns import Table
from adnominal.etl.lake.errors import LakeError
from adnominal.etl.lake.tables import table as declaration
from adnominal.etl.looking.layout import format_table, size


def run(command: str, settings: Any, table: str | None) -> str:
    """Run `command` on one table or on all; return one line per table about the result.

    Raises:
        LakeError: the table does not exist, or there is no table at all.
        JobFailed: `verify` found a fault; the report is printed first.
    """
    names = [table] if table else arrow.tables(settings.lake)
    if not names:
        raise LakeError(f"lake={settings.lake}: no table there; expected the folder of a lake")
    tables = [declaration(name) for name in names]
    unknown = [] if table else verify.undeclared_entries(settings.lake)
    notes = [f"note: {name} is no declared table, so it is left alone" for name in unknown]
    if command == "compact":
        return "\n".join([_compact(settings, tables), *notes])
    if command == "vacuum":
        return "\n".join([_vacuum(settings, tables), *notes])
    if command == "repair":
        return "\n".join([_repair(settings, tables), *notes])
    return _verify(settings, tables, notes)


def _compact(settings: Any, tables: Sequence[Table]) -> str:
    rows = []
    for table in tables:
        compacted = upkeep.compact(settings.lake, table, dry_run=settings.dry_run)
        rows.append((table.name, compacted.merged, compacted.merged_into))
    verb = "would be merged" if settings.dry_run else "merged"
    return format_table(["table", f"files {verb}", "into"], rows)


def _vacuum(settings: Any, tables: Sequence[Table]) -> str:
    older_than = upkeep.age(settings.older_than)
    rows = []
    for table in tables:
        vacuumed = upkeep.vacuum(settings.lake, table, older_than, dry_run=settings.dry_run)
        rows.append((table.name, vacuumed.files, vacuumed.logs, size(vacuumed.bytes)))
    verb = "that would be deleted" if settings.dry_run else "deleted"
    return format_table(["table", f"files {verb}", "logs", "size"], rows)


def _repair(settings: Any, tables: Sequence[Table]) -> str:
    rows = []
    for table in tables:
        entries = doubled.repair(settings.lake, table, dry_run=settings.dry_run)
        files = {entry.file.log_path: entry.file.rows or 0 for entry in entries}
        rows.append((table.name, len(files), sum(files.values())))
    verb = "that would be removed" if settings.dry_run else "removed"
    return format_table(["table", f"doubled files {verb}", "rows"], rows)


def _verify(settings: Any, tables: Sequence[Table], notes: Sequence[str]) -> str:
    """Check the tables and return what is found; raise `JobFailed` if there are faults."""
    results = [verify.verify(settings.lake, table) for table in tables]
    rows = [(result.table, result.files, result.commits, len(result.faults)) for result in results]
    lines = [format_table(["table", "files", "commits", "faults"], rows)]
    for result in results:
        lines += [f"{result.table}: {fault}" for fault in result.faults]
        lines += [f"{result.table}: note: {note}" for note in result.notes]
    text = "\n".join([*lines, *notes])
    faults = sum(len(result.faults) for result in results)
    if faults:
        print(text, flush=True)
        faulty = ", ".join(result.table for result in results if result.faults)
        raise JobFailed(
            f"{faults} faults in {faulty}; mend doubled rows with python -m etl.lake repair, and "
            "build the other tables again in a new lake"
        )
    return text
