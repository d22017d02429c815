"""Agreement of annotators: Cohen's and Fleiss' kappa, Krippendorff's alpha, intervals of shares.

Labels are codes from 0. Every coefficient is (observed - expected agreement) over (1 - expected): 1
is full agreement, 0 is chance level. If only one label was ever used, chance agreement is full as
well, and the coefficient is undefined (NaN).
"""

import math
from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Level: TypeAlias = Literal["nominal", "ordinal", "interval"]
_Floats: TypeAlias = NDArray[np.float64]


def count_labels(items: Sequence[Sequence[int]], labels: int) -> NDArray[np.int64]:
    """Count how often each of `labels` labels was given to each item: a table (items, labels).

    Raises:
        ValueError: a label is outside 0 to labels - 1.
    """
    counts = np.zeros((len(items), labels), dtype=np.int64)
    for row, item_labels in enumerate(items):
        for label in item_labels:
            if not 0 <= label < labels:
                raise ValueError(f"item {row}: label {label}; expected 0 to {labels - 1}")
            counts[row, label] += 1
    return counts


def cohen_kappa(first: Sequence[int], second: Sequence[int]) -> float:
    """Return the agreement of two raters (Cohen 1960), unweighted as in the paper's section 4.2.

    Raises:
        ValueError: there are no items, or the raters have different numbers of labels.
    """
    if len(first) != len(second) or not first:
        raise ValueError(
            f"{len(first)} and {len(second)} labels; expected equal numbers, at least one"
        )
    one, two = np.asarray(first), np.asarray(second)
    codes = np.union1d(one, two)
    observed = float((one == two).mean())
    expected = float(sum((one == code).mean() * (two == code).mean() for code in codes))
    return math.nan if expected == 1 else (observed - expected) / (1 - expected)


def fleiss_kappa(counts: NDArray[np.int64]) -> float:
    """Return the agreement of a fixed number of raters per item, not always the same (Fleiss 1971).

    `counts` is the table of `count_labels`; each row adds up to the number of raters.

    Raises:
        ValueError: there are no items, fewer than two raters, or their number varies.
    """
    raters = counts.sum(axis=1) if len(counts) else np.zeros(0)
    if not len(counts) or raters.min() != raters.max() or raters[0] < 2:
        raise ValueError("expected items with equal numbers of labels, two or more")
    n = float(raters[0])
    shares = counts.sum(axis=0) / counts.sum()
    observed = float(((counts * (counts - 1)).sum(axis=1) / (n * (n - 1))).mean())
    expected = float((shares**2).sum())
    return math.nan if expected == 1 else (observed - expected) / (1 - expected)


def krippendorff_alpha(counts: NDArray[np.int64], level: Level = "ordinal") -> float:
    """Return the agreement of any number of raters with missing labels (Krippendorff 2011).

    `counts` is the table of `count_labels`; items with fewer than two labels are ignored. `level`
    weighs a difference of labels: nominal weighs all alike, ordinal by the number of labels given
    between them, interval by the squared distance of the codes.

    Raises:
        ValueError: no item has two labels.
    """
    pairable, patterns = _patterns(counts)
    return float(_alpha((patterns * pairable[:, None, None]).sum(axis=0)[None], level)[0])


def bootstrap_alpha(
    counts: NDArray[np.int64],
    level: Level = "ordinal",
    *,
    seed: int = 0,
    samples: int = 1000,
    share: float = 0.95,
) -> tuple[float, float]:
    """Return the bootstrap interval of `krippendorff_alpha`, resampling items.

    Bounds are percentiles of `samples` draws; draws in which alpha is undefined do not count. The
    order of the items does not matter.

    Raises:
        ValueError: no item has two labels.
    """
    times, patterns = _patterns(counts)
    items = int(times.sum())
    # Items with the same labels are equivalent, so a draw is a count of each of the few patterns.
    weights = np.random.default_rng(seed).multinomial(items, times / items, size=samples)
    flat = patterns.reshape(len(patterns), -1)
    alphas = _alpha((weights @ flat).reshape(samples, *patterns.shape[1:]), level)
    alphas = alphas[~np.isnan(alphas)]
    if not len(alphas):
        return math.nan, math.nan
    low, high = np.percentile(alphas, [50 * (1 - share), 50 * (1 + share)])
    return float(low), float(high)


def _patterns(counts: NDArray[np.int64]) -> tuple[NDArray[np.int64], _Floats]:
    """Return the count of each distinct row and its coincidences (patterns, labels, labels).

    The coincidences of an item are its ordered pairs of labels by different raters, divided by the
    number of its raters minus one.
    """
    usable = counts[counts.sum(axis=1) >= 2]
    if not len(usable):
        raise ValueError("expected an item with two or more labels")
    rows, times = np.unique(usable, axis=0, return_counts=True)
    wide = rows.astype(np.float64)
    pairs = wide[:, :, None] * wide[:, None, :]
    labels = rows.shape[1]
    pairs[:, range(labels), range(labels)] -= wide
    return times, pairs / (wide.sum(axis=1) - 1)[:, None, None]


def _alpha(coincidences: _Floats, level: Level) -> _Floats:
    """Return alpha for each of a stack of coincidence tables (tables, labels, labels)."""
    totals = coincidences.sum(axis=2)
    n = totals.sum(axis=1)
    codes = np.arange(totals.shape[1])
    if level == "nominal":
        weights = np.broadcast_to((codes[:, None] != codes).astype(float), coincidences.shape)
    elif level == "interval":
        weights = np.broadcast_to((codes[:, None] - codes) ** 2.0, coincidences.shape)
    else:
        # Labels given from c to k, counting half of those of c and k themselves.
        middle = totals.cumsum(axis=1) - totals / 2
        weights = (middle[:, :, None] - middle[:, None, :]) ** 2
    observed = (coincidences * weights).sum(axis=(1, 2)) / n
    chance = (totals[:, :, None] * totals[:, None, :] * weights).sum(axis=(1, 2)) / (n * (n - 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        alphas: _Floats = np.where(chance > 0, 1 - observed / chance, np.nan)
    return alphas


def wilson(successes: int, size: int) -> tuple[float, float]:
    """Return the 95 % interval of the share successes / size (Wilson 1927).

    Raises:
        ValueError: `size` is below 1, or `successes` is outside 0 to `size`.
    """
    if not 0 <= successes <= size or size < 1:
        raise ValueError(f"{successes} of {size}: expected a part of one or more")
    z2, share = 1.959964**2, successes / size
    middle = (share + z2 / (2 * size)) / (1 + z2 / size)
    reach = (z2 * (share * (1 - share) / size + z2 / (4 * size**2))) ** 0.5 / (1 + z2 / size)
    # At 0 and `size`, rounding errors remain near the bound.
    low = middle - reach if successes else 0.0
    high = middle + reach if successes < size else 1.0
    return low, high
