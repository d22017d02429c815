import gzip
from dataclasses import replace
from pathlib import Path

import pytest

from adnominal.conf import UserError, load
from benchmarks import extract, inputs, synthetic_depcc
from benchmarks.extract import Settings
from benchmarks.harness import page
from benchmarks.inputs import make_parts, make_slice
from benchmarks.sides import Reading

LEDGER = {"sentences": 3, "tokens": 9, "amod": 4, "pairs": 3, "rejected_lines": 0}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("parts")


def test_parts_are_consecutive_pieces_of_one_corpus(folder):
    parts = make_parts(folder, 0.2, 3)
    synthetic_depcc.write(folder / "whole.gz", 0.6)
    contents = [gzip.decompress(part.read_bytes()) for part in parts]
    assert b"".join(contents) == gzip.decompress((folder / "whole.gz").read_bytes())
    assert all(content.startswith(inputs.NEWDOC) for content in contents[1:])
    assert make_parts(folder, 0.2, 3) == parts


def test_a_slice_ends_at_a_sentence_boundary(folder):
    (part,) = make_parts(folder, 0.2, 1)
    content = gzip.decompress(make_slice(part, 0.05).read_bytes())
    assert gzip.decompress(part.read_bytes()).startswith(content)
    assert 40_000 < len(content) <= 50_000 and content.endswith(b"\n\n")


def reading(seconds, side):
    floor = Reading(seconds, seconds, 100_000_000, 50.0)
    return floor if side == "isal" else replace(floor, pairs=3, distinct=2, ledger=LEDGER)


def test_ratios_and_verdicts(tmp_path):
    seconds = {"isal": 0.1, "compiled": 0.2, "polars": 0.9, "duckdb": 1.0, "line_loop": 2.0}
    readings = {side: [reading(s, side)] * 3 for side, s in seconds.items()}
    sliced = {"compiled": [reading(0.2, "compiled")] * 3, "conllu": [reading(40.0, "conllu")] * 3}
    part = Path(tmp_path / "part.gz")
    part.write_bytes(b"x" * 20)
    figures = extract.summary(part, readings, sliced)
    assert figures["part_distinct_pairs"] == 2
    assert figures["mb_per_second"]["compiled"] == pytest.approx(500)
    together = {side: [0.5, 0.5] for side in ("polars", "duckdb")}
    text = page(extract.CASE, {**figures, "rounds": 3, "cores": 2, "together": together})
    outcome = {line.split(" | ")[0][2:]: line.split(" | ")[-1] for line in text.splitlines()}
    assert outcome["polars"] == "missed |"  # 4.5 times
    assert outcome["DuckDB"] == outcome["conllu library"] == "met |"


def test_the_number_of_rounds_must_be_positive():
    with pytest.raises(UserError, match="rounds=0"):
        load(Settings, ["rounds=0"])
