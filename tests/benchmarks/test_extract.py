from __future__ import annotations

import datetime
import gzip
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import extract, synthetic_depcc
from benchmarks.extract import Settings, SparkRun, check_tables, make_parts, make_slice
from benchmarks.peers import Reading
from conf import UserError, load
from tests.benchmarks.test_jobs import ROWS, lake_of

LEDGER = {"sentences": 3, "tokens": 9, "amod": 4, "pairs": 3, "rejected_lines": 0}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("parts")


def test_parts_follow_each_other_in_one_corpus(folder):
    parts = make_parts(folder, 0.2, 3)
    synthetic_depcc.write(folder / "whole.gz", 0.6)
    contents = [gzip.decompress(part.read_bytes()) for part in parts]
    assert b"".join(contents) == gzip.decompress((folder / "whole.gz").read_bytes())
    assert all(content.startswith(extract.NEWDOC) for content in contents[1:])
    assert make_parts(folder, 0.2, 3) == parts


def test_a_slice_ends_with_a_sentence(folder):
    (part,) = make_parts(folder, 0.2, 1)
    content = gzip.decompress(make_slice(part, 0.05).read_bytes())
    assert gzip.decompress(part.read_bytes()).startswith(content)
    assert 40_000 < len(content) <= 50_000 and content.endswith(b"\n\n")


def test_tables_are_compared_with_the_kernel(tmp_path):
    lake = lake_of(tmp_path / "lake", ROWS)
    ledger = {
        "corpus": ["c"],
        "path": ["a"],
        "bytes": [1],
        "modified": [datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)],
        "wave": [0],
        "status": ["done"],
        "sentences": [3],
        "tokens": [9],
        "pairs": [3],
        "rejected_lines": [0],
        "reason": [None],
    }
    lake_of(lake, ledger, "amod_files")
    counts = Counter({("old", "car"): 2, ("new", "car"): 1})
    check_tables(lake, counts, LEDGER)
    with pytest.raises(AssertionError, match="old car: expected 3, found 2"):
        check_tables(lake, counts + Counter({("old", "car"): 1}), LEDGER)
    with pytest.raises(AssertionError, match="9 tokens, expected 8"):
        check_tables(lake, counts, {**LEDGER, "tokens": 8})


def reading(seconds, side):
    floor = Reading(seconds, seconds, 100_000_000, 50.0)
    return floor if side == "isal" else replace(floor, pairs=3, distinct=2, ledger=LEDGER)


def test_ratios_and_verdicts(tmp_path):
    seconds = {
        "isal": 0.1,
        "compiled": 0.2,
        "polars": 0.9,
        "duckdb": 1.0,
        "line_loop": 2.0,
    }
    readings = {side: [reading(s, side)] * 3 for side, s in seconds.items()}
    sliced = {"compiled": [reading(0.2, "compiled")], "conllu": [reading(40.0, "conllu")]}
    part = Path(tmp_path / "part.gz")
    part.write_bytes(b"x" * 20)
    beside = tuple(reading(s, "compiled") for s in (0.1, 0.2, 0.6))
    runs = [
        SparkRun(10, 10, 10**10, 2 * 10**9, 40.0, 50.0, 10**8, 9.0, beside),
        SparkRun(20, 20, 2 * 10**10, 4 * 10**9, 60.0, 78.0, 10**8, 9.0, beside),
        SparkRun(0, 4, 4 * 10**8, 10**8, 40.0, 50.0, 4 * 10**6, 9.0, beside),
    ]
    figures = extract.summary(part, readings, sliced, runs)
    assert extract.speed(readings["compiled"]) == pytest.approx(500)
    assert figures["kernel_cpu_seconds_per_gb"] == pytest.approx(2.0)
    assert figures["job_cpu_seconds_per_gb_warm"] == pytest.approx(2.8)
    assert figures["job_over_kernel_warm"] == pytest.approx(1.4)
    assert figures["job_cpu_seconds_start"] == pytest.approx(22)
    assert figures["shuffle_share"] == pytest.approx(0.01)
    together = {side: reading(0.5, side) for side in ("polars", "duckdb")}
    text = extract.page(
        figures, readings, sliced, together, runs, Settings(), part, Path("slice.gz")
    )
    outcome = {line.split(" | ")[0][2:]: line.split(" | ")[-1] for line in text.splitlines()}
    assert outcome["polars"] == "missed |"  # 4.5 times
    assert outcome["DuckDB"] == outcome["conllu library"] == "met |"
    assert "1.40 times | <= 1.5 times | met" in text
    assert "| 4.00% | <= 2% | missed |" in text


def test_mistakes_are_told():
    with pytest.raises(UserError, match="copies=0"):
        load(Settings, ["copies=0"])
    with pytest.raises(UserError, match="nothing is left to measure"):
        load(Settings, ["only_job=true", "spark_rounds=0"])
