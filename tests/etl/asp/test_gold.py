from __future__ import annotations

import math

import pytest

from conf import UserError
from etl.asp.gold import Gold, fit, published_gold, scaled_shares

pytest.importorskip("scipy")


def curve(threshold, slope, low=0.1, high=0.9):
    return {
        float(z): low + (high - low) / (1 + math.exp(-slope * (z - threshold)))
        for z in range(40, 160)
    }


@pytest.mark.parametrize(
    ("test", "polarity", "slope"),
    [
        ("ordering", "positive", 0.4),
        ("ordering", "negative", -0.4),
        ("negation", "positive", -0.4),
        ("negation", "negative", 0.4),
    ],
)
def test_a_fit_finds_the_threshold(test, polarity, slope):
    fitted = fit(test, polarity, curve(101.0, slope))
    assert fitted.threshold == pytest.approx(101.0, abs=0.1)
    assert fitted.slope == pytest.approx(slope, abs=0.02)
    assert fitted.standard_error < 0.1
    assert fitted.share(101.0) == pytest.approx(0.5, abs=0.02)


def test_too_few_judgements_are_refused():
    with pytest.raises(UserError, match="at least three"):
        scaled_shares({80.0: 0.1, 200.0: 0.5})
    with pytest.raises(UserError, match="not all judged alike"):
        scaled_shares({80.0: 0.5, 90.0: 0.5, 100.0: 0.5})


def test_thresholds_and_extrapolation():
    gold = published_gold()
    assert gold.entails("ordering", "positive", 112) and not gold.entails(
        "ordering", "positive", 110
    )
    assert gold.entails("negation", "positive", 100) and not gold.entails(
        "negation", "positive", 104
    )
    assert gold.is_extrapolated("ordering", "positive", 140)
    assert not gold.is_extrapolated("ordering", "positive", 138)


def test_the_empirical_curve_may_fall_again():
    key = ("ordering", "positive")
    gold = Gold("empirical", {}, {key: {100.0: 0.2, 120.0: 0.9, 200.0: 0.3}})
    assert not gold.entails(*key, 100) and gold.entails(*key, 110) and not gold.entails(*key, 200)
    assert gold.is_extrapolated(*key, 201) and not gold.is_extrapolated(*key, 199)
    # Beyond the judged numbers the nearest one decides.
    assert not gold.entails(*key, 500)
