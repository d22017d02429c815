"""Agreement of annotators, and labels by models of annotators, of the extra ``annotation``.

Cohen's kappa is scikit-learn's, Fleiss' kappa statsmodels', Krippendorff's alpha and the models are
crowd-kit's. Coefficients are 1 for full agreement and 0 at chance level. If only one label was ever
used, chance agreement is full as well, and they are undefined (None).
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import pandas as pd
from crowdkit.aggregation import MACE, DawidSkene
from crowdkit.metrics.data import alpha_krippendorff
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats import inter_rater

from adnominal.etl.annotation.quality import Answer, labels_of_items

Level: TypeAlias = Literal["nominal", "ordinal", "interval"]
Distance: TypeAlias = Callable[[Any, Any], float]
LEVELS: tuple[Level, ...] = ("nominal", "ordinal", "interval")


def cohen_kappa(first: Mapping[str, int], second: Mapping[str, int]) -> float | None:
    """The agreement of two raters (Cohen 1960) on the items that both labelled."""
    items = sorted(first.keys() & second.keys())
    first_labels = [first[item] for item in items]
    second_labels = [second[item] for item in items]
    if len({*first_labels, *second_labels}) < 2:
        return None
    return float(cohen_kappa_score(first_labels, second_labels))


def fleiss_kappa(items: Sequence[Sequence[int]]) -> float | None:
    """The agreement of a fixed number of raters per item, not always the same (Fleiss 1971).

    `items` are the labels of each item.
    """
    counts, labels = inter_rater.aggregate_raters(items)
    if len(labels) < 2:
        return None
    return float(inter_rater.fleiss_kappa(counts))


def krippendorff_alpha(answers: Collection[Answer], level: Level) -> float | None:
    """The agreement of any number of raters with missing labels (Krippendorff 2011).

    `answers` are those to items with two answers or more. The distance of two different labels is 1
    at the nominal level, the squared number of answers between them at the ordinal level, and the
    squared difference of their codes at the interval level.
    """
    frame = _frame(answers)
    if frame["label"].nunique() < 2:
        return None
    distances: dict[Level, Distance] = {
        "nominal": lambda first, second: float(first != second),
        "ordinal": _ordinal_distance(frame["label"]),
        "interval": lambda first, second: (first - second) ** 2,
    }
    return float(alpha_krippendorff(frame, distances[level]))


def _ordinal_distance(labels: "pd.Series[int]") -> Distance:
    """The square of the number of answers between two labels, when all are put in order.

    Of the answers with these two labels, half count: a label's place is the middle of its answers.
    """
    counts = labels.value_counts().sort_index()
    places = (counts.cumsum() - counts / 2).to_dict()
    return lambda first, second: (places[first] - places[second]) ** 2


def coefficients(answers: Collection[Answer]) -> dict[str, Any]:
    """Kappa and alphas of the items with two answers or more; only their number if there are none.

    Fleiss' kappa is that of the items with the most frequent number of answers.
    """
    labels = labels_of_items(answers)
    paired = [answer for answer in answers if len(labels[answer.item_id]) > 1]
    items = [codes for codes in labels.values() if len(codes) > 1]
    if not items:
        return {"items": 0}
    ((raters, items_of_raters),) = Counter(map(len, items)).most_common(1)
    return {
        "items": len(items),
        "raters": raters,
        "fleiss kappa": fleiss_kappa([codes for codes in items if len(codes) == raters]),
        "fleiss items": items_of_raters,
        **{f"alpha {level}": krippendorff_alpha(paired, level) for level in LEVELS},
    }


def labels_by_model(model: str, answers: Collection[Answer]) -> dict[str, int]:
    """The most probable label of every answered item; the order of answers is irrelevant.

    Dawid and Skene (1979) give every annotator a matrix of errors, MACE (Hovy et al. 2013) a share
    of items that they label without looking.

    Raises:
        KeyError: the model is neither ``dawid_skene`` nor ``mace``.
    """
    models = {
        "dawid_skene": DawidSkene(n_iter=100),
        # One start is enough: the library draws every restart from the same seed.
        "mace": MACE(n_restarts=1, n_iter=50, random_state=0),
    }
    labels = models[model].fit_predict(_frame(answers))
    return {str(item): int(label) for item, label in labels.items()}


def _frame(answers: Collection[Answer]) -> pd.DataFrame:
    """The answers in crowd-kit's columns."""
    rows = sorted((answer.item_id, answer.annotator, answer.label) for answer in answers)
    return pd.DataFrame(rows, columns=["task", "worker", "label"])


def compare_with_model(
    model: str, answers: Collection[Answer], labels: Mapping[str, int], label_count: int
) -> dict[str, Any]:
    """A model's labels, compared with those of the majority."""
    if not answers:
        return {"items": 0}
    estimated = labels_by_model(model, answers)
    shared = labels.keys() & estimated.keys()
    same = sum(estimated[item_id] == labels[item_id] for item_id in shared)
    counts = Counter(estimated.values())
    return {
        "items": len(shared),
        "same label": same / len(shared) if shared else None,
        "kappa": cohen_kappa(estimated, labels),
        "labels": [counts[code] for code in range(label_count)],
    }
