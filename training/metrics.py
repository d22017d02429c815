"""Scores of predictions: shares from 0 to 1, from class ids or texts, without a framework."""

from collections import Counter
from collections.abc import Sequence
from statistics import fmean

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

_Ids = npt.NDArray[np.int64]


def confusion(gold: _Ids, predicted: _Ids, classes: int) -> _Ids:
    """Count how often gold class i was predicted as class j: shape [classes, classes].

    Raises:
        ValueError: the arrays have different lengths, or an id is outside of 0 … classes - 1.
    """
    if gold.shape != predicted.shape:
        raise ValueError(f"{len(gold)} gold and {len(predicted)} predicted labels")
    for name, ids in (("gold", gold), ("predicted", predicted)):
        if ids.size and not (ids.min() >= 0 and ids.max() < classes):
            raise ValueError(f"{name} label {int(ids.max())} or {int(ids.min())} of {classes}")
    counts = np.bincount(gold * classes + predicted, minlength=classes * classes)
    return counts.reshape(classes, classes).astype(np.int64)


def classification(gold: _Ids, predicted: _Ids, classes: Sequence[str]) -> dict[str, float]:
    """Return accuracy, majority, macro_f1, and precision, recall and f1 of each class.

    `majority` is the accuracy of always giving the most frequent gold class of these rows.
    `macro_f1` is the mean over the classes that occur in gold or among the predictions. A class
    without predictions has precision 0, a class without rows recall 0.

    Raises:
        ValueError: as `confusion`; also if there are no rows.
    """
    if not len(gold):
        raise ValueError("no rows to score")
    # Computed here because scikit-learn takes a second to import in every process of a run.
    counts = confusion(gold, predicted, len(classes))
    hits, of_gold, of_predicted = counts.diagonal(), counts.sum(axis=1), counts.sum(axis=0)
    both = of_gold + of_predicted
    by_class = {
        "precision": hits / of_predicted.clip(1),
        "recall": hits / of_gold.clip(1),
        "f1": 2 * hits / both.clip(1),
    }
    scores = {
        "accuracy": float(hits.sum() / len(gold)),
        "majority": float(of_gold.max() / len(gold)),
        "macro_f1": float(by_class["f1"][both > 0].mean()),
    }
    for index, name in enumerate(classes):
        for score, values in by_class.items():
            scores[f"{score}/{metric_name(name)}"] = float(values[index])
    return scores


def _f1_by_class(gold: Sequence[object], predicted: Sequence[object]) -> dict[object, float]:
    """Return the F1 of each class of gold or predicted labels.

    Raises:
        ValueError: there are no rows, or the sequences have different lengths.
    """
    if not gold:
        raise ValueError("no rows to score")
    hits = Counter(a for a, b in zip(gold, predicted, strict=True) if a == b)
    of_gold, of_predicted = Counter(gold), Counter(predicted)
    return {
        label: 2 * hits[label] / (of_gold[label] + of_predicted[label])
        for label in of_gold | of_predicted
    }


def macro_f1(gold: Sequence[object], predicted: Sequence[object]) -> float:
    """Return the mean F1 of the classes among gold or predicted labels (0 to 1).

    Raises:
        ValueError: there are no rows, or the sequences have different lengths.
    """
    return fmean(_f1_by_class(gold, predicted).values())


def weighted_f1(gold: Sequence[object], predicted: Sequence[object]) -> float:
    """Return the mean F1 of the classes of `gold`, weighted by their rows (0 to 1).

    Raises:
        ValueError: there are no rows, or the sequences have different lengths.
    """
    by_class = _f1_by_class(gold, predicted)
    counts = Counter(gold)
    return sum(count * by_class[label] for label, count in counts.items()) / len(gold)


def wilson_bounds(share: float, n: float, level: float = 0.95) -> tuple[float, float]:
    """Return Wilson's interval for a share of `n` items, which may be an effective number."""
    from statsmodels.stats.proportion import proportion_confint

    low, high = proportion_confint(share * n, n, alpha=1 - level, method="wilson")
    # At 0 and n, rounding errors remain near the bound.
    return 0.0 if share == 0 else float(low), 1.0 if share == 1 else float(high)


def exact_match(gold: pa.StringArray, predicted: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Whether each text is the gold one, character by character.

    Raises:
        ValueError: the lengths differ.
    """
    if len(gold) != len(predicted):
        raise ValueError(f"{len(gold)} gold and {len(predicted)} predicted texts")
    equal = pc.equal(gold, pa.array(list(predicted), pa.string()))
    return np.asarray(equal.to_numpy(zero_copy_only=False), dtype=np.bool_)


def metric_name(text: str) -> str:
    """Make `text` part of a metric's name: MLflow allows letters, digits, _ - . : / and spaces."""
    name = "".join(c if c.isalnum() or c in "_-.:" else "_" for c in text.replace("+", "_with_"))
    return name or "none"
