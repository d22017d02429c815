"""How the labels of one task are read as those of another."""

import itertools

import pytest
import yaml

from adnominal import conf
from adnominal.etl.adept import LABELS as ADEPT
from adnominal.training.answering import label_map
from adnominal.training.answering.label_map import (
    Undefined,
    canonical,
    holds,
    in_order,
    label_reading,
    two_way,
)

NLI = ("entailment", "neutral", "contradiction")
PLANE = ("not entailed", "entailed")
ASP = ("entailment", "not_entailment")
TWO = (PLANE, ASP)


def test_every_entry_gives_its_reason():
    loaded = yaml.safe_load((conf.ROOT / "conf" / "transfer.yaml").read_text())
    entries = [*loaded["holds"].values(), *loaded["answers"], *loaded["coarser"]]
    assert all(len(entry["because"]) > 10 for entry in (*entries, *loaded["undefined"]))
    assert set(loaded["holds"]) == {*NLI, *PLANE, *ASP, *ADEPT}


def test_an_answer_is_read_in_the_labels_of_the_task():
    assert label_reading(NLI, PLANE) == {
        "entailment": "entailed",
        "neutral": "not entailed",
        "contradiction": "not entailed",
    }
    assert label_reading(NLI, ASP)["contradiction"] == "not_entailment"
    assert label_reading(PLANE, ADEPT) == {
        "entailed": "equally likely",
        "not entailed": "less likely",
    }
    assert label_reading(ADEPT, ASP)["impossible"] == "not_entailment"
    assert label_reading(ADEPT, ASP)["more likely"] == "entailment"


def test_degrees_are_read_as_the_nearest_degree():
    assert label_reading(ADEPT, ADEPT[1:4])["necessarily true"] == "more likely"
    assert label_reading(ADEPT, ADEPT[1:])["impossible"] == "less likely"
    # Labels that the task has too stay the same.
    assert label_reading(ADEPT[1:4], ADEPT) == {label: label for label in ADEPT[1:4]}


@pytest.mark.parametrize(
    ("model_labels", "task_labels"),
    itertools.product((NLI, PLANE, ASP, ADEPT, ADEPT[1:4]), (*TWO, ADEPT)),
)
def test_reading_preserves_whether_the_conclusion_holds(model_labels, task_labels):
    for label, answers in label_reading(model_labels, task_labels).items():
        assert holds(label) == holds(answers)
        assert answers in task_labels


@pytest.mark.parametrize(
    ("model_labels", "task_labels", "reason"),
    [
        (PLANE, NLI, "which of neutral and contradiction"),
        ((), PLANE, "a generated meaning no label"),
        (NLI, (), "SyGNS asks for a meaning"),
        (("up", "down"), PLANE, "'up' is not one of the labels"),
        (NLI, ("up", "down"), "no answers are defined"),
    ],
)
def test_readings_that_are_not_defined_give_the_reason(model_labels, task_labels, reason):
    with pytest.raises(Undefined, match=reason):
        label_reading(model_labels, task_labels)


def test_labels_of_other_models_are_recognised_in_any_case_and_spelling():
    assert canonical(["CONTRADICTION", "Neutral", "entailment"]) == NLI[::-1]
    assert canonical(["entailment", "not-entailment"]) == ASP
    assert in_order(("contradiction", "entailment", "neutral")) == NLI
    assert in_order(("entailed", "not entailed")) == PLANE
    assert in_order(("entailed",)) is None


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        (["LABEL_0", "LABEL_1"], "no known label: 'LABEL_0', 'LABEL_1'"),
        (["entailment", "neutral"], "not the labels of a task"),
        (["entailment", "Entailment", "neutral"], "not the labels of a task"),
        ([], "not the labels of a task"),
    ],
)
def test_other_names_are_refused(names, reason):
    with pytest.raises(Undefined, match=reason):
        canonical(names)


def test_only_two_answers_are_two_way():
    assert two_way({"entailed"})
    assert two_way(ASP)
    assert not two_way(NLI)
    assert not two_way(ADEPT)


def test_the_fingerprint_changes_with_the_map(monkeypatch):
    first_fingerprint = label_map.fingerprint()
    monkeypatch.setattr(label_map, "_text", lambda: "version: 2\n")
    assert label_map.fingerprint() != first_fingerprint
