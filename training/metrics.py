"""Scores of predictions: shares from 0 to 1, from class ids or texts, without a framework."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

_Ids = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.float64]


def classification(gold: _Ids, predicted: _Ids, classes: Sequence[str]) -> dict[str, float]:
    """Return accuracy, majority, macro_f1, and precision, recall and f1 of each class.

    `majority` is the accuracy of always giving the most frequent gold class of these rows.
    `macro_f1` is the mean over the classes that occur in gold or among the predictions. A class
    without predictions has precision 0, a class without rows recall 0.

    Raises:
        ValueError: there are no rows, the arrays have different lengths, or an id is outside of
            0 … classes - 1.
    """
    from sklearn.metrics import accuracy_score, f1_score, precision_recall_fscore_support

    if not len(gold):
        raise ValueError("no rows to score")
    if gold.shape != predicted.shape:
        raise ValueError(f"{len(gold)} gold and {len(predicted)} predicted labels")
    for name, ids in (("gold", gold), ("predicted", predicted)):
        if not (ids.min() >= 0 and ids.max() < len(classes)):
            raise ValueError(f"{name} label {ids.max()} or {ids.min()} of {len(classes)}")
    precision, recall, f1, rows = precision_recall_fscore_support(
        gold, predicted, labels=range(len(classes)), zero_division=0
    )
    scores = {
        "accuracy": float(accuracy_score(gold, predicted)),
        "majority": float(rows.max() / len(gold)),
        "macro_f1": float(f1_score(gold, predicted, average="macro", zero_division=0)),
    }
    for index, label in enumerate(classes):
        name = metric_name(label)
        scores[f"precision/{name}"] = float(precision[index])
        scores[f"recall/{name}"] = float(recall[index])
        scores[f"f1/{name}"] = float(f1[index])
    return scores


def weighted_f1(counts: _Floats) -> _Floats:
    """Return the mean F1 of the gold classes, weighted by their rows, for many tables at once.

    `counts` [..., gold, answer] has the rows by gold class and answer. The first answers are the
    gold classes in their order; any others are always wrong. A table without rows has F1 0.
    scikit-learn takes milliseconds for each table: too long for thousands of resamples or cells.
    """
    gold = counts.sum(axis=-1)
    answered = counts.sum(axis=-2)[..., : gold.shape[-1]]
    hits = np.diagonal(counts, axis1=-2, axis2=-1)
    f1 = 2 * hits / np.maximum(gold + answered, 1)
    return np.asarray((gold * f1).sum(axis=-1) / np.maximum(gold.sum(axis=-1), 1))


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


def rank_correlations(values: npt.ArrayLike, labels: npt.ArrayLike) -> dict[str, float]:
    """Return Spearman's rho and Kendall's tau-b, over the pairs that have a value.

    Labels are ordered but not evenly spaced, so that both count only ranks; ties are corrected.
    """
    from scipy.stats import kendalltau, spearmanr

    pairs = np.array([values, labels], np.float64).reshape(2, -1)
    one, two = pairs[:, ~np.isnan(pairs).any(axis=0)]
    return {
        "spearman": float(spearmanr(one, two).statistic),
        "kendall_tau_b": float(kendalltau(one, two).statistic),
    }
