"""PLANE as a classification of sentences (Bertolini et al. 2022, section 6 and appendix D).

``A fake gun is a gun``: does the inference hold? The paper classifies the whole sentence, cut to 12
tokens; ``input=pair`` gives phrase and conclusion apart. The published splits have no validation
rows; ``validation`` takes some of the training nouns, with all their rows, for it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from conf import UserError, setting
from training.tasks import reading
from training.tasks.dataset import Dataset, Examples, Task, draw

LABELS = ("not entailed", "entailed")


@dataclass(frozen=True)
class Settings:
    """Settings ``task.*`` of PLANE."""

    name: str = setting("plane", help="the task", choices=("plane",))
    edition: str = setting("published", help="edition of plane_items and plane_splits")
    scheme: str = setting(
        "published",
        help="split scheme: published, strict, one_it, in_distribution or two_shot",
        example="task.scheme=one_it",
    )
    fold: str = setting("1", help="fold of the scheme", example="task.fold=3")
    input: str = setting(
        "sentence",
        help="one sentence (the paper), or phrase and conclusion as a pair",
        choices=("sentence", "pair"),
    )
    validation: float = setting(
        0.0, help="share of the training nouns whose rows are for validation, if the split has none"
    )
    seed: int = setting(0, help="chooses the nouns for validation")

    def __post_init__(self) -> None:
        if not 0 <= self.validation <= 0.5:
            raise UserError(f"validation={self.validation}: expected 0 to 0.5")


class Plane(Task):
    """Does an adjective–noun phrase entail its noun, a hypernym, or a phrase of it (PLANE)?"""

    Settings = Settings
    groups = ("class", "inference_type")

    @property
    def needed(self) -> tuple[str, ...]:
        # Two-shot items are for models that are not trained on PLANE.
        train = () if self.settings.scheme == "two_shot" else ("train",)
        return (*train, "val", "test") if self.settings.validation else (*train, "test")

    def read(self, lake: str) -> Dataset:
        """The rows of one fold; a row that a split lists twice is there twice."""
        own = self.settings
        texts = ("sentence",) if own.input == "sentence" else ("premise", "conclusion")
        groups = (*self.groups, "noun", "group_id")
        splits, of, tables = reading.by_split(
            lake,
            ("plane_splits", "plane_items"),
            own.edition,
            own.scheme,
            ("fold", own.fold),
            ("item_id", *texts, "label", *groups),
        )
        parts = {}
        for part, rows in tables.items():
            labels = reading.class_ids(
                rows["label"], (0, 1), f"table plane_items, edition {of.edition}", rows["item_id"]
            )
            parts[part] = Examples.of(rows, "item_id", texts, groups, labels=labels, gold=labels)
        if own.validation and "val" in parts:
            raise UserError(
                f"validation={own.validation}: table plane_splits, edition {own.edition}, scheme "
                f"{own.scheme}, fold {own.fold} has {len(parts['val'])} rows for validation "
                "already; expected validation=0"
            )
        if own.validation and "train" in parts:
            parts |= self._validation(parts["train"])
        return Dataset(
            task="plane",
            edition=own.edition,
            scheme=own.scheme,
            fold=own.fold,
            labels=LABELS,
            parts=parts,
            sources=(of, splits),
            max_length=12,
            instruction="{first}\n{second}\nThe second is one of: {labels}.\nAnswer:"
            if own.input == "pair"
            else "{first}\nThe inference is one of: {labels}.\nAnswer:",
        )

    def _validation(self, train: Examples) -> dict[str, Examples]:
        """Training rows parted by noun: a noun of validation is not trained on."""
        own = self.settings
        nouns = [noun or "" for noun in pc.unique(train.groups["noun"]).to_pylist()]
        held = [noun for noun in nouns if draw(own.seed, "val", noun) / 2**64 < own.validation]
        mask = pc.is_in(train.groups["noun"], value_set=pa.array(held, pa.string()))
        held_out = mask.to_numpy(zero_copy_only=False)
        parts = {"train": ~held_out, "val": held_out}
        return {part: train.take(np.flatnonzero(rows)) for part, rows in parts.items()}
