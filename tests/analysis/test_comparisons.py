import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import f1_score
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from adnominal.analysis.comparisons import (
    Paired,
    Resampling,
    bootstrap,
    compare,
    compare_by_slice,
    permutation,
    scores_by_slice,
)
from adnominal.analysis.estimates import wilson

LABELS = st.lists(st.tuples(*[st.sampled_from("abc")] * 3), min_size=1, max_size=60)


def items(only_first: int, only_second: int, both: int = 0, neither: int = 0):
    """Gold labels, and the answers of two models that are right on these numbers of items."""
    first = ["x"] * only_first + ["y"] * only_second + ["x"] * both + ["y"] * neither
    second = ["y"] * only_first + ["x"] * only_second + ["x"] * both + ["y"] * neither
    return ["x"] * len(first), first, second


@pytest.mark.parametrize(("right", "n"), [(0, 10), (10, 10), (1, 3), (66, 100), (1070, 1611)])
def test_wilson_equals_statsmodels(right, n):
    interval = wilson(right, n)
    low, high = proportion_confint(right, n, method="wilson")
    assert interval.low == pytest.approx(low, abs=1e-12)
    assert interval.high == pytest.approx(high, abs=1e-12)
    assert 0 <= interval.low <= interval.estimate <= interval.high <= 1


@pytest.mark.parametrize(
    ("only_first", "only_second"), [(121, 59), (6, 16), (0, 5), (1, 1), (30, 30)]
)
def test_mcnemars_test_is_that_of_the_items_that_one_model_answers_correctly(
    only_first, only_second
):
    # 121 and 59 are the disagreements in the example of statsmodels.
    pair = Paired(*items(only_first, only_second, both=40, neither=7))
    result = compare("accuracy", pair, resampling=Resampling(10))
    assert (result.only_first, result.only_second) == (only_first, only_second)
    square = [[40, only_first], [only_second, 7]]
    assert result.mcnemar == pytest.approx(mcnemar(square, exact=True).pvalue)


def test_without_disagreement_mcnemars_p_is_one():
    assert compare("accuracy", Paired(*items(0, 0, both=3))).mcnemar == 1.0


@settings(max_examples=25)
@given(LABELS)
def test_accuracy_and_macro_f1_equal_scikit_learns(rows):
    gold, predicted, _ = zip(*rows, strict=True)
    accuracy, macro_f1 = (
        bootstrap(statistic, gold, predicted, resampling=Resampling(1)).estimate
        for statistic in ("accuracy", "macro_f1")
    )
    assert macro_f1 == pytest.approx(f1_score(gold, predicted, average="macro"))
    right = sum(g == p for g, p in zip(gold, predicted, strict=True))
    assert accuracy == pytest.approx(right / len(gold))


def test_bootstrap_intervals_are_near_scipys():
    random.seed(1)
    gold = random.choices("abc", (5, 3, 2), k=300)
    predicted = [g if random.random() < 0.7 else random.choice("abc") for g in gold]
    for statistic, function in (
        ("accuracy", lambda g, p: np.mean(g == p)),
        ("macro_f1", lambda g, p: f1_score(g, p, average="macro")),
    ):
        interval = bootstrap(statistic, gold, predicted, resampling=Resampling(4000))
        expected = stats.bootstrap(
            (np.array(gold), np.array(predicted)),
            function,
            paired=True,
            vectorized=False,
            n_resamples=300,
            method="percentile",
            rng=np.random.default_rng(0),
        ).confidence_interval
        # The tolerance covers the Monte Carlo error of an interval about 0.1 wide.
        assert interval.low == pytest.approx(expected.low, abs=0.02)
        assert interval.high == pytest.approx(expected.high, abs=0.02)
        assert interval.low < interval.estimate < interval.high


@settings(max_examples=20)
@given(LABELS, st.randoms(use_true_random=False))
def test_results_do_not_depend_on_the_order_of_items(rows, shuffled):
    gold, first, second = zip(*rows, strict=True)
    groups = [str(at // 3) for at in range(len(rows))]
    moved = list(zip(rows, groups, strict=True))
    shuffled.shuffle(moved)
    gold2, first2, second2 = zip(*(row for row, _ in moved), strict=True)
    groups2 = [group for _, group in moved]
    for statistic in ("accuracy", "macro_f1"):
        for groups_in_order, other in [(None, None)] + [(groups, groups2)] * (len(rows) > 3):
            one: dict[str, Any] = {"groups": groups_in_order, "resampling": Resampling(600, 7)}
            two: dict[str, Any] = {"groups": other, "resampling": Resampling(600, 7)}
            assert bootstrap(statistic, gold, first, **one) == bootstrap(
                statistic, gold2, first2, **two
            )
            assert bootstrap(statistic, gold, first, second, **one) == bootstrap(
                statistic, gold2, first2, second2, **two
            )
            assert permutation(statistic, gold, first, second, **one) == permutation(
                statistic, gold2, first2, second2, **two
            )


def test_intervals_follow_the_seed():
    gold, first, _ = items(30, 20, 10)
    lower_ends = {
        bootstrap("accuracy", gold, first, resampling=Resampling(99, s)).low for s in range(5)
    }
    assert len(lower_ends) > 1


@pytest.mark.parametrize(("a", "b"), [(12, 3), (5, 9), (40, 22), (4, 4)])
def test_permuting_accuracies_is_the_exact_sign_test(a, b):
    gold, first, second = items(a, b, both=50, neither=9)
    p = permutation("accuracy", gold, first, second, resampling=Resampling(20_000))
    exact = mcnemar([[0, a], [b, 0]], exact=True).pvalue
    assert p == pytest.approx(exact, abs=0.015)


def test_permutation_p_is_near_scipys():
    gold, first, second = items(14, 5, both=11, neither=3)
    right = [
        np.array([g == p for g, p in zip(gold, guesses, strict=True)], float)
        for guesses in (first, second)
    ]
    expected = stats.permutation_test(
        right,
        lambda a, b, axis: np.mean(a, axis=axis) - np.mean(b, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=5000,
        rng=np.random.default_rng(0),
    )
    p = permutation("accuracy", gold, first, second, resampling=Resampling(20_000))
    assert p == pytest.approx(expected.pvalue, abs=0.02)


def test_the_paired_bootstrap_finds_differences_that_separate_intervals_hide():
    gold, first, second = items(20, 3, both=60, neither=60)
    difference = bootstrap("accuracy", gold, first, second)
    assert difference.estimate == pytest.approx(17 / 143)
    assert 0 < difference.low < difference.high
    a, b = (bootstrap("accuracy", gold, guesses) for guesses in (first, second))
    assert a.low < b.high
    same = bootstrap("accuracy", gold, first, first)
    assert (same.low, same.high) == (0, 0)


def test_groups_widen_the_interval():
    # Twenty premises are each right or wrong as a whole, so there are only twenty observations.
    gold = ["x"] * 800
    predicted = ["x" if at // 40 % 2 else "y" for at in range(800)]
    alone = bootstrap("accuracy", gold, predicted)
    grouped = bootstrap("accuracy", gold, predicted, groups=[at // 40 for at in range(800)])
    assert grouped.high - grouped.low > 4 * (alone.high - alone.low)
    assert grouped.estimate == alone.estimate == 0.5
    second = ["y"] * 800
    premises = [at // 40 for at in range(800)]
    alone_p = permutation("accuracy", gold, predicted, second, resampling=Resampling(500))
    assert alone_p == pytest.approx(1 / 501)
    assert permutation("accuracy", gold, predicted, second, premises) == pytest.approx(
        2 / 2**10, abs=2e-3
    )


def test_scores_by_slice_have_intervals_and_use_groups():
    gold = ["a", "a", "b", "b", "a", "b"]
    predicted = ["a", "b", "b", "b", "a", "a"]
    slices: dict[str, Any] = {"decile": ["1", "10", "2", "10", None, "2"], "seen": ["seen"] * 6}
    scores = scores_by_slice(gold, predicted, slices, resampling=Resampling(200))
    assert [(s.slice, s.value, s.accuracy.n) for s in scores] == [
        ("all", "all", 6),
        ("decile", "1", 1),
        ("decile", "2", 2),
        ("decile", "10", 2),
        ("seen", "seen", 6),
    ]
    assert scores[0].accuracy == wilson(4, 6)
    assert scores[0].macro_f1.estimate == pytest.approx(f1_score(gold, predicted, average="macro"))
    grouped = scores_by_slice(gold, predicted, slices, list("uuvvuv"), Resampling(200))
    assert grouped[0].accuracy != scores[0].accuracy
    assert grouped[1].accuracy == scores[1].accuracy


def test_p_values_are_corrected_over_all_slices():
    gold, first, second = items(30, 5, both=20, neither=20)
    pair = Paired(gold, first, second)
    slices: dict[str, Any] = {"class": ["I" if at % 2 else "S" for at in range(75)]}
    comparisons = compare_by_slice("accuracy", pair, slices, resampling=Resampling(1000))
    assert [(c.slice, c.value) for c in comparisons] == [
        ("all", "all"),
        ("class", "I"),
        ("class", "S"),
    ]
    corrected = multipletests([c.p for c in comparisons], method="holm")[1]
    assert [c.p_holm for c in comparisons] == pytest.approx(list(corrected))
    assert (comparisons[0].only_first, comparisons[0].only_second) == (30, 5)
    of_class_i = comparisons[1]
    assert (of_class_i.only_first, of_class_i.only_second) == (15, 2)
    assert comparisons[0].difference.estimate == pytest.approx(25 / 75)
    assert compare("accuracy", pair, resampling=Resampling(1000)).p == comparisons[0].p


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: wilson(3, 2), "3 right of 2"),
        (lambda: wilson(0, 0), "0 right of 0"),
        (lambda: bootstrap("accuracy", "ab", "abc"), "labels of 2 and 3 items"),
        (lambda: bootstrap("accuracy", [], []), "no items"),
        (lambda: bootstrap("accuracy", ["a", None], ["a", "b"]), "without label"),
        (lambda: bootstrap("f2", "ab", "ab"), "'f2'; expected one of accuracy"),
        (lambda: bootstrap("accuracy", "ab", "ab", groups="x"), "1 groups for 2 items"),
        (lambda: bootstrap("accuracy", "ab", "ab", groups="xx"), "at least two"),
        (lambda: bootstrap("accuracy", "ab", "ab", resampling=Resampling(0)), "expected 1 or more"),
        (lambda: scores_by_slice("ab", "ab", {"d": ["1"]}), "slice d: 1 values for 2"),
    ],
)
def test_impossible_inputs_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
