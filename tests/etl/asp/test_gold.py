import math

import pytest

from adnominal.conf import UserError
from adnominal.etl.asp.gold import Gold, extremes, fit, published_gold, scaled_shares

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


def test_only_even_numbers_scale_the_shares():
    judged = {60.0: 0.2, 100.0: 0.5, 101.0: 1.0, 103.0: 0.0, 138.0: 0.8, 140.0: 0.9}
    assert extremes(judged) == (0.2, 0.8)
    assert scaled_shares(judged)[100.0] == pytest.approx(0.5)
    with pytest.raises(UserError, match="0 judged even numbers between 60 and 138"):
        scaled_shares({61.0: 0.1, 81.0: 0.3, 101.0: 0.9})


@pytest.mark.parametrize("cut", [62, 66, 101, 136])
@pytest.mark.parametrize(("polarity", "direction"), [("positive", "rise"), ("negative", "fall")])
def test_a_fit_against_the_scale_is_refused(polarity, direction, cut):
    # With a cut near the ends of the range, the fitted curve is flat, not reversed.
    shares = {float(z): 0.1 + 0.8 * ((z < cut) == (direction == "rise")) for z in range(60, 140, 2)}
    with pytest.raises(UserError, match=f"expected it to {direction} by 0.05 or more: look for"):
        fit("ordering", polarity, shares)


def test_entailment_changes_at_the_threshold_and_is_extrapolated_beyond_138():
    gold = published_gold()
    assert [gold.entails("ordering", "positive", z) for z in (110, 112)] == [False, True]
    assert [gold.entails("negation", "positive", z) for z in (100, 104)] == [True, False]
    assert gold.is_extrapolated("ordering", "positive", 140)
    assert not gold.is_extrapolated("ordering", "positive", 138)


def test_the_empirical_curve_may_fall_again():
    key = ("ordering", "positive")
    gold = Gold("empirical", {}, {key: {100.0: 0.2, 120.0: 0.9, 200.0: 0.3}})
    assert not gold.entails(*key, 100) and gold.entails(*key, 110) and not gold.entails(*key, 200)
    assert gold.is_extrapolated(*key, 201) and not gold.is_extrapolated(*key, 199)
    # Beyond the judged numbers the nearest one decides.
    assert not gold.entails(*key, 500)
