"""Gold labels of degree estimation: thresholds from human judgements.

Numbers are compared on the paper's scale, z = 80 + 40 (alpha - b) / (a - b) for the premise values
a (positive) and b (negative), so that the premises are always at 120 and 80.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from adnominal.conf import UserError

HUMAN = ("ordering", "booster", "diminisher", "negation", "comparative", "superlative")
POLARITIES = ("positive", "negative")
# The range of z in which curves are fitted: 60, 62 … 138.
JUDGED = (60.0, 138.0)
# A smaller rise is a flat fit, whose threshold is far from every judged number.
_LEAST_RISE = 0.05
# The z at which the curve fitted to the published judgements crosses one half.
PUBLISHED: Mapping[tuple[str, str], float] = {
    ("ordering", "positive"): 111.9,
    ("ordering", "negative"): 83.2,
    ("booster", "positive"): 123.9,
    ("booster", "negative"): 72.3,
    ("diminisher", "positive"): 100.7,
    ("diminisher", "negative"): 90.9,
    ("negation", "positive"): 103.7,
    ("negation", "negative"): 93.6,
    ("comparative", "positive"): 118.8,
    ("comparative", "negative"): 79.2,
    ("superlative", "positive"): 100.5,
    ("superlative", "negative"): 91.5,
}

Curve = Mapping[float, float]  # share of "yes" by z


def rises(test: str, polarity: str) -> bool:
    """Whether greater numbers get more answers "yes", as for *long* and for *not short*."""
    return (polarity == "positive") != (test == "negation")


@dataclass(frozen=True)
class Fit:
    """A sigmoid 1 / (1 + exp(-slope (z - threshold))); `standard_error` is the threshold's."""

    threshold: float
    slope: float
    standard_error: float

    def share(self, z: float) -> float:
        """The fitted share of "yes", scaled to [0, 1]."""
        exponent = -self.slope * (z - self.threshold)
        return 1 / (1 + math.exp(min(exponent, 700.0)))


def extremes(curve: Curve) -> tuple[float, float]:
    """The least and the greatest share at the even numbers of the judged range.

    Only even numbers count, which are the numbers of the rows, even if all were asked for.

    Raises:
        UserError: there are fewer than three such numbers, or all have the same share.
    """
    shares = [share for z, share in curve.items() if _is_fitted(z)]
    if len(shares) < 3 or min(shares) == max(shares):
        raise UserError(
            f"{len(shares)} judged even numbers between {JUDGED[0]:g} and {JUDGED[1]:g} with "
            f"shares {sorted(set(shares))[:3]}; expected at least three, not all judged alike"
        )
    return min(shares), max(shares)


def scaled_shares(curve: Curve) -> dict[float, float]:
    """The curve, scaled so that its `extremes` are 0 and 1.

    Raises:
        UserError: as `extremes` raises it.
    """
    low, high = extremes(curve)
    return {z: (share - low) / (high - low) for z, share in curve.items()}


def _is_fitted(z: float) -> bool:
    return JUDGED[0] <= z <= JUDGED[1] and z % 2 == 0


def fit(test: str, polarity: str, curve: Curve) -> Fit:
    """The sigmoid fitted to the scaled shares of the judged range by least squares (appendix B).

    Raises:
        UserError: there are too few judgements (`extremes`); the fit does not converge, is flat, or
            falls where people's answers rise (`rises`); or scipy is missing.
    """
    try:
        from scipy.optimize import curve_fit
    except ImportError as error:
        raise UserError("fitting judgements needs scipy; pip install 'adnominal[asp]'") from error
    shares = sorted((z, share) for z, share in scaled_shares(curve).items() if _is_fitted(z))
    z, y = np.array(shares).T
    sign = 1.0 if rises(test, polarity) else -1.0

    def sigmoid(x: np.ndarray, threshold: float, slope: float) -> np.ndarray:
        # Clipped, because answers that change from one number to the next make the slope unbounded.
        return 1 / (1 + np.exp(np.clip(-sign * slope * (x - threshold), -500, 500)))

    try:
        (threshold, slope), covariance = curve_fit(
            sigmoid, z / 100, y, p0=(1.0, 20.0), maxfev=10_000
        )
    except RuntimeError as error:
        raise UserError(f"no sigmoid fits the judgements ({error})") from error
    sigmoid_of_z = Fit(
        float(threshold) * 100, sign * float(slope) / 100, float(np.sqrt(covariance[0, 0])) * 100
    )
    first, last = map(sigmoid_of_z.share, JUDGED)
    if sign * (last - first) < _LEAST_RISE:
        raise UserError(
            f"the fitted share of yes is {first:.2f} at {JUDGED[0]:g} and {last:.2f} at "
            f"{JUDGED[1]:g}; expected it to {'rise' if sign > 0 else 'fall'} by {_LEAST_RISE:g} or "
            "more: look for yes and no exchanged, or positive and negative"
        )
    return sigmoid_of_z


@dataclass(frozen=True)
class Gold:
    """Decides for which numbers a hypothesis is entailed.

    Attributes:
        kind: ``sigmoid`` (a threshold) or ``empirical`` (the judged share itself).
        thresholds: by test and polarity.
        curves: scaled shares by test and polarity, for ``empirical``.
    """

    kind: str
    thresholds: Mapping[tuple[str, str], float]
    curves: Mapping[tuple[str, str], Curve] = field(default_factory=dict)

    def entails(self, test: str, polarity: str, z: float) -> bool:
        """Whether people answer yes at `z`; beyond the judged numbers, the nearest one decides."""
        key = (test, polarity)
        if self.kind == "empirical":
            numbers, shares = zip(*sorted(self.curves[key].items()), strict=True)
            return bool(np.interp(z, numbers, shares) >= 0.5)
        threshold = self.thresholds[key]
        return z >= threshold if rises(test, polarity) else z <= threshold

    def is_extrapolated(self, test: str, polarity: str, z: float) -> bool:
        """Whether `z` is outside the range of the judgements that `entails` uses."""
        if self.kind == "empirical":
            judged = self.curves[test, polarity]
            return not min(judged) <= z <= max(judged)
        return not JUDGED[0] <= z <= JUDGED[1]


def published_gold() -> Gold:
    """The gold with the thresholds of the published judgements."""
    return Gold("sigmoid", PUBLISHED)
