import json

import pytest

from adnominal.etl.annotation.finishing import (
    EditionAnswers,
    answers_of_edition,
    dataset_rows,
    report,
    report_text,
)
from adnominal.etl.annotation.quality import Answer, Rules, filtered


def answer(who, item, label, kind="item", expected=None, round="main", condition="context", page=1):
    return Answer(item, who, label, expected, kind, round, condition, "b", f"b-{page}")


# Four items: one is unanimous, two have a majority, one has no agreement.
LABELS = {"i1": (2, 2, 2), "i2": (0, 0, 1), "i3": (2, 3, 2), "i4": (0, 2, 4)}
ANSWERS = [
    answer(who, item, label)
    for item, labels in LABELS.items()
    for who, label in zip("abc", labels, strict=True)
]


def figures(other_answers=(), answers=ANSWERS):
    rules = Rules()
    edition = EditionAnswers(answers, answers, list(other_answers))
    return report(edition, edition.filtered(rules), rules, samples=20)


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


def test_experts_are_compared_with_each_other_and_the_crowd():
    expert_labels = {
        "x": {"i1": 2, "i2": 0, "i3": 2, "i4": 2},
        "y": {"i1": 2, "i2": 0, "i3": 3, "i4": 1},
    }
    expert_answers = [
        answer(expert, item, label, round="expert")
        for expert, labels in expert_labels.items()
        for item, label in labels.items()
    ]
    experts = figures(expert_answers)["experts"]
    (pair,) = experts["pairs"]
    assert (pair["items"], pair["alike"]) == (4, 0.5)
    assert pair["where alike, items with a label"] == 2
    assert pair["where alike, kappa with labels"] == 1
    assert experts["kappa with labels"]["x"] == 1
    # Two of three, with shares .67 .33 and .33 .33 .33: (2/3 - 1/3) / (1 - 1/3).
    assert experts["kappa with labels"]["y"] == pytest.approx(0.5)


def test_human_baselines_of_five_and_of_three():
    human_answers = [
        answer("h", "i1", 2, round="human"),
        answer("h", "i2", 1, round="human"),
        answer("h", "i3", 4, round="human", condition="no_context"),
        answer("h", "i4", 4, round="human"),
        answer("h", "check", 4, "attention", 4, round="human"),
    ]
    human = figures(human_answers)["human"]
    # "Less likely" for i2, which is impossible, is right among three labels; i4 has no label.
    assert (human["context"]["accuracy 5"], human["context"]["accuracy 3"]) == (0.5, 1)
    assert human["context"]["answers"] == 2
    assert human["no_context"]["accuracy 3"] == 0


def test_audits_are_counted_by_label():
    audit_answers = [
        answer("h", "i2", 0, expected=0, round="audit"),
        answer("h", "i9", 4, expected=0, round="audit"),
        answer("h", "i8", 1, expected=4, round="audit"),
    ]
    labels = {"i8": 4, "i9": 0}
    crowd = [*ANSWERS, *(answer(who, i, label) for who in "abc" for i, label in labels.items())]
    audit = figures(audit_answers, crowd)["audit"]
    assert audit.keys() == {"impossible", "necessarily true"}
    assert audit["impossible"]["clear case"]["share"] == 0.5
    assert audit["impossible"]["not so"]["count"] == 1
    assert audit["necessarily true"]["already so"]["share"] == 1
    # Items that have another label now, or none.
    outdated = [answer("h", "i2", 0, expected=4, round="audit"), *audit_answers]
    outdated.append(answer("h", "gone", 0, expected=0, round="audit"))
    report_figures = figures(outdated, crowd)
    assert report_figures["audit"] == audit
    assert "audit: 2 answers left out" in report_text(report_figures)


def test_the_report_can_be_written_as_text_and_as_json():
    other_answers = [
        answer("x", "i1", 2, round="expert"),
        answer("y", "i1", 2, round="expert"),
        answer("h", "i1", 2, round="human"),
        answer("h", "i2", 0, expected=0, round="audit"),
    ]
    report_figures = figures(other_answers)
    assert json.loads(json.dumps(report_figures, allow_nan=False))["labels"]["majority"] == 2
    text = report_text(report_figures)
    assert "4 items with enough answers: 1 unanimous, 2 by majority, 1 without agreement" in text
    assert "dropped: 1, no_agreement (items)" in text
    assert "expert x: kappa not defined with the labels" in text
    assert "human, context: 100.0 % of five labels, 100.0 % of three, 1 answers of 1 people" in text
    assert "audit of impossible: clear case 100.0 %, already so 0.0 %" in text
    assert text.count("(chosen)") == 1
    # Four readings, with three answers and with two.
    assert len(report_figures["readings"]) == 8
    assert text.count(" per item: 0 annotators excluded") == 8


def test_checks_belong_to_the_pages_of_the_items():
    answers = [
        answer("a", "i1", 2),
        answer("a", "g", 2, "gold", 2),
        answer("a", "other", 2, page=2),
        answer("a", "h", 0, "gold", 2, page=2),
    ]
    edition = answers_of_edition(answers, {"i1"}, {"b"})
    assert edition.counted == answers[:2]
    assert edition.judged == answers


def test_checks_are_judged_in_both_rounds_of_labelling():
    failed = answer("c", "x", 0, "attention", 1, round="pilot", page=2)
    stranger = answer("d", "x", 0, "attention", 1, round="pilot", page=2)
    edition = answers_of_edition([*ANSWERS, failed, stranger], LABELS, {"b"}, ("main",))
    assert edition.counted == ANSWERS
    assert edition.filtered(Rules()).excluded["attention_failed"] == ["c"]


def test_other_rounds_count_for_the_edition_of_their_batch():
    mine = answer("x", "i1", 2, round="expert")
    other = mine._replace(batch="another")
    assert answers_of_edition([*ANSWERS, mine, other], LABELS, {"b"}).others == [mine]


def test_rows_are_sorted_by_id():
    items = {
        item: {"sentence": "A key turns.", "modified_sentence": "A false key turns."}
        | {"adjective": "false", "noun": "key"}
        for item in LABELS
    }
    rows = dataset_rows(filtered(ANSWERS, Rules()), items, "mine", 0)
    assert [(row["item_id"], row["label"], row["agreement"]) for row in rows] == [
        ("i1", 2, "unanimous"),
        ("i2", 0, "majority"),
        ("i3", 2, "majority"),
    ]
    assert {row["edition"] for row in rows} == {"mine"}


def test_a_report_without_answers_has_empty_figures():
    report_figures = figures(answers=[answer("a", "g", 2, "gold", 2)])
    assert report_figures["agreement"]["all answers"] == {"items": 0}
    assert report_figures["labels"]["by label"]["impossible"]["share"] is None
    assert "none of the items" in report_text(report_figures)
