"""Intervals and tests for predictions on the same items: is one model better than another?

Items are paired, so tests are too (McNemar, paired bootstrap, permutation); several of them at once
want `holm`. Resampling works on counts of (gold, prediction) cells, not on items: drawing n items
with replacement is a multinomial draw over the cells, so the cost does not grow with the items, and
neither their order nor the number of workers changes a result. Each block of resamples has a
generator of its own, seeded by (seed, block).

Rows that share a premise (ASP's forty numbers, PLANE's three inferences) are not independent.
`groups` names what is resampled, or exchanged, as a whole; without it intervals come out too
narrow there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy import stats

from analysis.interval import Interval

__all__ = [
    "STATISTICS",
    "Comparison",
    "Interval",
    "McNemar",
    "Score",
    "accuracy",
    "bootstrap",
    "compare",
    "compare_by_slice",
    "holm",
    "macro_f1",
    "mcnemar",
    "paired_bootstrap",
    "permutation",
    "scores_by_slice",
    "wilson",
    "wilson_bounds",
]

_Ints = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.float64]
Labels = Sequence[object]

STATISTICS = ("accuracy", "macro_f1")
RESAMPLES = 10_000
# Resamples that share a generator: few enough for memory, and never a setting, since it is part
# of what a seed means.
BLOCK = 250
# Differences that are equal but for rounding count as equal.
_TIE = 1e-12


@dataclass(frozen=True)
class McNemar:
    """`only_first` items that the first model alone has right, `only_second` the second alone.

    `statistic` is chi squared with continuity correction, `asymptotic` its p; `exact` the binomial
    p. All two-sided.
    """

    only_first: int
    only_second: int
    statistic: float
    asymptotic: float
    exact: float


@dataclass(frozen=True)
class Comparison:
    """First less second model, in one slice.

    `p_holm` corrects `p` for the other slices compared with it.
    """

    slice: str
    value: str
    statistic: str
    difference: Interval
    p: float
    p_holm: float
    mcnemar: McNemar


@dataclass(frozen=True)
class Score:
    """A model's accuracy and macro-F1 in one slice."""

    slice: str
    value: str
    accuracy: Interval
    macro_f1: Interval


def wilson(right: int, n: int, level: float = 0.95) -> Interval:
    """Wilson's score interval of a share; for accuracies (never leaves [0, 1]).

    Raises:
        ValueError: no items, or more right than there are.
    """
    if not 0 <= right <= n or n == 0:
        raise ValueError(f"{right} right of {n}")
    share = right / n
    return Interval(share, *wilson_bounds(share, n, level), n, level)


def wilson_bounds(share: float, n: float, level: float = 0.95) -> tuple[float, float]:
    """Ends of Wilson's interval of a share of `n` items, which may be an effective number."""
    z = float(stats.norm.ppf(0.5 + level / 2))
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * float(np.sqrt(share * (1 - share) / n + z * z / (4 * n * n)))
    # At 0 and n rounding leaves a trace beside the bound.
    return 0.0 if share == 0 else centre - half, 1.0 if share == 1 else centre + half


def _codes(*labels: Labels) -> tuple[list[_Ints], int]:
    """Each sequence as ids of the sorted union of their values.

    Raises:
        ValueError: no items, sequences of different lengths, or a missing label.
    """
    lengths = {len(own) for own in labels}
    if len(lengths) != 1:
        raise ValueError(f"labels of {' and '.join(str(len(own)) for own in labels)} items")
    if lengths == {0}:
        raise ValueError("no items")
    encoded = [pa.array(own, pa.string()).dictionary_encode() for own in map(_texts, labels)]
    if any(own.null_count for own in encoded):
        raise ValueError("an item without label")
    names = sorted({name for own in encoded for name in own.dictionary.to_pylist()})
    ids = {name: at for at, name in enumerate(names)}
    return [
        np.array([ids[name] for name in own.dictionary.to_pylist()])[own.indices.to_numpy()]
        for own in encoded
    ], len(names)


def _texts(labels: Labels) -> list[str | None]:
    return [None if value is None else str(value) for value in labels]


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
    (golds, *guesses), classes = _codes(gold, *predictions)
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
        (group,), number = _codes(groups)
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
        seen = both > 0
        each = np.divide(2 * right, both, out=np.zeros_like(both), where=seen)
        return np.asarray(each.sum(axis=-1) / seen.sum(axis=-1), dtype=np.float64)

    return f1


def accuracy(gold: Labels, predicted: Labels) -> float:
    """Share of right predictions."""
    return _point("accuracy", gold, predicted)


def macro_f1(gold: Labels, predicted: Labels) -> float:
    """Mean F1 over the classes that occur among gold or predicted labels, as scikit-learn's."""
    return _point("macro_f1", gold, predicted)


def _point(statistic: str, gold: Labels, predicted: Labels) -> float:
    cells = _cells(statistic, gold, [predicted], None)
    measure = _measure(statistic, cells.gold, cells.predicted[0], cells.classes)
    return float(measure(cells.counts.sum(axis=0)))


def _blocks(
    draw: Callable[[np.random.Generator, int], _Floats], resamples: int, seed: int, workers: int
) -> _Floats:
    """`resamples` values: block after block, each of its own generator, on `workers` threads.

    (numpy draws and multiplies without the interpreter's lock.)
    """
    if resamples < 1 or workers < 1:
        raise ValueError(f"resamples={resamples}, workers={workers}; expected 1 or more")

    def block(at: int) -> _Floats:
        generator = np.random.default_rng(np.random.SeedSequence([seed, at]))
        return draw(generator, min(BLOCK, resamples - at * BLOCK))

    numbers = range(-(-resamples // BLOCK))
    if workers == 1:
        return np.concatenate([block(at) for at in numbers])
    with ThreadPoolExecutor(workers) as pool:
        return np.concatenate(list(pool.map(block, numbers)))


def _drawn(cells: _Cells, generator: np.random.Generator, size: int) -> _Ints:
    """Counts [size, cells] of as many items, or groups, drawn with replacement."""
    if cells.grouped:
        number = len(cells.counts)
        # How often each group is drawn; counting draws is faster than a multinomial of so many.
        drawn = generator.integers(0, number, size=(size, number))
        drawn += np.arange(size)[:, None] * number
        weights = np.bincount(drawn.reshape(-1), minlength=size * number).reshape(size, number)
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
    *,
    groups: Labels | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
    workers: int = 1,
    level: float = 0.95,
) -> Interval:
    """Percentile bootstrap of ``accuracy`` or ``macro_f1``.

    Raises:
        ValueError: another statistic; no items; lengths that differ; fewer than two groups.
    """
    cells = _cells(statistic, gold, [predicted], groups)
    measure = _measure(statistic, cells.gold, cells.predicted[0], cells.classes)
    values = _blocks(lambda g, size: measure(_drawn(cells, g, size)), resamples, seed, workers)
    estimate = float(measure(cells.counts.sum(axis=0)))
    return Interval(estimate, *_quantiles(values, level), cells.n, level)


def mcnemar(gold: Labels, first: Labels, second: Labels) -> McNemar:
    """McNemar's test of two models' accuracies on the same items.

    Use `exact` with few items that the models disagree about (below 25, as is usual).

    Raises:
        ValueError: no items; lengths that differ.
    """
    (golds, a, b), _ = _codes(gold, first, second)
    right_a, right_b = a == golds, b == golds
    only_a, only_b = int((right_a & ~right_b).sum()), int((right_b & ~right_a).sum())
    apart = only_a + only_b
    if apart == 0:
        return McNemar(0, 0, 0.0, 1.0, 1.0)
    chi = max(abs(only_a - only_b) - 1, 0) ** 2 / apart
    exact = min(1.0, 2 * float(stats.binom.cdf(min(only_a, only_b), apart, 0.5)))
    return McNemar(only_a, only_b, chi, float(stats.chi2.sf(chi, 1)), exact)


def paired_bootstrap(
    statistic: str,
    gold: Labels,
    first: Labels,
    second: Labels,
    *,
    groups: Labels | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
    workers: int = 1,
    level: float = 0.95,
) -> tuple[Interval, float]:
    """First less second: the percentile interval of the difference, and its two-sided p.

    Both models are scored on the same resampled items. p is twice the share of resamples on the
    other side of 0, with one resample added to each side.

    Raises:
        ValueError: as `bootstrap`.
    """
    cells = _cells(statistic, gold, [first, second], groups)
    one, two = (_measure(statistic, cells.gold, guess, cells.classes) for guess in cells.predicted)

    def draw(generator: np.random.Generator, size: int) -> _Floats:
        counts = _drawn(cells, generator, size)
        return one(counts) - two(counts)

    values = _blocks(draw, resamples, seed, workers)
    whole = cells.counts.sum(axis=0)
    low, high = _quantiles(values, level)
    side = min(int((values <= _TIE).sum()), int((values >= -_TIE).sum()))
    p = min(1.0, 2 * (side + 1) / (resamples + 1))
    return Interval(float(one(whole) - two(whole)), low, high, cells.n, level), p


def permutation(
    statistic: str,
    gold: Labels,
    first: Labels,
    second: Labels,
    *,
    groups: Labels | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
    workers: int = 1,
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
    whole = cells.counts.sum(axis=0)

    def difference(exchanged: _Ints) -> _Floats:
        kept = whole - exchanged
        return measure(np.concatenate([kept, exchanged], axis=-1)) - measure(
            np.concatenate([exchanged, kept], axis=-1)
        )

    def draw(generator: np.random.Generator, size: int) -> _Floats:
        if cells.grouped:
            flips = generator.integers(0, 2, size=(size, len(cells.counts)))
            product = flips.astype(np.float64) @ cells.counts.astype(np.float64)
            return difference(product.astype(np.int64))
        return difference(generator.binomial(whole, 0.5, size=(size, len(whole))))

    seen = abs(float(difference(np.zeros_like(whole))))
    values = _blocks(draw, resamples, seed, workers)
    return (int((np.abs(values) >= seen - _TIE).sum()) + 1) / (resamples + 1)


def holm(p: Sequence[float]) -> list[float]:
    """p-values corrected for being tested together (Holm 1979), in the order given.

    Raises:
        ValueError: a p outside [0, 1].
    """
    if any(not 0 <= own <= 1 for own in p):
        raise ValueError(f"p-values {list(p)}; expected 0 to 1")
    corrected, greatest = [0.0] * len(p), 0.0
    for rank, at in enumerate(sorted(range(len(p)), key=lambda i: p[i])):
        greatest = max(greatest, min(1.0, (len(p) - rank) * p[at]))
        corrected[at] = greatest
    return corrected


def _members(slices: Mapping[str, Sequence[str | None]], n: int) -> list[tuple[str, str, _Ints]]:
    """(slice, value, items): all items first; items of value None are in no part of a slice."""
    found: list[tuple[str, str, _Ints]] = [("all", "all", np.arange(n))]
    for name, values in slices.items():
        if len(values) != n:
            raise ValueError(f"slice {name}: {len(values)} values for {n} items")
        members: dict[str, list[int]] = {}
        for at, value in enumerate(values):
            if value is not None:
                members.setdefault(value, []).append(at)
        found += [
            (name, value, np.array(members[value])) for value in sorted(members, key=_natural)
        ]
    return found


def _natural(value: str) -> tuple[int, float, str]:
    try:
        return 0, float(value), value
    except ValueError:
        return 1, 0.0, value


def _pick(labels: Labels, items: _Ints) -> list[object]:
    return [labels[at] for at in items]


def scores_by_slice(
    gold: Labels,
    predicted: Labels,
    slices: Mapping[str, Sequence[str | None]],
    *,
    groups: Labels | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
    workers: int = 1,
    level: float = 0.95,
) -> list[Score]:
    """Accuracy (Wilson; with `groups` bootstrap) and macro-F1 (bootstrap), over all and by slice.

    `slices` holds a value for each item, by name of the slice (`analysis.slices` makes them); items
    of value None are in no part of it. A slice whose items are all of one group has the interval of
    its items.

    Raises:
        ValueError: as `bootstrap`; a slice with another number of values than items.
    """
    found = []
    for name, value, items in _members(slices, len(gold)):
        own_gold, own = _pick(gold, items), _pick(predicted, items)
        own_groups = _several(groups, items)

        def interval(
            statistic: str,
            own_gold: Labels = own_gold,
            own: Labels = own,
            own_groups: Labels | None = own_groups,
        ) -> Interval:
            return bootstrap(
                statistic,
                own_gold,
                own,
                groups=own_groups,
                resamples=resamples,
                seed=seed,
                workers=workers,
                level=level,
            )

        right = sum(str(a) == str(b) for a, b in zip(own_gold, own, strict=True))
        share = interval("accuracy") if own_groups else wilson(right, len(own), level)
        found.append(Score(name, value, share, interval("macro_f1")))
    return found


def _several(groups: Labels | None, items: _Ints) -> list[object] | None:
    """The groups of the items; None where there is but one, which nothing can be resampled of."""
    if groups is None:
        return None
    own = _pick(groups, items)
    return own if len(set(own)) > 1 else None


def compare(
    statistic: str,
    gold: Labels,
    first: Labels,
    second: Labels,
    *,
    groups: Labels | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
    workers: int = 1,
    level: float = 0.95,
) -> Comparison:
    """Two models over all items: difference with interval, permutation p, McNemar's test."""
    (only,) = compare_by_slice(
        statistic,
        gold,
        first,
        second,
        {},
        groups=groups,
        resamples=resamples,
        seed=seed,
        workers=workers,
        level=level,
    )
    return only


def compare_by_slice(
    statistic: str,
    gold: Labels,
    first: Labels,
    second: Labels,
    slices: Mapping[str, Sequence[str | None]],
    *,
    groups: Labels | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
    workers: int = 1,
    level: float = 0.95,
) -> list[Comparison]:
    """Two models over all items and by slice; all p-values are one family for Holm's correction.

    p is the permutation test's; the interval is the paired bootstrap's.

    Raises:
        ValueError: as `scores_by_slice`.
    """
    parts = []
    for name, value, items in _members(slices, len(gold)):
        own = [_pick(labels, items) for labels in (gold, first, second)]
        own_groups = _several(groups, items)
        interval, _ = paired_bootstrap(
            statistic,
            *own,
            groups=own_groups,
            resamples=resamples,
            seed=seed,
            workers=workers,
            level=level,
        )
        p = permutation(
            statistic, *own, groups=own_groups, resamples=resamples, seed=seed, workers=workers
        )
        parts.append((name, value, interval, p, mcnemar(*own)))
    corrected = holm([part[3] for part in parts])
    return [
        Comparison(name, value, statistic, interval, p, p_holm, test)
        for (name, value, interval, p, test), p_holm in zip(parts, corrected, strict=True)
    ]
