"""The generated lake is sorted and complete, and its load is measured."""

import pytest

from adnominal import conf
from adnominal.analysis.exploring.sketches import Query, Sketches
from adnominal.conf import UserError
from adnominal.etl.lake import arrow
from benchmarks import explore
from benchmarks.explore import CASE, Settings, generate, measure, word_of
from benchmarks.harness import page

SMALL = {"pairs": 3000, "files": 3, "nouns": 199, "adjectives": 97}
SMALL |= {"users": 2, "seconds": 1, "pause": 0}


def test_generated_words_are_distinct():
    assert len({word_of(number) for number in range(20_000)}) == 20_000


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
        words, partner_counts = roles[role].words.to_pylist(), roles[role].partner_counts
        for word, partner_count in zip(words[:9], partner_counts[:9], strict=True):
            assert sketches.sketch(Query(role, word))["total"] == partner_count


def test_simulated_users_look_up_words_and_the_page_reports_it(tmp_path):
    settings, lake = conf.from_dict(Settings, SMALL), str(tmp_path / "lake")
    figures = measure(settings, lake, generate(settings, lake))
    assert figures["errors"] == 0 and figures["views"] > 0
    figures |= {"first_ready_s": 1.0, "pairs": 3000, "gigabytes": 0.1}
    figures |= {"saturated_p95_ms": 9.0, "saturated_views_s": 5.0, "saturated_memory_mb": 1}
    text = page(CASE, figures)
    assert "an adjective's nouns" in text and explore.CORPUS == "generated"
