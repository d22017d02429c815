"""Resampling of predictions on the same items: bootstrap intervals and permutation tests.

Resampling works on counts of (gold, prediction) cells, not on items: drawing n items with
replacement is a multinomial draw over the cells, so the cost does not grow with the items, and
neither their order nor the number of workers changes a result. Each block of resamples has its own
generator, seeded by (seed, block).

Rows that share a premise (ASP's forty numbers, PLANE's three inferences) are not independent.
`groups` names the units that are resampled or exchanged as a whole; without it, intervals for such
rows are too narrow.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from adnominal.analysis.inference.intervals import Interval

_Ints = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.float64]
Labels = Sequence[object]

STATISTICS = ("accuracy", "macro_f1")
# Resamples that share a generator: few enough for memory. Not a setting, because a change would
# change the results of every seed.
BLOCK = 250
# Differences within this rounding error count as equal.
_TIE = 1e-12


@dataclass(frozen=True)
class Resampling:
    """The number of resamples, seed, threads and confidence level."""

    resamples: int = 10_000
    seed: int = 0
    workers: int = 1
    level: float = 0.95


DEFAULT = Resampling()


def encode(*labels: Labels) -> tuple[list[_Ints], int]:
    """Encode each sequence as ids into the sorted union of all values.

    Raises:
        ValueError: no items, sequences of different lengths, or a missing label.
    """
    lengths = {len(column) for column in labels}
    if len(lengths) != 1:
        raise ValueError(f"labels of {' and '.join(str(len(column)) for column in labels)} items")
    if lengths == {0}:
        raise ValueError("no items")
    values = [value for column in labels for value in column]
    if any(value is None for value in values):
        raise ValueError("an item without label")
    codes, names = pd.factorize(np.array(list(map(str, values)), dtype=object), sort=True)
    return np.split(codes, len(labels)), len(names)


@dataclass(frozen=True)
class _Cells:
    """Counts [groups, cells] of the items of each group with gold[k] and predicted[m][k].

    There is one row of counts if items are independent (`grouped` is false).
    """

    gold: _Ints
    predicted: tuple[_Ints, ...]
    counts: _Ints
    classes: int
    grouped: bool

    @property
    def n(self) -> int:
        return int(self.counts.sum())


def _cells(
    statistic: str, gold: Labels, predictions: Sequence[Labels], groups: Labels | None
) -> _Cells:
    if statistic not in STATISTICS:
        raise ValueError(f"statistic {statistic!r}; expected one of {', '.join(STATISTICS)}")
    (golds, *guesses), classes = encode(gold, *predictions)
    if statistic == "accuracy":
        # Only right or wrong matters: at most 2 cells per model for any number of labels.
        guesses = [(guess == golds).astype(np.int64) for guess in guesses]
        golds, classes = np.ones_like(golds), 2
    # One number per combination, made dense at every step so that it fits in 64 bits.
    cell = golds
    for guess in guesses:
        cell = np.unique(cell * classes + guess, return_inverse=True)[1]
    _, firsts = np.unique(cell, return_index=True)
    number_of_cells = len(firsts)
    if groups is None:
        counts = np.bincount(cell, minlength=number_of_cells)[None, :]
    else:
        if len(groups) != len(golds):
            raise ValueError(f"{len(groups)} groups for {len(golds)} items")
        (group,), number = encode(groups)
        if number < 2:
            raise ValueError("one group; expected at least two to resample")
        flat = np.bincount(group * number_of_cells + cell, minlength=number * number_of_cells)
        counts = flat.reshape(number, number_of_cells)
        # Groups are exchangeable: sorting them by content makes their names irrelevant.
        counts = counts[np.lexsort(counts.T[::-1])]
    guessed = tuple(guess[firsts] for guess in guesses)
    return _Cells(golds[firsts], guessed, counts.astype(np.int64), classes, groups is not None)


def _measure(
    statistic: str, gold: _Ints, predicted: _Ints, classes: int
) -> Callable[[npt.NDArray[np.int64]], _Floats]:
    """The statistic as a function of counts [..., cells]."""
    hit = (gold == predicted).astype(np.float64)
    if statistic == "accuracy":
        return lambda counts: np.asarray(counts @ hit / counts.sum(axis=-1), dtype=np.float64)
    of_gold = np.eye(classes)[gold]
    of_predicted = np.eye(classes)[predicted]

    def f1(counts: _Ints) -> _Floats:
        right = counts @ (of_gold * hit[:, None])
        both = counts @ (of_gold + of_predicted)
        present = both > 0
        each = np.divide(2 * right, both, out=np.zeros_like(both), where=present)
        return np.asarray(each.sum(axis=-1) / present.sum(axis=-1), dtype=np.float64)

    return f1


def _resampled_statistics(
    draw: Callable[[np.random.Generator, int], _Floats], resampling: Resampling
) -> _Floats:
    """The statistic of each resample, computed in blocks on `workers` threads.

    Each block has its own generator. (numpy draws and multiplies without holding the GIL.)
    """
    resamples, workers = resampling.resamples, resampling.workers
    if resamples < 1 or workers < 1:
        raise ValueError(f"resamples={resamples}, workers={workers}; expected 1 or more")

    def block(place: int) -> _Floats:
        generator = np.random.default_rng(np.random.SeedSequence([resampling.seed, place]))
        return draw(generator, min(BLOCK, resamples - place * BLOCK))

    numbers = range(-(-resamples // BLOCK))
    if workers == 1:
        return np.concatenate([block(place) for place in numbers])
    with ThreadPoolExecutor(workers) as pool:
        return np.concatenate(list(pool.map(block, numbers)))


def _resampled_counts(cells: _Cells, generator: np.random.Generator, size: int) -> _Ints:
    """Counts [size, cells] of resamples of all items, or groups, drawn with replacement."""
    if cells.grouped:
        number = len(cells.counts)
        # Counting the draws of each group is faster than a multinomial over many groups.
        numbers = generator.integers(0, number, size=(size, number))
        numbers += np.arange(size)[:, None] * number
        weights = np.bincount(numbers.reshape(-1), minlength=size * number).reshape(size, number)
        # As floats, the product uses BLAS; counts stay far below 2**53.
        product = weights.astype(np.float64) @ cells.counts.astype(np.float64)
        return product.astype(np.int64)
    return generator.multinomial(cells.n, cells.counts[0] / cells.n, size=size)


def _quantiles(values: _Floats, level: float) -> tuple[float, float]:
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def bootstrap(
    statistic: str,
    gold: Labels,
    predicted: Labels,
    groups: Labels | None = None,
    resampling: Resampling = DEFAULT,
) -> Interval:
    """Percentile bootstrap of ``accuracy`` or ``macro_f1``, which as in scikit-learn is the mean F1
    over the classes among gold or predicted labels.

    Raises:
        ValueError: unknown statistic, no items, lengths that differ, or fewer than two groups.
    """
    cells = _cells(statistic, gold, [predicted], groups)
    measure = _measure(statistic, cells.gold, cells.predicted[0], cells.classes)
    values = _resampled_statistics(
        lambda g, size: measure(_resampled_counts(cells, g, size)), resampling
    )
    estimate = float(measure(cells.counts.sum(axis=0)))
    return Interval(estimate, *_quantiles(values, resampling.level), cells.n, resampling.level)


def paired_bootstrap(
    statistic: str,
    gold: Labels,
    first: Labels,
    second: Labels,
    groups: Labels | None = None,
    resampling: Resampling = DEFAULT,
) -> Interval:
    """First minus second, with the percentile interval of the difference.

    Both models are scored on the same resampled items.

    Raises:
        ValueError: as `bootstrap`.
    """
    cells = _cells(statistic, gold, [first, second], groups)
    one, two = (_measure(statistic, cells.gold, guess, cells.classes) for guess in cells.predicted)

    def draw(generator: np.random.Generator, size: int) -> _Floats:
        counts = _resampled_counts(cells, generator, size)
        return one(counts) - two(counts)

    values = _resampled_statistics(draw, resampling)
    totals = cells.counts.sum(axis=0)
    low, high = _quantiles(values, resampling.level)
    return Interval(float(one(totals) - two(totals)), low, high, cells.n, resampling.level)


def permutation(
    statistic: str,
    gold: Labels,
    first: Labels,
    second: Labels,
    groups: Labels | None = None,
    resampling: Resampling = DEFAULT,
) -> float:
    """Two-sided p of the hypothesis that the models are exchangeable (approximate randomisation).

    Each resample exchanges the two predictions of each item (or of all items of a group) with
    probability 1/2 and counts whether the difference is at least as large as the observed one.

    Raises:
        ValueError: as `bootstrap`.
    """
    cells = _cells(statistic, gold, [first, second], groups)
    # The first half of the cells holds the first model's prediction, the second half the second's.
    measure = _measure(
        statistic, np.tile(cells.gold, 2), np.concatenate(cells.predicted), cells.classes
    )
    totals = cells.counts.sum(axis=0)

    def difference(exchanged: _Ints) -> _Floats:
        unchanged = totals - exchanged
        return measure(np.concatenate([unchanged, exchanged], axis=-1)) - measure(
            np.concatenate([exchanged, unchanged], axis=-1)
        )

    def draw(generator: np.random.Generator, size: int) -> _Floats:
        if cells.grouped:
            flips = generator.integers(0, 2, size=(size, len(cells.counts)))
            product = flips.astype(np.float64) @ cells.counts.astype(np.float64)
            return difference(product.astype(np.int64))
        return difference(generator.binomial(totals, 0.5, size=(size, len(totals))))

    observed = abs(float(difference(np.zeros_like(totals))))
    values = _resampled_statistics(draw, resampling)
    return (int((np.abs(values) >= observed - _TIE).sum()) + 1) / (resampling.resamples + 1)
