import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adnominal.etl.annotation.agreement import (
    bootstrap_alpha,
    cohen_kappa,
    count_labels,
    fleiss_kappa,
    krippendorff_alpha,
    wilson,
)

# Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011), example C: four observers,
# twelve units, values 1 to 5, some missing.
KRIPPENDORFF = """
1 2 3 3 2 1 4 1 2 . . .
1 2 3 3 2 2 4 1 2 5 . 3
. 3 3 3 2 3 4 2 2 5 1 .
1 2 3 3 2 4 4 1 2 5 1 .
"""
# Fleiss, "Measuring nominal scale agreement among many raters" (1971), table 1: thirty patients,
# six psychiatrists, five diagnoses.
FLEISS = """
00060 03003 01401 00006 03030 20400 00402 20310 20040 00006
10050 11040 03300 10050 02031 00501 30012 51000 02040 10203
00006 01050 02013 20040 10041 05010 40002 02040 10500 00006
"""
ITEMS = st.lists(st.lists(st.integers(0, 4), min_size=2, max_size=4), min_size=2, max_size=12)


def krippendorff_counts():
    rows = [line.split() for line in KRIPPENDORFF.strip().splitlines()]
    units = [[int(v) - 1 for v in unit if v != "."] for unit in zip(*rows, strict=True)]
    return count_labels(units, 5)


def fleiss_counts():
    return np.array([[int(digit) for digit in row] for row in FLEISS.split()])


@pytest.mark.parametrize(
    ("level", "alpha"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)]
)
def test_alpha_of_krippendorffs_example(level, alpha):
    assert krippendorff_alpha(krippendorff_counts(), level) == pytest.approx(alpha, abs=0.0005)


def test_kappa_of_fleiss_example():
    assert fleiss_counts().sum(axis=0).tolist() == [26, 26, 30, 55, 43]
    assert fleiss_kappa(fleiss_counts()) == pytest.approx(0.430, abs=0.0005)


def test_kappa_of_two_raters():
    # Two people read fifty proposals; both accept 20, neither accepts 15, and one alone 5 and 10.
    first = [1] * 25 + [0] * 25
    second = [1] * 20 + [0] * 5 + [1] * 10 + [0] * 15
    assert cohen_kappa(first, second) == pytest.approx(0.4)
    assert cohen_kappa([0, 1, 4], [0, 1, 4]) == 1
    assert math.isnan(cohen_kappa([2, 2], [2, 2]))


def test_kappas_equal_those_of_other_packages():
    rates = pytest.importorskip("statsmodels.stats.inter_rater")
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(3)
    first = rng.integers(0, 5, 200)
    second = np.where(rng.random(200) < 0.6, first, rng.integers(0, 5, 200))
    ours = cohen_kappa(first.tolist(), second.tolist())
    assert ours == pytest.approx(metrics.cohen_kappa_score(first, second))
    table = count_labels(np.stack([first, second], axis=1).tolist(), 5)
    crossed, _ = np.histogramdd(np.stack([first, second], axis=1), bins=[range(6), range(6)])[:2]
    assert ours == pytest.approx(rates.cohens_kappa(crossed).kappa)
    for counts in (table, fleiss_counts()):
        assert fleiss_kappa(counts) == pytest.approx(rates.fleiss_kappa(counts))


def test_the_interval_of_alpha_contains_it_and_is_reproducible():
    counts = np.concatenate([fleiss_counts()] * 4)
    alpha = krippendorff_alpha(counts, "ordinal")
    low, high = bootstrap_alpha(counts, "ordinal", seed=1)
    assert low < alpha < high and high - low < 0.3
    assert bootstrap_alpha(counts[::-1], "ordinal", seed=1) == (low, high)
    assert bootstrap_alpha(counts, "ordinal", seed=2) != (low, high)
    wide = bootstrap_alpha(fleiss_counts(), "ordinal", seed=1)
    assert wide[1] - wide[0] > high - low


def test_the_interval_of_alpha_equals_that_of_scipy():
    bootstrap = pytest.importorskip("scipy.stats").bootstrap
    counts = fleiss_counts()
    scipy_interval = bootstrap(
        (np.arange(len(counts)),),
        lambda resample: krippendorff_alpha(counts[resample], "nominal"),
        n_resamples=500,
        vectorized=False,
        method="percentile",
        rng=np.random.default_rng(0),
    ).confidence_interval
    ours = bootstrap_alpha(counts, "nominal", samples=4000)
    assert ours == pytest.approx((scipy_interval.low, scipy_interval.high), abs=0.03)


@given(ITEMS)
def test_alpha_does_not_depend_on_the_order_of_items_or_raters(items):
    counts = count_labels(items, 5)
    for level in ("nominal", "ordinal", "interval"):
        alpha = krippendorff_alpha(counts, level)
        reversed_counts = count_labels([unit[::-1] for unit in items[::-1]], 5)
        assert krippendorff_alpha(reversed_counts, level) == pytest.approx(alpha, nan_ok=True)
        assert math.isnan(alpha) == (len({label for unit in items for label in unit}) == 1)
        assert math.isnan(alpha) or alpha <= 1


@given(st.lists(st.integers(0, 4), min_size=2, max_size=12))
def test_full_agreement_gives_one(labels):
    counts = count_labels([[label] * 3 for label in labels], 5)
    expected = math.nan if len(set(labels)) == 1 else 1
    assert krippendorff_alpha(counts) == pytest.approx(expected, nan_ok=True)
    assert fleiss_kappa(counts) == pytest.approx(expected, nan_ok=True)
    assert cohen_kappa(labels, labels) == pytest.approx(expected, nan_ok=True)


def test_counts_that_allow_no_measure_are_refused():
    with pytest.raises(ValueError, match="item 1: label 5; expected 0 to 4"):
        count_labels([[0], [5]], 5)
    with pytest.raises(ValueError, match="2 and 1 labels"):
        cohen_kappa([1, 2], [1])
    for counts in ([[2, 1], [1, 1]], [[1, 0]], []):
        with pytest.raises(ValueError, match="equal numbers of labels"):
            fleiss_kappa(np.array(counts, dtype=int))
    with pytest.raises(ValueError, match="two or more labels"):
        krippendorff_alpha(np.array([[1, 0], [0, 1]]))
    for right, size in ((2, 1), (0, 0), (-1, 3)):
        with pytest.raises(ValueError, match="expected a part"):
            wilson(right, size)


def test_wilson_intervals_of_shares():
    assert wilson(98, 100) == pytest.approx((0.930, 0.994), abs=0.0005)
    assert all(wilson(0, n)[0] == 0 and wilson(n, n)[1] == 1 for n in (1, 3, 10, 100))
