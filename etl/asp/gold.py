"""Gold for degree estimation: thresholds from human judgements.

Numbers are compared on the paper's scale, z = 80 + 40 (alpha - b) / (a - b) for premise values a
(positive) and b (negative), so that premises always stand at 120 and 80.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from conf import UserError

__all__ = [
    "HUMAN",
    "JUDGED",
    "POLARITIES",
    "PUBLISHED",
    "Curve",
    "Fit",
    "Gold",
    "fit",
    "published_gold",
    "rises",
]

HUMAN = ("ordering", "booster", "diminisher", "negation", "comparative", "superlative")
POLARITIES = ("positive", "negative")
# Where judgements were fitted: 60, 62 … 138.
JUDGED = (60.0, 138.0)
# Where the fitted curve of the published judgements crosses one half.
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
    """Whether more people say yes of greater numbers: of *long*, and of *not short*."""
    return (polarity == "positive") != (test == "negation")


@dataclass(frozen=True)
class Fit:
    """A sigmoid 1 / (1 + exp(-slope (z - threshold))); `standard_error` is the threshold's."""

    threshold: float
    slope: float
    standard_error: float

    def share(self, z: float) -> float:
        """The fitted share of "yes", scaled to [0, 1]."""
        import math

        exponent = -self.slope * (z - self.threshold)
        return 1 / (1 + math.exp(min(exponent, 700.0)))


def scaled(curve: Curve) -> dict[float, float]:
    """The curve with its least and greatest share within the judged range set to 0 and 1.

    Raises:
        UserError: fewer than three judged numbers, or the same share at all of them.
    """
    inside = [share for z, share in curve.items() if JUDGED[0] <= z <= JUDGED[1]]
    if len(inside) < 3 or min(inside) == max(inside):
        raise UserError(
            f"{len(inside)} judged numbers between {JUDGED[0]:g} and {JUDGED[1]:g} with shares "
            f"{sorted(set(inside))[:3]}; expected at least three, not all judged alike"
        )
    low, high = min(inside), max(inside)
    return {z: (share - low) / (high - low) for z, share in curve.items()}


def fit(test: str, polarity: str, curve: Curve) -> Fit:
    """Least squares over the judged range, on the scaled shares (paper, appendix B).

    Only even numbers count where all were asked: the rows' own grid.

    Raises:
        UserError: too few judgements (`scaled`); the fit does not settle; scipy is missing.
    """
    try:
        import numpy as np
        from scipy.optimize import curve_fit
    except ImportError as error:
        raise UserError("fitting judgements wants scipy; pip install 'adnominal[asp]'") from error
    shares = scaled({z: s for z, s in curve.items() if JUDGED[0] <= z <= JUDGED[1] and z % 2 == 0})
    z = np.array(sorted(shares))
    y = np.array([shares[at] for at in sorted(shares)])
    sign = 1.0 if rises(test, polarity) else -1.0

    def sigmoid(x: np.ndarray, threshold: float, slope: float) -> np.ndarray:
        # Clipped: judgements that flip between two numbers make the slope grow without end.
        return 1 / (1 + np.exp(np.clip(-sign * slope * (x - threshold), -500, 500)))

    try:
        (threshold, slope), covariance = curve_fit(
            sigmoid, z / 100, y, p0=(1.0, 20.0), maxfev=10_000
        )
    except RuntimeError as error:
        raise UserError(f"{test}, {polarity}: no sigmoid fits the judgements ({error})") from error
    return Fit(
        float(threshold) * 100, sign * float(slope) / 100, float(np.sqrt(covariance[0, 0])) * 100
    )


@dataclass(frozen=True)
class Gold:
    """Decides which numbers a hypothesis is entailed for.

    Attributes:
        kind: ``sigmoid`` (a threshold) or ``empirical`` (the judged share itself).
        thresholds: by test and polarity.
        curves: scaled shares by test and polarity, for ``empirical``.
    """

    kind: str
    thresholds: Mapping[tuple[str, str], float]
    curves: Mapping[tuple[str, str], Curve] = field(default_factory=dict)

    def entails(self, test: str, polarity: str, z: float) -> bool:
        """Whether people say yes at `z`; beyond their last number the nearest one is taken."""
        key = (test, polarity)
        if self.kind == "empirical":
            return _interpolated(self.curves[key], z) >= 0.5
        cut = self.thresholds[key]
        return z >= cut if rises(test, polarity) else z <= cut

    def extrapolated(self, test: str, polarity: str, z: float) -> bool:
        """Whether `z` lies outside of what the decision rests on."""
        if self.kind == "empirical":
            judged: Sequence[float] = sorted(self.curves[test, polarity])
            return not judged[0] <= z <= judged[-1]
        return not JUDGED[0] <= z <= JUDGED[1]


def _interpolated(curve: Curve, z: float) -> float:
    if z in curve:
        return curve[z]
    below = max((at for at in curve if at < z), default=None)
    above = min((at for at in curve if at > z), default=None)
    if below is None or above is None:
        nearest = above if below is None else below
        return curve[nearest] if nearest is not None else 0.0
    share = (z - below) / (above - below)
    return curve[below] + share * (curve[above] - curve[below])


def published_gold() -> Gold:
    """The thresholds that the published judgements give."""
    return Gold("sigmoid", PUBLISHED)
