"""The contents of an extraction's tables, for comparisons between runs."""

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path

from adnominal.etl.lake import arrow
from benchmarks.sides import Pairs, pairs_of


def table_digest(lake: Path, table: str) -> str | None:
    """SHA-256 of a table's rows, independent of order and files; None if there is no table."""
    if arrow.version(str(lake), table) is None:
        return None
    rows = arrow.read(str(lake), table)
    rows = rows.sort_by([(name, "ascending") for name in rows.schema.names]).combine_chunks()
    sink = hashlib.sha256(str(rows.schema.remove_metadata()).encode())
    for row in rows.to_pylist():
        sink.update(repr(tuple(row.values())).encode())
    return sink.hexdigest()


def pairs_in(lake: Path) -> Pairs:
    """The counts of ``amod_pairs``."""
    return pairs_of(arrow.read(str(lake), "amod_pairs", columns=["adjective", "noun", "count"]))


def ledger_sums(lake: Path) -> dict[str, int]:
    """Sums of the ledger (``amod_files``); `RuntimeError` if a file is not done."""
    names = ["sentences", "tokens", "pairs", "rejected_lines", "bytes"]
    rows = arrow.read(str(lake), "amod_files", columns=["path", "status", *names])
    undone = [row["path"] for row in rows.to_pylist() if row["status"] != "done"]
    if undone:
        raise RuntimeError(f"files not read: {', '.join(undone)}")
    return {name: sum(rows.column(name).to_pylist()) for name in names}


def stored_bytes(folder: Path) -> int:
    """Total size of the files below a folder, in bytes."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def emptied(folder: Path) -> Path:
    """Delete and recreate the folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def written_once(folder: Path, write: Callable[[], object]) -> Path:
    """The folder filled by `write`; remains of an interrupted run are deleted first."""
    if not (folder / "complete").exists():
        shutil.rmtree(folder, ignore_errors=True)
        write()
        (folder / "complete").touch()
    return folder
