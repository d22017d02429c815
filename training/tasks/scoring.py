"""What the tasks of classification share: scores of a part, and of its groups of rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from training import metrics
from training.tasks.dataset import Dataset, Ids, Predicted


def outcomes(dataset: Dataset, predicted: Predicted) -> Ids:
    """The outcome of each predicted class."""
    return dataset.outcome_of[np.asarray(predicted, dtype=np.int64)]


def classification(
    dataset: Dataset, part: str, predicted: Predicted, by: Sequence[str]
) -> dict[str, float]:
    """The scores of `metrics.classification` over outcomes, and the accuracy of each group.

    `by` names the groupings; a group's score is ``accuracy/GROUPING.VALUE``. A grouping of which
    the part has one value only is left out. Where evaluation has fewer outcomes than there are
    classes, ``accuracy_labels`` is the share of right classes.

    Raises:
        ValueError: another number of predictions than the part has rows; or no rows.
    """
    examples = dataset.parts[part]
    assert examples.gold is not None
    own = outcomes(dataset, predicted)
    scores = metrics.classification(examples.gold, own, dataset.outcomes)
    if len(dataset.outcomes) < len(dataset.labels) and examples.labels is not None:
        scores["accuracy_labels"] = float(np.mean(examples.labels == np.asarray(predicted)))
    right = examples.gold == own
    for name in by:
        members = examples.group(name)
        if len(members) > 1:
            for value, rows in members.items():
                key = f"accuracy/{metrics.metric_name(name)}.{metrics.metric_name(value)}"
                scores[key] = float(right[rows].mean())
    return scores
