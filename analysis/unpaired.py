"""Accuracies over different items: intervals where answers cluster, and the difference of two.

Two splits have two test sets, so nothing can be paired (`analysis.significance` is for pairs). What
can be said is how accurate a model is in either, and how far apart these are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from analysis.interval import Interval
from analysis.significance import wilson_bounds


def clustered(
    right: Sequence[float], groups: Sequence[object] | None = None, level: float = 0.95
) -> Interval:
    """The mean of `right` (shares from 0 to 1, one an item), with Wilson's interval of it.

    Items of one group (one premise, one adjective) are not independent: the interval is that of as
    many independent items as have the variance between groups (the effective number; Franco et
    al. 2019), which is never more than there are items. Where all are right, or none, it is the
    number of groups. Several runs' answers to an item go in as their mean.

    Raises:
        ValueError: no items; another number of groups than items.
    """
    values = np.asarray(right, dtype=np.float64)
    size = len(values)
    if not size:
        raise ValueError("no items")
    if groups is None:
        codes, number = np.arange(size), size
    else:
        if len(groups) != size:
            raise ValueError(f"{len(groups)} groups for {size} items")
        found = pa.array([str(group) for group in groups], pa.string()).dictionary_encode()
        codes, number = found.indices.to_numpy(), len(found.dictionary)
    mean = float(values.mean())
    if mean in (0.0, 1.0) or number < 2:
        effective = float(number)
    else:
        sums = np.bincount(codes, weights=values - mean, minlength=number)
        variance = float((sums**2).sum()) / size**2 * number / (number - 1)
        effective = mean * (1 - mean) / variance if variance > 0 else float(size)
    low, high = wilson_bounds(mean, min(effective, size), level)
    return Interval(mean, low, high, size, level)


def difference(first: Interval, second: Interval) -> Interval:
    """First less second, of independent items; Newcombe's interval (1998, method 10).

    It is made of the two intervals alone, so they may be of any kind; `n` is of both together.

    Raises:
        ValueError: intervals of two levels.
    """
    if first.level != second.level:
        raise ValueError(f"intervals of the levels {first.level} and {second.level}")
    apart = first.estimate - second.estimate
    down = np.hypot(first.estimate - first.low, second.high - second.estimate)
    up = np.hypot(first.high - first.estimate, second.estimate - second.low)
    return Interval(apart, apart - float(down), apart + float(up), first.n + second.n, first.level)
