"""Ratios and verdicts of the kernel and its peers."""

from dataclasses import replace

import pytest

from adnominal.conf import UserError, load
from benchmarks import extract
from benchmarks.extract import Settings
from benchmarks.sides import Reading
from tests.benchmarks.page import page


def reading(seconds, side):
    floor = Reading(seconds, seconds, 100_000_000, 50.0)
    return floor if side == "isal" else replace(floor, pairs=3, distinct=2, tokens=9)


def test_ratios_and_verdicts(tmp_path):
    seconds = {"isal": 0.1, "compiled": 0.2, "polars": 0.9, "duckdb": 1.0, "line_loop": 2.0}
    readings = {side: [reading(s, side)] * 3 for side, s in seconds.items()}
    of_slice = {"compiled": [reading(0.2, "compiled")] * 3, "conllu": [reading(40.0, "conllu")] * 3}
    part = tmp_path / "part.gz"
    part.write_bytes(b"x" * 20)
    figures = extract.summarise(part, readings, of_slice)
    assert figures["part_distinct_pairs"] == 2 and figures["part_stored_bytes"] == 20
    assert figures["mb_per_second"]["compiled"] == pytest.approx(500)
    text = page(extract.CASE, {"kernel": {**figures, "rounds": 3}})
    rows = [line.split(" | ") for line in text.splitlines()]
    outcome = {row[0][2:]: row[-1] for row in rows}
    assert outcome["polars"] == "missed |"  # 4.5 times
    assert outcome["DuckDB"] == outcome["conllu library, first 5 MB"] == "met |"
    assert outcome["isal, decompression alone (the floor)"] == "met |"  # half of it


def test_the_number_of_rounds_must_be_positive():
    with pytest.raises(UserError, match="rounds=0"):
        load(Settings, ["rounds=0"])
