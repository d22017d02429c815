"""Statistics that scipy, statsmodels and scikit-learn lack: intervals for tables, and a bootstrap.

What these libraries have is called where it is used. They return intervals in different forms, and
tables need one, `Interval`; they have neither intervals of shares over dependent items nor a
bootstrap that draws whole groups of items.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from adnominal.training.metrics import wilson_bounds

Floats = npt.NDArray[np.float64]

STANDARD_DEVIATION = "± one standard deviation"
"""The kind of the interval of a mean whose bounds are one standard deviation away."""


@dataclass(frozen=True)
class Interval:
    """An estimate over `n` items with its 95 % interval, as shares from 0 to 1; `kind` says how the
    interval was computed."""

    estimate: float
    low: float
    high: float
    n: int
    kind: str = ""


def wilson(right: int, n: int) -> Interval:
    """Wilson's score interval of a share such as an accuracy; it never leaves [0, 1].

    Raises:
        ValueError: no items, or more right answers than items.
    """
    if not 0 <= right <= n or n == 0:
        raise ValueError(f"{right} right of {n}")
    low, high = wilson_bounds(right / n, n)
    return Interval(right / n, low, high, n, "Wilson")


def clustered_interval(shares: Sequence[float], groups: Sequence[object] | None = None) -> Interval:
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
    kind = "Wilson, clustered"
    if groups is None:
        groups, kind = range(size), "Wilson"
    if len(groups) != size:
        raise ValueError(f"{len(groups)} groups for {size} items")
    names = pd.Index([str(group) for group in groups])
    codes, distinct_names = pd.factorize(names)
    mean = float(values.mean())
    effective_size = float(len(distinct_names))
    if 0 < mean < 1 and len(distinct_names) > 1:
        variance = _variance_of_mean(values, codes, len(distinct_names))
        effective_size = float(size)
        if variance > 0:
            effective_size = min(mean * (1 - mean) / variance, size)
    low, high = wilson_bounds(mean, effective_size)
    return Interval(mean, low, high, size, kind)


def _variance_of_mean(values: Floats, codes: npt.NDArray[np.int64], groups: int) -> float:
    """The variance of a mean over groups of dependent values (the cluster-robust one)."""
    deviations = values - values.mean()
    sums = np.bincount(codes, weights=deviations, minlength=groups)
    sum_of_squares = float((sums**2).sum())
    return sum_of_squares / len(values) ** 2 * groups / (groups - 1)


def difference(first: Interval, second: Interval) -> Interval:
    """First minus second, for independent items, with Newcombe's interval (1998, method 10).

    Two splits have different test sets, so items cannot be paired. The interval is computed from
    the two intervals alone, which may be of any kind (statsmodels has it only for two Wilson
    intervals); `n` is the sum of both.
    """
    estimate = first.estimate - second.estimate
    down = math.hypot(first.estimate - first.low, second.high - second.estimate)
    up = math.hypot(first.high - first.estimate, second.estimate - second.low)
    low, high = estimate - down, estimate + up
    return Interval(estimate, low, high, first.n + second.n, "Newcombe")


def mean_over_runs(scores: Sequence[Interval]) -> Interval:
    """The mean of runs that differ only in their seed (or round), with Student's interval over the
    runs; a single run keeps its own interval. `n` is the smallest number of items of a run.

    Raises:
        ValueError: no runs.
    """
    from statsmodels.stats.weightstats import DescrStatsW

    if not scores:
        raise ValueError("no runs")
    if len(scores) == 1:
        return scores[0]
    runs = DescrStatsW([score.estimate for score in scores])
    low, high = np.clip(runs.tconfint_mean(), 0.0, 1.0)
    fewest_items = min(score.n for score in scores)
    kind = "Student's t over runs"
    return Interval(float(runs.mean), float(low), float(high), fewest_items, kind)


def bootstrap_sums(
    statistic: Callable[[Floats], Floats],
    rows: npt.NDArray[Any],
    seed: int | Sequence[int],
    *,
    times: npt.NDArray[np.int64] | None = None,
    resamples: int = 2_000,
) -> tuple[float, Floats]:
    """A statistic of the sums of `rows`, and its values if rows are drawn with replacement.

    A row [columns] is what an item, or a group of dependent items, adds to the sums. With `times`,
    so many items or groups have the row, and one draw gives the number of each row; this is faster
    for few rows, without it for many. `statistic` maps sums [..., columns] to values [...]. scipy's
    bootstrap draws items one by one and cannot draw groups of several sizes.
    """
    generator = np.random.default_rng(seed)
    if times is None:
        number = len(rows)
        drawn = generator.integers(0, number, size=(resamples, number))
        first_of_resample = np.arange(resamples)[:, np.newaxis] * number
        drawn_times = np.bincount((drawn + first_of_resample).ravel(), minlength=drawn.size)
        draws = drawn_times.reshape(drawn.shape)
        return float(statistic(rows.sum(axis=0))), statistic(draws @ rows)
    number = int(times.sum())
    draws = generator.multinomial(number, times / number, size=resamples)
    return float(statistic(times @ rows)), statistic(draws @ rows)


def percentile_interval(
    estimate: float, resampled: Floats, n: int, kind: str = "bootstrap"
) -> Interval:
    """An estimate with the 2.5th and 97.5th percentiles of its resampled values as bounds."""
    low, high = np.quantile(resampled, [0.025, 0.975])
    return Interval(estimate, float(low), float(high), n, kind)
