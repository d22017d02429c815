from collections import Counter

import pytest

from adnominal.etl.sygns import drs, fol, vf
from adnominal.etl.sygns.generate import (
    Sampler,
    arrangements,
    sample,
    sentence_id,
    sentences,
    surface,
)
from adnominal.etl.sygns.grammar import grammar


def test_a_draw_depends_only_on_its_number_and_the_seed():
    sampler = Sampler(grammar("clean", 5, 5), 2, seed=7)
    in_order = list(sampler.records(range(20)))
    in_parts = [
        row
        for part in (range(10, 20), range(10))
        for row in Sampler(grammar("clean", 5, 5), 2, seed=7).records(part)
    ]
    assert sorted(in_order, key=str) == sorted(in_parts, key=str)
    other_seed = Sampler(grammar("clean", 5, 5), 2, seed=8).records(range(20))
    assert [r.sentence for r in other_seed] != [r.sentence for r in in_order]


@pytest.mark.parametrize("depth", range(5))
def test_meanings_of_records_can_be_parsed(depth):
    for row in Sampler(grammar("clean", 5, 5), depth, seed=0).records(range(40)):
        assert row.depth == depth
        assert row.sentence_id == sentence_id(row.sentence, depth)
        assert fol.text(fol.parse(row.fol)) == row.fol
        assert drs.text(drs.parse(row.drs)) == row.drs
        assert vf.text(vf.parse(row.vf)) == row.vf


def test_content_words_do_not_repeat_within_their_category():
    for row in Sampler(grammar("clean", 5, 5), 4, seed=0).records(range(60)):
        words = [w for w in row.sentence.split() if w in grammar().lexicon["nounSing"]]
        assert len(set(words)) == len(words)


def test_the_sentences_of_a_sample_are_distinct():
    rows = sample(Sampler(grammar("paper", 5, 5), 0, seed=0), 500)
    assert len({row.sentence for row in rows}) == 500


def test_a_sample_larger_than_the_grammar_is_refused():
    lexicon = grammar("clean", 5, 5).lexicon
    few_words = {
        c: list(words)[: 2 if c in ("ivFin", "ivInf", "pn") else 1] for c, words in lexicon.items()
    }
    sampler = Sampler(grammar("clean", 5, 5), 0, seed=0, words=few_words)
    with pytest.raises(ValueError, match="120 different sentences of depth 0 requested, 108 found"):
        sample(sampler, 120)


def test_the_number_of_sentences_at_depth_0():
    assert Sampler(grammar("paper", 5, 5), 0, seed=0).sentences == 323_400


def test_enumeration_agrees_with_the_count():
    small = grammar("clean", 1, 1)
    counts = Counter(surface(node) for node in sentences(small, 0))
    assert max(counts.values()) == 1
    assert len(counts) == Sampler(small, 0, seed=0).sentences


@pytest.mark.parametrize(
    ("pool", "count", "repeating", "ways"),
    [(10, 2, False, 90), (3, 4, False, 12 * 11 * 10 * 9), (3, 4, True, 81), (5, 0, False, 1)],
)
def test_arrangements_are_counted_with_and_without_repetition(pool, count, repeating, ways):
    assert arrangements(pool, count, repeating) == ways
