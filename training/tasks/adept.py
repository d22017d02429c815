"""ADEPT as a classification of sentence pairs (Emami et al. 2021, sections 5.1 to 5.3).

The input is (sentence, sentence with the adjective) or, without context, (noun, adjective). Labels
are the five degrees; four without *impossible* (section 4.2); or three, with *impossible* and *less
likely* merged, and *more likely* and *necessarily true* merged. The paper does not say whether its
3-class models were trained on three labels or answered in five: ``collapse`` chooses.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from adnominal.conf import UserError, setting
from adnominal.etl.adept.baselines import CLASSES, label_of
from adnominal.etl.adept.declaration import DATASET
from adnominal.training.tasks.dataset import Dataset, Examples, Form, Ids, Source
from adnominal.training.tasks.labelled import LabelledTask

LABELS = DATASET.label_names
_OUTCOMES = {5: LABELS, 4: LABELS[1:], 3: LABELS[1:4]}


@dataclass(frozen=True)
class Settings:
    name: str = setting("adept", help="the task", choices=("adept",))
    edition: str = setting("published", help="edition of the table adept")
    split: str = setting(
        "random", help="split scheme; the paper's is random", choices=DATASET.splits.names
    )
    classes: int = setting(5, help="5, 4 (without impossible) or 3", example="task.classes=3")
    collapse: bool = setting(
        False, help="with classes=3: train on five labels and collapse the answers to three"
    )
    context: bool = setting(True, help="sentences; false: only noun and adjective")

    def __post_init__(self) -> None:
        if self.classes not in CLASSES:
            raise UserError(f"classes={self.classes}: expected 5, 4 or 3")
        if self.collapse and self.classes != 3:
            raise UserError(f"collapse=true classes={self.classes}: expected classes=3 with it")


class Adept(LabelledTask):
    """How an adjective changes the plausibility of a sentence, in 5, 4 or 3 classes (ADEPT)."""

    Settings = Settings
    dataset_spec = DATASET
    form_setting = "context"
    needed_parts = ("train", "val")

    @classmethod
    def form_values(cls, form: Form) -> Mapping[str, Any]:
        """Noun and adjective for the form words; else sentences."""
        return {"context": form != "words"}

    @classmethod
    def with_format(cls, form: Form, examples: Examples) -> Examples:
        """As a statement: the sentence with the adjective, which may or may not hold."""
        if form == "statement":
            return dataclasses.replace(examples, first=examples.second, second=None)
        return examples

    @property
    def texts(self) -> tuple[str, ...]:
        """Both sentences, or noun and adjective."""
        items = DATASET.tables[0]
        return (items.pair if self.settings.context else items.without_context) or ()

    def read(self, lake: str) -> Dataset:
        """Read the rows of each part, including published test labels if there are any."""
        settings = self.settings
        outcomes = _OUTCOMES[settings.classes]
        labels = LABELS if settings.collapse else outcomes
        return dataclasses.replace(
            super().read(lake),
            task=f"adept_{settings.classes}{'' if settings.context else '_no_context'}",
            labels=labels,
            outcomes=outcomes,
            outcome_of=self._classes() if settings.collapse else np.arange(len(labels)),
        )

    def _classes(self) -> Ids:
        """Return the class of each label; -1 for a label whose rows are dropped."""
        classes = [label_of(label, self.settings.classes) for label in range(len(LABELS))]
        return np.array([-1 if number is None else number for number in classes])

    def class_of_label(self, dataset: Dataset) -> dict[str, int]:
        """Return the class of each label; labels whose rows are dropped have none."""
        classes = range(len(LABELS)) if self.settings.collapse else self._classes().tolist()
        pairs = zip(LABELS, classes, strict=True)
        return {label: number for label, number in pairs if number >= 0}

    def examples(self, rows: pa.Table, source: Source) -> Examples:
        """Return the rows whose label is in a class."""
        examples = super().examples(rows, source)
        assert examples.labels is not None
        gold = self._classes()[examples.labels]
        examples = dataclasses.replace(
            examples, labels=examples.labels if self.settings.collapse else gold, gold=gold
        )
        return examples.take(np.flatnonzero(gold >= 0))
