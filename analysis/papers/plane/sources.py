"""Data shared by PLANE's exhibits: the answers of prompted, NLI and fine-tuned models."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from adnominal.analysis import slices
from adnominal.analysis.editions import Lake
from adnominal.analysis.papers.exhibits import Sources
from adnominal.analysis.predictions import (
    labelled_runs,
    newest_of_each,
    read_prompted,
    read_scored,
    runs_with_answers,
)
from adnominal.analysis.rows import distinct_values, where_equal, with_columns
from adnominal.conf import UserError
from adnominal.training.finished_runs import Run, Runs, groups, model_name

TYPES = {1: "AN entails N", 2: "AN entails h(N)", 3: "AN entails A h(N)"}
CLASS_NAMES = {"I": "intersective", "S": "subsective", "O": "intensional"}
NLI = ("entailment", "neutral", "contradiction", "not_entailment")
PAPERS_FOLDS = 5
PAPERS_MODEL = "bert-base-cased"
_FOLDS = "grid.task.fold=[1,2,3,4,5] lake=LAKE"
TRAIN = {
    "published": f"deepspeed training/finetune.py conf/training/plane.yaml {_FOLDS}",
    "one_it": f"deepspeed training/finetune.py conf/training/plane_one_it.yaml {_FOLDS}",
    "in_distribution": "deepspeed training/finetune.py conf/training/plane_lengths.yaml lake=LAKE",
}
# The paper's names of the schemes in table 6.
SCHEMES = {"published": "GOoD", "one_it": "One-IT"}
Tokenize = Callable[[str], Sequence[str]]


@cache
def splitter(model: str) -> Callable[[str], list[str]]:
    """A function that splits a word within a sentence into its subwords.

    `model` is a folder, the name of a model in an installed Python package, or a hub name that has
    been downloaded before: a report does not download anything.

    Raises:
        UserError: no local tokenizer of that name.
    """
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(
            _folder(model), trust_remote_code=False, local_files_only=True
        )
    except (OSError, ValueError) as error:
        raise UserError(
            f"the tokenizer of {model} is not available locally; expected a folder, or a hub model "
            "that has been downloaded on this machine"
        ) from error
    # Byte-level tokenizers include the space before a word in its first subword.
    return lambda word: list(tokenizer.tokenize(f" {word}"))


def _folder(model: str) -> str:
    name = model.replace("-", "_")
    spec = importlib.util.find_spec(name) if name.isidentifier() else None
    if spec is not None and spec.origin is not None:
        carried = Path(spec.origin).parent / "model"
        if (carried / "tokenizer.json").is_file():
            return str(carried)
    return model


@dataclass(frozen=True)
class FineTuned:
    """A group of runs of a scheme, and their answers, read on demand.

    Runs of a group differ only by seed and `axes`. If `stored_runs` has several groups, this is the
    one to compare with the paper: one with the paper's model if possible, then one on the release,
    then one over all five splits, then the newest. If an edition was requested, only runs on it
    count.
    """

    lake: Lake
    stored_runs: Runs
    scheme: str
    axes: tuple[str, ...] = ("task.fold", "train_examples")

    @property
    def runs(self) -> Sequence[Run]:
        """The runs of the group.

        Raises:
            UserError: the scheme has no runs.
        """
        return self._groups[0]

    @property
    def others(self) -> list[FineTuned]:
        """The other groups of the scheme."""
        return [replace(self, stored_runs=Runs(tuple(members))) for members in self._groups[1:]]

    @cached_property
    def _groups(self) -> list[list[Run]]:
        settings = {"task.name": "plane", "task.scheme": self.scheme}
        edition = self.lake.requested_edition
        runs = runs_with_answers(self.lake.root, self.stored_runs.of("finetune", settings), edition)
        if not runs:
            answers = "answers" if edition is None else f"answers to edition {edition}"
            raise UserError(
                f"no finished fine-tuning run on PLANE, scheme {self.scheme}, with {answers} in "
                "this lake"
            )

        def rank(members: Sequence[Run]) -> tuple[bool, bool, bool]:
            run = members[0]
            folds = {member.params.get("task.fold") for member in members}
            released = run.params.get("task.edition") == "published"
            return run.model != PAPERS_MODEL, not released, len(folds) < PAPERS_FOLDS

        return sorted(groups(runs, self.axes), key=rank)

    @cached_property
    def rows(self) -> pa.Table:
        """The concatenated answers of the runs, with the words of the items."""
        rows = labelled_runs(self.lake.root, self.runs)
        ids = rows.column("item_id").to_pylist()
        words = slices.words(self.lake.root, "plane_items", edition_of(rows), ids)
        return with_columns(rows, words)

    @property
    def model(self) -> str:
        """The model's name."""
        return self.runs[0].model

    @property
    def edition(self) -> str:
        """The editions of the answers."""
        return " and ".join(distinct_values(self.rows, "edition"))

    def of_run(self, run: Run) -> pa.Table:
        """One run's answers."""
        return where_equal(self.rows, "run", run.id)

    def tokenize(self) -> Tokenize:
        """The model's tokenizer for words."""
        return splitter(self.runs[0].params.get("model", self.model))

    def description(self) -> str:
        """A description of the runs that a number comes from."""
        folds, editions = distinct_values(self.rows, "fold"), distinct_values(self.rows, "edition")
        number = f"{len(self.runs)} runs" if len(self.runs) > 1 else "1 run"
        return (
            f"{number} of {self.model}, edition {' and '.join(editions)}, "
            f"{'folds' if len(folds) > 1 else 'fold'} {', '.join(folds)}"
        )


@dataclass(frozen=True)
class Plane(Sources):
    """Data shared by the exhibits of PLANE."""

    @cached_property
    def two_shot(self) -> pa.Table:
        """The answers of each model's newest run with two examples."""
        return self._prompted_rows("2", "two-shot prompts")

    @cached_property
    def zero_shot(self) -> pa.Table:
        """The answers of each model's newest run without examples."""
        return self._prompted_rows("0", "zero-shot prompts")

    @cached_property
    def _editions(self) -> list[str]:
        """The edition asked for, else those of the lake, the preferred one first."""
        try:
            return self.lake.shown_editions("plane_items")
        except UserError:
            return []

    def _missing(self, runs: str) -> UserError:
        requested = self.lake.requested_edition
        answers = "answers" if requested is None else f"answers to edition {requested}"
        return UserError(f"no finished run of {runs} with {answers} in this lake")

    def _prompted_rows(self, shots: str, kind: str) -> pa.Table:
        edition, runs = self._prompted(shots)
        tables = [read_prompted(self.lake.root, run.id) for run in runs]
        if not tables:
            raise self._missing(f"PLANE's {kind}")
        return where_equal(pa.concat_tables(tables), "edition", edition)

    def prompted_runs(self, shots: str) -> list[Run]:
        """The newest run of each model and form of the question with this number of examples.

        All are on the first edition with answers: the release has no items with two examples.
        """
        return self._prompted(shots)[1]

    def _prompted(self, shots: str) -> tuple[str, list[Run]]:
        settings = {"task.name": "plane", "shots": shots}
        for edition in self._editions:
            newest = newest_of_each(self.runs_of("prompt", settings, edition), _model_and_form)
            if newest:
                return edition, list(newest.values())
        return "", []

    @cached_property
    def nli(self) -> tuple[pa.Table, list[Run]]:
        """The answers of NLI models to PLANE, and their runs: for each model, the newest run on the
        paper's test (the two-shot items), or else the newest run. All are on the first edition with
        answers to its two-shot items, or else on the first with answers.

        Raises:
            UserError: the lake has no answers from an NLI model.
        """
        by_edition = [found for edition in self._editions if (found := self._nli(edition))]
        if not by_edition:
            raise self._missing("a model for NLI on PLANE")
        newest = min(
            by_edition, key=lambda found: all(not _is_two_shot(run) for _, run in found.values())
        )
        tables, of_models = zip(*newest.values(), strict=True)
        return pa.concat_tables(tables), list(of_models)

    def _nli(self, edition: str) -> dict[str, tuple[pa.Table, Run]]:
        newest: dict[str, tuple[pa.Table, Run]] = {}
        runs = self.runs_of("score", edition=edition)
        for run in sorted(runs, key=lambda run: not _is_two_shot(run)):
            rows = where_equal(read_scored(self.lake.root, [run.id]), "task", "plane")
            rows = where_equal(rows, "edition", edition)
            rows = rows.filter(pc.is_in(rows.column("text"), value_set=pa.array(NLI)))
            for model in distinct_values(rows, "model"):
                newest.setdefault(model, (where_equal(rows, "model", model), run))
        return newest

    @cached_property
    def fine_tuned(self) -> dict[str, FineTuned]:
        """The fine-tuned models by scheme, in the order of table 6."""
        return {scheme: FineTuned(self.lake, self.runs, scheme) for scheme in SCHEMES}


def edition_of(rows: pa.Table) -> str:
    """The one edition that answers are of."""
    (edition,) = distinct_values(rows, "edition")
    return str(edition)


def _model_and_form(run: Run) -> tuple[str, str]:
    # As columns are named: one model may have been addressed by two paths.
    name = model_name(run.params.get("model_name", run.id))
    return name, run.params.get("form", "likelihood")


def _is_two_shot(run: Run) -> bool:
    return run.params.get("task.scheme") == "two_shot"
