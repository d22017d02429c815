"""DuckDB's reader finds the rows that either engine has written."""

import json
import os
from pathlib import Path

import pytest

from adnominal.conf import ROOT
from adnominal.etl.lake import arrow, upkeep
from tests.commands import run_python
from tests.connector.test_connector import DECLARED, TEXTS, WRITERS, frame, lakes  # noqa: F401

DUCKDB = Path(os.environ.get("ADNOMINAL_DUCKDB", ROOT / "build" / "engines" / "duckdb"))


def duckdb_rows(root: str) -> list[tuple[object, ...]]:
    """The rows of amod_pairs, sorted."""
    python = DUCKDB / "bin" / "python"
    if not python.exists():
        pytest.skip(f"no DuckDB with its reader of Delta in {DUCKDB} (make build/engines/duckdb)")
    script = ROOT / "tests" / "connector" / "duckdb_rows.py"
    process = run_python(script, f"{root}/amod_pairs", python=str(python))
    return sorted(map(tuple, json.loads(process.stdout)))


@pytest.mark.parametrize(("first", "second"), WRITERS)
def test_duckdb_reads_what_both_engines_write(lakes, frame, first, second):  # noqa: F811
    texts = [text for text in TEXTS if "\\" not in text]
    rows = [(text, "old", "key", number) for number, text in enumerate(texts)]
    for _ in range(6):  # with the replacements and the compaction, more than a checkpoint
        lakes[first].append("amod_pairs", frame(*rows), job="test")
    for number, text in enumerate(texts[:2]):
        rows[number] = (text, "new", "key", number)
        lakes[second].replace("amod_pairs", frame(rows[number]), {"corpus": text}, job="test")
    root = lakes[first].root
    upkeep.compact(root, DECLARED)
    expected = sorted(rows[:2] + rows[2:] * 6)
    assert sorted(map(tuple, _values(root))) == expected
    assert duckdb_rows(root) == expected


def _values(root: str) -> list[list[object]]:
    table = arrow.read(root, "amod_pairs")
    return [list(row.values()) for row in table.to_pylist()]
