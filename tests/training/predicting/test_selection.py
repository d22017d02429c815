import math
import os
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adnominal.conf import UserError
from adnominal.etl.lake import arrow
from adnominal.training import predictions
from adnominal.training.predicting.selection import disputed, uncertain, uncertainty, votes, write

LABELS = ("no", "maybe", "yes")
# The scores of five items in each run.
RUNS = {
    "a": [(0.8, 0.1, 0.1), (0.4, 0.3, 0.3), (0.5, 0.5, 0.0), (1.0, 0.0, 0.0), (0.4, 0.3, 0.3)],
    "b": [(0.7, 0.2, 0.1), (0.1, 0.8, 0.1), (0.6, 0.4, 0.0), (0.0, 0.0, 1.0), (0.3, 0.4, 0.3)],
    "c": [(0.9, 0.1, 0.0), (0.2, 0.2, 0.6), (0.6, 0.4, 0.0), (1.0, 0.0, 0.0), (0.4, 0.3, 0.3)],
}


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    root = os.fspath(tmp_path_factory.mktemp("lake"))

    def add(
        run: str, rows: Sequence[tuple[str, tuple[float, ...]]], labels: Sequence[str] = LABELS
    ) -> None:
        columns = {
            "item_id": [item for item, _ in rows],
            "predicted": [labels[int(np.argmax(scores))] for _, scores in rows],
            "scores": [list(scores) for _, scores in rows],
        }
        same = {"run_id": run, "task": "adept_items", "edition": "clean"}
        table = predictions.rows(len(rows), **same, **columns)
        arrow.append(root, "predictions", table, job="test")

    for run, scores in RUNS.items():
        rows = list(zip("uvwxy", scores, strict=True))
        add(run, rows if run == "a" else rows[::-1])
    # Runs with some of the items and others, one of them in two commits.
    add("part", [("z", (0.0, 0.0, 1.0)), ("x", (0.0, 1.0, 0.0))])
    add("part", [("w", (0.0, 1.0, 0.0))])
    add("two", [("x", (0.5, 0.5))])
    add("odd", [("x", (0.5, 0.5)), ("w", (0.2, 0.2, 0.6))])
    add("else", [("q", (0.5, 0.5, 0.0))])
    # Prompts have log-probabilities, and calibrated ones their differences.
    add("prompts", [("x", (-0.5, -1.5, -9.0))])
    add("calibrated", [("x", (2.5, 1.5, 0.5))])
    # The scores of "c" with other orders and spellings of the classes, and one more item, because
    # "c" never predicts maybe. The run "foreign" has another class.
    reversed_scores = [(item, row[::-1]) for item, row in zip("uvwxy", RUNS["c"], strict=True)]
    maybe = ("m", (0.2, 0.6, 0.2))
    add("turned", [*reversed_scores, maybe], ("YES", "MAYBE", "NO"))
    add("straight", [*zip("uvwxy", RUNS["c"], strict=True), maybe], ("no", "Maybe", "yes"))
    add("foreign", list(zip("uvwxy", RUNS["b"], strict=True)), ("no", "perhaps", "yes"))
    return root


def test_uncertain_items_begin_with_the_least_certain(lake):
    items = uncertain(lake, "a", 3)
    # Ties are broken by id, whatever the order of the table.
    assert items["item_id"].to_pylist() == ["v", "y", "w"]
    assert items["predicted"].to_pylist() == ["no", "no", "no"]
    assert items["entropy"][2].as_py() == pytest.approx(1 / math.log2(3))
    by_margin = uncertain(lake, "a", 9, "margin")
    assert by_margin["item_id"].to_pylist() == ["w", "v", "y", "u", "x"]
    assert by_margin["margin"].to_pylist() == pytest.approx([1.0, 0.9, 0.9, 0.3, 0.0])


def test_disputed_items_begin_with_the_most_disputed(lake):
    items = disputed(lake, ["a", "b", "c"], 9)
    assert items["item_id"].to_pylist() == ["v", "x", "y"]
    answers = ["no | maybe | yes", "no | yes | no", "no | maybe | no"]
    assert items["predicted"].to_pylist() == answers
    assert items["votes"].to_pylist() == pytest.approx([math.log2(3), 0.918296, 0.918296])
    assert disputed(lake, ["b", "c", "a"], 1)["item_id"].to_pylist() == ["v"]


def test_only_items_in_all_runs_can_be_disputed(lake, caplog):
    caplog.set_level("INFO")
    items = disputed(lake, ["a", "part"], 9)
    assert items["item_id"].to_pylist() == ["x", "w"]
    assert "2 items are in all runs (of 5, 3)" in caplog.text


def test_classes_may_differ_in_order_and_spelling(lake):
    assert disputed(lake, ["straight", "turned", "c"], 9).num_rows == 0
    items, expected = disputed(lake, ["straight", "turned", "b"], 9), disputed(lake, ["c", "b"], 9)
    assert items["item_id"].to_pylist() == expected["item_id"].to_pylist()
    same = disputed(lake, ["straight", "straight", "b"], 9)
    assert items["divergence"].to_pylist() == pytest.approx(same["divergence"].to_pylist())


def test_runs_that_agree_have_no_disputed_items(lake):
    assert disputed(lake, ["a", "a"], 9).num_rows == 0


@pytest.mark.parametrize(
    ("runs", "message"),
    [
        (["a", "nobody"], "run nobody: no rows"),
        (["a", "else"], "no item in common"),
        (["a", "two"], r"different numbers of classes \(a 3, two 2\)"),
        (["b", "foreign"], "class 2 is 'maybe' in run b and 'perhaps' in run foreign; expected"),
        (["a", "b", "foreign"], "class 2 is 'maybe' in run b and 'perhaps' in run foreign"),
        (["c", "turned"], "class 1 is 'no' in run c and 'yes' in run turned"),
        (["a", "odd"], "predictions with (2, 3|3, 2) scores"),
    ],
)
def test_runs_that_cannot_be_compared_are_refused(lake, runs, message):
    with pytest.raises(UserError, match=message):
        disputed(lake, runs, 9)


@pytest.mark.parametrize("run", ["prompts", "calibrated"])
def test_scores_that_are_not_probabilities_are_refused(lake, run):
    message = f"run {run}: its scores are not probabilities"
    with pytest.raises(UserError, match=message):
        uncertain(lake, run, 1)
    with pytest.raises(UserError, match=message):
        disputed(lake, ["a", run], 1)


def test_an_unknown_run_is_refused(lake):
    with pytest.raises(UserError, match="run nobody: no rows"):
        uncertain(lake, "nobody", 9)


@given(
    st.lists(st.floats(0.01, 1.0), min_size=2, max_size=6), st.sampled_from(["entropy", "margin"])
)
def test_uncertainty_lies_between_0_and_1(weights, measure):
    shares = np.array([weights]) / sum(weights)
    even = np.full_like(shares, 1 / len(weights))
    sure = np.eye(len(weights))[:1]
    (value,) = uncertainty(shares, measure)
    assert -1e-9 <= value <= 1 + 1e-9
    assert uncertainty(even, measure) == pytest.approx([1.0])
    assert uncertainty(sure, measure) == pytest.approx([0.0])


@given(st.lists(st.integers(0, 3), min_size=2, max_size=6), st.randoms())
def test_vote_entropy_depends_neither_on_class_names_nor_on_order(answers, random):
    renamed = [3 - answer for answer in answers]
    random.shuffle(renamed)
    assert votes(np.array([answers])) == pytest.approx(votes(np.array([renamed])))
    assert (votes(np.array([answers]))[0] == 0) == (len(set(answers)) == 1)


@pytest.mark.parametrize(("name", "delimiter"), [("x.tsv", "\t"), ("x.csv", ",")])
def test_the_delimiter_follows_the_file_name(lake, tmp_path, name, delimiter):
    write(uncertain(lake, "a", 1), tmp_path / name)
    lines = (tmp_path / name).read_text().splitlines()
    header = delimiter.join(("item_id", "edition", "predicted", "entropy"))
    assert lines == [header, delimiter.join(("v", "clean", "no", "0.991159"))]
