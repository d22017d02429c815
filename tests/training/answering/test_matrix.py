"""Matrices and tables of errors, from literal predictions."""

import pyarrow as pa
import pytest

from adnominal.analysis.estimates import wilson
from adnominal.conf.markdown import markdown
from adnominal.training import predictions
from adnominal.training.answering import matrix
from adnominal.training.answering.matrix import TASK_LABELS, TWO_WAY

ADEPT = [("equally likely", "equally likely")] * 3 + [("less likely", "impossible")]


def rows(pairs, *, model="m", task="plane", run="r", texts=None, scheme="published", fold="1"):
    """Predictions from (gold, predicted) pairs; the items are 0, 1, …"""
    return predictions.rows(
        len(pairs),
        run_id=run,
        task=task,
        edition="published",
        scheme=scheme,
        fold=fold,
        item_id=[str(at) for at in range(len(pairs))],
        gold=[gold for gold, _ in pairs],
        predicted=[predicted for _, predicted in pairs],
        text=texts,
        model=model,
    )


def nli(pairs):
    """Predictions for PLANE from (gold, label) pairs of a model with three labels."""
    reading = {"entailment": "entailed"}
    return rows(
        [(gold, reading.get(label, "not entailed")) for gold, label in pairs],
        texts=[label for _, label in pairs],
    )


def test_a_cell_has_its_interval_and_majority():
    (cell,) = matrix.matrix(
        rows([("entailed", "entailed")] * 6 + [("not entailed", "entailed")] * 4)
    ).to_pylist()
    interval = wilson(6, 10)
    assert (cell["rows"], cell["accuracy"], cell["majority"]) == (10, 0.6, 0.6)
    assert (cell["low"], cell["high"]) == (interval.low, interval.high)
    assert cell["macro_f1"] == pytest.approx(0.375)  # 0.75 and 0
    assert (cell["answers"], cell["classes"]) == (TASK_LABELS, 2)


def test_more_than_two_labels_are_also_scored_two_way():
    task_cell, two = matrix.matrix(rows(ADEPT, task="adept_5")).to_pylist()
    assert task_cell["answers"] == TASK_LABELS
    assert task_cell["accuracy"] == task_cell["majority"] == 0.75
    # Neither "impossible" nor "less likely" holds, so the two agree in the two-way score.
    assert (two["answers"], two["accuracy"], two["classes"]) == (TWO_WAY, 1.0, 2)


def test_unknown_labels_have_no_two_way_score():
    cells = matrix.matrix(rows([("a", "b"), ("b", "b"), ("c", "c")], task="pairs_x"))
    assert cells.column("answers").to_pylist() == [TASK_LABELS]


def test_generated_texts_are_right_or_wrong():
    pairs = [("exists x.dog(x)", None), ("all x.dog(x)", None)]
    (cell,) = matrix.matrix(
        rows(pairs, task="sygns_fol", texts=["exists x.dog(x)", "exists x.cat(x)"])
    ).to_pylist()
    assert cell["accuracy"] == 0.5
    assert cell["macro_f1"] is None
    assert cell["majority"] is None
    cells = pa.Table.from_pylist([cell])
    assert matrix.grid(cells).to_pylist()[1]["sygns_fol published 1"] is None
    assert matrix.grid(cells, "macro_f1").to_pylist()[0]["sygns_fol published 1"] is None


def test_a_task_that_is_scored_twice_has_two_columns():
    wrong = [("entailed", "not entailed"), ("entailed", "entailed"), ("not entailed", "entailed")]
    every = [rows([("entailed", "entailed")] * 2, run="1"), rows(wrong, run="2")]
    cells = matrix.matrix(pa.concat_tables(every))
    scores, majority = matrix.grid(cells, keys={"1": "plane", "2": "again"}).to_pylist()
    assert list(scores) == [
        "trained_on",
        "plane published 1 (plane)",
        "plane published 1 (again)",
    ]
    assert list(majority.values())[1:] == ["100.0", "66.7"]
    # Two models on one task share the column.
    every[1] = rows(wrong, run="2", model="other")
    cells = matrix.matrix(pa.concat_tables(every))
    assert len(matrix.grid(cells, keys={"1": "plane", "2": "plane"}).column_names) == 2


def test_the_grid_has_models_by_tasks():
    predictions_by_model = [
        rows([("entailed", "entailed"), ("not entailed", "entailed")], model="a", run="1"),
        rows(ADEPT, model="a", task="adept_5", run="2", scheme="random", fold=""),
        rows([("entailed", "not entailed"), ("not entailed", "entailed")], model="b", run="3"),
    ]
    cells = matrix.matrix(pa.concat_tables(predictions_by_model))
    grid_rows = matrix.grid(cells, names={"a": "ADEPT"})
    assert grid_rows.column_names == [
        "trained_on",
        "plane published 1",
        "adept_5 random",
        "adept_5 random, two-way",
    ]
    assert grid_rows.column("trained_on").to_pylist() == ["ADEPT", "b", "majority"]
    column = grid_rows.column("plane published 1").to_pylist()
    assert column[0].startswith("50.0 (")
    assert column[1].startswith("0.0 (0.0–")
    assert column[2] == "50.0"
    assert grid_rows.column("adept_5 random").to_pylist()[1] is None
    assert "| b | 0.0 (0.0–65.8) | – | – |" in markdown(grid_rows)
    f1_rows = matrix.grid(cells, "macro_f1")
    assert f1_rows.column("trained_on").to_pylist() == ["a", "b"]


def test_no_rows_are_an_error():
    with pytest.raises(ValueError, match="no predictions"):
        matrix.matrix(rows([]))
    for function in (matrix.accuracy_by_group, matrix.answers_by_group, matrix.f1_by_group):
        with pytest.raises(ValueError, match="no item has a group"):
            function(rows([("entailed", "entailed")]), {})


def test_shares_of_answers_distinguish_all_three_labels():
    pairs = [
        ("entailed", "entailment"),
        ("entailed", "neutral"),
        ("not entailed", "neutral"),
        ("not entailed", "contradiction"),
    ]
    label_shares = matrix.answers_by_group(nli(pairs), {"0": "I", "1": "I", "2": "S", "3": "S"})
    shares = {(r["group"], r["gold"], r["answer"]): r["share"] for r in label_shares.to_pylist()}
    assert shares["I", "entailed", "neutral"] == 0.5
    assert shares["I", "entailed", "contradiction"] == 0
    assert shares["S", "not entailed", "contradiction"] == 0.5


def test_f1_is_weighted_by_the_gold_labels():
    # Always answering no gives 0 for intersective items and 2/3 · 0.8 for intensional ones.
    golds = ["entailed"] * 3 + ["not entailed"] * 2 + ["entailed"]
    always_no = [(gold, "contradiction") for gold in golds]
    groups = dict(zip("012345", "IIIOOO", strict=True))
    first, second = matrix.f1_by_group(nli(always_no), groups).to_pylist()
    assert (first["group"], first["f1"], second["group"]) == ("I", 0, "O")
    assert second["f1"] == pytest.approx(2 / 3 * 0.8)
    assert second["accuracy"] == pytest.approx(2 / 3)


def test_a_neutral_answer_is_wrong_three_way_and_no_two_way():
    pairs = [("not entailed", "neutral"), ("not entailed", "contradiction")]
    (score,) = matrix.f1_by_group(nli(pairs), {"0": "O", "1": "O"}).to_pylist()
    assert score["f1"] == pytest.approx(2 / 3)
    assert (score["f1_two_way"], score["accuracy"], score["third"]) == (1.0, 1.0, 0.5)


def test_the_average_is_over_classes():
    table_5 = pa.table({"group": ["I", "S", "O"], "f1": [17.1, 24.1, 57.4]})
    assert matrix.average(table_5) == pytest.approx(32.8, abs=0.1)


def test_accuracy_by_group_ignores_items_without_a_group():
    pairs = [("entailed", "entailed"), ("not entailed", "entailed"), ("entailed", "entailed")]
    accuracies = matrix.accuracy_by_group(rows(pairs), {"0": "a", "1": "a"})
    (row,) = accuracies.to_pylist()
    assert (row["group"], row["rows"], row["accuracy"], row["majority"]) == ("a", 2, 0.5, 0.5)
