from typing import Any

import pytest

from adnominal.analysis.across import audits
from adnominal.analysis.across.artefacts import ALONE, MAJORITY, Rows, audit, token_table
from adnominal.analysis.estimates import Interval
from tests.rows import rows as records
from tests.rows import write


def rows(number=200, **inputs):
    """Rows with the labels yes and no in turn, three quarters of them for training."""
    training_rows = 3 * number // 4
    return Rows(
        dataset="mine",
        edition="demo",
        split="random",
        part="val",
        item_ids=[f"i{at}" for at in range(number)],
        labels=["yes" if at % 2 else "no" for at in range(number)],
        inputs=inputs,
        train=range(training_rows),
        test=range(training_rows, number),
    )


PREDICTIVE = [f"a thing {at} is {'good' if at % 2 else 'bad'}" for at in range(200)]
UNPREDICTIVE = [f"thing {at // 2}" for at in range(200)]


def test_only_inputs_that_give_labels_away_are_above_chance():
    scores: Any
    scores, sizes = audit([rows(telling=PREDICTIVE, silent=UNPREDICTIVE)])
    telling, silent = scores["random: telling", ALONE], scores["random: silent", ALONE]
    assert (telling.estimate, scores["random: telling", MAJORITY]) == (1, 0.5)
    assert sizes["random: telling", "rows of train"] == 150
    assert sizes["random: telling", "rows of val"] == telling.n == 50
    assert scores["random: telling", "p (Holm)"] < 0.01 and telling.low > 0.9
    assert scores["random: silent", "p (Holm)"] > 0.05 and silent.low < 0.5 < silent.high


def test_the_audit_depends_on_sizes_but_not_on_row_order():
    limited_audit = audit([rows(telling=PREDICTIVE)], train_size=60, test_size=30)
    assert list(limited_audit[1].values()) == [60, 30]
    ordered = rows(telling=PREDICTIVE)
    reversed_rows = Rows(
        **{**vars(ordered), "train": list(ordered.train)[::-1], "test": list(ordered.test)[::-1]}
    )
    assert audit([reversed_rows], train_size=60, test_size=30) == limited_audit


@pytest.mark.parametrize("text", ["x", "", " "])
def test_constant_inputs_reach_the_majority(text):
    scores, _ = audit([rows(same=[text] * 200)])
    accuracy, majority, gain, p, _ = scores.values()
    assert isinstance(accuracy, Interval)
    assert (accuracy.estimate, gain, p) == (majority, 0, 0.5)


def test_empty_splits_are_refused():
    with pytest.raises(ValueError, match="no split"):
        audit([])
    empty_part = rows(telling=PREDICTIVE)
    with pytest.raises(ValueError, match="150 rows to train on, 0 to score on"):
        audit([Rows(**{**vars(empty_part), "test": []})])


def test_words_that_predict_labels_are_listed():
    words = token_table(rows(telling=PREDICTIVE), "telling")
    pairs = set(zip(words["token"], words["label"], strict=True))
    assert pairs == {("good", "yes"), ("bad", "no")}
    # All 75 rows have a label that half of all rows have: z = .5 / sqrt(.25 / 75).
    assert words["z"].to_list() == pytest.approx([75**0.5] * 2)
    assert words["share"].to_list() == [1, 1] and words["expected"].to_list() == [0.5] * 2
    assert token_table(rows(telling=PREDICTIVE), "telling", least=76).empty
    assert token_table(rows(silent=UNPREDICTIVE), "silent", least=2).empty


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    root = str(tmp_path_factory.mktemp("lake"))
    adept = records(
        "item_id modifier label split_random",
        ("a0", "fake", 0, "train"),
        ("a1", "big", 2, "train"),
        ("a2", "toy", 0, "val"),
        sentence1="A gun shoots.",
        sentence2="A strange gun shoots.",
        noun="gun",
        edition="mine",
    )
    write(root, "adept", adept)
    item: Any = {"adjective": "red", "class": "I", "premise": "red car", "label": 1}
    conclusions = [("p0", "car"), ("p1", "vehicle")]
    write(root, "plane_items", records("item_id conclusion", *conclusions, **item, edition="mine"))
    split: Any = {"scheme": "strict", "fold": "1", "edition": "mine"}
    parts = [("train", "p0"), ("train", "p0"), ("test", "p1")]
    write(root, "plane_splits", records("part item_id", *parts, **split))
    cells = [
        ("e0", "ordering", "entailment", "published_tuning", "premise e0"),
        ("e1", "ordering", "not_entailment", "published", "premise e1"),
        ("e2", "booster", "entailment", "published", "premise e2"),
    ]
    names = "item_id test label edition premise"
    write(root, "asp_entailment", records(names, *cells, hypothesis="it is"))
    rounds = records(
        "item_id edition part",
        ("e0", "published_tuning", "train"),
        ("e1", "published", "test"),
        ("e2", "published", "test"),
        scheme="adjectives",
        round="0",
    )
    write(root, "asp_splits", rounds)
    return root


def test_rows_of_adept_are_read_by_split(lake):
    (split,) = audits.declared_splits("adept", lake, "mine")
    assert (split.split, split.part) == ("random", "val")
    at = split.test[0]
    assert split.labels[at] == "impossible" and split.inputs["modifier alone"][at] == "toy"
    assert len(split.train) == 2
    assert list(audits.declared_splits("adept", lake, "other")) == []


def test_repeated_rows_of_plane_are_kept(lake):
    (split,) = audits.declared_splits("plane", lake, "mine")
    assert split.split == "strict" and len(split.train) == 2
    assert [split.inputs["conclusion alone"][at] for at in split.train] == ["car", "car"]
    assert [split.inputs["conclusion alone"][at] for at in split.test] == ["vehicle"]
    assert list(audits.declared_splits("plane", lake, "other")) == []


def test_asp_is_trained_on_rows_of_the_tuning_edition(lake):
    trained_tests, all_tests = audits.asp(lake, "published")
    assert trained_tests.split == "entailment, adjectives 0"
    assert all_tests.split == "entailment, adjectives 0, all tests"
    premises = trained_tests.inputs["premise alone"]
    assert [premises[at] for at in trained_tests.train] == ["premise e0"]
    assert [trained_tests.item_ids[at] for at in trained_tests.test] == ["e1"]
    assert sorted(all_tests.item_ids[at] for at in all_tests.test) == ["e1", "e2"]
