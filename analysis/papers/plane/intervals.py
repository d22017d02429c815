"""Intervals of PLANE's F1 scores, which are means over cells or classes, not shares of items.

The three items of an adjective, noun and hypernym are dependent, and each has several prompts:
whole groups are resampled within each class (percentile bootstrap).
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd
import pyarrow as pa

from adnominal.analysis.estimates import Floats, Interval, bootstrap_sums, percentile_interval
from adnominal.analysis.rows import lists, tuples
from adnominal.etl.plane import CLASSES
from adnominal.training.answering import label_map
from adnominal.training.asking import scores
from adnominal.training.metrics import weighted_f1

_CELL = ("inference_type", "prompt", "verbaliser", "premise_order")
_METHOD = "bootstrap over groups"
_YES, _NO, _THIRD = range(3)


def prompt_interval(
    rows: pa.Table, groups: Sequence[str], seed: int = 0
) -> dict[tuple[str, str], Interval]:
    """The means of `scores.class_table` with their intervals, by (class or average, model).

    An answer is the first predicted token. `rows` are those of `read_prompted`, `groups` the group
    of each row's item. The result is empty if there are no rows.
    """
    if not rows.num_rows:
        return {}
    models, kinds, gold = lists(rows, "model", "class", "gold")
    first_tokens = scores.answers(rows, "first")
    answers = pd.DataFrame({"model": models, "class": kinds, "group": groups})
    answers["cell"] = tuples(rows, *_CELL)
    answers["correct"] = [token == label for token, label in zip(first_tokens, gold, strict=True)]
    intervals: dict[tuple[str, str], Interval] = {}
    for model, of_model in answers.groupby("model"):
        by_class = of_model.groupby("class")
        counts = {str(kind): _right_and_all(of_class) for kind, of_class in by_class}
        of_classes = _intervals(counts, _mean_f1, seed)
        for name, interval in of_classes.items():
            intervals[name, str(model)] = interval
    return intervals


def _right_and_all(answers: pd.DataFrame) -> Floats:
    """The right answers of each group in each cell, then all its answers: [groups, 2 × cells]."""
    groups, group_names = pd.factorize(answers["group"])
    cells, cell_names = pd.factorize(answers["cell"])
    counts = np.zeros((len(group_names), 2, len(cell_names)))
    right, total = counts[:, 0], counts[:, 1]
    np.add.at(right, (groups, cells), answers["correct"].to_numpy(np.float64))
    np.add.at(total, (groups, cells), 1.0)
    return counts.reshape(len(group_names), -1)


def _mean_f1(counts: Floats) -> Floats:
    """The mean F1 of the cells, which have a single gold label each."""
    right, total = np.split(counts, 2, axis=-1)
    right_or_wrong = np.stack([right, total - right], axis=-1)
    only_gold_label = right_or_wrong[..., np.newaxis, :]
    return np.asarray(weighted_f1(only_gold_label).mean(axis=-1))


def nli(
    predictions: pa.Table, classes: Mapping[str, str], groups: Mapping[str, str], seed: int = 0
) -> dict[str, Interval]:
    """The scores of `matrix.f1_by_group` and their average with intervals, by class or average.

    `predictions` are one model's; `classes` and `groups` map each item to its class and group. A
    third label is always wrong, as in `f1_by_group`.
    """
    items, gold, texts, predicted = lists(predictions, "item_id", "gold", "text", "predicted")
    # The answer is the model's own label, or the task's where it has no other.
    labels = [text or label for text, label in zip(texts, predicted, strict=True)]
    answers = pd.DataFrame()
    answers["class"] = [classes[item] for item in items]
    answers["group"] = [groups[item] for item in items]
    answers["gold"] = [_three_way(label) for label in gold]
    answers["answer"] = [_three_way(label) for label in labels]
    by_class = answers.groupby("class")
    counts = {str(kind): _gold_by_answer(of_class) for kind, of_class in by_class}
    return _intervals(counts, _f1_of_answers, seed)


def _three_way(label: str) -> int:
    if label == "neutral":
        return _THIRD
    return _YES if label_map.holds(label) else _NO


def _gold_by_answer(answers: pd.DataFrame) -> Floats:
    """The answers of each group by gold (yes, no) and answer (yes, no, third): [groups, 2 × 3]."""
    groups, group_names = pd.factorize(answers["group"])
    counts = np.zeros((len(group_names), 2, 3))
    np.add.at(counts, (groups, answers["gold"], answers["answer"]), 1.0)
    return counts.reshape(len(group_names), -1)


def _f1_of_answers(counts: Floats) -> Floats:
    """F1 of yes and no, weighted by gold."""
    return weighted_f1(counts.reshape(*counts.shape[:-1], 2, 3))


def _intervals(
    counts: Mapping[str, Floats], statistic: Callable[[Floats], Floats], seed: int
) -> dict[str, Interval]:
    """The statistic of each class with its interval over groups, and their mean as ``average``.

    `counts` has the rows [groups, columns] of each class.
    """
    intervals: dict[str, Interval] = {}
    resampled = []
    for number, kind in enumerate(CLASSES):
        if kind not in counts:
            continue
        rows = counts[kind]
        # Groups are exchangeable: sorting them by content makes the order of rows irrelevant.
        rows = rows[np.lexsort(rows.T[::-1])]
        once = np.ones(len(rows), dtype=np.int64)
        estimate, values = bootstrap_sums(statistic, rows, seed=[seed, number], times=once)
        intervals[kind] = percentile_interval(estimate, values, len(rows), kind=_METHOD)
        resampled.append(values)
    if intervals:
        mean = float(np.mean([interval.estimate for interval in intervals.values()]))
        groups = sum(interval.n for interval in intervals.values())
        mean_values = np.mean(resampled, axis=0)
        intervals[scores.AVERAGE] = percentile_interval(mean, mean_values, groups, kind=_METHOD)
    return intervals
