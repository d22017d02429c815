"""Scores of meanings over sentences, with their bootstrap intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from analysis.inference.intervals import Interval

_RESAMPLES = 2000


def clause_f(clauses: Sequence[tuple[int, int, int]], seed: int = 0) -> Interval:
    """F over all clauses of (matched, predicted, gold) numbers, an item each (COUNTER's micro F),
    with the percentile interval of a bootstrap over items.

    Raises:
        ValueError: no items.
    """

    def f(sums: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return 2 * sums[..., 0] / (sums[..., 1] + sums[..., 2])

    return _resampled(np.array(clauses, dtype=np.float64), f, seed)


def mean(values: Sequence[float], seed: int = 0) -> Interval:
    """The mean of scores from 0 to 1 with the percentile interval of a bootstrap over items.

    Raises:
        ValueError: no items.
    """
    number = len(values)
    return _resampled(np.array(values)[:, None], lambda sums: sums[..., 0] / number, seed)


def _resampled(
    rows: npt.NDArray[np.float64],
    statistic: Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]],
    seed: int,
) -> Interval:
    """A statistic of the sums of rows. Few rows differ: their numbers are drawn, not the rows."""
    if not len(rows):
        raise ValueError("no items")
    unique, counts = np.unique(rows, axis=0, return_counts=True)
    generator = np.random.default_rng(seed)
    draws = generator.multinomial(len(rows), counts / len(rows), size=_RESAMPLES)
    low, high = np.quantile(statistic(draws @ unique), (0.025, 0.975))
    return Interval(float(statistic(counts @ unique)), float(low), float(high), len(rows))
