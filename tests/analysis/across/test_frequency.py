import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adnominal.analysis import regression, slices
from adnominal.analysis.across import frequency
from adnominal.analysis.estimates import Interval, wilson
from adnominal.conf import UserError
from tests.rows import write


def test_tenths_of_literal_values():
    assert slices.tenths([*map(float, range(1, 21)), None]) == [
        *(1 + at // 2 for at in range(20)),
        slices.ABSENT,
    ]
    assert slices.tenths([None, None]) == [0, 0]
    assert set(slices.tenths([2.5] * 30)) == {1}


@given(st.lists(st.one_of(st.none(), st.floats(-20, 20)), min_size=1, max_size=100))
def test_tenths_never_fall_with_values(values):
    numbers = slices.tenths(values)
    for value, tenth in zip(values, numbers, strict=True):
        assert (tenth == 0) == (value is None) and tenth <= 10
    pairs = sorted((v, t) for v, t in zip(values, numbers, strict=True) if v is not None)
    assert [tenth for _, tenth in pairs] == sorted(tenth for _, tenth in pairs)


def items(right: list[bool], pairs: list[str]) -> frequency.Items:
    size = len(right)
    return frequency.Items("ours", "label", right, pairs, [""] * size, [None] * size, [None] * size)


def test_accuracy_by_tenth():
    values = [None, *map(float, range(1, 11))]
    answers = items([at % 2 == 1 for at in range(11)], list(map(str, values)))
    accuracies, ranges = frequency.by_tenth(answers, values)
    assert list(accuracies) == [("none", "ours"), *((str(at), "ours") for at in range(1, 11))]
    none, first = accuracies["none", "ours"], accuracies["1", "ours"]
    assert isinstance(none, Interval) and isinstance(first, Interval)
    assert none.estimate == 0 and ("ours, tenth 0", "median") not in ranges
    assert (ranges["ours, tenth 1", "least"], ranges["ours, tenth 1", "greatest"]) == (1, 1)
    assert (first.estimate, first.low, first.high) == (1, wilson(1, 1).low, 1)
    # Items of one pair count once.
    twice = items([True] * 40, ["red car"] * 20 + ["fake gun"] * 20)
    (all_items,) = frequency.by_tenth(twice, [1.0] * 40)[0].values()
    assert isinstance(all_items, Interval) and all_items.low == wilson(2, 2).low


def test_the_slope_is_that_of_a_two_by_two_table():
    # One of four is right at 0 and three of four at 1, so the log odds rise by 2 log 3.
    values = [0.0] * 4 + [1.0] * 4 + [None]
    right = [True, False, False, False, True, True, True, False, True]
    effect = regression.slope(values, right, list(range(9)))
    assert effect is not None and effect.items == 8
    assert effect.estimate == pytest.approx(2 * math.log(3), abs=1e-6)
    assert effect.odds_ratio.estimate == pytest.approx(9, abs=5e-3)
    # The variance of each log odds is 1 + 1 / 3; eight clusters of one item correct it by 8 / 6.
    error = math.sqrt(8 / 3 * 8 / 6)
    assert (effect.high - effect.low) / 2 == pytest.approx(1.959964 * error, rel=1e-4)
    assert effect.p == pytest.approx(0.244, abs=1e-3)
    # Values ten times as large have a slope a tenth as steep.
    wide = regression.slope([None if v is None else 10 * v for v in values], right, list(range(9)))
    assert wide is not None and wide.estimate == pytest.approx(effect.estimate / 10)


def test_items_of_one_pair_are_not_independent():
    values, right = [0.0] * 4 + [1.0] * 4, [True, False, False, False, True, True, True, False]
    once = regression.slope(values, right, list(range(8)))
    often = regression.slope(
        [v for v in values for _ in range(25)],
        [r for r in right for _ in range(25)],
        [at for at in range(8) for _ in range(25)],
    )
    assert once is not None and often is not None
    assert often.estimate == pytest.approx(once.estimate, abs=1e-6)
    assert often.high == pytest.approx(once.high, rel=0.06)


def test_strata_have_separate_intercepts():
    # Values have no effect within a class; the classes differ in both value and accuracy.
    values = [0.0, 1.0, 0.0, 1.0, 8.0, 9.0, 8.0, 9.0] * 10
    right = [False, False, True, True, True, True, True, True] * 10
    right[4] = right[5] = False
    kinds = ["S"] * 4 + ["I"] * 4
    effect = regression.slope(values, right, range(80))
    within = regression.slope(values, right, range(80), kinds * 10)
    assert effect is not None and effect.p < 0.001
    assert within is not None and abs(within.estimate) < 1e-6
    # A class that is always right does not contribute to the slope.
    sure = regression.slope([*values, 3.0], [*right, True], range(81), [*kinds * 10, "O"])
    assert sure is not None and sure.items == 80


def test_undefined_slopes_are_none():
    groups = list(range(6))
    assert regression.slope([1.0] * 6, [True, False] * 3, groups) is None
    assert regression.slope(list(map(float, range(6))), [True] * 6, groups) is None
    assert regression.slope([None] * 6, [True, False] * 3, groups) is None
    # With complete separation, no slope is steep enough.
    assert regression.slope(list(map(float, range(6))), [False] * 3 + [True] * 3, groups) is None
    with pytest.raises(ValueError, match="6 values, 6 answers, 1 groups"):
        regression.slope([1.0] * 6, [True] * 6, [1])


def test_pmi_of_pairs_is_read_in_any_case(tmp_path):
    row = {"corpus": "web", "adjective": "red", "noun": "car", "count": 3, "pmi": 1.5}
    write(tmp_path, "amod_association", [row])
    rows_of_table = slices.pair_pmi(
        str(tmp_path), "web", ["Red", "red", None], ["car", "gun", "car"]
    )
    assert rows_of_table == [1.5, None, None]
    with pytest.raises(UserError, match="corpus=news: no pairs of it in the table amod_assoc"):
        slices.pair_pmi(str(tmp_path), "news", ["red"], ["car"])
