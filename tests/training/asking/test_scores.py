"""Tables of prompted models, from literal answers."""

from math import sqrt

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr
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
    assert scores.constant_answers(rows([]), YES).num_rows == 0


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
    assert scores.constant_answers(predictions, YES).column("f1").to_pylist() == [1.0, 0.0]


def test_tallies_of_pieces_give_the_figures_of_all_rows():
    predictions = rows(
        two_shot("I", [True, False, False, True])
        + two_shot("O", [True, True, False], gold=NO)
        + two_shot("S", [True, False], prompt="plane/external@1")
    )
    labels = (NO, YES)
    pieces = [predictions.slice(start, 2) for start in range(0, predictions.num_rows, 2)]
    counted = scores.merge([scores.tally(piece, labels) for piece in pieces])
    # One row for each cell and answer: equal answers are counted, whatever the piece.
    assert counted.num_rows == 6
    assert sum(counted["count"].to_pylist()) == predictions.num_rows
    for choice in ("first", "restricted"):
        table = scores.class_table(scores.cells(predictions, choice))
        assert scores.class_table(scores.cells(counted, choice)) == table
    assert scores.by_class(counted, YES) == scores.by_class(predictions, YES)
    assert scores.states(counted) == {}


def test_written_texts_are_right_or_wrong_and_none_stays_in_memory():
    texts = [("f(x)", "f(x)", "parsed"), ("g(x)", "f(x)", "parsed"), ("h(x)", None, "unparsable")]
    columns = {"prompt": "t", "verbaliser": None, "scores": None}
    records = [
        {**columns, "gold": gold, "predicted": written, "state": state, "text": written or "?"}
        for gold, written, state in texts * 3
    ]
    schema = table("predictions").schema
    counted = scores.tally(pa.Table.from_pylist(records, schema), ())
    assert (counted.num_rows, set(counted["gold"].to_pylist())) == (3, {"right"})
    figures, _, _ = scores.by_prompt(counted, "SyGNS", ())
    assert figures["accuracy"] == pytest.approx(1 / 3)
    assert scores.states(counted) == {
        "state/parsed": pytest.approx(2 / 3),
        "state/unparsable": pytest.approx(1 / 3),
    }


def test_a_share_of_no_parsed_answers_is_a_figure():
    record = {"gold": YES, "state": "cut off", "text": "Because", "prompt": "t", "task": "plane"}
    counted = scores.tally(pa.Table.from_pylist([record], table("predictions").schema), (NO, YES))
    assert scores.states(counted) == {"state/parsed": 0.0, "state/cut_off": 1.0}


def test_ratings_of_pieces_give_the_correlation_of_all_rows():
    # By likelihood, the rating is the mean of the labels 1, 2 and 3 by their probabilities.
    logs = [[0.0, -9.0, -9.0], [-9.0, 0.0, -9.0], [-9.0, -9.0, 0.0], [0.0, -9.0, -9.0]]
    records = [
        {"prompt": "t", "gold": gold, "scores": scores_of_row}
        for gold, scores_of_row in zip(["1.5", "4.0", "3.0", "1.5"], logs, strict=True)
    ]
    schema = table("predictions").schema
    pieces = [pa.Table.from_pylist(records[:2], schema), pa.Table.from_pylist(records[2:], schema)]
    counted = scores.merge([scores.ratings(piece, ("1", "2", "3")) for piece in pieces])
    assert sorted(counted["count"].to_pylist()) == [1, 1, 2]
    figures, columns, _ = scores.by_rating(counted)
    ranks_of_people, ranks_of_model = [1.5, 4, 3, 1.5], [1.5, 3, 4, 1.5]
    expected = spearmanr(ranks_of_people, ranks_of_model).statistic
    assert figures == {"spearman/t": pytest.approx(expected)}
    assert columns["pairs"] == ["4"]
