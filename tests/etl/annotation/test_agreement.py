import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adnominal.etl.annotation.agreement import (
    LEVELS,
    cohen_kappa,
    fleiss_kappa,
    krippendorff_alpha,
    labels_by_model,
)
from adnominal.etl.annotation.quality import Answer, majority_label

# Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011), example C: four observers,
# twelve units, values 1 to 5, some missing.
KRIPPENDORFF = """
1 2 3 3 2 1 4 1 2 . . .
1 2 3 3 2 2 4 1 2 5 . 3
. 3 3 3 2 3 4 2 2 5 1 .
1 2 3 3 2 4 4 1 2 5 1 .
"""
# Fleiss, "Measuring nominal scale agreement among many raters" (1971), table 1: thirty patients,
# six psychiatrists, five diagnoses.
FLEISS = """
00060 03003 01401 00006 03030 20400 00402 20310 20040 00006
10050 11040 03300 10050 02031 00501 30012 51000 02040 10203
00006 01050 02013 20040 10041 05010 40002 02040 10500 00006
"""
ITEMS = st.lists(st.lists(st.integers(0, 4), min_size=2, max_size=4), min_size=2, max_size=12)


def answers_to(items):
    """Answers with these labels of each item, by the annotators a, b, …"""
    return [
        Answer(f"i{at:02d}", annotator, label, None, "item", "main", "context", "b", "b-1")
        for at, labels in enumerate(items)
        for annotator, label in zip("abcdefghij", labels, strict=False)
    ]


def rated(labels):
    """A rater's labels of the items."""
    return {f"i{at:02d}": label for at, label in enumerate(labels)}


def krippendorff_units():
    rows = [line.split() for line in KRIPPENDORFF.strip().splitlines()]
    units = [[int(v) - 1 for v in unit if v != "."] for unit in zip(*rows, strict=True)]
    return [unit for unit in units if len(unit) > 1]


def fleiss_items():
    return [
        [label for label, count in enumerate(patient) for _ in range(int(count))]
        for patient in FLEISS.split()
    ]


@pytest.mark.parametrize(
    ("level", "alpha"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)]
)
def test_alpha_of_krippendorffs_example(level, alpha):
    answers = answers_to(krippendorff_units())
    assert krippendorff_alpha(answers, level) == pytest.approx(alpha, abs=0.0005)


def test_kappa_of_fleiss_example():
    assert np.bincount(np.ravel(fleiss_items())).tolist() == [26, 26, 30, 55, 43]
    assert fleiss_kappa(fleiss_items()) == pytest.approx(0.430, abs=0.0005)


def test_kappa_of_two_raters():
    # Two people read fifty proposals; both accept 20, neither accepts 15, and one alone 5 and 10.
    first = rated([1] * 25 + [0] * 25)
    second = rated([1] * 20 + [0] * 5 + [1] * 10 + [0] * 15)
    assert cohen_kappa(first, second) == pytest.approx(0.4)
    # Only items that both labelled count.
    assert cohen_kappa(first | {"a": 1}, second | {"b": 0}) == cohen_kappa(first, second)
    assert cohen_kappa({"a": 0, "b": 1, "c": 4}, {"c": 4, "b": 1, "a": 0}) == 1
    assert cohen_kappa({"a": 2, "b": 2}, {"a": 2, "b": 2}) is None
    assert cohen_kappa({"a": 2}, {"b": 2}) is None


@given(ITEMS)
def test_alpha_does_not_depend_on_the_order_of_items_or_raters(items):
    answers, reversed_answers = answers_to(items), answers_to([unit[::-1] for unit in items[::-1]])
    has_one_label = len({label for unit in items for label in unit}) == 1
    for level in LEVELS:
        alpha = krippendorff_alpha(answers, level)
        assert (alpha is None) == has_one_label
        if alpha is not None:
            assert krippendorff_alpha(reversed_answers, level) == pytest.approx(alpha)
            assert alpha <= 1


@given(st.lists(st.integers(0, 4), min_size=2, max_size=12))
def test_full_agreement_gives_one(labels):
    expected = None if len(set(labels)) == 1 else 1
    items = [[label] * 3 for label in labels]
    by_item = rated(labels)
    assert krippendorff_alpha(answers_to(items), "ordinal") == expected
    assert cohen_kappa(by_item, by_item) == expected
    assert fleiss_kappa(items) == (expected and pytest.approx(1))


def campaign(items=40, seed=0):
    """The answers of two reliable annotators and of three who guess, with the true labels."""
    chance = random.Random(seed)
    truth = [chance.randrange(5) for _ in range(items)]
    labels = [[true, true, *(chance.randrange(5) for _ in range(3))] for true in truth]
    answers = answers_to(labels)
    return answers, rated(truth)


@pytest.mark.parametrize("model", ["dawid_skene", "mace"])
def test_models_outperform_a_majority_vote(model):
    answers, truth = campaign()
    labels = labels_by_model(model, answers)
    correct = sum(labels[item] == label for item, label in truth.items())
    assert correct >= 34 and all(type(label) is int for label in labels.values())
    votes = {item: majority_label(a.label for a in answers if a.item_id == item) for item in truth}
    assert correct > sum(vote is not None and vote.label == truth[i] for i, vote in votes.items())


def test_the_order_of_answers_does_not_matter_to_a_model():
    answers, _ = campaign()
    labels = labels_by_model("dawid_skene", answers)
    assert labels_by_model("dawid_skene", answers[::-1]) == labels
