from __future__ import annotations

from typing import Any

import pytest

from analysis.across import audits
from analysis.across.artefacts import Rows, audit, audit_figure, token_table
from conf import UserError
from tests.rows import rows as records
from tests.rows import write


def rows(number=200, **inputs):
    """Labels yes and no in turn; the first 3 in 4 rows are trained on."""
    cut = 3 * number // 4
    return Rows(
        dataset="mine",
        edition="demo",
        split="random",
        part="val",
        item_ids=[f"i{at}" for at in range(number)],
        labels=["yes" if at % 2 else "no" for at in range(number)],
        inputs=inputs,
        train=range(cut),
        test=range(cut, number),
    )


TELLING = [f"a thing {at} is {'good' if at % 2 else 'bad'}" for at in range(200)]
SILENT = [f"thing {at // 2}" for at in range(200)]


def test_a_telling_part_is_found_and_a_silent_one_is_not():
    audited = {r["input"]: r for r in audit([rows(telling=TELLING, silent=SILENT)]).to_pylist()}
    telling_row, silent_row = audited["telling"], audited["silent"]
    assert (
        telling_row["accuracy"],
        telling_row["majority"],
        telling_row["rows"],
        telling_row["trained"],
    ) == (1, 0.5, 50, 150)
    assert telling_row["p_holm"] < 0.01 and telling_row["low"] > 0.9
    assert silent_row["p_holm"] > 0.05 and silent_row["low"] < 0.5 < silent_row["high"]


def test_order_of_rows_and_caps():
    one = audit([rows(telling=TELLING)], train_size=60, test_size=30)
    assert (one["trained"].to_pylist(), one["rows"].to_pylist()) == ([60], [30])
    ordered = rows(telling=TELLING)
    turned = Rows(
        **{**vars(ordered), "train": list(ordered.train)[::-1], "test": list(ordered.test)[::-1]}
    )
    assert audit([turned], train_size=60, test_size=30).equals(one)


def test_inputs_that_are_all_alike_say_the_majority():
    (audited,) = audit([rows(same=["x"] * 200)]).to_pylist()
    assert (audited["accuracy"], audited["gain"], audited["p"]) == (audited["majority"], 0, 0.5)


def test_nothing_to_audit():
    with pytest.raises(ValueError, match="no split"):
        audit([])
    empty_part = rows(telling=TELLING)
    with pytest.raises(ValueError, match="150 rows to train on, 0 to score on"):
        audit([Rows(**{**vars(empty_part), "test": []})])


def test_words_that_give_labels_away():
    words = token_table(rows(telling=TELLING), "telling")
    assert {(r["token"], r["label"]) for r in words.to_pylist()} == {("good", "yes"), ("bad", "no")}
    # 75 rows, all of a label that half of the rows have: z = .5 / sqrt(.25 / 75).
    assert words["z"].to_pylist() == pytest.approx([75**0.5] * 2)
    assert words["share"].to_pylist() == [1, 1] and words["expected"].to_pylist() == [0.5] * 2
    assert token_table(rows(telling=TELLING), "telling", least=76).num_rows == 0
    assert token_table(rows(silent=SILENT), "silent", least=2).num_rows == 0


def test_figure_of_the_audit():
    figure, plotted = audit_figure(audit([rows(telling=TELLING, silent=SILENT)]))
    assert plotted["audited"].to_pylist() == ["random: telling", "random: silent"]
    assert figure.axes[0].get_xlabel() == "accuracy (share of rows)"


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
    ends = [("p0", "car"), ("p1", "vehicle")]
    write(root, "plane_items", records("item_id conclusion", *ends, **item, edition="mine"))
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


def test_rows_of_adept(lake):
    (split,) = audits.adept(lake, "mine")
    assert (split.split, split.part) == ("random", "val")
    at = split.test[0]
    assert split.labels[at] == "impossible" and split.inputs["modifier alone"][at] == "toy"
    assert len(split.train) == 2
    with pytest.raises(UserError, match="edition=other"):
        list(audits.adept(lake, "other"))


def test_rows_of_plane_keep_repetitions(lake):
    (split,) = audits.plane(lake, "mine")
    assert split.split == "strict" and len(split.train) == 2
    assert [split.inputs["conclusion alone"][at] for at in split.train] == ["car", "car"]
    assert [split.inputs["conclusion alone"][at] for at in split.test] == ["vehicle"]
    assert list(audits.plane(lake, "other")) == []


def test_rows_of_asp_are_trained_on_in_the_tuning_edition(lake):
    known, every = audits.asp(lake, "published")
    assert known.split == "entailment, adjectives 0"
    assert every.split == "entailment, adjectives 0, all tests"
    assert [known.inputs["premise alone"][at] for at in known.train] == ["premise e0"]
    assert [known.item_ids[at] for at in known.test] == ["e1"]
    assert sorted(every.item_ids[at] for at in every.test) == ["e1", "e2"]
