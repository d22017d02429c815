"""What the classes of a model mean, and in which form it is scored."""

import pytest

from adnominal.conf import UserError
from adnominal.etl.adept import LABELS as ADEPT
from adnominal.training.answering.readings import scored_model
from adnominal.training.models.loading import ModelSource
from tests.training.answering.conftest import record

NLI = ("entailment", "neutral", "contradiction")
PLANE = ("not entailed", "entailed")


def source(labels, trained=None, generates=False):
    return ModelSource("/m", "m", tuple(labels), generates, trained)


@pytest.mark.parametrize(
    "names",
    [("CONTRADICTION", "NEUTRAL", "ENTAILMENT"), ("Contradiction", "neutral", "Entailment")],
)
def test_class_names_may_have_any_case_and_order(names):
    scored = scored_model(source(names))
    assert scored.labels == ("contradiction", "neutral", "entailment")
    assert scored.labels_in_order == NLI
    assert scored.form == "pair"


def test_numbered_classes_are_refused_until_they_are_named():
    model = source(("LABEL_0", "LABEL_1", "LABEL_2"))
    with pytest.raises(UserError, match=r"LABEL_0, LABEL_1, LABEL_2.*expected labels=") as error:
        scored_model(model)
    assert "labels=[contradiction,neutral,entailment]" in str(error.value)
    assert scored_model(model, ["contradiction", "entailment", "neutral"]).labels[1] == "entailment"


@pytest.mark.parametrize(
    ("names", "label_names", "reason"),
    [
        (("LABEL_0", "LABEL_1", "LABEL_2"), ["entailment"], "1 for the 3 classes"),
        (("LABEL_0", "LABEL_1"), ["yes", "no"], "no known label: 'yes', 'no'"),
        (NLI, list(NLI[::-1]), "itself says entailment, neutral, contradiction"),
        (("positive", "negative"), [], "expected the labels of natural-language inference"),
        (("entailment", "neutral"), [], "not the labels of a task"),
    ],
)
def test_other_labels_are_refused(names, label_names, reason):
    with pytest.raises(UserError, match=reason):
        scored_model(source(names), label_names)


def test_labels_that_agree_with_the_model_are_accepted():
    assert scored_model(source(("ENTAILMENT", "NOT_ENTAILMENT")), ["entailment", "not_entailment"])


def test_the_form_follows_the_training_task():
    sentence = record({"name": "plane"}, "plane", PLANE, pair=False)
    pair = record({"name": "plane"}, "plane", PLANE)
    words = record({"name": "adept", "context": False}, "adept_5_no_context", ADEPT)
    assert scored_model(source(PLANE, sentence)).form == "statement"
    assert scored_model(source(PLANE, pair)).form == "pair"
    assert scored_model(source(PLANE)).form == "pair"
    assert scored_model(source(ADEPT)).form == "change"
    assert scored_model(source(ADEPT[1:4])).form == "change"
    assert scored_model(source(ADEPT, words)).form == "words"
    assert scored_model(source((), generates=True)).form == "text"


def test_labels_are_refused_for_models_that_generate_texts():
    with pytest.raises(UserError, match="generates texts"):
        scored_model(source((), generates=True), ["entailment"])
