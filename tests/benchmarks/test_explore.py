"""The generated lake is sorted, whole and restartable; its load is measured as promised."""

from __future__ import annotations

from pathlib import Path

import pytest

import conf
from analysis.exploring.sketches import Query, Sketches
from benchmarks import explore
from benchmarks.explore import CASE, Settings, generate, measure, word_of
from benchmarks.harness import page
from conf import UserError
from etl.lake import arrow

SMALL = {"pairs": 3000, "files": 3, "nouns": 199, "adjectives": 97}
SMALL |= {"users": 2, "seconds": 1, "pause": 0}


def test_words_differ() -> None:
    assert len({word_of(number) for number in range(20_000)}) == 20_000


def test_numbers_of_words_are_prime() -> None:
    with pytest.raises(UserError, match="prime"):
        conf.from_dict(Settings, {"adjectives": 100})


def test_generated_pairs_are_those_of_sorted_tables(tmp_path: Path) -> None:
    settings, lake = conf.from_dict(Settings, SMALL), str(tmp_path / "lake")
    generate(settings, lake)
    versions = [arrow.version(lake, name) for name in arrow.tables(lake)]
    roles = generate(settings, lake)
    assert versions == [arrow.version(lake, name) for name in arrow.tables(lake)]
    sketches = Sketches(lake, tmp_path / "words")
    for role, table in (("noun", "amod_association"), ("adjective", "amod_by_adjective")):
        rows = arrow.read(lake, table)
        pairs = list(zip(*(rows.column(n).to_pylist() for n in ("adjective", "noun")), strict=True))
        assert len(set(pairs)) == len(pairs)
        words, partner_counts = roles[role].words.to_pylist(), roles[role].partner_counts
        for word, partner_count in zip(words[:9], partner_counts[:9], strict=True):
            assert sketches.sketch(Query(role, word))["total"] == partner_count


def test_users_look_words_up_and_the_page_tells(tmp_path: Path) -> None:
    settings, lake = conf.from_dict(Settings, SMALL), str(tmp_path / "lake")
    figures = measure(settings, lake, generate(settings, lake))
    assert figures["errors"] == 0 and figures["views"] > 0
    rest = {"first_ready_s": 1.0, "pairs": 3000, "gigabytes": 0.1}
    rest |= {"saturated_p95_ms": 9.0, "saturated_views_s": 5.0, "saturated_memory_mb": 1}
    text = page(CASE, {**figures, **rest})
    assert "an adjective's nouns" in text and explore.CORPUS == "generated"
