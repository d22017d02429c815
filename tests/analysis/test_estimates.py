import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.proportion import confint_proportions_2indep

from adnominal.analysis.estimates import (
    Interval,
    bootstrap_sums,
    clustered_interval,
    difference,
    mean_over_runs,
    percentile_interval,
    wilson,
)


def ends(interval):
    return interval.low, interval.high


def test_independent_items_have_wilsons_interval():
    right = [1.0] * 30 + [0.0] * 20
    assert ends(clustered_interval(right)) == pytest.approx(ends(wilson(30, 50)), abs=4e-3)


def test_groups_with_equal_answers_count_once():
    right = [1.0] * 5 + [0.0] * 5
    repeated = [value for value in right for _ in range(10)]
    groups = [f"g{at // 10}" for at in range(100)]
    assert ends(clustered_interval(repeated, groups)) == pytest.approx(
        ends(clustered_interval(right)), abs=1e-9
    )
    # If all are right, the number of groups counts, not that of items.
    assert clustered_interval([1.0] * 100, groups).low == wilson(10, 10).low


def test_intervals_are_never_narrower_than_for_independent_items():
    # Each group is half right, so there is no variance between groups.
    halves = clustered_interval([1.0, 0.0] * 20, [at // 2 for at in range(40)])
    assert ends(halves) == ends(wilson(20, 40))
    single_group = clustered_interval([1.0, 0.0, 1.0], ["same"] * 3)
    assert single_group.high - single_group.low > 0.7


def test_the_interval_of_a_difference_is_newcombes():
    # Newcombe 1998, table II, (a): 56/70 and 48/80.
    interval = difference(wilson(56, 70), wilson(48, 80))
    assert (round(interval.low, 4), round(interval.high, 4)) == (0.0524, 0.3339)
    assert interval.estimate == pytest.approx(0.2)
    assert interval.n == 150
    expected = confint_proportions_2indep(56, 70, 48, 80, method="newcomb", compare="diff")
    assert ends(interval) == pytest.approx(expected)


def test_impossible_intervals_are_refused():
    with pytest.raises(ValueError, match="no items"):
        clustered_interval([])
    with pytest.raises(ValueError, match="1 groups for 2 items"):
        clustered_interval([1, 0], ["a"])


def test_students_interval_over_runs_is_scipys():
    shares = [0.61, 0.64, 0.7]
    runs = [Interval(share, share - 0.1, share + 0.1, 100 - at) for at, share in enumerate(shares)]
    interval = mean_over_runs(runs)
    expected = stats.t.interval(0.95, 2, np.mean(shares), stats.sem(shares))
    assert interval.estimate == pytest.approx(0.65) and interval.n == 98
    assert ends(interval) == pytest.approx(expected)
    # A share stays between 0 and 1, and equal runs have no spread.
    assert mean_over_runs([wilson(1, 10), wilson(9, 10)]).low == 0
    equal = mean_over_runs([wilson(1, 4), wilson(1, 4)])
    assert ends(equal) == (0.25, 0.25)
    assert mean_over_runs([wilson(1, 10)]) == wilson(1, 10)
    with pytest.raises(ValueError, match="no runs"):
        mean_over_runs([])


def mean_of_sums(sums):
    return sums[..., 0] / sums[..., 1]


def test_the_bootstrap_over_groups_is_near_scipys():
    generator = np.random.default_rng(5)
    sizes = generator.integers(1, 6, 60)
    rows = np.column_stack([generator.binomial(sizes, 0.4), sizes])
    estimate, resampled = bootstrap_sums(mean_of_sums, rows, seed=1)
    interval = percentile_interval(estimate, resampled, len(rows))
    expected = stats.bootstrap(
        (rows[:, 0], rows[:, 1]),
        lambda right, size, axis: right.sum(axis=axis) / size.sum(axis=axis),
        paired=True,
        method="percentile",
        n_resamples=4000,
        rng=np.random.default_rng(2),
    ).confidence_interval
    assert interval.estimate == pytest.approx(rows[:, 0].sum() / sizes.sum())
    assert ends(interval) == pytest.approx((expected.low, expected.high), abs=0.02)


def test_rows_that_occur_several_times_are_drawn_as_often():
    rows = np.array([[0, 1], [1, 1]])
    estimate, resampled = bootstrap_sums(mean_of_sums, rows, seed=0, times=np.array([30, 10]))
    assert estimate == 0.25 and len(resampled) == 2000
    expected = wilson(10, 40)
    low, high = ends(percentile_interval(estimate, resampled, 40))
    assert (low, high) == pytest.approx(ends(expected), abs=0.03)
    again = bootstrap_sums(mean_of_sums, rows, seed=0, times=np.array([30, 10]))[1]
    other = bootstrap_sums(mean_of_sums, rows, seed=[0, 1], times=np.array([30, 10]))[1]
    assert (again == resampled).all() and (other != resampled).any()
