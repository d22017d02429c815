"""PLANE as a classification of sentences (Bertolini et al. 2022, section 6 and appendix D).

``A fake gun is a gun``: does the inference hold? The paper classifies the whole sentence, cut to 12
tokens; ``input=pair`` separates phrase and conclusion. The published splits have no validation
rows; ``validation`` uses some of the training nouns, with all their rows, for it.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from adnominal.conf import UserError, setting
from adnominal.etl.draws import fraction
from adnominal.etl.knowledge.english import article
from adnominal.etl.plane import TYPES
from adnominal.etl.plane.declaration import DATASET
from adnominal.training.asking import scores
from adnominal.training.asking.scores import Results
from adnominal.training.tasks.dataset import Dataset, Examples, Form, with_columns
from adnominal.training.tasks.labelled import LabelledTask

if TYPE_CHECKING:
    from adnominal.training.asking.settings import Settings as Prompting

log = logging.getLogger("adnominal")


@dataclass(frozen=True)
class Settings:
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
        0.0, help="share of the training nouns to use for validation, if the split has none"
    )
    seed: int = setting(0, help="seed for the choice of validation nouns")

    def __post_init__(self) -> None:
        if not 0 <= self.validation <= 0.5:
            raise UserError(f"validation={self.validation}: expected 0 to 0.5")


class Plane(LabelledTask):
    """Does an adjective–noun phrase entail its noun, a hypernym, or a phrase of it (PLANE)?"""

    Settings = Settings
    dataset_spec = DATASET
    form_setting = "input"
    further_columns = ("noun", "group_id")

    @property
    def needed_parts(self) -> tuple[str, ...]:
        # Two-shot items are for models that are not trained on PLANE.
        train = () if self.settings.scheme == "two_shot" else ("train",)
        return (*train, "val", "test") if self.settings.validation else (*train, "test")

    @property
    def texts(self) -> tuple[str, ...]:
        """The sentence, or phrase and conclusion."""
        items = DATASET.tables[0]
        pair = items.pair if self.settings.input == "pair" else None
        return pair or (str(items.single),)

    @classmethod
    def form_values(cls, form: Form) -> Mapping[str, Any] | None:
        """Phrase and conclusion for the form pair; else the sentence."""
        if form == "words":
            return None
        return {"input": "pair" if form == "pair" else "sentence"}

    @classmethod
    def with_format(cls, form: Form, examples: Examples) -> Examples:
        """As a change: "A gun is a weapon" becomes "A fake gun is a weapon"."""
        if form != "change":
            return examples
        pairs = zip(examples.first.to_pylist(), examples.groups["noun"].to_pylist(), strict=True)
        without = pa.array([_without_adjective(text, noun) for text, noun in pairs], pa.string())
        return dataclasses.replace(examples, first=without, second=examples.first)

    def read(self, lake: str) -> Dataset:
        """Read the rows of one fold, with some training nouns for validation if requested."""
        dataset, share = super().read(lake), self.settings.validation
        if not share:
            return dataset
        if "val" in dataset.parts:
            raise UserError(
                f"validation={share}: table plane_splits, edition {dataset.edition}, scheme "
                f"{dataset.scheme}, fold {dataset.fold} has {len(dataset.parts['val'])} validation "
                "rows already; expected validation=0"
            )
        if "train" not in dataset.parts:
            return dataset
        parts = {**dataset.parts, **self._validation(dataset.parts["train"])}
        return dataclasses.replace(dataset, parts=parts)

    @classmethod
    def prompt_values(cls, settings: Prompting) -> dict[str, Any]:
        return {"scheme": settings.scheme, "fold": settings.fold, "input": "pair"}

    def with_prompt_columns(self, rows: pa.Table, settings: Prompting) -> pa.Table:
        """Return each item once; with examples, only items whose group has all inference types."""
        # A published split may list an item twice.
        places = rows.select(["item_id"]).append_column("row", [np.arange(rows.num_rows)])
        first = places.group_by("item_id").aggregate([("row", "min")])["row_min"]
        if len(first) < rows.num_rows:
            rows = rows.take(np.sort(first.to_numpy()))
        scheme, fold = settings.scheme, settings.fold
        fold = fold if scheme == "two_shot" else f"{scheme}/{fold}"
        rows = with_columns(
            rows,
            fold=pa.array([fold] * rows.num_rows),
            group=rows["group_id"],
            inference_type=rows["inference_type"].cast(pa.int64()),
        )
        if not settings.shows_groups:
            return rows
        types = rows.group_by("group").aggregate([("inference_type", "count_distinct")])
        complete = types.filter(pc.equal(types["inference_type_count_distinct"], len(TYPES)))
        if not complete.num_rows:
            raise UserError(
                f"shots=2: no group of edition {settings.edition}, scheme {scheme} has all three "
                "inference types, so no item can be another's example; expected shots=0, or "
                "another scheme"
            )
        complete_rows = rows.filter(pc.is_in(rows["group"], value_set=complete["group"]))
        if complete_rows.num_rows < rows.num_rows:
            log.warning(
                "dropped: %d of %d items whose group lacks some of the three inference types",
                rows.num_rows - complete_rows.num_rows,
                rows.num_rows,
            )
        return complete_rows

    def prompt_results(self, rows: pa.Table, labels: Sequence[str]) -> Results:
        return scores.by_class(rows, DATASET.label_names[1])

    def _validation(self, train: Examples) -> dict[str, Examples]:
        """Split training rows by noun: no noun of the validation rows is trained on."""
        seed, share = self.settings.seed, self.settings.validation
        nouns = [noun or "" for noun in pc.unique(train.groups["noun"]).to_pylist()]
        validated = [noun for noun in nouns if fraction(seed, "val", noun) < share]
        mask = pc.is_in(train.groups["noun"], value_set=pa.array(validated, pa.string()))
        in_val = mask.to_numpy(zero_copy_only=False)
        parts = {"train": ~in_val, "val": in_val}
        return {part: train.take(np.flatnonzero(rows)) for part, rows in parts.items()}


def _without_adjective(sentence: str, noun: str) -> str:
    """Return a sentence without the adjective before its subject, the noun.

    The adjective can be the same word: "A criminal criminal is …" becomes "A criminal is …".

    Raises:
        UserError: the sentence does not have the noun.
    """
    words = sentence.split(" ")[2:]
    if noun not in words:
        raise UserError(f"item of PLANE {sentence!r}: without its noun {noun!r}")
    tail = " ".join(words[words.index(noun) :])
    return f"{article(noun).capitalize()} {tail}"
