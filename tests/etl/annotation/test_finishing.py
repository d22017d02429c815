import json

import pytest
import yaml

from adnominal.conf import UserError
from adnominal.etl.adept.annotation_task import ADEPT
from adnominal.etl.annotation.finishing import (
    apply_rules,
    dataset_rows,
    disagreements_by_direction,
    report,
    report_text,
)
from adnominal.etl.annotation.quality import Answer, Rules, filter_answers
from adnominal.etl.annotation.settings import FinishSettings


def answer(who, item, label, kind="item", expected=None):
    return Answer(item, who, label, expected, kind, "main", "context", "b", "b-1")


# Four items: one is unanimous, two have a majority, one has no agreement.
LABELS = {"i1": (2, 2, 2), "i2": (0, 0, 1), "i3": (2, 3, 2), "i4": (0, 2, 4)}
ANSWERS = [
    answer(who, item, label)
    for item, labels in LABELS.items()
    for who, label in zip("abc", labels, strict=True)
]


def figures(answers=ANSWERS, models=()):
    return report(filter_answers(answers, Rules(), LABELS), models, ADEPT)


def test_labels_are_counted_as_in_table_4():
    table = figures()["labels"]
    names = ("items", "unanimous", "majority", "no agreement")
    assert [table[name] for name in names] == [4, 1, 2, 1]
    assert table["by label"]["equally likely"] == {
        "items": 2,
        "share": pytest.approx(2 / 3),
        "unanimous": 0.5,
    }
    assert table["by label"]["more likely"] == {"items": 0, "share": 0, "unanimous": None}


def test_agreement_is_that_of_items_with_equal_numbers_of_answers():
    rated = figures([*ANSWERS, answer("d", "i1", 2)])["agreement"]["all answers"]
    assert (rated["items"], rated["raters"], rated["fleiss items"]) == (4, 3, 3)
    # Labels 0 0 1, 2 2 3 and 0 2 4: observed (1/3 + 1/3 + 0) / 3, by chance (9 + 9 + 3) / 81.
    assert rated["fleiss kappa"] == pytest.approx((2 / 9 - 21 / 81) / (1 - 21 / 81))
    # 0 1 twice; 2 3 twice, 0 2 and 2 4; 0 4.
    directions = {"same side": 2, "one in the middle": 4, "opposite sides": 1}
    assert rated["disagreements"] == directions
    alone = figures([answer("a", "i1", 2), answer("a", "i2", 2)])["agreement"]["all answers"]
    assert alone == {"items": 0}


def test_the_report_can_be_written_as_text_and_as_json():
    report_figures = figures([*ANSWERS, answer("a", "x", 2, "attention", 2)], ["dawid_skene"])
    assert json.loads(json.dumps(report_figures, allow_nan=False)) == report_figures
    text = yaml.safe_load(report_text(report_figures))
    assert text["answers"] == 12 and text["checks"] == {"attention": 1}
    assert text["dropped"] == {"no_agreement (items)": 1}
    assert text["labels"]["by label"]["impossible"] == {
        "items": 1,
        "share": 0.333,
        "unanimous": 0.0,
    }
    assert text["models"]["dawid_skene"]["all answers"]["items"] == 3


def test_rows_are_sorted_by_id():
    items = {
        item: {"item_id": item, "sentence1": "A key turns.", "sentence2": "A false key turns."}
        | {"modifier": "false", "noun": "key"}
        for item in LABELS
    }
    rows = dataset_rows(filter_answers(ANSWERS, Rules(), LABELS), items, "mine", 0)
    assert [(row["item_id"], row["label"], row["agreement"]) for row in rows] == [
        ("i1", 2, "unanimous"),
        ("i2", 0, "majority"),
        ("i3", 2, "majority"),
    ]
    assert {row["edition"] for row in rows} == {"mine"}


def test_a_report_without_labels_has_empty_figures():
    report_figures = figures([answer("a", "i1", 2)], ["mace"])
    assert report_figures["labels"]["by label"]["impossible"]["share"] is None
    assert report_figures["models"]["mace"]["answers that count"] == {"items": 0}
    assert yaml.safe_load(report_text(report_figures)) == report_figures


def test_disagreements_lie_on_one_side_or_on_two():
    items = [(3, 4, 4), (0, 1, 1), (1, 3, 2), (0, 2), (2, 2, 2), (4,)]
    assert disagreements_by_direction(items, 2) == {
        "same side": 4,  # twice 3 4, twice 0 1
        "one in the middle": 3,  # 1 2, 3 2, 0 2
        "opposite sides": 1,  # 1 3
    }
    assert set(disagreements_by_direction([(1, 1)], 2).values()) == {0}


def test_a_model_of_annotators_that_is_named_twice_is_refused():
    with pytest.raises(UserError, match=r"models=.*twice"):
        FinishSettings(models=["mace", "mace"])


def test_a_distance_that_no_two_labels_have_is_refused():
    # Nobody would ever be excluded, without a word.
    with pytest.raises(UserError, match=r"gold_degrees=5: expected 4 or fewer.*of 5 labels"):
        apply_rules(FinishSettings(gold_degrees=5), ADEPT, LABELS)
