"""Intervals of PLANE's F1 scores, which are means over cells or classes and no shares of items.

The three items of an adjective, noun and hypernym stand and fall together, and are asked in many
ways: whole groups are resampled (percentile bootstrap), those of each class among themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from analysis import label_map, prompts
from analysis.interval import Interval
from analysis.plane import CLASSES

RESAMPLES = 2_000

_Floats: TypeAlias = npt.NDArray[np.float64]
# From counts [..., cells] to F1 [...].
_Statistic: TypeAlias = Callable[[_Floats], _Floats]


def prompted(
    rows: pa.Table, groups: Sequence[str], choice: str, seed: int = 0
) -> dict[tuple[str, str], Interval]:
    """The means of `prompts.class_table` with their intervals, by (class or average, model).

    `rows` are those of `prompts.read`, `groups` the group of each row's item; `choice` as there.
    Of no rows there are none.
    """
    if not rows.num_rows:
        return {}
    answers = prompts.answers(rows, choice)
    columns = {
        name: rows.column(name).to_pylist()
        for name in ("model", "class", "inference_type", "prompt", "verbaliser", "premise_order")
    }
    gold = rows.column("gold").to_pylist()
    found: dict[tuple[str, str], Interval] = {}
    for model in sorted(set(columns["model"])):
        parts = []
        for kind in CLASSES:
            members = [
                at
                for at in range(rows.num_rows)
                if columns["model"][at] == model and columns["class"][at] == kind
            ]
            if not members:
                continue
            names = ("inference_type", "prompt", "verbaliser", "premise_order")
            keys = [tuple(columns[name][at] for name in names) for at in members]
            # Right ones and all of each cell, side by side: of a cell all have one gold label.
            places, number = _codes(keys)
            own, of = _codes([groups[at] for at in members])
            counts = np.zeros((of, 2 * number))
            np.add.at(counts, (own, places + number), 1.0)
            right = np.array([answers[at] == gold[at] for at in members], dtype=np.float64)
            np.add.at(counts, (own, places), right)
            parts.append((kind, counts, _mean_f1))
        found |= {(name, model): own for name, own in _intervals(parts, seed).items()}
    return found


def _mean_f1(counts: _Floats) -> _Floats:
    """The mean of 2r / (1 + r) over cells: F1 where a cell has one gold label."""
    right, every = np.split(counts, 2, axis=-1)
    share = np.divide(right, every, out=np.zeros_like(right), where=every > 0)
    return np.asarray((2 * share / (1 + share)).mean(axis=-1), dtype=np.float64)


def nli(
    predictions: pa.Table,
    classes: Mapping[str, str],
    groups: Mapping[str, str],
    seed: int = 0,
) -> dict[str, Interval]:
    """The scores of `transfer.f1_by_group` and their average with intervals, by class or average.

    `predictions` are one model's, `classes` and `groups` say of each item which it is of. A third
    label is always wrong, as there.
    """
    columns = (predictions.column(n).to_pylist() for n in ("item_id", "gold", "text", "predicted"))
    by: dict[str, list[tuple[str, int]]] = {}
    for item, gold, text, predicted in zip(*columns, strict=True):
        answer = text or predicted
        said = 2 if answer == "neutral" else 1 - int(label_map.holds(answer))
        by.setdefault(classes[item], []).append(
            (groups[item], 3 * (1 - int(label_map.holds(gold))) + said)
        )
    parts = []
    for kind in CLASSES:
        if kind in by:
            own, of = _codes([group for group, _ in by[kind]])
            counts = np.zeros((of, 6))
            np.add.at(counts, (own, np.array([cell for _, cell in by[kind]])), 1.0)
            parts.append((kind, counts, _weighted_f1))
    return _intervals(parts, seed)


def _weighted_f1(counts: _Floats) -> _Floats:
    """F1 of yes and no, weighted by gold; counts of gold (yes, no) by answer (yes, no, third)."""
    table = counts.reshape(*counts.shape[:-1], 2, 3)
    gold, said = table.sum(axis=-1), table.sum(axis=-2)[..., :2]
    hits = np.stack([table[..., 0, 0], table[..., 1, 1]], axis=-1)
    both = gold + said
    f1 = np.divide(2 * hits, both, out=np.zeros_like(hits), where=both > 0)
    return np.asarray((gold * f1).sum(axis=-1) / gold.sum(axis=-1), dtype=np.float64)


def _codes(values: Sequence[Any]) -> tuple[npt.NDArray[np.int64], int]:
    """Each value as a number, by order of appearance, and how many there are."""
    known: dict[Any, int] = {}
    return np.array([known.setdefault(own, len(known)) for own in values]), len(known)


def _intervals(parts: Sequence[tuple[str, _Floats, _Statistic]], seed: int) -> dict[str, Interval]:
    """The statistic of each part over its groups, and the mean over parts as ``average``."""
    found: dict[str, Interval] = {}
    draws, estimates, items = [], [], 0
    for kind, counts, statistic in parts:
        number = len(counts)
        generator = np.random.default_rng([seed, CLASSES.index(kind)])
        # Groups are exchangeable: sorted by content, the order of the rows does not matter.
        counts = counts[np.lexsort(counts.T[::-1])]
        weights = generator.multinomial(number, np.full(number, 1 / number), size=RESAMPLES)
        draws.append(statistic(weights @ counts))
        estimates.append(float(statistic(counts.sum(axis=0))))
        items += number
        found[kind] = _interval(estimates[-1], draws[-1], number)
    if parts:
        mean = float(np.mean(estimates))
        found[prompts.AVERAGE] = _interval(mean, np.mean(draws, axis=0), items)
    return found


def _interval(estimate: float, draws: _Floats, groups: int) -> Interval:
    low, high = np.quantile(draws, [0.025, 0.975])
    return Interval(estimate, float(low), float(high), groups)
