"""What a model's classes mean, and in which form it is asked."""

from __future__ import annotations

import pytest

from conf import UserError
from etl.adept import LABELS as ADEPT
from tests.training.scoring.conftest import record
from training.models.loading import ModelSource
from training.scoring.sources import asked

NLI = ("entailment", "neutral", "contradiction")
PLANE = ("not entailed", "entailed")


def source(labels, trained=None, generates=False):
    return ModelSource("/m", "m", tuple(labels), generates, trained)


@pytest.mark.parametrize(
    "names",
    [("CONTRADICTION", "NEUTRAL", "ENTAILMENT"), ("Contradiction", "neutral", "Entailment")],
)
def test_names_in_any_case_and_order(names):
    own = asked(source(names))
    assert own.labels == ("contradiction", "neutral", "entailment")
    assert own.ordered == NLI
    assert own.form == "pair"


def test_numbered_classes_are_refused_until_they_are_named():
    model = source(("LABEL_0", "LABEL_1", "LABEL_2"))
    with pytest.raises(UserError, match=r"LABEL_0, LABEL_1, LABEL_2.*expected labels=") as error:
        asked(model)
    assert "labels=[contradiction,neutral,entailment]" in str(error.value)
    assert asked(model, ["contradiction", "entailment", "neutral"]).labels[1] == "entailment"


@pytest.mark.parametrize(
    ("names", "given", "reason"),
    [
        (("LABEL_0", "LABEL_1", "LABEL_2"), ["entailment"], "1 for the 3 classes"),
        (("LABEL_0", "LABEL_1"), ["yes", "no"], "'yes', 'no' names no label"),
        (NLI, list(NLI[::-1]), "itself says entailment, neutral, contradiction"),
        (("positive", "negative"), [], "expected the labels of natural-language inference"),
        (("entailment", "neutral"), [], "not the labels of a task"),
    ],
)
def test_other_labels_are_refused(names, given, reason):
    with pytest.raises(UserError, match=reason):
        asked(source(names), given)


def test_labels_that_say_the_same_are_taken():
    assert asked(source(("ENTAILMENT", "NOT_ENTAILMENT")), ["entailment", "not_entailment"])


def test_the_form_follows_what_was_learnt():
    sentence = record({"name": "plane"}, "plane", PLANE, pair=False)
    pair = record({"name": "plane"}, "plane", PLANE)
    words = record({"name": "adept", "context": False}, "adept_5_no_context", ADEPT)
    assert asked(source(PLANE, sentence)).form == "statement"
    assert asked(source(PLANE, pair)).form == "pair"
    assert asked(source(PLANE)).form == "pair"
    assert asked(source(ADEPT)).form == "change"
    assert asked(source(ADEPT[1:4])).form == "change"
    assert asked(source(ADEPT, words)).form == "words"
    assert asked(source((), generates=True)).form == "text"


def test_texts_have_no_labels():
    with pytest.raises(UserError, match="generates texts"):
        asked(source((), generates=True), ["entailment"])
