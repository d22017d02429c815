"""Rounds for which words are drawn first and then rows."""

from collections import Counter
from dataclasses import replace

import pytest

from adnominal.conf import UserError
from adnominal.etl.asp import rounds, splits
from adnominal.etl.asp.degree import Degree
from adnominal.etl.asp.entailment import Entailment
from adnominal.etl.asp.gold import published_gold
from adnominal.etl.asp.lexicon import load_lexicon
from adnominal.etl.asp.templates import Style

LEXICON = load_lexicon()
SIZES = {
    ("train", "entailment"): 400, ("train", "contradiction"): 400, ("train", "neutral"): 400,
    ("val", "entailment"): 100, ("val", "contradiction"): 100, ("val", "neutral"): 100,
}  # fmt: skip


@pytest.mark.parametrize("seed", [0, 7])
def test_entailment_rounds_have_the_sizes_of_the_release(seed):
    held_out_words = splits.held_out_adjectives(LEXICON, seed)[:2]
    source = Entailment(LEXICON, seed, balanced=False, style=Style(text="paper"))
    placed_rows = list(rounds.entailment(source, held_out_words, 20))
    for number, held_out in enumerate(held_out_words):
        rows = [(place[2], row) for place, row in placed_rows if place[1] == str(number)]
        trained = [(part, row) for part, row in rows if part != "test"]
        assert Counter((part, row.label3) for part, row in trained) == SIZES
        assert len({row.item_id for _, row in trained}) == 1500
        adjectives = {w for _, r in trained for w in (r.adjective, r.other_adjective) if w}
        assert adjectives.isdisjoint(held_out)
        tested = [row for part, row in rows if part == "test"]
        assert len(tested) == 8 * 20
        assert {w for r in tested for w in (r.adjective, r.other_adjective) if w} <= held_out


def test_degree_rounds_have_the_sizes_of_the_release():
    placed_rows = list(
        rounds.degree(Degree(LEXICON, 3, published_gold(), style=Style(text="paper")), 40)
    )
    sizes = Counter(
        (place[1], place[2], row.label3) for place, row in placed_rows if place[2] != "test"
    )
    for held_out in ("length", "mass", "temperature", "price"):
        rows = [row for place, row in placed_rows if place[1] == held_out and place[2] != "test"]
        assert {row.dimension for row in rows} == {"length", "mass", "temperature", "price"} - {
            held_out
        }
        assert all(not 80 < row.z < 120 for row in rows)
        assert len({row.item_id for row in rows}) == 4462
        counts = {
            part: [sizes[held_out, part, x] for x in ("entailment", "contradiction", "neutral")]
            for part in ("train", "val")
        }
        assert counts == {"train": [1200, 1200, 1200], "val": [300, 300, 262]}
        tested = [row for place, row in placed_rows if place[1] == held_out and place[2] == "test"]
        assert (len(tested), {row.dimension for row in tested}) == (8 * 40, {held_out})


def test_a_vocabulary_that_is_too_small_is_refused():
    vocabulary = frozenset(["tall", "short", "big", "small"])
    small = replace(
        LEXICON, adjectives=tuple(a for a in LEXICON.adjectives if a.word in vocabulary)
    )
    with pytest.raises(UserError, match=r"expected 500\. Extend the lexicon"):
        list(rounds.entailment(Entailment(small, 0, balanced=False), [frozenset(["tall"])], 10))
