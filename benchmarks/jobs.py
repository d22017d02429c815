"""What the tables of an extraction hold, for comparisons between runs."""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path

import pyarrow as pa

from etl.lake import arrow


def table_digest(lake: Path, table: str) -> str | None:
    """SHA-256 of a table's rows, whatever their order and files; None where there is no table."""
    if arrow.version(str(lake), table) is None:
        return None
    rows = arrow.read(str(lake), table)
    rows = rows.sort_by([(name, "ascending") for name in rows.schema.names]).combine_chunks()
    sink = hashlib.sha256(str(rows.schema.remove_metadata()).encode())
    for row in rows.to_pylist():
        sink.update(repr(tuple(row.values())).encode())
    return sink.hexdigest()


def pairs_in(lake: Path) -> Counter[tuple[str, str]]:
    """The counts of ``amod_pairs``."""
    columns = ["adjective", "noun", "count"]
    rows: pa.Table = arrow.read(str(lake), "amod_pairs", columns=columns)
    adjectives, nouns, counts = (rows.column(name).to_pylist() for name in columns)
    return Counter({(a, n): int(c) for a, n, c in zip(adjectives, nouns, counts, strict=True)})


def ledger_sums(lake: Path) -> dict[str, int]:
    """Sums of the ledger (``amod_files``); `RuntimeError` if a file is not done."""
    names = ["sentences", "tokens", "pairs", "rejected_lines", "bytes"]
    rows = arrow.read(str(lake), "amod_files", columns=["path", "status", *names])
    undone = [row["path"] for row in rows.to_pylist() if row["status"] != "done"]
    if undone:
        raise RuntimeError(f"files not read: {', '.join(undone)}")
    return {name: sum(rows.column(name).to_pylist()) for name in names}
