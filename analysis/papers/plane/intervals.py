"""Intervals of PLANE's F1 scores, which are means over cells or classes, not shares of items.

The three items of an adjective, noun and hypernym are dependent, and each has several prompts:
whole groups are resampled within each class (percentile bootstrap).
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from adnominal.analysis.inference.intervals import Interval
from adnominal.analysis.rows import lists, tuples
from adnominal.etl.plane import CLASSES
from adnominal.training.prompting import scores
from adnominal.training.scoring import label_map

RESAMPLES = 2_000

_Floats: TypeAlias = npt.NDArray[np.float64]
# Maps counts [..., cells] to F1 [...].
_Statistic: TypeAlias = Callable[[_Floats], _Floats]


def prompt_interval(
    rows: pa.Table, groups: Sequence[str], seed: int = 0
) -> dict[tuple[str, str], Interval]:
    """The means of `scores.class_table` with their intervals, by (class or average, model).

    An answer is the first predicted token. `rows` are those of `read_prompted`, `groups` the group
    of each row's item. The result is empty if there are no rows.
    """
    if not rows.num_rows:
        return {}
    correct = [
        answer == gold
        for answer, gold in zip(
            scores.answers(rows, "first"), rows.column("gold").to_pylist(), strict=True
        )
    ]
    keys = tuples(rows, "inference_type", "prompt", "verbaliser", "premise_order")
    members: dict[tuple[str, str], list[int]] = defaultdict(list)
    for place, cell in enumerate(tuples(rows, "model", "class")):
        members[cell].append(place)
    intervals: dict[tuple[str, str], Interval] = {}
    for model in sorted({model for model, _ in members}):
        parts = []
        for kind in CLASSES:
            items = members.get((model, kind), [])
            if not items:
                continue
            # Right answers and all answers per cell; all items of a cell have one gold label.
            cells, cell_number = _codes([keys[place] for place in items])
            codes, group_number = _codes([groups[place] for place in items])
            counts = np.zeros((group_number, 2 * cell_number))
            np.add.at(counts, (codes, cells + cell_number), 1.0)
            np.add.at(
                counts, (codes, cells), np.array([correct[place] for place in items], np.float64)
            )
            parts.append((kind, counts, _mean_f1))
        intervals |= {
            (name, model): cell for name, cell in _bootstrap_interval(parts, seed).items()
        }
    return intervals


def _mean_f1(counts: _Floats) -> _Floats:
    """The mean over cells of 2r / (1 + r), which is F1 if a cell has a single gold label."""
    correct, totals = np.split(counts, 2, axis=-1)
    share = np.divide(correct, totals, out=np.zeros_like(correct), where=totals > 0)
    return np.asarray((2 * share / (1 + share)).mean(axis=-1), dtype=np.float64)


def nli(
    predictions: pa.Table, classes: Mapping[str, str], groups: Mapping[str, str], seed: int = 0
) -> dict[str, Interval]:
    """The scores of `matrix.f1_by_group` and their average with intervals, by class or average.

    `predictions` are one model's; `classes` and `groups` map each item to its class and group. A
    third label is always wrong, as in `f1_by_group`.
    """
    cells: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for item, gold, text, predicted in zip(
        *lists(predictions, "item_id", "gold", "text", "predicted"), strict=True
    ):
        answer = text or predicted
        column = 2 if answer == "neutral" else 1 - int(label_map.holds(answer))
        cell = 3 * (1 - int(label_map.holds(gold))) + column
        cells[classes[item]].append((groups[item], cell))
    parts = []
    for kind in CLASSES:
        if kind in cells:
            codes, number = _codes([group for group, _ in cells[kind]])
            counts = np.zeros((number, 6))
            np.add.at(counts, (codes, np.array([cell for _, cell in cells[kind]])), 1.0)
            parts.append((kind, counts, _weighted_f1))
    return _bootstrap_interval(parts, seed)


def _weighted_f1(counts: _Floats) -> _Floats:
    """F1 of yes and no, weighted by gold; counts of gold (yes, no) by answer (yes, no, third)."""
    table = counts.reshape(*counts.shape[:-1], 2, 3)
    gold, answers = table.sum(axis=-1), table.sum(axis=-2)[..., :2]
    hits = np.stack([table[..., 0, 0], table[..., 1, 1]], axis=-1)
    gold_and_answers = gold + answers
    f1 = np.divide(2 * hits, gold_and_answers, out=np.zeros_like(hits), where=gold_and_answers > 0)
    return np.asarray((gold * f1).sum(axis=-1) / gold.sum(axis=-1), dtype=np.float64)


def _codes(values: Sequence[Any]) -> tuple[npt.NDArray[np.int64], int]:
    """Each value as a code in order of appearance, and the number of codes."""
    codes: dict[Any, int] = {}
    return np.array([codes.setdefault(value, len(codes)) for value in values]), len(codes)


def _bootstrap_interval(
    parts: Sequence[tuple[str, _Floats, _Statistic]], seed: int
) -> dict[str, Interval]:
    """The statistic of each part with its interval over groups, and their mean as ``average``."""
    intervals: dict[str, Interval] = {}
    draws, estimates, items = [], [], 0
    for kind, unordered, statistic in parts:
        number = len(unordered)
        generator = np.random.default_rng([seed, CLASSES.index(kind)])
        # Groups are exchangeable: sorting them by content makes the order of rows irrelevant.
        counts = unordered[np.lexsort(unordered.T[::-1])]
        weights = generator.multinomial(number, np.full(number, 1 / number), size=RESAMPLES)
        draws.append(statistic(weights @ counts))
        estimates.append(float(statistic(counts.sum(axis=0))))
        items += number
        intervals[kind] = _interval(estimates[-1], draws[-1], number)
    if parts:
        mean = float(np.mean(estimates))
        intervals[scores.AVERAGE] = _interval(mean, np.mean(draws, axis=0), items)
    return intervals


def _interval(estimate: float, draws: _Floats, groups: int) -> Interval:
    low, high = np.quantile(draws, [0.025, 0.975])
    return Interval(estimate, float(low), float(high), groups, kind="bootstrap over groups")
