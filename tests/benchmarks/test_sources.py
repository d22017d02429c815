"""Sides that parse the same articles find the same pairs."""

import pytest

from adnominal.conf import UserError, load
from benchmarks.inputs import copy_dump
from benchmarks.sides import Reading, check_identical
from benchmarks.sources import CASE, SIDES, Settings, by_spacy, parquet, parse_by
from tests.benchmarks.page import page

PAGE = "<page><title>A</title><ns>0</ns><revision><text>{text}</text></revision></page>"
TEXT = "The old key opened a small door. Anti-war movements and well-known red doors were there."


def test_all_sides_find_the_same_pairs(tmp_path):
    source = tmp_path / "one.xml"
    source.write_text(PAGE.format(text=TEXT))
    dump = copy_dump(str(source), tmp_path / "dump.xml.bz2", 3)
    readings = {side: [Reading(**parse_by(side, str(dump.path)))] for side in SIDES}
    check_identical(readings)
    (full,) = readings["full"]
    assert full.pairs == 9 and (full.tokens or 0) > 50
    assert readings["pipe"][0].pairs is None


def test_parts_of_hyphenated_words_make_no_pair():
    assert by_spacy(["The anti-war movement."], lean=False)["pairs"] == 0
    assert by_spacy(["The old movement."], lean=False)["pairs"] == 1


def test_parquet_is_read_by_all_sides(tmp_path):
    figures = parquet(Settings(text_mb=1, rounds=1, folder=str(tmp_path)))
    assert set(figures["mb_per_second"]) == {"ours", "pyarrow", "pyarrow_with_ids"}
    assert all(speed > 0 for speed in figures["mb_per_second"].values())


def test_the_page_shows_only_the_measured_parts():
    speeds = {"ours": 80.0, "pyarrow": 100.0, "pyarrow_with_ids": 90.0}
    text = page(CASE, {"parquet": {"megabytes": 5, "mb_per_second": speeds}})
    assert "ours is 0.80 of the former (missed: at least 0.9)" in text
    assert "Wikipedia" not in text


def test_sizes_must_be_positive():
    with pytest.raises(UserError, match="rounds=0"):
        load(Settings, ["rounds=0"])
