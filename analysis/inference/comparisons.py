"""One model's scores by part of a test set, and two models on the same items.

Items are paired, so tests are too: a permutation test, a paired bootstrap and McNemar's test.
`holm` corrects the p-values of several tests.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from adnominal.analysis.inference.intervals import Interval, wilson
from adnominal.analysis.inference.resampling import (
    DEFAULT,
    Labels,
    Resampling,
    bootstrap,
    encode,
    paired_bootstrap,
    permutation,
)

_Ints = npt.NDArray[np.int64]
Slices = Mapping[str, Sequence[str | None]]


@dataclass(frozen=True)
class Paired:
    """The answers of two models to the same items, in the same order."""

    gold: Labels
    first: Labels
    second: Labels
    item_ids: Sequence[str] = ()


@dataclass(frozen=True)
class McNemar:
    """The result of McNemar's test.

    `only_first` and `only_second` count items that only one model answers correctly. `statistic` is
    chi-squared with continuity correction; `asymptotic` is its p, `exact` the binomial p, both
    two-sided.
    """

    only_first: int
    only_second: int
    statistic: float
    asymptotic: float
    exact: float


@dataclass(frozen=True)
class Comparison:
    """The difference between the first and the second model in one slice.

    `p_holm` is `p` corrected for all slices compared together.
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


def mcnemar(gold: Labels, first: Labels, second: Labels) -> McNemar:
    """McNemar's test of two models' accuracies on the same items.

    Use `exact` when the models disagree on few items (fewer than 25 by convention).

    Raises:
        ValueError: no items, or lengths that differ.
    """
    from statsmodels.stats import contingency_tables

    (golds, *guesses), _ = encode(gold, first, second)
    right_first, right_second = (guess == golds for guess in guesses)
    only_first = int((right_first & ~right_second).sum())
    only_second = int((right_second & ~right_first).sum())
    if only_first + only_second == 0:
        return McNemar(0, 0, 0.0, 1.0, 1.0)
    square = [[0, only_first], [only_second, 0]]
    chi = contingency_tables.mcnemar(square, exact=False, correction=True)
    exact = contingency_tables.mcnemar(square, exact=True)
    return McNemar(
        only_first, only_second, float(chi.statistic), float(chi.pvalue), float(exact.pvalue)
    )


def holm(p: Sequence[float]) -> list[float]:
    """p-values corrected for multiple testing (Holm 1979), in the order of the input.

    Raises:
        ValueError: a p-value outside [0, 1].
    """
    from statsmodels.stats.multitest import multipletests

    if any(not 0 <= value <= 1 for value in p):
        raise ValueError(f"p-values {list(p)}; expected 0 to 1")
    return [float(value) for value in multipletests(p, method="holm")[1]] if p else []


def _members(slices: Slices, n: int) -> list[tuple[str, str, _Ints]]:
    """(slice, value, items), all items first; items with the value None are in no part."""
    parts: list[tuple[str, str, _Ints]] = [("all", "all", np.arange(n))]
    for name, values in slices.items():
        if len(values) != n:
            raise ValueError(f"slice {name}: {len(values)} values for {n} items")
        members: dict[str, list[int]] = {}
        for place, value in enumerate(values):
            if value is not None:
                members.setdefault(value, []).append(place)
        parts += [
            (name, value, np.array(members[value])) for value in sorted(members, key=_natural)
        ]
    return parts


def _natural(value: str) -> tuple[int, float, str]:
    try:
        return 0, float(value), value
    except ValueError:
        return 1, 0.0, value


def _pick(labels: Labels, items: _Ints) -> list[object]:
    return [labels[place] for place in items]


def _several(groups: Labels | None, items: _Ints) -> list[object] | None:
    """The groups of the items; None if there is only one, which cannot be resampled."""
    if groups is None:
        return None
    picked = _pick(groups, items)
    return picked if len(set(picked)) > 1 else None


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
    for name, value, items in _members(slices, len(gold)):
        labels, guesses = _pick(gold, items), _pick(predicted, items)
        several = _several(groups, items)
        if several:
            share = bootstrap("accuracy", labels, guesses, several, resampling)
        else:
            right = sum(str(a) == str(b) for a, b in zip(labels, guesses, strict=True))
            share = wilson(right, len(guesses), resampling.level)
        f1 = bootstrap("macro_f1", labels, guesses, several, resampling)
        scores.append(Score(name, value, share, f1))
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
    parts = []
    for name, value, items in _members(slices, len(pair.gold)):
        gold, first, second = (_pick(x, items) for x in (pair.gold, pair.first, pair.second))
        several = _several(groups, items)
        interval = paired_bootstrap(statistic, gold, first, second, several, resampling)
        p = permutation(statistic, gold, first, second, several, resampling)
        parts.append((name, value, interval, p, mcnemar(gold, first, second)))
    corrected = holm([part[3] for part in parts])
    return [
        Comparison(name, value, statistic, interval, p, p_holm, test)
        for (name, value, interval, p, test), p_holm in zip(parts, corrected, strict=True)
    ]
