"""Data shared by ADEPT's exhibits: the labelled rows and the answers of fine-tuned models."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from adnominal.analysis.editions import Lake, read_edition
from adnominal.analysis.estimates import Interval, mean_over_runs, wilson
from adnominal.analysis.papers.exhibits import Sources
from adnominal.analysis.predictions import labelled_predictions
from adnominal.analysis.rows import is_right, tuples
from adnominal.conf import UserError
from adnominal.etl.annotation.keys import SIMULATED
from adnominal.etl.annotation.quality import LABELLING
from adnominal.etl.lake import arrow
from adnominal.training.finished_runs import Run, groups

IMPORT = "python etl/import_published.py adept=DIR lake=LAKE"
PARTS = ("train", "val", "test")


def read(lake: str, edition: str) -> pa.Table:
    """The labelled rows of an edition, sorted by id.

    Raises:
        UserError: no such edition.
    """
    rows = read_edition(lake, "adept", edition)
    return rows.sort_by([("item_id", "ascending"), ("label", "ascending")])


def with_brackets(sentence: str, modifier: str) -> str:
    """Put the first occurrence of the modifier in square brackets, as ADEPT does; return the
    sentence unchanged if it does not occur."""
    pattern = rf"(?<![\w-])({re.escape(modifier)})(?![\w-])"
    return re.sub(pattern, r"[\1]", sentence, count=1, flags=re.IGNORECASE)


def has_simulated_labels(lake: Lake, edition: str) -> bool:
    """Whether simulated annotators (`etl.annotation.simulate`) labelled items of the edition."""
    if not (lake.has("adept_batches") and lake.has("adept_annotations")):
        return False
    where = [("edition", "=", edition)]
    batches = arrow.read(lake.root, "adept_batches", where=where, columns=["batch", "round"])
    labelled_batches = {batch for batch, name in tuples(batches) if name in LABELLING}
    answers = arrow.read(lake.root, "adept_annotations", columns=["batch", "annotator"])
    return any(
        batch in labelled_batches and annotator.startswith(SIMULATED)
        for batch, annotator in set(tuples(answers))
    )


@dataclass(frozen=True)
class Scored:
    """Runs that differ only by seed; `answers` are those of the best run on val, and `is_frozen`
    says whether only the classification head was trained."""

    runs: Sequence[Run]
    classes: int
    context: bool
    accuracy: Interval
    answers: pa.Table
    is_frozen: bool = False

    @property
    def model(self) -> str:
        """The model's name."""
        return self.runs[0].model


@dataclass(frozen=True)
class Adept(Sources):
    """Data shared by the exhibits of ADEPT."""

    @cached_property
    def is_simulated(self) -> bool:
        """Whether the displayed labels are of simulated annotators."""
        editions = self.lake.editions.get("adept", ())
        displayed = self.lake.requested_edition or next(iter(editions), "")
        return has_simulated_labels(self.lake, displayed)

    @cached_property
    def rows(self) -> pa.Table:
        """The labelled rows of the displayed edition.

        Raises:
            UserError: there are none.
        """
        return read(self.lake.root, self.lake.edition("adept"))

    @property
    def edition(self) -> str:
        """The displayed edition."""
        return str(self.rows.column("edition")[0])

    @property
    def source(self) -> dict[str, Any]:
        """What cells of the displayed rows share."""
        return {"edition": self.edition, "is_simulated": self.is_simulated}

    def source_of(self, runs: Sequence[Run]) -> dict[str, Any]:
        """What cells of a model's answers to these rows share."""
        return {"model": runs[0].model, "runs": runs, **self.source}

    @cached_property
    def scored_models(self) -> list[Scored]:
        """Every group of fine-tuning runs on the random split, with its answers on val; empty if
        there are no labelled rows."""
        try:
            rows = self.rows
        except UserError:
            return []
        settings = {"task.name": "adept", "task.edition": self.edition, "task.split": "random"}
        val = rows.filter(pc.equal(rows.column("split_random"), "val")).column("item_id")
        scored_models = []
        for members in groups(self.runs_of("finetune", settings)):
            scores = []
            for run in members:
                answers = labelled_predictions(self.lake.root, run.id)
                of_val = pc.is_in(answers.column("item_id"), value_set=val.combine_chunks())
                answers = answers.filter(of_val)
                if answers.num_rows:
                    scores.append((run, wilson(sum(is_right(answers)), answers.num_rows), answers))
            if not scores:
                continue
            in_order = sorted(scores, key=lambda score: (score[1].estimate, score[0].id))
            _, _, best = in_order[-1]
            params = members[0].params
            scored_models.append(
                Scored(
                    [run for run, _, _ in scores],
                    int(params["task.classes"]),
                    params["task.context"] == "true",
                    mean_over_runs([accuracy for _, accuracy, _ in scores]),
                    best,
                    params.get("freeze") == "true",
                )
            )
        return scored_models

    def best(
        self, classes: int, context: bool = True, model: str = "", is_frozen: bool = False
    ) -> Scored | None:
        """The best group on val (of `model`, if given); the paper, too, reports the best of a grid
        on val (section 5.4). Its figures are of models whose encoder is trained as well."""
        kind = (classes, context, is_frozen)
        candidates = [
            scored
            for scored in self.scored_models
            if (scored.classes, scored.context, scored.is_frozen) == kind
            and model in ("", scored.model)
        ]
        return max(candidates, key=lambda scored: scored.accuracy.estimate, default=None)
