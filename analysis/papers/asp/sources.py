"""Data shared by ASP's exhibits: the answers of models that were scored, prompted or trained."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean

import pyarrow as pa
import pyarrow.compute as pc

from adnominal.analysis.estimates import (
    Interval,
    clustered_interval,
    mean_over_runs,
    wilson,
)
from adnominal.analysis.papers.exhibits import Sources
from adnominal.analysis.predictions import ANSWERS, labelled_predictions, read
from adnominal.analysis.rows import (
    distinct_values,
    is_right,
    join_items,
    places,
    schema,
    tuples,
    where_equal,
    with_column,
)
from adnominal.conf import UserError
from adnominal.etl.asp.controls import control_of
from adnominal.etl.external import JOB as EXTERNAL
from adnominal.etl.lake import arrow
from adnominal.training.asking import scores
from adnominal.training.finished_runs import Run, groups, short_name

IMPORT = "python etl/import_published.py asp=DIR lake=LAKE"
# The commands for the paper's models are those of docs/reproducing.md.
_FINETUNE = "deepspeed training/finetune.py conf/training"
TRAIN = " && ".join(
    f"{_FINETUNE}/{file}.yaml lake=LAKE"
    for file in ("asp", "asp_deberta_large", "asp_bert_base", "asp_bert_large")
)
# The settings files of models that are trained on MNLI, with the names of these models.
_MNLI = {
    "mnli": "mnli_deberta_base",
    "mnli_deberta_large": "mnli_deberta_large",
    "mnli_bert_base": "mnli_bert_base",
    "mnli_bert_large": "mnli_bert_large",
}
_SCORE = "deepspeed training/score.py conf/training/asp_score.yaml lake=LAKE"
SCORE = " && ".join(
    ["python etl/import_published.py nli=DIR lake=LAKE"]
    + [f"{_FINETUNE}/{file}.yaml lake=LAKE register={name}" for file, name in _MNLI.items()]
    + [f"{_SCORE} model=models:/{name}/1" for name in sorted(_MNLI.values())]
)
_PROMPT = "python training/prompt.py conf/training/asp_prompt.yaml lake=LAKE"
PROMPT = f"{_PROMPT} model=bigscience/T0_3B && {_PROMPT} model=bigscience/T0pp split_model=true"
TASKS = {"entailment": "entailment inference", "degree": "degree estimation"}
ITEM_TABLES = {"entailment": "asp_entailment", "degree": "asp_degree"}
ANSWER_TABLES = ("predictions", "asp_entailment", "asp_degree")
# The task name of natural-language inference in training/finetune.py.
_NLI = "pairs_nli"
# Runs that differ only in these are the rounds of one training.
_AXES = ("task.round", "task.dimension")
_ITEMS = schema("item_id kind test group:int polarity z:float")


def row_name(model: str) -> str | None:
    """The paper's name of a model (rows of tables 3 and 4); None for any other model."""
    name = model.lower().replace("_", "-")
    if match := re.match(r"(bert|deberta)(?:-v3)?-(base|large)\b", name):
        return f"{'BERT' if match[1] == 'bert' else 'DeBERTa'}-{match[2]}"
    return {"t0-3b": "T0 3B", "t0pp": "T0 pp", "t0-pp": "T0 pp"}.get(name)


@dataclass(frozen=True)
class Answered:
    """A model's answers in test parts: columns item_id, kind, test, gold, predicted, group, part,
    polarity, z, and `run`, the number of the run.

    Prompted models answer an item once per prompt, by restricted choice."""

    model: str
    job: str
    settings: Mapping[str, str]
    runs: Sequence[Run]
    rows: pa.Table

    @property
    def kind(self) -> str:
        """The job, and whether the answers are written ones."""
        is_written = self.settings.get("form") == "generate"
        return f"{self.job}, written answers" if is_written else self.job

    @property
    def row(self) -> str | None:
        """The paper's row for the model. A scored model that was fine-tuned on NLI has the row of
        its base model; one fine-tuned on another task has none."""
        if self.job != "score" or "trained_on" not in self.settings:
            return row_name(self.model)
        if self.settings["trained_on"] != _NLI:
            return None
        return row_name(short_name(self.settings.get("trained_from", "")))

    @property
    def control(self) -> str | None:
        """The control that it was trained on; None for intact rows or no training on ASP."""
        edition = self.settings.get("task.train_edition") or self.settings.get("task.edition", "")
        return control_of(edition) if self.job == "finetune" else None

    def accuracy(self, kind: str, test: str, part: str = "test") -> Interval | None:
        """Mean accuracy over the runs; None if no run has such rows."""
        of_test = (pc.field("kind") == kind) & (pc.field("test") == test)
        rows = self.rows.filter(of_test & (pc.field("part") == part))
        scores = [
            _accuracy(where_equal(rows, "run", number)) for number in distinct_values(rows, "run")
        ]
        return mean_over_runs(scores) if scores else None


def _accuracy(rows: pa.Table) -> Interval:
    right = is_right(rows)
    # Answers to several prompts are one observation of an item; items of one premise are a group.
    items = places(rows, "item_id", "group")
    shares = [fmean(right[at] for at in rows_of_item) for rows_of_item in items.values()]
    premises = [item if group is None else group for item, group in items]
    if len(set(premises)) < len(right):
        return clustered_interval(shares, premises)
    return wilson(sum(right), len(right))


@dataclass(frozen=True)
class Asp(Sources):
    """Data shared by the exhibits of ASP."""

    @cached_property
    def untrained_runs(self) -> list[Answered]:
        """Models that were scored, prompted or asked elsewhere, without training on ASP."""
        return self._runs_with_answers("score", "prompt", EXTERNAL)

    @cached_property
    def trained_runs(self) -> list[Answered]:
        """Models that were trained on ASP, on intact rows unless the displayed ones are control
        rows."""
        if any(control_of(edition) for edition in self.editions.values()):
            return self._fine_tuned
        return [model for model in self._fine_tuned if model.control is None]

    @property
    def control_runs(self) -> list[Answered]:
        """Models that were trained on control rows."""
        return [model for model in self._fine_tuned if model.control is not None]

    @cached_property
    def _fine_tuned(self) -> list[Answered]:
        return self._runs_with_answers("finetune")

    def control_editions(self) -> list[str]:
        """The editions of control rows in the lake."""
        editions = {
            edition
            for table in ITEM_TABLES.values()
            for edition in self.lake.editions.get(table, ())
        }
        return sorted(edition for edition in editions if control_of(edition))

    def of_edition(self, edition: str) -> Asp:
        """The same data of another edition."""
        return replace(self, lake=replace(self.lake, requested_edition=edition))

    @property
    def models(self) -> list[Answered]:
        """All models."""
        return [*self.untrained_runs, *self.trained_runs]

    def sources(self) -> list[str]:
        """The sources of people's judgements, the published one first.

        Raises:
            UserError: no table of judgements.
        """
        if not self.lake.has("asp_human"):
            raise UserError(f"no table asp_human in {self.lake.root}")
        sources = arrow.read(self.lake.root, "asp_human", columns=["source"])
        return sorted(
            distinct_values(sources, "source"), key=lambda name: (name != "published", name)
        )

    @cached_property
    def editions(self) -> dict[str, str]:
        """The displayed edition of each kind of items in the lake."""
        return {
            kind: self.lake.edition(table)
            for kind, table in ITEM_TABLES.items()
            if self.lake.editions.get(table)
        }

    def _runs_with_answers(self, *jobs: str) -> list[Answered]:
        """Models with answers to the displayed editions, newest first; the runs of several rounds
        are one model."""
        if not self.editions:
            return []
        runs = self.runs_of(jobs, {"task.name": "asp"})
        models = []
        for members in groups(runs, _AXES):
            by_model: dict[str, list[pa.Table]] = {}
            for number, run in enumerate(members):
                rows = self._test_rows(run)
                for model in distinct_values(rows, "model"):
                    table = where_equal(rows, "model", model)
                    table = with_column(table, "run", [number] * table.num_rows, "int")
                    by_model.setdefault(model, []).append(table)
            first = members[0]
            models += [
                Answered(
                    short_name(model), first.job, first.params, members, pa.concat_tables(tables)
                )
                for model, tables in sorted(by_model.items())
            ]
        return models

    @cached_property
    def _items(self) -> pa.Table:
        """All rows that models answer; for degree estimation, only the base variant."""
        pieces = [_ITEMS.empty_table()]
        for kind, edition in self.editions.items():
            where, names = [("edition", "=", edition)], ["item_id", "test"]
            if kind == "degree":
                where.append(("variant", "=", "base"))
                names += ["group", "polarity", "z"]
            items = arrow.read(self.lake.root, ITEM_TABLES[kind], where=where, columns=names)
            pieces.append(with_column(items, "kind", [kind] * items.num_rows))
        return pa.concat_tables(pieces, promote_options="permissive")

    def _test_rows(self, run: Run) -> pa.Table:
        """A run's answers to rows of the displayed editions, with the part of each in its split."""
        editions = sorted(set(self.editions.values()))
        rows = labelled_predictions(self.lake.root, run.id, (*ANSWERS, "scores", "state"))
        rows = rows.filter(pc.field("edition").isin(editions))
        if run.job == "prompt":
            # As in `training.asking.scores.asp_table`: `predicted` has first tokens, most of
            # which are not labels.
            choices = scores.choices(rows)
            if scores.WRITTEN not in choices:
                predicted = scores.answers(rows, scores.RESTRICTED)
                rows = with_column(rows.drop_columns("predicted"), "predicted", predicted)
        answers = rows.select(["item_id", "gold", "predicted", "model"])
        answers = join_items(answers, self._items)
        parts = self._parts(run, editions)
        ids = answers.column("item_id").to_pylist()
        answers = with_column(answers, "part", [parts.get(item, "test") for item in ids])
        return answers.filter(pc.field("part").isin(["test", "leaking"]))

    def _parts(self, run: Run, editions: Sequence[str]) -> dict[str, str]:
        """The part of each item in the run's training rounds; rows outside these rounds (all rows,
        for a model that was not trained on ASP) are test rows."""
        if run.job != "finetune" or not self.lake.has("asp_splits"):
            return {}
        folds = read(self.lake.root, [run.id], ["fold"]).column("fold").to_pylist()
        # ``0+length`` stands for two rounds.
        rounds = {name for fold in set(folds) for name in (fold or "").split("+")}
        rounds |= {run.params.get(axis) or "" for axis in _AXES}
        where = [("edition", "in", list(editions)), ("round", "in", sorted(rounds - {""}))]
        splits = arrow.read(self.lake.root, "asp_splits", where=where, columns=["item_id", "part"])
        return dict(tuples(splits))
