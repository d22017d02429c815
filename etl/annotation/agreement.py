"""Agreement of annotators, and labels by models of annotators.

Cohen's kappa is scikit-learn's, Fleiss' kappa statsmodels', Krippendorff's alpha and the models are
crowd-kit's; only the directions of disagreements are counted here. Coefficients are 1 for full
agreement and 0 at chance level. If only one label was ever used, chance agreement is full as well,
and they are undefined (None).
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from importlib.util import find_spec
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from adnominal.conf import UserError
from adnominal.etl.annotation.quality import Answer

if TYPE_CHECKING:
    import pandas as pd

Level: TypeAlias = Literal["nominal", "ordinal", "interval"]
Distance: TypeAlias = Callable[[Any, Any], float]
LEVELS: tuple[Level, ...] = ("nominal", "ordinal", "interval")
MODELS = ("dawid_skene", "mace")
SAME_SIDE = "same side"
ONE_IN_THE_MIDDLE = "one in the middle"
OPPOSITE_SIDES = "opposite sides"
DIRECTIONS = (SAME_SIDE, ONE_IN_THE_MIDDLE, OPPOSITE_SIDES)
_PACKAGES = {"crowdkit": "crowd-kit", "sklearn": "scikit-learn", "statsmodels": "statsmodels"}


def check_packages() -> None:
    """Check that the packages of the extra ``annotation`` are installed.

    Raises:
        UserError: a package is missing; the message has the install command.
    """
    missing = [name for module, name in _PACKAGES.items() if find_spec(module) is None]
    if missing:
        raise UserError(
            f"finish needs {', '.join(missing)}; install it with pip install "
            "'adnominal[annotation]' (in a checkout: make setup)"
        )


def cohen_kappa(first: Mapping[str, int], second: Mapping[str, int]) -> float | None:
    """The agreement of two raters (Cohen 1960) on the items that both labelled."""
    from sklearn.metrics import cohen_kappa_score

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
    from statsmodels.stats import inter_rater

    counts, labels = inter_rater.aggregate_raters(items)
    if len(labels) < 2:
        return None
    return float(inter_rater.fleiss_kappa(counts))


def krippendorff_alpha(answers: Collection[Answer], level: Level) -> float | None:
    """The agreement of any number of raters with missing labels (Krippendorff 2011).

    `answers` are those to items with two answers or more. Different labels' distance is the same
    for all at the nominal level, the number of labels between them at the ordinal level, and the
    difference of their codes at the interval level.
    """
    from crowdkit.metrics.data import alpha_krippendorff

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
    """The square of the number of labels between two labels, when all are put in order.

    Of the two labels themselves, half count: a label's place is the middle of its occurrences.
    """
    counts = labels.value_counts().sort_index()
    places = (counts.cumsum() - counts / 2).to_dict()
    return lambda first, second: (places[first] - places[second]) ** 2


def disagreements_by_direction(items: Iterable[Sequence[int]], middle: int) -> dict[str, int]:
    """The number of disagreements of each of `DIRECTIONS`.

    A disagreement is two answers to one item with different labels. ADEPT's section 4.2 reports
    that many are on the same side of the middle label, such as `more likely` and `necessarily
    true`. `items` are the labels of each item, `middle` is the code of the middle label.
    """
    counts: Counter[str] = Counter()
    for labels in items:
        for first, second in combinations(labels, 2):
            if first != second:
                counts[_direction(first - middle, second - middle)] += 1
    return {direction: counts[direction] for direction in DIRECTIONS}


def _direction(first: int, second: int) -> str:
    """The direction of a disagreement between two different distances from the middle."""
    if first == 0 or second == 0:
        return ONE_IN_THE_MIDDLE
    is_same_side = (first > 0) == (second > 0)
    return SAME_SIDE if is_same_side else OPPOSITE_SIDES


def labels_by_model(model: str, answers: Collection[Answer]) -> dict[str, int]:
    """The most probable label of every answered item; the order of answers is irrelevant.

    Dawid and Skene (1979) give every annotator a matrix of errors, MACE (Hovy et al. 2013) a share
    of items that they label without looking.

    Raises:
        KeyError: the model is not one of `MODELS`.
    """
    from crowdkit.aggregation import MACE, DawidSkene

    models = {
        "dawid_skene": DawidSkene(n_iter=100),
        # One start is enough: the library draws every restart from the same seed.
        "mace": MACE(n_restarts=1, n_iter=50, random_state=0),
    }
    labels = models[model].fit_predict(_frame(answers))
    return {str(item): int(label) for item, label in labels.items()}


def _frame(answers: Collection[Answer]) -> "pd.DataFrame":
    """The answers in crowd-kit's columns."""
    import pandas as pd

    rows = sorted((answer.item_id, answer.annotator, answer.label) for answer in answers)
    return pd.DataFrame(rows, columns=["task", "worker", "label"])
