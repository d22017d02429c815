"""Baselines as the paper's tables define them.

Chance picks each of the three NLI labels with the same probability, so one in three is entailment.
The majority baseline always gives the more frequent of the two labels; in degree estimation it
always gives not_entailment (`not_entailment`). Discarded rows do not count.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from adnominal.etl.asp import DISCARD, ENTAILMENT


@dataclass(frozen=True)
class Baselines:
    """Accuracies in percent; `not_entailment` is the share of that label."""

    rows: int
    entailments: int
    chance: float
    majority: float
    not_entailment: float


def baselines(labels: Iterable[str]) -> Baselines:
    """The baselines of a test's labels.

    Raises:
        ValueError: there are no labels other than discarded ones.
    """
    counted_labels = [label for label in labels if label != DISCARD]
    if not counted_labels:
        raise ValueError("no labels")
    entailed = sum(label == ENTAILMENT for label in counted_labels)
    share = entailed / len(counted_labels)
    # Chance says "entailment" one time in three, and is right as often as that is the label.
    chance = share / 3 + (1 - share) * 2 / 3
    return Baselines(
        rows=len(counted_labels),
        entailments=entailed,
        chance=100 * chance,
        majority=100 * max(share, 1 - share),
        not_entailment=100 * (1 - share),
    )
