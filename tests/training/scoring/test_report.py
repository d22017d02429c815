"""Tables of a cell, from rows of predictions."""

from __future__ import annotations

import pyarrow as pa
import pytest

from etl.lake.tables import table
from tests.training.scoring.conftest import record
from tests.training.tasks import lake as tables
from training.models.loading import ModelSource
from training.scoring.report import details, names_of
from training.scoring.sources import scored_model
from training.scoring.targets import Target

PLANE = ("not entailed", "entailed")


@pytest.fixture(scope="module")
def variants(tmp_path_factory):
    """Degree estimation: a row as it is, one exchanged, one beyond what people judged."""
    root = str(tmp_path_factory.mktemp("variants") / "lake")
    row = {"test": "ordering", "premise": "p", "hypothesis": "h", "edition": "wide"}
    tables.write(
        root,
        "asp_degree",
        [
            {**row, "item_id": "0", "variant": "base", "label": "entailment"},
            {**row, "item_id": "1", "variant": "numbers", "label": "entailment"},
            {**row, "item_id": "2", "variant": "base", "label": "discard"},
            {
                **row,
                "item_id": "3",
                "variant": "base",
                "label": "not_entailment",
                "extrapolated": True,
            },
        ],
    )
    return root


def predictions(examples, guesses, texts):
    golds = ["entailment" if gold == 0 else "not_entailment" for gold in examples.gold]
    return pa.Table.from_pylist(
        [
            {
                "run_id": "r",
                "task": "asp",
                "edition": "wide",
                "scheme": "all",
                "item_id": item,
                "gold": gold,
                "predicted": guess,
                "text": text,
                "model": "m",
            }
            for item, gold, guess, text in zip(
                examples.item_ids.to_pylist(), golds, guesses, texts, strict=True
            )
        ],
        schema=table("predictions").schema,
    )


def test_variants_and_numbers_stand_with_their_test(variants):
    asp_target = Target("asp", {"edition": "wide", "scheme": "all"}, variants, None, 0)
    examples = asp_target.dataset("pair").parts["test"]
    assert examples.item_ids.to_pylist() == ["0", "1", "3"]
    rows = predictions(
        examples,
        ["entailment", "not_entailment", "not_entailment"],
        ["entailment", "neutral", "contradiction"],
    )
    text = details("m on asp", rows, examples, "asp")
    assert text.startswith("## m on asp\n")
    assert "| degree.ordering base | 2 | 100.0 |" in text
    assert "| degree.ordering numbers | 1 | 0.0 |" in text
    assert "| degree.ordering extrapolated | 1 | 100.0 |" in text
    # One test alone: nothing to break down by.
    assert "Accuracy by test:" not in text


def test_models_are_called_by_what_they_were_taught():
    def model(name, dataset="plane", base="base"):
        trained = record({"name": "plane"}, dataset, PLANE, model=base)
        return scored_model(ModelSource(name, name, PLANE, False, trained))

    foreign = scored_model(ModelSource("f", "f", ("entailment", "not_entailment"), False, None))
    assert names_of([model("a"), model("b", "asp"), foreign]) == {
        "a": "plane (base)",
        "b": "asp (base)",
        "f": "f",
    }
    # Taught the same, as two folds are: their own names.
    assert names_of([model("a"), model("b")]) == {"a": "a", "b": "b"}
