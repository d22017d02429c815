"""Resampling of predictions on the same items: bootstrap intervals and permutation tests.

Resampling works on counts of (gold, prediction) cells, not on items: drawing n items with
replacement is a multinomial draw over the cells, so the cost does not grow with the items, and
neither their order nor the number of workers changes a result. Each block of resamples has a
generator of its own, seeded by (seed, block).

Rows that share a premise (ASP's forty numbers, PLANE's three inferences) are not independent.
`groups` names what is resampled, or exchanged, as a whole; without it intervals come out too
narrow there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.inference.intervals import Interval

_Ints = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.float64]
Labels = Sequence[object]

STATISTICS = ("accuracy", "macro_f1")
# Resamples that share a generator: few enough for memory, and never a setting, since it is part
# of what a seed means.
BLOCK = 250
# Differences that are equal but for rounding count as equal.
_TIE = 1e-12


@dataclass(frozen=True)
class Resampling:
    """How often, from which seed, on how many threads and to which level resampling is done."""

    resamples: int = 10_000
    seed: int = 0
    workers: int = 1
    level: float = 0.95


DEFAULT = Resampling()


def encode(*labels: Labels) -> tuple[list[_Ints], int]:
    """Each sequence as ids of the sorted union of their values.

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
    """How many items of each group have gold[k] and predicted[m][k]: counts [groups, cells].

    One row of counts where items are independent (`grouped` false).
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
        # Right or wrong is all that counts: at most 2 cells a model, however many labels.
        guesses = [(guess == golds).astype(np.int64) for guess in guesses]
        golds, classes = np.ones_like(golds), 2
    # One number for each combination, made dense at every step so that none grows past 64 bits.
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
        # Groups are exchangeable: sorted by content, their names do not matter either.
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
    """A value for each resample: block after block, each of its own generator, on some threads.

    (numpy draws and multiplies without the interpreter's lock.)
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
    """Counts [size, cells] of as many items, or groups, drawn with replacement."""
    if cells.grouped:
        number = len(cells.counts)
        # How often each group is drawn; counting draws is faster than a multinomial of so many.
        numbers = generator.integers(0, number, size=(size, number))
        numbers += np.arange(size)[:, None] * number
        weights = np.bincount(numbers.reshape(-1), minlength=size * number).reshape(size, number)
        # As floats the product runs in BLAS; counts stay far below 2**53.
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
    """Percentile bootstrap of ``accuracy`` or ``macro_f1``, the mean F1 over the classes that occur
    among gold or predicted labels, as scikit-learn's.

    Raises:
        ValueError: another statistic; no items; lengths that differ; fewer than two groups.
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
    """First less second, with the percentile interval of the difference.

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
    """Two-sided p that the models are exchangeable: approximate randomisation.

    Each resample exchanges the two predictions of an item (of a group, all its items) or not, with
    even odds, and asks whether the difference is as great as the one seen.

    Raises:
        ValueError: as `bootstrap`.
    """
    cells = _cells(statistic, gold, [first, second], groups)
    # Twice the cells: the first model's prediction in the first half, the second's in the other.
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
