"""The detailed tables of a cell, and the names of models in reports."""

from typing import Any

import pytest

from adnominal.training import predictions
from adnominal.training.answering.readings import scored_model
from adnominal.training.answering.report import details, names_of
from adnominal.training.answering.targets import Target
from adnominal.training.models.loading import ModelSource
from tests.rows import write
from tests.training.answering.conftest import record

PLANE = ("not entailed", "entailed")


@pytest.fixture(scope="module")
def variants(tmp_path_factory):
    """Degree estimation: a base row, one with other numbers, one discarded, one extrapolated."""
    root = str(tmp_path_factory.mktemp("variants") / "lake")
    row = {"test": "ordering", "premise": "p", "hypothesis": "h", "edition": "wide"}
    row |= {"variant": "base", "label": "entailment"}
    changes: list[dict[str, Any]] = [{}, {"variant": "numbers"}, {"label": "discard"}]
    changes.append({"label": "not_entailment", "extrapolated": True})
    rows = [{**row, "item_id": str(at), **change} for at, change in enumerate(changes)]
    write(root, "asp_degree", rows)
    return root


def test_variants_are_shown_separately_within_their_test(variants):
    asp_target = Target("asp", {"edition": "wide", "scheme": "all"}, variants, None, 0)
    examples = asp_target.dataset("pair").parts["test"]
    assert examples.gold is not None and examples.item_ids.to_pylist() == ["0", "1", "3"]
    rows = predictions.rows(
        3,
        run_id="r",
        task="asp",
        edition="wide",
        scheme="all",
        item_id=examples.item_ids,
        gold=[("entailment", "not_entailment")[gold] for gold in examples.gold],
        predicted=["entailment", "not_entailment", "not_entailment"],
        text=["entailment", "neutral", "contradiction"],
        model="m",
    )
    text = details("m on asp", rows, examples, "asp")
    assert text.startswith("## m on asp\n")
    assert "| degree.ordering base | 2 | 100.0 |" in text
    assert "| degree.ordering numbers | 1 | 0.0 |" in text
    assert "| degree.ordering extrapolated | 1 | 100.0 |" in text
    # With a single test, there is nothing to break down.
    assert "Accuracy by test:" not in text


def test_models_are_named_by_their_training_task():
    def model(name, dataset="plane", base="base"):
        trained = record({"name": "plane"}, dataset, PLANE, model=base)
        return scored_model(ModelSource(name, name, PLANE, False, trained))

    foreign = scored_model(ModelSource("f", "f", ("entailment", "not_entailment"), False, None))
    assert names_of([model("a"), model("b", "asp"), foreign]) == {
        "a": "plane (base)",
        "b": "asp (base)",
        "f": "f",
    }
    # Models trained on the same task keep their own names.
    assert names_of([model("a"), model("b")]) == {"a": "a", "b": "b"}
