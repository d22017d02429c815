from __future__ import annotations

from collections import Counter
from math import prod

import pytest

from etl.sygns import drs, fol, vf
from etl.sygns.generate import Sampler, arrangements, sample, sentence_id, sentences
from etl.sygns.grammar import grammar


def test_draws_depend_on_their_number_alone():
    sampler = Sampler(grammar("clean", 5, 5), 2, seed=7)
    whole = list(sampler.records(range(20)))
    again = [
        row
        for part in (range(10, 20), range(10))
        for row in Sampler(grammar("clean", 5, 5), 2, seed=7).records(part)
    ]
    assert sorted(whole, key=str) == sorted(again, key=str)
    other = Sampler(grammar("clean", 5, 5), 2, seed=8).records(range(20))
    assert [r.sentence for r in other] != [r.sentence for r in whole]


@pytest.mark.parametrize("depth", range(5))
def test_records_hold_what_their_parsers_read(depth):
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


def test_samples_are_different_sentences():
    rows = sample(Sampler(grammar("paper", 5, 5), 0, seed=0), 500)
    assert len({row.sentence for row in rows}) == 500


def test_more_than_there_are():
    lexicon = grammar("clean", 5, 5).lexicon
    few = {
        c: list(words)[: 2 if c in ("ivFin", "ivInf", "pn") else 1] for c, words in lexicon.items()
    }
    sampler = Sampler(grammar("clean", 5, 5), 0, seed=0, words=few)
    with pytest.raises(ValueError, match="120 different sentences of depth 0 asked for, 108 found"):
        sample(sampler, 120)


def test_the_number_of_sentences_at_depth_0():
    g = grammar("paper", 5, 5)
    signatures, counts = g.word_counts(0)
    size = {
        s: prod(arrangements(len(g.lexicon[c]), n) for c, n in by_category.items())
        for s, by_category in counts.items()
    }
    assert sum(size[s] for s in signatures.tolist()) == 323_400


def test_enumeration_agrees_with_the_count_on_a_small_lexicon():
    g = grammar("clean", 1, 1)
    seen = Counter()
    for node, _ in zip(sentences(g, 0), range(3000), strict=False):
        seen[str(node)] += 1
    assert max(seen.values()) == 1


@pytest.mark.parametrize(
    ("pool", "count", "repeating", "ways"),
    [(10, 2, False, 90), (3, 4, False, 12 * 11 * 10 * 9), (3, 4, True, 81), (5, 0, False, 1)],
)
def test_arrangements(pool, count, repeating, ways):
    assert arrangements(pool, count, repeating) == ways
