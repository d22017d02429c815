import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import confusion_matrix, f1_score, precision_recall_fscore_support

from adnominal.training import metrics

LABELS = ("no", "yes", "maybe")


def ids(*values):
    return np.array(values, dtype=np.int64)


def test_scores_of_literal_rows():
    figures = metrics.classification(ids(0, 0, 0, 1, 2), ids(0, 0, 1, 1, 1), LABELS)
    assert list(figures)[:3] == ["accuracy", "majority", "macro_f1"]
    assert figures["accuracy"] == figures["majority"] == 0.6
    assert figures["precision/no"] == 1.0
    assert figures["recall/no"] == pytest.approx(2 / 3)
    assert figures["precision/yes"] == pytest.approx(1 / 3)
    assert (figures["precision/maybe"], figures["recall/maybe"], figures["f1/maybe"]) == (0, 0, 0)
    assert figures["macro_f1"] == pytest.approx((0.8 + 0.5 + 0) / 3)


pairs = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=30)


@given(pairs)
def test_scores_equal_those_of_scikit_learn(rows):
    gold, predicted = (ids(*column) for column in zip(*rows, strict=True))
    figures = metrics.classification(gold, predicted, LABELS)
    expected = precision_recall_fscore_support(gold, predicted, labels=[0, 1, 2], zero_division=0)
    for name, values in zip(("precision", "recall", "f1"), expected, strict=False):
        assert [figures[f"{name}/{label}"] for label in LABELS] == pytest.approx(list(values))
    macro = f1_score(gold, predicted, average="macro", zero_division=0)
    assert figures["macro_f1"] == pytest.approx(macro)


@given(st.lists(pairs, min_size=1, max_size=4))
def test_weighted_f1_of_many_tables_equals_scikit_learns(tables):
    # Class 2 is only an answer: gold labels of it become class 1.
    labels = [[(min(gold, 1), answer) for gold, answer in rows] for rows in tables]
    counts = np.array(
        [confusion_matrix(*zip(*rows, strict=True), labels=[0, 1, 2]) for rows in labels]
    )
    expected = [
        f1_score(*zip(*rows, strict=True), average="weighted", zero_division=0) for rows in labels
    ]
    assert metrics.weighted_f1(counts[:, :2]) == pytest.approx(expected)


def test_a_table_without_rows_has_weighted_f1_zero():
    assert metrics.weighted_f1(np.zeros((2, 2, 3))).tolist() == [0, 0]


@pytest.mark.parametrize(
    ("gold", "predicted", "message"),
    [
        (ids(0, 1), ids(0), "2 gold and 1 predicted labels"),
        (ids(0, 3), ids(0, 0), "gold label 3"),
        (ids(0, 0), ids(0, -1), "predicted label 0 or -1"),
        (ids(), ids(), "no rows"),
    ],
)
def test_rows_that_cannot_be_scored_are_refused(gold, predicted, message):
    with pytest.raises(ValueError, match=message):
        metrics.classification(gold, predicted, LABELS)


def test_texts_match_only_exactly():
    gold = pa.array(["a b", "a b", "a b"])
    assert metrics.exact_match(gold, ["a b", "a  b", "A b"]).tolist() == [True, False, False]
    with pytest.raises(ValueError, match="3 gold and 1 predicted texts"):
        metrics.exact_match(gold, ["a b"])


def test_metric_names_are_valid_in_mlflow():
    from mlflow.utils.validation import _validate_metric_name

    assert metrics.metric_name("less likely") == "less_likely"
    assert metrics.metric_name("") == "none"
    for name in ("ADJ+NEG", "necessarily true", "a=b,c", "°"):
        _validate_metric_name(f"f1/{metrics.metric_name(name)}")
