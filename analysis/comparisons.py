"""One model's scores by part of a test set, and two models on the same items.

Two models answer the same items, so their tests are paired: a paired bootstrap, a permutation test
and McNemar's test.

Resampling works on counts of (gold, prediction) cells, not on items: drawing n items with
replacement is a multinomial draw over the cells, so the cost does not grow with the items, and
their order does not change a result. Each block of resamples has its own generator, seeded by
(seed, block).

Rows that share a premise (ASP's forty numbers, PLANE's three inferences) are not independent.
`groups` names the units that are resampled or exchanged as a whole; without it, intervals for such
rows are too narrow.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from adnominal.analysis.statistics import Floats, Interval, percentile_interval, wilson

Labels = Sequence[object]
Slices = Mapping[str, Sequence[str | None]]
_Ints = npt.NDArray[np.int64]
# Maps counts [..., cells] to values of the statistic [...].
_Measure = Callable[[Floats], Floats]

STATISTICS = ("accuracy", "macro_f1")
# Resamples that share a generator: few enough for memory. Not a setting, because a change would
# change the results of every seed.
BLOCK = 250
# Differences within this rounding error count as equal.
_TIE = 1e-12


@dataclass(frozen=True)
class Resampling:
    """The number of resamples, seed and confidence level."""

    resamples: int = 10_000
    seed: int = 0
    level: float = 0.95


DEFAULT = Resampling()


@dataclass(frozen=True)
class Paired:
    """The answers of two models to the same items, in the same order."""

    gold: Labels
    first: Labels
    second: Labels
    item_ids: Sequence[str] = ()


@dataclass(frozen=True)
class Comparison:
    """The difference between the first and the second model in one slice.

    `p` comes from the permutation test; `p_holm` is `p` corrected for all slices compared together.
    `only_first` and `only_second` count the items that only one model answers correctly, `mcnemar`
    is the p of McNemar's exact test of these numbers. All p are two-sided.
    """

    slice: str
    value: str
    statistic: str
    difference: Interval
    p: float
    p_holm: float
    only_first: int
    only_second: int
    mcnemar: float


@dataclass(frozen=True)
class Score:
    """A model's accuracy and macro-F1 in one slice."""

    slice: str
    value: str
    accuracy: Interval
    macro_f1: Interval


def scores_by_slice(
    gold: Labels,
    predicted: Labels,
    slices: Slices,
    groups: Labels | None = None,
    resampling: Resampling = DEFAULT,
) -> list[Score]:
    """Accuracy (Wilson; bootstrap with `groups`) and macro-F1 (bootstrap), over all and by slice.

    `slices` maps the name of a slice to a value for each item (see `analysis.slices`); items with
    the value None are in no part of it. If all items of a part belong to one group, its interval
    treats them as independent.

    Raises:
        ValueError: as `bootstrap`, or a slice whose number of values is not that of the items.
    """
    scores = []
    for name, value, items in _parts(slices, len(gold)):
        labels = _pick(gold, items)
        guesses = _pick(predicted, items)
        groups_of_part = _resampled_groups(groups, items)
        if groups_of_part:
            accuracy = bootstrap("accuracy", labels, guesses, groups_of_part, resampling)
        else:
            right = sum(str(a) == str(b) for a, b in zip(labels, guesses, strict=True))
            accuracy = wilson(right, len(labels), resampling.level)
        macro_f1 = bootstrap("macro_f1", labels, guesses, groups_of_part, resampling)
        scores.append(Score(name, value, accuracy, macro_f1))
    return scores


def compare(
    statistic: str, pair: Paired, groups: Labels | None = None, resampling: Resampling = DEFAULT
) -> Comparison:
    """Compare two models over all items: difference, interval, permutation p, McNemar's test."""
    (comparison,) = compare_by_slice(statistic, pair, {}, groups, resampling)
    return comparison


def compare_by_slice(
    statistic: str,
    pair: Paired,
    slices: Slices,
    groups: Labels | None = None,
    resampling: Resampling = DEFAULT,
) -> list[Comparison]:
    """Compare two models over all items and by slice, with Holm's correction over all p-values.

    p comes from the permutation test, the interval from the paired bootstrap.

    Raises:
        ValueError: as `scores_by_slice`.
    """
    from statsmodels.stats.contingency_tables import mcnemar
    from statsmodels.stats.multitest import multipletests

    comparisons = []
    for name, value, items in _parts(slices, len(pair.gold)):
        gold = _pick(pair.gold, items)
        first = _pick(pair.first, items)
        second = _pick(pair.second, items)
        groups_of_part = _resampled_groups(groups, items)
        only_first, only_second = _discordant(gold, first, second)
        test = mcnemar([[0, only_first], [only_second, 0]], exact=True)
        comparison = Comparison(
            name,
            value,
            statistic,
            difference=paired_bootstrap(statistic, gold, first, second, groups_of_part, resampling),
            p=permutation(statistic, gold, first, second, groups_of_part, resampling),
            p_holm=math.nan,
            only_first=only_first,
            only_second=only_second,
            mcnemar=float(test.pvalue),
        )
        comparisons.append(comparison)
    p_values = [comparison.p for comparison in comparisons]
    corrected = multipletests(p_values, method="holm")[1]
    return [
        replace(comparison, p_holm=float(p_holm))
        for comparison, p_holm in zip(comparisons, corrected, strict=True)
    ]


def _parts(slices: Slices, n: int) -> list[tuple[str, str, _Ints]]:
    """(slice, value, items), all items first; items with the value None are in no part."""
    parts: list[tuple[str, str, _Ints]] = [("all", "all", np.arange(n))]
    for name, values in slices.items():
        if len(values) != n:
            raise ValueError(f"slice {name}: {len(values)} values for {n} items")
        value_of_item = np.array(values, dtype=object)
        present_values = {value for value in values if value is not None}
        for value in sorted(present_values, key=_numbers_first):
            items = np.flatnonzero(value_of_item == value)
            parts.append((name, value, items))
    return parts


def _numbers_first(value: str) -> tuple[int, float, str]:
    """The sort key of a slice's value: numbers by size, then text."""
    try:
        return 0, float(value), value
    except ValueError:
        return 1, 0.0, value


def _pick(labels: Labels, items: _Ints) -> list[object]:
    return [labels[place] for place in items]


def _resampled_groups(groups: Labels | None, items: _Ints) -> list[object] | None:
    """The groups of the items; None if there is only one, which cannot be resampled."""
    if groups is None:
        return None
    groups_of_items = _pick(groups, items)
    return groups_of_items if len(set(groups_of_items)) > 1 else None


def _discordant(gold: Labels, first: Labels, second: Labels) -> tuple[int, int]:
    """How many items only the first and only the second model answers correctly."""
    items = _texts([gold, first, second])
    first_right = items[1] == items[0]
    second_right = items[2] == items[0]
    return int((first_right & ~second_right).sum()), int((second_right & ~first_right).sum())


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
    cells = _count_cells(statistic, [gold, predicted], groups)
    labels, guesses = cells.labels
    measure = _MEASURES[statistic](labels, guesses)
    return _bootstrap(measure, cells, resampling)


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
    cells = _count_cells(statistic, [gold, first, second], groups)
    labels, first_guesses, second_guesses = cells.labels
    measure_first = _MEASURES[statistic](labels, first_guesses)
    measure_second = _MEASURES[statistic](labels, second_guesses)

    def difference(counts: Floats) -> Floats:
        return measure_first(counts) - measure_second(counts)

    return _bootstrap(difference, cells, resampling)


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
    cells = _count_cells(statistic, [gold, first, second], groups)
    labels, first_guesses, second_guesses = cells.labels
    # The first half of the cells holds the first model's prediction, the second half the second's.
    labels_twice = np.concatenate([labels, labels])
    guesses = np.concatenate([first_guesses, second_guesses])
    measure = _MEASURES[statistic](labels_twice, guesses)
    totals = cells.counts.sum(axis=0)

    def difference(exchanged: Floats) -> Floats:
        unchanged = totals - exchanged
        one = np.concatenate([unchanged, exchanged], axis=-1)
        other = np.concatenate([exchanged, unchanged], axis=-1)
        return measure(one) - measure(other)

    def draw(generator: np.random.Generator, size: int) -> Floats:
        return difference(_exchanged_counts(cells.counts, generator, size))

    observed = abs(float(difference(np.zeros_like(totals))))
    values = _in_blocks(draw, resampling)
    at_least_as_large = int((np.abs(values) >= observed - _TIE).sum())
    return (at_least_as_large + 1) / (resampling.resamples + 1)


@dataclass(frozen=True)
class _Cells:
    """Items that have the same labels are one cell.

    `labels` [1 + models, cells] has the class of gold and of each model's answer, `counts` [groups,
    cells] the items of each group. There is one row of counts if items are independent.
    """

    labels: _Ints
    counts: Floats


def _count_cells(statistic: str, columns: Sequence[Labels], groups: Labels | None) -> _Cells:
    """Count the items by their labels: the columns are gold and the answers of each model."""
    if statistic not in STATISTICS:
        raise ValueError(f"statistic {statistic!r}; expected one of {', '.join(STATISTICS)}")
    items = _texts(columns)
    if statistic == "accuracy":
        # Only right or wrong matters: at most two cells per model for any number of labels.
        items = items.eq(items[0], axis="index")
    classes, _ = pd.factorize(items.to_numpy().ravel(), sort=True)
    labels, cell_of_item = np.unique(classes.reshape(items.shape), axis=0, return_inverse=True)
    return _Cells(labels.T, _counts_by_group(cell_of_item, groups))


def _texts(columns: Sequence[Labels]) -> pd.DataFrame:
    """The labels as text, with a row for each item: gold, and the answer of each model."""
    sizes = [len(column) for column in columns]
    if len(set(sizes)) > 1:
        raise ValueError(f"labels of {' and '.join(map(str, sizes))} items")
    if not sizes[0]:
        raise ValueError("no items")
    items = pd.DataFrame({number: list(column) for number, column in enumerate(columns)})
    if items.isna().any(axis=None):
        raise ValueError("an item without label")
    return items.astype(str)


def _counts_by_group(cell_of_item: _Ints, groups: Labels | None) -> Floats:
    """The number of items in each cell, for each group [groups, cells]."""
    if groups is None:
        return np.bincount(cell_of_item)[None, :].astype(np.float64)
    if len(groups) != len(cell_of_item):
        raise ValueError(f"{len(groups)} groups for {len(cell_of_item)} items")
    codes, names = pd.factorize(pd.Index([str(group) for group in groups]))
    if len(names) < 2:
        raise ValueError("one group; expected at least two to resample")
    counts = np.zeros((len(names), cell_of_item.max() + 1))
    np.add.at(counts, (codes, cell_of_item), 1.0)
    # Groups are exchangeable: sorting them by content makes their names irrelevant.
    return counts[np.lexsort(counts.T[::-1])]


def _accuracy(gold: _Ints, predicted: _Ints) -> _Measure:
    """Accuracy as a function of the counts of cells with these labels."""
    is_right = (gold == predicted).astype(np.float64)

    def accuracy(counts: Floats) -> Floats:
        right = counts @ is_right
        return np.asarray(right / counts.sum(axis=-1))

    return accuracy


def _macro_f1(gold: _Ints, predicted: _Ints) -> _Measure:
    """Macro-F1 as a function of the counts of cells with these labels."""
    classes = 1 + max(gold.max(), predicted.max())
    is_class = np.eye(classes)
    gold_class = is_class[gold]
    predicted_class = is_class[predicted]
    right_class = gold_class * predicted_class
    gold_and_predicted = gold_class + predicted_class

    def macro_f1(counts: Floats) -> Floats:
        hits = counts @ right_class
        sizes = counts @ gold_and_predicted
        f1 = 2 * hits / np.maximum(sizes, 1)
        present_classes = (sizes > 0).sum(axis=-1)
        return np.asarray(f1.sum(axis=-1) / present_classes)

    return macro_f1


_MEASURES = {"accuracy": _accuracy, "macro_f1": _macro_f1}


def _bootstrap(measure: _Measure, cells: _Cells, resampling: Resampling) -> Interval:
    """The measure of all items, with the percentile interval over resampled items or groups."""

    def draw(generator: np.random.Generator, size: int) -> Floats:
        return measure(_resampled_counts(cells.counts, generator, size))

    totals = cells.counts.sum(axis=0)
    estimate = float(measure(totals))
    items = int(totals.sum())
    return percentile_interval(estimate, _in_blocks(draw, resampling), items, resampling.level)


def _in_blocks(
    draw: Callable[[np.random.Generator, int], Floats], resampling: Resampling
) -> Floats:
    """The values that `draw` gives for each resample, with a generator for each block of them."""
    resamples = resampling.resamples
    if resamples < 1:
        raise ValueError(f"resamples={resamples}; expected 1 or more")
    blocks = []
    for number, start in enumerate(range(0, resamples, BLOCK)):
        generator = np.random.default_rng([resampling.seed, number])
        blocks.append(draw(generator, min(BLOCK, resamples - start)))
    return np.concatenate(blocks)


def _resampled_counts(counts: Floats, generator: np.random.Generator, size: int) -> Floats:
    """Counts [size, cells] of resamples of all items, or groups, drawn with replacement."""
    groups = len(counts)
    if groups == 1:
        items = int(counts.sum())
        return generator.multinomial(items, counts[0] / items, size=size).astype(np.float64)
    # Counting the draws of each group is faster than a multinomial over many groups.
    drawn = generator.integers(0, groups, size=(size, groups))
    drawn += np.arange(size)[:, None] * groups
    times = np.bincount(drawn.reshape(-1), minlength=size * groups).reshape(size, groups)
    return times.astype(np.float64) @ counts


def _exchanged_counts(counts: Floats, generator: np.random.Generator, size: int) -> Floats:
    """Counts [size, cells] of the items, or of the items of the groups, drawn with probability
    1/2."""
    groups, cells = counts.shape
    if groups == 1:
        items = counts[0].astype(np.int64)
        return generator.binomial(items, 0.5, size=(size, cells)).astype(np.float64)
    is_drawn = generator.integers(0, 2, size=(size, groups))
    return is_drawn.astype(np.float64) @ counts
