import pytest

from adnominal.conf import UserError
from adnominal.etl.asp.gold import POLARITIES, published_gold
from adnominal.etl.asp.judgements import human_rows


def test_the_shares_give_back_the_thresholds():
    pytest.importorskip("scipy")
    gold = published_gold()
    curves = {
        key: {float(z): float(gold.entails(*key, z)) for z in range(60, 140, 2)}
        for key in gold.thresholds
    }
    counts = {(*key, z): 2 for key, curve in curves.items() for z in curve}
    judgements = human_rows(curves, counts, "mine")
    assert len(judgements) == 6 * len(POLARITIES) * 40
    assert {row["n"] for row in judgements} == {2}
    thresholds = {(r["test"], r["polarity"]): r["threshold"] for r in judgements}
    for key, threshold in thresholds.items():
        # Where all judges agree, the threshold can lie anywhere between two numbers.
        assert threshold == pytest.approx(gold.thresholds[key], abs=2.0)


def test_errors_name_the_curve_that_cannot_be_fitted():
    with pytest.raises(UserError, match="source=mine, ordering, positive: 1 judged even numbers"):
        human_rows({("ordering", "positive"): {80.0: 0.5}}, {}, "mine")


def test_judgements_against_the_scale_are_refused():
    pytest.importorskip("scipy")
    reversed_shares = {float(z): float(z < 101) for z in range(60, 140, 2)}
    with pytest.raises(UserError, match=r"mine, ordering, positive: .* 1\.00 at 60 and 0\.00 at"):
        human_rows({("ordering", "positive"): reversed_shares}, {}, "mine")
