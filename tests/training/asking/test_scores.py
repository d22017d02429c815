"""Tables of prompted models, from literal answers."""

from math import sqrt

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from adnominal.etl.lake.tables import table
from adnominal.training.asking import scores

MODEL = "bert"


def rows(answers, scheme="two_shot"):
    """Predictions for PLANE from (class, type, prompt, verbaliser, order, gold, predicted, scores)
    rows."""
    names = ["class", "inference_type", "prompt", "verbaliser", "premise_order", "gold"]
    names += ["predicted", "scores"]
    common = {"text": "word", "model": MODEL, "scheme": scheme, "task": "plane", "fold": "1"}
    records = [
        {**dict(zip(names, answer, strict=True)), **common, "item_id": str(at)}
        for at, answer in enumerate(answers)
    ]
    schema = table("predictions").schema
    schema = schema.append(pa.field("class", pa.string()))
    return pa.Table.from_pylist(records, schema.append(pa.field("inference_type", pa.int32())))


YES, NO = "entailed", "not entailed"
FIRST_YES, FIRST_NO = [-2.0, -1.0], [-1.0, -2.0]


def two_shot(kind, right, gold=YES, prompt="plane/internal@1", inference=1, order="2,3"):
    """The answers of a cell: the gold label for each true value of `right`, otherwise no label."""
    return [
        (kind, inference, prompt, "good/poor", order, gold, gold if hit else None, FIRST_YES)
        for hit in right
    ]


def only_cell(gold, predicted):
    """The F1 of a single cell with these labels and answers."""
    answers = [
        ("I", 1, "plane/internal@1", "good/poor", "2,3", label, answer, FIRST_YES)
        for label, answer in zip(gold, predicted, strict=True)
    ]
    (cell,) = scores.cells(rows(answers)).to_pylist()
    assert cell["rows"] == len(gold)
    return cell["f1"]


def test_f1_of_literal_answers():
    # Half of four rows are right and the others have no label: 2·½ / (1 + ½).
    assert only_cell([YES] * 4, [YES, YES, None, None]) == pytest.approx(2 / 3)
    assert only_cell([YES] * 4, [YES, YES, NO, NO]) == pytest.approx(2 / 3)
    # Both labels are gold equally often: F1 of yes is 2·1/(2+2), of no 2·1/(2+1).
    assert only_cell([YES, YES, NO, NO], [YES, None, YES, NO]) == pytest.approx((1 / 2 + 2 / 3) / 2)
    assert only_cell([YES], [None]) == 0.0
    assert scores.always(rows([]), YES).num_rows == 0


@settings(max_examples=25)
@given(
    st.lists(st.tuples(st.sampled_from([YES, NO]), st.sampled_from([YES, NO, "other"])), min_size=1)
)
def test_f1_equals_scikit_learns_weighted_f1(pairs):
    gold, predicted = (list(labels) for labels in zip(*pairs, strict=True))
    expected = f1_score(
        gold, predicted, labels=sorted(set(gold)), average="weighted", zero_division=0
    )
    assert only_cell(gold, predicted) == pytest.approx(expected)


def test_a_row_gives_first_token_and_restricted_choice():
    predictions = rows(two_shot("I", [True, False]) + two_shot("O", [False], gold=NO))
    assert scores.answers(predictions, "first") == [YES, None, None]
    assert scores.answers(predictions, "restricted") == [YES, YES, YES]
    generated = predictions.set_column(
        predictions.column_names.index("text"), "text", pa.nulls(predictions.num_rows, pa.string())
    )
    with pytest.raises(ValueError, match="no first tokens"):
        scores.answers(generated, "first")


def test_two_shot_deviations_are_over_cells():
    predictions = rows(
        two_shot("I", [True])
        + two_shot("I", [False], prompt="plane/external@1")
        + two_shot("S", [True], inference=2, order="1,3")
        + two_shot("O", [True], gold=NO)
    )
    by_row = {row["row"]: row for row in scores.class_table(scores.cells(predictions)).to_pylist()}
    assert list(by_row) == ["I", "S", "O", "average"]
    assert (by_row["I"]["mean"], by_row["I"]["cells"]) == (0.5, 2)
    assert by_row["I"]["deviation"] == pytest.approx(1 / sqrt(2))
    assert by_row["S"]["deviation"] is None
    # The average is the mean over classes; its deviation is over the cells 1, 0, 1, 1.
    assert by_row["average"]["mean"] == pytest.approx(5 / 6)
    assert by_row["average"]["deviation"] == pytest.approx(0.5)


def test_zero_shot_deviations_are_over_templates():
    def answer_rows(kind, prompt, inference, hit):
        return two_shot(kind, [hit], prompt=prompt, inference=inference, order=None)

    both = ("plane/internal@1", "plane/external@1")
    predictions = rows(
        answer_rows("I", both[0], 1, True)
        + answer_rows("I", both[0], 2, True)
        + answer_rows("I", both[1], 1, False)
        + answer_rows("I", both[1], 2, True)
        + answer_rows("S", both[0], 1, True)
        + answer_rows("S", both[1], 1, True),
        scheme="zero_shot",
    )
    by_row = {row["row"]: row for row in scores.class_table(scores.cells(predictions)).to_pylist()}
    assert by_row["I"]["mean"] == pytest.approx(3 / 4)
    assert by_row["I"]["deviation"] == pytest.approx(0.5 / sqrt(2))
    assert by_row["S"]["deviation"] == 0.0
    assert by_row["average"]["deviation"] == pytest.approx(0.25 / sqrt(2))


def test_cells_of_two_experiments_cannot_be_mixed():
    both = pa.concat_tables([rows(two_shot("I", [True])), rows(two_shot("I", [True]), "zero_shot")])
    with pytest.raises(ValueError, match="two_shot, zero_shot"):
        scores.class_table(scores.cells(both))


def test_the_baseline_always_gives_the_same_answer():
    predictions = rows(two_shot("I", [False] * 3) + two_shot("O", [True], gold=NO))
    assert scores.always(predictions, YES).column("f1").to_pylist() == [1.0, 0.0]
