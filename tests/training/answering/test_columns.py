from typing import Any

import pytest

from adnominal.conf import UserError
from adnominal.training.answering.table_rows import Columns, columns
from adnominal.training.models.loading import ModelSource, Trained


def source(pair: bool | None, **task: Any) -> ModelSource:
    labels = ("no", "yes")
    record = None
    if pair is not None:
        record = Trained(
            task=task,
            dataset="x",
            edition="e",
            scheme="s",
            fold="",
            labels=labels,
            outcomes=labels,
            outcome_of=(0, 1),
            pair=pair,
            max_length=None,
            model="some-encoder",
            seed=0,
            instruction=None,
            base_content=None,
            longest_answer=None,
        )
    return ModelSource("folder", "some-model", labels, False, record)


@pytest.mark.parametrize(
    ("table", "model", "expected"),
    [
        ("adept_items", source(True), ("item_id", "sentence", "modified_sentence")),
        (
            "adept_items",
            source(True, name="adept", context=False),
            ("item_id", "noun", "adjective"),
        ),
        ("adept", source(True, name="adept", context=True), ("item_id", "sentence1", "sentence2")),
        ("plane_items", source(False), ("item_id", "sentence", None)),
        ("plane_items", source(True), ("item_id", "premise", "conclusion")),
        # A model that does not say what it takes gets what the table has.
        ("nli", source(None), ("item_id", "premise", "hypothesis")),
        ("sentences", source(None), ("sentence_id", "text", None)),
    ],
)
def test_the_columns_fit_the_training_of_the_model(table, model, expected):
    text_columns = columns(table, model)
    assert (text_columns.item, text_columns.first, text_columns.second) == expected


def test_columns_named_in_the_settings_have_precedence():
    text_columns = columns("amod_examples", source(False), item="noun", first="sentence")
    assert text_columns == Columns("noun", "corpus", "sentence", None)
    text_columns = columns("nli", source(None), first="hypothesis", second="premise")
    assert text_columns == Columns("item_id", "source", "hypothesis", "premise")


def test_full_stops_are_treated_as_in_training():
    model = source(True, name="asp", full_stops="normalised")
    assert columns("asp_degree", model).full_stops
    assert not columns("asp_degree", source(True, name="asp", full_stops="kept")).full_stops


@pytest.mark.parametrize(
    ("table", "model", "options", "message"),
    [
        ("squad", source(True), {}, "table=squad: expected one of"),
        ("amod_pairs", source(False), {}, "expected first="),
        ("plane_items", source(None), {}, "expected first=sentence, or first=premise second="),
        ("sentences", source(True), {}, "two texts, the table has one; expected first= and second"),
        ("adept_items", source(False), {}, "one text, the table has two; expected first="),
        ("adept_items", source(True), {"first": "sentence"}, "expected second= too"),
        ("adept_items", source(False), {"first": "sentence", "second": "noun"}, "first= alone"),
        ("adept_items", source(False), {"first": "words"}, "first=words: not a column"),
        ("adept_items", source(False), {"first": "chosen"}, "first=chosen: a column of bool"),
        ("adept_items", source(True), {"item": "key"}, "item=key: not a column"),
        ("amod_examples", source(False), {"first": "sentence"}, "item=item_id: not a column"),
    ],
)
def test_columns_that_do_not_fit_are_refused(table, model, options, message):
    with pytest.raises(UserError, match=message):
        columns(table, model, **options)
