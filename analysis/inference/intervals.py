"""Estimates with their confidence intervals: shares, means over runs, agreement, differences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from training.metrics import wilson_bounds


@dataclass(frozen=True)
class Interval:
    """An estimate with its confidence interval, as shares from 0 to 1; `n` items."""

    estimate: float
    low: float
    high: float
    n: int
    level: float = 0.95

    def columns(self, name: str) -> dict[str, float]:
        """The estimate under this name, and the ends as low and high: cells of a row."""
        return {name: self.estimate, "low": self.low, "high": self.high}


def wilson(right: int, n: int, level: float = 0.95) -> Interval:
    """Wilson's score interval of a share; for accuracies (never leaves [0, 1]).

    Raises:
        ValueError: no items, or more right than there are.
    """
    if not 0 <= right <= n or n == 0:
        raise ValueError(f"{right} right of {n}")
    return Interval(right / n, *wilson_bounds(right / n, n, level), n, level)


def clustered_interval(
    shares: Sequence[float], groups: Sequence[object] | None = None, level: float = 0.95
) -> Interval:
    """The mean of `shares` (from 0 to 1, one an item), with Wilson's interval.

    Items of one group (one premise, one adjective) are not independent: the interval is that of as
    many independent items as have the variance between groups (the effective number; Franco et
    al. 2019), which is never more than there are items. Where all items are right, or none, it is
    the number of groups. Several runs' answers to an item go in as their mean.

    Raises:
        ValueError: no items; another number of groups than items.
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
    return Interval(mean, *wilson_bounds(mean, min(effective, size), level), size, level)


def difference(first: Interval, second: Interval) -> Interval:
    """First less second, of independent items; Newcombe's interval (1998, method 10).

    Two splits have two test sets, so that nothing can be paired. The interval is made of the two
    intervals alone, which may be of any kind; `n` is of both together.

    Raises:
        ValueError: intervals of two levels.
    """
    if first.level != second.level:
        raise ValueError(f"intervals of the levels {first.level} and {second.level}")
    estimate = first.estimate - second.estimate
    down = math.hypot(first.estimate - first.low, second.high - second.estimate)
    up = math.hypot(first.high - first.estimate, second.estimate - second.low)
    return Interval(estimate, estimate - down, estimate + up, first.n + second.n, first.level)


def student(values: Sequence[float], level: float = 0.95) -> tuple[float, float]:
    """The mean of two values or more, and how far Student's interval reaches to either side."""
    from scipy.stats import t

    mean = math.fsum(values) / len(values)
    spread = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (len(values) - 1))
    reach = float(t.ppf(0.5 + level / 2, len(values) - 1)) * spread / math.sqrt(len(values))
    return mean, reach


def mean_over_runs(scores: Sequence[Interval]) -> Interval:
    """The mean of runs that differ in their seed (or round) alone, with Student's interval over
    the runs; of one run its own interval. `n` is the least number of items of a run.

    Raises:
        ValueError: no run.
    """
    if not scores:
        raise ValueError("no runs")
    if len(scores) == 1:
        return scores[0]
    level = scores[0].level
    mean, reach = student([score.estimate for score in scores], level)
    least = min(score.n for score in scores)
    return Interval(mean, max(0.0, mean - reach), min(1.0, mean + reach), least, level)


def kappa(first: Sequence[int], second: Sequence[int]) -> Interval:
    """Cohen's kappa of two raters with its asymptotic 95 % interval (Fleiss et al. 1969).

    Both ends are the estimate where they agree on everything; all are NaN where one label was ever
    used.
    """
    from statsmodels.stats.inter_rater import cohens_kappa

    codes = sorted({*first, *second})
    if len(codes) < 2:
        return Interval(math.nan, math.nan, math.nan, len(first))
    pairs = list(zip(first, second, strict=True))
    result = cohens_kappa([[pairs.count((a, b)) for b in codes] for a in codes])
    # Of few items the asymptotic interval reaches beyond what kappa can be.
    low, high = np.clip((result.kappa_low, result.kappa_upp), -1.0, 1.0).tolist()
    return Interval(float(result.kappa), low, high, len(pairs))
