"""Labels by models of annotators instead of a majority, to see how much hangs on that choice.

Dawid and Skene (1979) give every annotator a matrix of errors, MACE (Hovy et al. 2013) a share of
items on which they do not look. Both are fitted by crowd-kit, which is an extra.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from typing import Any

from conf import UserError
from etl.annotation.quality import Answer

MODELS = ("dawid_skene", "mace")


def check_models(models: Sequence[str]) -> None:
    """Refuse to start without the library that the models need.

    Raises:
        UserError: crowd-kit is not installed; with the line that installs it.
    """
    if models and find_spec("crowdkit") is None:
        raise UserError(
            f"models={','.join(models)}: crowd-kit is not installed; install it with "
            "pip install -e '.[annotation]', or set models=[]"
        )


def aggregate(model: str, answers: Iterable[Answer]) -> dict[str, int]:
    """The most probable label of every item answered, the same whatever the order of the answers.

    Raises:
        ValueError: an unknown model, or no answers.
    """
    if model not in MODELS:
        raise ValueError(f"model {model!r}; expected one of {', '.join(MODELS)}")
    import pandas as pd

    rows = sorted((a.item_id, a.annotator, a.label) for a in answers)
    if not rows:
        raise ValueError("no answers; expected one or more")
    frame = pd.DataFrame(rows, columns=["task", "worker", "label"])
    return {str(item): int(label) for item, label in _fitted_model(model, frame).items()}


def _fitted_model(model: str, frame: Any) -> Any:
    from crowdkit.aggregation import MACE, DawidSkene

    if model == "dawid_skene":
        return DawidSkene(n_iter=100).fit_predict(frame)
    # One start is enough: the library draws every restart from the same seed.
    return MACE(n_restarts=1, n_iter=50, random_state=0).fit_predict(frame)
