"""PLANE as a classification of sentences (Bertolini et al. 2022, section 6 and appendix D).

``A fake gun is a gun``: does the inference hold? The paper classifies the whole sentence, cut to 12
tokens; ``input=pair`` gives phrase and conclusion apart. The published splits have no validation
rows; ``validation`` takes some of the training nouns, with all their rows, for it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from conf import UserError, setting
from training.tasks import reading
from training.tasks.dataset import Dataset, Examples, Predicted, Source
from training.tasks.scoring import classification

LABELS = ("not entailed", "entailed")
_MAX_LENGTH = 12
# Items for models that are not trained on PLANE: there is nothing to train on.
_UNTRAINED = "two_shot"


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


@dataclass(frozen=True)
class Plane:
    """Does an adjective–noun phrase entail its noun, a hypernym, or a phrase of it (PLANE)?"""

    settings: Settings

    @property
    def name(self) -> str:
        return self.settings.name

    def load(self, lake: str) -> Dataset:
        """The rows of one fold; a row that a split lists twice is there twice.

        Raises:
            UserError: no such table, edition, scheme or fold; items of the split that the table
                does not have; a label other than 0 and 1; no rows to train or to test on.
        """
        own = self.settings
        _, ids = reading.split_parts(
            lake, "plane_splits", own.edition, own.scheme, ("fold", own.fold), "item_id"
        )
        of = reading.source(lake, "plane_items", own.edition)
        parts = {part: self._examples(lake, of, part, wanted) for part, wanted in ids.items()}
        where = f"table plane_splits, edition {own.edition}, scheme {own.scheme}, fold {own.fold}"
        if own.validation:
            if "val" in parts:
                raise UserError(
                    f"validation={own.validation}: {where} has {len(parts['val'])} rows for "
                    "validation already; expected validation=0"
                )
            reading.require_parts(parts, ("train",), where)
            parts |= self._validation(parts["train"])
        if own.scheme != _UNTRAINED:
            reading.require_parts(parts, ("train",), where)
        reading.require_parts(parts, ("val", "test") if own.validation else ("test",), where)
        return Dataset(
            task="plane",
            edition=own.edition,
            scheme=own.scheme,
            fold=own.fold,
            labels=LABELS,
            outcomes=LABELS,
            outcome_of=np.arange(2),
            parts=parts,
            sources=(of,),
            max_length=_MAX_LENGTH,
            instruction="{first}\n{second}\nThe second is one of: {labels}.\nAnswer:"
            if own.input == "pair"
            else "{first}\nThe inference is one of: {labels}.\nAnswer:",
        )

    def _examples(self, lake: str, of: Source, part: str, wanted: pa.StringArray) -> Examples:
        texts = ("sentence",) if self.settings.input == "sentence" else ("premise", "conclusion")
        names = [*texts, "label", "class", "inference_type", "noun"]
        table = reading.lookup(lake, of, "item_id", wanted, names, f"{part} rows of plane_splits")
        labels = reading.class_ids(
            table.column("label"), (0, 1), f"table plane_items, edition {of.edition}", wanted
        )
        return Examples(
            item_ids=wanted,
            first=reading.strings(table.column(texts[0])),
            second=reading.strings(table.column(texts[1])) if len(texts) == 2 else None,
            labels=labels,
            gold=labels,
            targets=None,
            origin=np.zeros(len(wanted), dtype=np.int8),
            groups={
                "class": reading.strings(table.column("class")),
                "inference_type": reading.strings(table.column("inference_type")),
                "noun": reading.strings(table.column("noun")),
            },
        )

    def _validation(self, train: Examples) -> dict[str, Examples]:
        """Training rows parted by noun: a noun of validation is not trained on."""
        own = self.settings
        nouns = [noun or "" for noun in pc.unique(train.groups["noun"]).to_pylist()]
        held = [noun for noun in nouns if _draw(own.seed, noun) < own.validation]
        mask = pc.is_in(train.groups["noun"], value_set=pa.array(held, pa.string())).to_numpy(
            zero_copy_only=False
        )
        return {"train": train.take(np.flatnonzero(~mask)), "val": train.take(np.flatnonzero(mask))}

    def evaluate(
        self,
        dataset: Dataset,
        part: str,
        predicted: Predicted,
        scores: npt.NDArray[np.float64] | None = None,
    ) -> dict[str, float]:
        """accuracy, majority, macro_f1, scores of each class, accuracy by class of adjective and
        by inference type."""
        return classification(dataset, part, predicted, ("class", "inference_type"))

    def together(self, dataset: Dataset, predicted: Mapping[str, Predicted]) -> dict[str, float]:
        return {}


def _draw(seed: int, noun: str) -> float:
    digest = hashlib.blake2b(f"{seed}\tval\t{noun}".encode(), digest_size=8).digest()
    return int.from_bytes(digest) / 2**64
