"""Estimates with their confidence intervals: shares, means over runs, agreement, differences."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from adnominal.training.metrics import wilson_bounds


@dataclass(frozen=True)
class Interval:
    """An estimate over `n` items with its confidence interval, as shares from 0 to 1; `kind` says
    how the interval was computed."""

    estimate: float
    low: float
    high: float
    n: int
    level: float = 0.95
    kind: str = ""

    def columns(self, name: str) -> dict[str, float]:
        """Row cells: the estimate under this name, and the bounds as low and high."""
        return {name: self.estimate, "low": self.low, "high": self.high}


def wilson(right: int, n: int, level: float = 0.95) -> Interval:
    """Wilson's score interval of a share such as an accuracy; it never leaves [0, 1].

    Raises:
        ValueError: no items, or more right answers than items.
    """
    if not 0 <= right <= n or n == 0:
        raise ValueError(f"{right} right of {n}")
    return Interval(right / n, *wilson_bounds(right / n, n, level), n, level, "Wilson")


def clustered_interval(
    shares: Sequence[float], groups: Sequence[object] | None = None, level: float = 0.95
) -> Interval:
    """The mean of `shares` (from 0 to 1, one per item), with Wilson's interval.

    Items of one group (one premise, one adjective) are not independent. The interval therefore uses
    the effective sample size (Franco et al. 2019), the number of independent items with the same
    variance, at most the number of items. Where all items or none are right, it is the number of
    groups. Answers of several runs to an item enter as their mean.

    Raises:
        ValueError: no items, or numbers of groups and items that differ.
    """
    values = np.asarray(shares, dtype=np.float64)
    size = len(values)
    if not size:
        raise ValueError("no items")
    if groups is None:
        codes, number = np.arange(size), size
    else:
        if len(groups) != size:
            raise ValueError(f"{len(groups)} groups for {size} items")
        codes, names = pd.factorize(np.array(list(map(str, groups)), dtype=object))
        number = len(names)
    mean = float(values.mean())
    if mean in (0.0, 1.0) or number < 2:
        effective = float(number)
    else:
        sums = np.bincount(codes, weights=values - mean, minlength=number)
        variance = float((sums**2).sum()) / size**2 * number / (number - 1)
        effective = mean * (1 - mean) / variance if variance > 0 else float(size)
    bounds = wilson_bounds(mean, min(effective, size), level)
    return Interval(mean, *bounds, size, level, "Wilson" if groups is None else "Wilson, clustered")


def difference(first: Interval, second: Interval) -> Interval:
    """First minus second, for independent items, with Newcombe's interval (1998, method 10).

    Two splits have different test sets, so items cannot be paired. The interval is computed from
    the two intervals alone, which may be of any kind; `n` is the sum of both.

    Raises:
        ValueError: intervals with different levels.
    """
    if first.level != second.level:
        raise ValueError(f"intervals of the levels {first.level} and {second.level}")
    estimate = first.estimate - second.estimate
    down = math.hypot(first.estimate - first.low, second.high - second.estimate)
    up = math.hypot(first.high - first.estimate, second.estimate - second.low)
    bounds = (estimate - down, estimate + up)
    return Interval(estimate, *bounds, first.n + second.n, first.level, "Newcombe")


def student(values: Sequence[float], level: float = 0.95) -> tuple[float, float]:
    """The mean of at least two values, and the half-width of its Student interval."""
    from scipy.stats import t

    mean = math.fsum(values) / len(values)
    spread = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (len(values) - 1))
    reach = float(t.ppf(0.5 + level / 2, len(values) - 1)) * spread / math.sqrt(len(values))
    return mean, reach


def mean_over_runs(scores: Sequence[Interval]) -> Interval:
    """The mean of runs that differ only in their seed (or round), with Student's interval over the
    runs; a single run keeps its own interval. `n` is the smallest number of items of a run.

    Raises:
        ValueError: no runs.
    """
    if not scores:
        raise ValueError("no runs")
    if len(scores) == 1:
        return scores[0]
    level = scores[0].level
    mean, reach = student([score.estimate for score in scores], level)
    least = min(score.n for score in scores)
    bounds = (max(0.0, mean - reach), min(1.0, mean + reach))
    return Interval(mean, *bounds, least, level, "Student's t over runs")


def kappa(first: Sequence[int], second: Sequence[int]) -> Interval:
    """Cohen's kappa of two raters with its asymptotic 95 % interval (Fleiss et al. 1969).

    Both bounds equal the estimate if the raters agree on everything. If one rater uses a single
    label, kappa is 0 whatever the other says, and the bounds are NaN; all values are NaN if only
    one label is used.
    """
    from statsmodels.stats.inter_rater import cohens_kappa

    codes = sorted({*first, *second})
    if len(codes) < 2:
        return Interval(math.nan, math.nan, math.nan, len(first))
    if 1 in (len(set(first)), len(set(second))):
        return Interval(0.0, math.nan, math.nan, len(first))
    pairs = list(zip(first, second, strict=True))
    result = cohens_kappa([[pairs.count((a, b)) for b in codes] for a in codes])
    # Of few items the asymptotic interval reaches beyond what kappa can be.
    low, high = np.clip((result.kappa_low, result.kappa_upp), -1.0, 1.0).tolist()
    return Interval(float(result.kappa), low, high, len(pairs), kind="asymptotic")
