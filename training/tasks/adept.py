"""ADEPT as a classification of sentence pairs (Emami et al. 2021, sections 5.1 to 5.3).

The input is (sentence, sentence with the adjective), without context (noun, adjective). Labels
are the five degrees; four without *impossible* (section 4.2); or three, *impossible* and *less
likely* in one and *more likely* and *necessarily true* in another. The paper does not say whether
its 3-class models were trained on three labels or answered in five: ``collapse`` chooses.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc

from conf import UserError, setting
from etl.adept import LABELS
from etl.adept.baselines import CLASSES, label_of
from training.tasks import reading
from training.tasks.dataset import Dataset, Examples, Task

__all__ = ["LABELS", "Adept", "Settings"]

_OUTCOMES = {5: LABELS, 4: LABELS[1:], 3: LABELS[1:4]}
_SPLITS = ("random", "noun_disjoint", "adjective_disjoint")


@dataclass(frozen=True)
class Settings:
    """Settings ``task.*`` of ADEPT."""

    name: str = setting("adept", help="the task", choices=("adept",))
    edition: str = setting("published", help="edition of the table adept")
    split: str = setting("random", help="which split: the paper's is random", choices=_SPLITS)
    classes: int = setting(5, help="5, 4 (without impossible) or 3", example="task.classes=3")
    collapse: bool = setting(
        False, help="with classes=3: train on five labels and collapse the answers to three"
    )
    context: bool = setting(True, help="sentences; false: noun and adjective alone")

    def __post_init__(self) -> None:
        if self.classes not in CLASSES:
            raise UserError(f"classes={self.classes}: expected 5, 4 or 3")
        if self.collapse and self.classes != 3:
            raise UserError(f"collapse=true classes={self.classes}: expected classes=3 with it")


class Adept(Task):
    """How an adjective changes the plausibility of a sentence, in 5, 4 or 3 classes (ADEPT)."""

    Settings = Settings
    groups = ("agreement",)
    needed = ("train", "val")

    def read(self, lake: str) -> Dataset:
        """The rows of each part; published test labels included where there are any."""
        own = self.settings
        column = f"split_{own.split}"
        of = reading.source(lake, "adept", own.edition)
        names = ["item_id", "sentence1", "sentence2", "modifier", "noun", "label", "agreement"]
        table = reading.rows(lake, of, [*names, column])
        # Sentences may repeat with another label: the order is by label too.
        table = table.sort_by([("item_id", "ascending"), ("label", "ascending")])
        where = f"table adept, edition {own.edition}"
        if table.column(column).null_count == table.num_rows:
            raise UserError(f"split={own.split}: {where} has no values in its column {column}")
        five = reading.class_ids(table["label"], range(len(LABELS)), where, table["item_id"])
        found = [label_of(label, own.classes) for label in range(len(LABELS))]
        # -1: rows with the label are left out.
        class_of = np.array([-1 if one is None else one for one in found])
        parts = {}
        for part in ("train", "val", "test"):
            mask = pc.fill_null(pc.equal(table.column(column), part), False)
            kept = np.flatnonzero(mask.to_numpy() & (class_of[five] >= 0))
            if len(kept):
                gold = class_of[five][kept]
                parts[part] = Examples.of(
                    table.take(kept),
                    "item_id",
                    ("sentence1", "sentence2") if own.context else ("noun", "modifier"),
                    self.groups,
                    labels=five[kept] if own.collapse else gold,
                    gold=gold,
                )
        outcomes = _OUTCOMES[own.classes]
        labels = LABELS if own.collapse else outcomes
        return Dataset(
            task=f"adept_{own.classes}{'' if own.context else '_no_context'}",
            edition=own.edition,
            scheme=own.split,
            fold="",
            labels=labels,
            outcomes=outcomes,
            outcome_of=class_of if own.collapse else np.arange(len(labels)),
            parts=parts,
            sources=(of,),
            max_length=128,
            instruction="{first}\n{second}\n"
            "Compared with the first, the second is one of: {labels}.\nAnswer:",
        )
