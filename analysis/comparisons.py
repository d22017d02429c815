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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from adnominal.analysis.estimates import (
    Floats,
    Interval,
    bootstrap_sums,
    percentile_interval,
    wilson,
)

Labels = Sequence[object]
Slices = Mapping[str, Sequence[str | None]]
_Ints = npt.NDArray[np.int64]

STATISTICS = ("accuracy", "macro_f1")
# Resamples that share a generator: few enough for memory. Not a setting, because a change would
# change the results of every seed.
BLOCK = 250
# Differences within this rounding error count as equal.
_TIE = 1e-12


@dataclass(frozen=True)
class Resampling:
    """The number of resamples, and their seed."""

    resamples: int = 10_000
    seed: int = 0


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
        options: dict[str, Any] = {"groups": groups_of_part, "resampling": resampling}
        if groups_of_part:
            accuracy = bootstrap("accuracy", labels, guesses, **options)
        else:
            right = sum(str(a) == str(b) for a, b in zip(labels, guesses, strict=True))
            accuracy = wilson(right, len(labels))
        macro_f1 = bootstrap("macro_f1", labels, guesses, **options)
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
        options: dict[str, Any] = {"groups": groups_of_part, "resampling": resampling}
        only_first, only_second = _discordant_counts(gold, first, second)
        test = mcnemar([[0, only_first], [only_second, 0]], exact=True)
        comparison = Comparison(
            name,
            value,
            statistic,
            difference=bootstrap(statistic, gold, first, second, **options),
            p=permutation(statistic, gold, first, second, **options),
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


def _discordant_counts(gold: Labels, first: Labels, second: Labels) -> tuple[int, int]:
    """How many items only the first and only the second model answers correctly."""
    items = _texts([gold, first, second])
    first_right = items[1] == items[0]
    second_right = items[2] == items[0]
    only_first = first_right & ~second_right
    only_second = second_right & ~first_right
    return int(only_first.sum()), int(only_second.sum())


def bootstrap(
    statistic: str,
    gold: Labels,
    *predictions: Labels,
    groups: Labels | None = None,
    resampling: Resampling = DEFAULT,
) -> Interval:
    """The score of a model, or that of a first model less that of a second, with the percentile
    interval of a bootstrap over items or groups; two models are scored on the same resampled items.

    The statistic is ``accuracy`` or ``macro_f1``, which as in scikit-learn is the mean F1 over the
    classes among gold or predicted labels.

    Raises:
        ValueError: unknown statistic, no items, lengths that differ, or fewer than two groups.
    """
    columns = [gold, *predictions]
    models = len(predictions)
    rows_of_models, counts = _count_cells(statistic, columns, groups)
    rows = np.hstack(rows_of_models)
    times: _Ints | None = counts[0]
    if groups is not None:
        rows, times = counts @ rows, None

    def difference(sums: Floats) -> Floats:
        first, *second = map(_mean_f1, np.split(sums, models, axis=-1))
        return first - second[0] if second else first

    resampled = []
    for seed, size in _blocks(resampling):
        estimate, values = bootstrap_sums(difference, rows, seed, times=times, resamples=size)
        resampled.append(values)
    items = int(counts.sum())
    return percentile_interval(estimate, np.concatenate(resampled), items)


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
    (first_rows, second_rows), counts = _count_cells(statistic, [gold, first, second], groups)
    totals = counts.sum(axis=0)

    def difference(exchanged: npt.NDArray[np.int64]) -> Floats:
        kept = totals - exchanged
        of_first = kept @ first_rows + exchanged @ second_rows
        of_second = kept @ second_rows + exchanged @ first_rows
        return _mean_f1(of_first) - _mean_f1(of_second)

    observed = abs(float(difference(np.zeros_like(totals))))
    at_least_as_large = 0
    for seed, size in _blocks(resampling):
        generator = np.random.default_rng(seed)
        if groups is None:
            exchanged = generator.binomial(totals, 0.5, size=(size, len(totals)))
        else:
            exchanged = generator.integers(0, 2, size=(size, len(counts))) @ counts
        values = np.abs(difference(exchanged))
        at_least_as_large += int((values >= observed - _TIE).sum())
    return (at_least_as_large + 1) / (resampling.resamples + 1)


def _blocks(resampling: Resampling) -> Iterator[tuple[list[int], int]]:
    """The seed and the size of each block of resamples."""
    resamples = resampling.resamples
    if resamples < 1:
        raise ValueError(f"resamples={resamples}; expected 1 or more")
    for block, start in enumerate(range(0, resamples, BLOCK)):
        yield [resampling.seed, block], min(BLOCK, resamples - start)


def _count_cells(
    statistic: str, columns: Sequence[Labels], groups: Labels | None
) -> tuple[list[Floats], _Ints]:
    """Count the items by their labels, which are gold and the answers of each model.

    Returns the rows of `_rows` for each model, and the number of items of each group in each cell
    [groups, cells]; without groups, there is one row of numbers.
    """
    if statistic not in STATISTICS:
        raise ValueError(f"statistic {statistic!r}; expected one of {', '.join(STATISTICS)}")
    items = _texts(columns)
    if statistic == "accuracy":
        # Only right or wrong matters: at most two cells per model for any number of labels.
        items = items.eq(items[0], axis="index")
    codes, classes = pd.factorize(items.to_numpy().ravel(), sort=True)
    labels, cell_of_item = np.unique(codes.reshape(items.shape), axis=0, return_inverse=True)
    gold, *predictions = labels.T
    rows = [_rows(statistic, gold, predicted, len(classes)) for predicted in predictions]
    return rows, _counts_by_group(cell_of_item, groups)


def _texts(columns: Sequence[Labels]) -> pd.DataFrame:
    """The labels as text, with a row for each item."""
    sizes = [len(column) for column in columns]
    if len(set(sizes)) > 1:
        raise ValueError(f"labels of {' and '.join(map(str, sizes))} items")
    if not sizes[0]:
        raise ValueError("no items")
    items = pd.DataFrame({number: list(column) for number, column in enumerate(columns)})
    if items.isna().any(axis=None):
        raise ValueError("an item without label")
    return items.astype(str)


def _counts_by_group(cell_of_item: _Ints, groups: Labels | None) -> _Ints:
    """The number of items of each group in each cell, [groups, cells], groups sorted."""
    if groups is None:
        return np.bincount(cell_of_item)[np.newaxis]
    if len(groups) != len(cell_of_item):
        raise ValueError(f"{len(groups)} groups for {len(cell_of_item)} items")
    group_of_item, names = pd.factorize(pd.Index([str(group) for group in groups]))
    if len(names) < 2:
        raise ValueError("one group; expected at least two to resample")
    counts = np.zeros((len(names), 1 + cell_of_item.max()), dtype=np.int64)
    np.add.at(counts, (group_of_item, cell_of_item), 1)
    # Groups are exchangeable: sorting them by content makes their names irrelevant.
    return counts[np.lexsort(counts.T[::-1])]


def _rows(statistic: str, gold: _Ints, predicted: _Ints, classes: int) -> Floats:
    """What an item of each cell adds to the sums of `_mean_f1` [cells, 2 × classes].

    Accuracy is F1 with a single class, to which all labels belong.
    """
    if statistic == "accuracy":
        return np.column_stack([gold == predicted, np.full(len(gold), 2.0)])
    is_gold = np.eye(classes)[gold]
    is_predicted = np.eye(classes)[predicted]
    return np.hstack([is_gold * is_predicted, is_gold + is_predicted])


def _mean_f1(sums: Floats) -> Floats:
    """The mean F1 over the classes among gold or predicted labels.

    `sums` [..., 2 × classes] are the right answers of each class, then the labels of each class
    among gold and predicted ones together.
    """
    right, labels = np.split(sums, 2, axis=-1)
    f1 = 2 * right / np.maximum(labels, 1)
    present_classes = (labels > 0).sum(axis=-1)
    return np.asarray(f1.sum(axis=-1) / present_classes)
