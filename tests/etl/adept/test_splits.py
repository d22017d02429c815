from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adnominal.etl.adept.splits import merge_copies, part, repetitions, split_columns


def test_parts_have_80_10_and_10_percent():
    sizes = Counter(part(0, "random", str(n)) for n in range(20_000))
    assert 15_700 < sizes["train"] < 16_300
    assert 1_850 < sizes["val"] < 2_150
    with pytest.raises(ValueError, match="expected one of random, noun_disjoint"):
        part(0, "by_noun", "dog")


@given(st.text(), st.text(), st.integers())
def test_a_disjoint_scheme_places_rows_by_one_word(sentence, other, seed):
    first = split_columns(sentence, "x", "dead", "leg", seed=seed)
    same_noun = split_columns(other, "y", "old", "Leg", seed=seed)
    same_adjective = split_columns(other, "y", "dead", "arm", seed=seed)
    assert first["split_noun_disjoint"] == same_noun["split_noun_disjoint"]
    assert first["split_adjective_disjoint"] == same_adjective["split_adjective_disjoint"]


def row(sentence, modifier, label, split="train", noun="leg"):
    return {
        "sentence1": sentence,
        "sentence2": f"{modifier} {sentence}",
        "modifier": modifier,
        "noun": noun,
        "label": label,
        "split_random": split,
    }


ROWS = [
    row("a", "dead", 0),
    row("a", "dead", 0, "val"),
    row("b", "old", 2),
    row("b", "old", 3),
    row("c", "new", 2),
    row("c", "new", 2),
    row("c", "new", 4),
    row("a", "red", 2, "test", noun="arm"),
]


def test_repeated_and_conflicting_rows_are_counted():
    counts = repetitions(ROWS)
    assert (counts.repeated, counts.conflicting, counts.leaking) == (3, 2, 1)
    assert (counts.sentences, counts.pairs) == (1, 1)
    assert counts.nouns_seen == {"val": (1, 1), "test": (1, 0)}


def test_merged_rows_have_the_majority_label():
    merge = merge_copies(ROWS)
    assert [(r["sentence1"], r["modifier"], r["label"]) for r in merge.rows] == [
        ("a", "dead", 0),
        ("c", "new", 2),
        ("a", "red", 2),
    ]
    assert {reason: len(rows) for reason, rows in merge.dropped.items()} == {
        "repeated sentence pair": 3,
        "conflicting labels": 2,
    }
    assert repetitions(merge.rows).repeated == 0
