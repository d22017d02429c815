"""The fine-tuned runs that stand for a dataset on the pages across datasets, with their answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from analysis import slices
from analysis.reporting.answers import answered, rows_of
from analysis.reporting.lake import Lake
from analysis.reporting.runs import Run, Runs, groups
from conf import UserError
from etl.lake import arrow

TITLES = {"adept": "ADEPT", "plane": "PLANE", "asp": "ASP"}
_TABLES = {"adept": "adept", "plane": "plane_items", "asp": "asp_entailment"}
# The paper's own setting of each dataset, if there is a run of it.
_PREFERRED: Mapping[str, Mapping[str, str]] = {
    "adept": {"task.split": "random", "task.context": "true", "task.classes": "5"},
    "plane": {"task.scheme": "published"},
    "asp": {},
}
_AXES: Mapping[str, tuple[str, ...]] = {
    "adept": (),
    "plane": ("task.fold", "train_examples"),
    "asp": ("task.round", "train_examples"),
}
# What items are alike in, so that they are compared within it.
_STRATA = {"adept": ("gold",), "plane": ("class", "inference_type"), "asp": ("test",)}


@dataclass(frozen=True)
class Standing:
    """Runs of one dataset that differ by seed and fold alone, and their answers, one run after the
    other, with the columns of predictions and the words of the items."""

    dataset: str
    runs: Sequence[Run]
    rows: pa.Table

    @property
    def title(self) -> str:
        """The dataset with the split that it was trained on."""
        of = self.rows.column("scheme")[0].as_py()
        return f"{TITLES[self.dataset]} {of}"

    @cached_property
    def right(self) -> list[bool]:
        """Whether each answer is right."""
        same = pc.equal(self.rows.column("gold"), self.rows.column("predicted"))
        return list(pc.fill_null(same, False).to_pylist())

    @cached_property
    def strata(self) -> list[str]:
        """What each item is like: gold label (ADEPT), class and type (PLANE), test (ASP)."""
        columns = [self.rows.column(name).to_pylist() for name in _STRATA[self.dataset]]
        return [" ".join(map(str, own)) for own in zip(*columns, strict=True)]


def answers_of(lake: Lake, dataset: str, runs: Sequence[Run]) -> pa.Table:
    """The answers of runs of one edition with the words of their items, one run after the other.

    Of ASP's answers those to entailment inference alone: degree estimation asks of numbers.

    Raises:
        UserError: items that the lake has no longer; no rows.
    """
    table = _TABLES[dataset]
    tables = []
    for run in runs:
        rows = rows_of(lake, run)
        tables.append(rows.append_column("run", pa.array([run.id] * rows.num_rows, pa.string())))
    rows = pa.concat_tables(tables)
    pieces = []
    for edition in sorted(set(rows.column("edition").to_pylist())):
        own = rows.filter(pc.equal(rows.column("edition"), edition))
        if dataset == "asp":
            where = [("edition", "=", edition)]
            ids = arrow.read(lake.root, table, where=where, columns=["item_id"]).column("item_id")
            own = own.filter(pc.is_in(own.column("item_id"), value_set=ids.combine_chunks()))
        if own.num_rows:
            found = slices.words(lake.root, table, edition, own.column("item_id").to_pylist())
            for name in found.column_names:
                own = own.append_column(name, found.column(name))
            pieces.append(own)
    if not pieces:
        raise UserError(f"no answers to items of {TITLES[dataset]} in this lake")
    return pa.concat_tables(pieces)


def standing(lake: Lake, runs: Runs) -> list[Standing]:
    """Of each dataset the newest runs in the paper's own setting, else the newest of any.

    Raises:
        UserError: no dataset has any.
    """
    found = list(_standing(lake, runs))
    if not found:
        raise UserError("no finished fine-tuning run with answers in this lake")
    return found


def _standing(lake: Lake, runs: Runs) -> Iterator[Standing]:
    for dataset, preferred in _PREFERRED.items():
        there = answered(lake, runs.of("finetune", {"task.name": dataset}))
        fitting = [
            run
            for run in there
            if all(run.params.get(key) == value for key, value in preferred.items())
        ]
        for chosen in groups(fitting or there, _AXES[dataset]):
            try:
                rows = answers_of(lake, dataset, chosen)
            except UserError:
                # Of ASP, runs on degree estimation alone; of any, items that are there no longer.
                continue
            yield Standing(dataset, chosen, rows)
            break
