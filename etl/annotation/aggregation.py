"""Labels by models of annotators instead of a majority, to see how much that choice matters.

Dawid and Skene (1979) give every annotator a matrix of errors, MACE (Hovy et al. 2013) a share of
items that they label without looking. Both are fitted by crowd-kit, an optional dependency.
"""

from collections.abc import Iterable, Sequence
from importlib.util import find_spec

from adnominal.conf import UserError
from adnominal.etl.annotation.quality import Answer

MODELS = ("dawid_skene", "mace")


def check_models(models: Sequence[str]) -> None:
    """Check that the library that the models need is installed.

    Raises:
        UserError: crowd-kit is not installed; the message has the install command.
    """
    if models and find_spec("crowdkit") is None:
        raise UserError(
            f"models={','.join(models)}: crowd-kit is not installed; install it with "
            "pip install -e '.[annotation]', or set models=[]"
        )


def aggregate(model: str, answers: Iterable[Answer]) -> dict[str, int]:
    """Return the most probable label of every answered item; the order of answers is irrelevant.

    Raises:
        ValueError: the model is unknown, or there are no answers.
    """
    if model not in MODELS:
        raise ValueError(f"model {model!r}; expected one of {', '.join(MODELS)}")
    import pandas as pd
    from crowdkit.aggregation import MACE, DawidSkene

    rows = sorted((a.item_id, a.annotator, a.label) for a in answers)
    if not rows:
        raise ValueError("no answers; expected one or more")
    frame = pd.DataFrame(rows, columns=["task", "worker", "label"])
    if model == "dawid_skene":
        labels = DawidSkene(n_iter=100).fit_predict(frame)
    else:
        # One start is enough: the library draws every restart from the same seed.
        labels = MACE(n_restarts=1, n_iter=50, random_state=0).fit_predict(frame)
    return {str(item): int(label) for item, label in labels.items()}
