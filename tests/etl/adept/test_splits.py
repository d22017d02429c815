from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from etl.adept.splits import merged, part, repetitions, split_columns


def test_parts_are_80_10_10():
    sizes = Counter(part(0, "random", str(n)) for n in range(20_000))
    assert 15_700 < sizes["train"] < 16_300
    assert 1_850 < sizes["val"] < 2_150
    with pytest.raises(ValueError, match="expected one of random, noun_disjoint"):
        part(0, "by_noun", "dog")


@given(st.text(), st.text(), st.integers())
def test_disjoint_schemes_follow_one_word(sentence, other, seed):
    one = split_columns(sentence, "x", "dead", "leg", seed=seed)
    two = split_columns(other, "y", "old", "Leg", seed=seed)
    three = split_columns(other, "y", "dead", "arm", seed=seed)
    assert one["split_noun_disjoint"] == two["split_noun_disjoint"]
    assert one["split_adjective_disjoint"] == three["split_adjective_disjoint"]


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


def test_repetitions_are_counted():
    counts = repetitions(ROWS)
    assert (counts.repeated, counts.conflicting, counts.leaking) == (3, 2, 1)
    assert (counts.sentences, counts.pairs) == (1, 1)
    assert counts.nouns_seen == {"val": (1, 1), "test": (1, 0)}


def test_merged_rows_have_the_label_of_most():
    merge = merged(ROWS)
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
