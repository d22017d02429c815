import pytest
from statsmodels.stats.proportion import confint_proportions_2indep

from adnominal.analysis.statistics import clustered_interval, difference, wilson


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
    with pytest.raises(ValueError, match="levels"):
        difference(wilson(1, 2), wilson(1, 2, 0.9))
