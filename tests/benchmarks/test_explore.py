"""The generated lake is sorted and complete, and its load is measured."""

import pytest

from adnominal import conf
from adnominal.analysis.exploring.queries import Query
from adnominal.analysis.exploring.sketches import Sketches
from adnominal.conf import UserError
from adnominal.etl.lake import arrow
from benchmarks import explore
from benchmarks.explore import (
    CASE,
    Settings,
    generate,
    measure_lookups,
    measure_similar_words,
    visit,
)
from tests.benchmarks.page import page

SMALL = {"pairs": 3000, "files": 3, "nouns": 199, "adjectives": 97}
SMALL |= {"users": 2, "seconds": 1, "pause": 0}


def test_vocabulary_sizes_must_be_prime():
    with pytest.raises(UserError, match="prime"):
        conf.from_dict(Settings, {"adjectives": 100})


def test_both_sorted_tables_hold_the_generated_pairs(tmp_path):
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
        words, partners = roles[role].words.to_pylist(), roles[role].partners
        for word, number in zip(words[:9], partners[:9], strict=True):
            assert sketches.sketch(Query(role, word, floor=1))["total"] == number


def test_simulated_users_look_up_words_and_the_page_reports_it(tmp_path):
    settings = conf.from_dict(Settings, {**SMALL, "folder": str(tmp_path)})
    figures = measure_lookups(settings)
    assert figures["errors"] == 0 and figures["views"] > 0
    assert figures["memory_mb"] > 1 and figures["pairs"] > 2000
    similar = measure_similar_words(settings)
    assert similar["errors"] == 0 and "words similar to nouns" in similar["p95_ms"]
    text = page(CASE, {"lookups": figures, "similar": similar})
    assert "| an adjective's nouns | " in text and f"{figures['views']:,} views, 0 errors" in text
    assert f"for one user: {similar['views']:,} views" in text


def test_views_that_fail_are_counted(tmp_path, monkeypatch):
    settings, lake = conf.from_dict(Settings, SMALL), str(tmp_path / "lake")
    roles = generate(settings, lake)
    start_server = explore.start_server

    def start_then_lose_a_table(lake: str):
        server = start_server(lake)
        (tmp_path / "lake" / "amod_association").rename(tmp_path / "elsewhere")
        return server

    monkeypatch.setattr(explore, "start_server", start_then_lose_a_table)
    assert visit(settings, lake, roles)["errors"] > 0
