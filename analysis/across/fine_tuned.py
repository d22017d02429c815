"""The fine-tuned runs that represent each dataset on the page across datasets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from analysis import slices
from analysis.papers.page import Sources
from analysis.predictions import labelled_runs
from analysis.rows import distinct_values, is_right, tuples, where_equal, with_columns
from conf import UserError
from etl.declaration import Dataset
from etl.lake import arrow
from etl.registry import DATASETS
from training.finished_runs import Run, groups


@dataclass(frozen=True)
class Experiment:
    """Runs of one dataset that differ by seed and fold alone, and their answers, one run after the
    other, with the columns of predictions and the words of the items."""

    dataset: Dataset
    runs: Sequence[Run]
    rows: pa.Table

    @property
    def title(self) -> str:
        """The dataset with the split that it was trained on."""
        return f"{self.dataset.title} {self.rows.column('scheme')[0].as_py()}"

    @property
    def correct(self) -> list[bool]:
        """Whether each answer is right."""
        return is_right(self.rows)

    @property
    def strata(self) -> list[str]:
        """What each item is like, so that items are compared within it: gold label (ADEPT), class
        and type (PLANE), test (ASP)."""
        assert self.dataset.report is not None
        return [
            " ".join(map(str, values)) for values in tuples(self.rows, *self.dataset.report.strata)
        ]


@dataclass(frozen=True)
class Across(Sources):
    """What the exhibits of the page across datasets share."""

    def fine_tuned(self, **settings: str | tuple[str, ...]) -> list[Run]:
        """The fine-tuned runs with these settings of their task that the lake has answers of."""
        return self.runs_of("finetune", {f"task.{name}": settings[name] for name in settings})

    def answers(self, dataset: Dataset, runs: Sequence[Run]) -> pa.Table:
        """The answers of runs of one edition with the words of their items, one run after the
        other; of several tables of items those of the first alone.

        Raises:
            UserError: items that the lake has no longer; no rows.
        """
        root, table = self.lake.root, dataset.tables[0].name
        answers = labelled_runs(root, runs)
        pieces = []
        for edition in distinct_values(answers, "edition"):
            rows = where_equal(answers, "edition", edition)
            if len(dataset.tables) > 1:
                where = [("edition", "=", edition)]
                ids = arrow.read(root, table, where=where, columns=["item_id"]).column("item_id")
                is_known = pc.is_in(rows.column("item_id"), value_set=ids.combine_chunks())
                rows = rows.filter(is_known)
            if rows.num_rows:
                items = rows.column("item_id").to_pylist()
                pieces.append(with_columns(rows, slices.words(root, table, edition, items)))
        if not pieces:
            raise UserError(f"no answers to items of {dataset.title} in this lake")
        return pa.concat_tables(pieces)

    @cached_property
    def experiments(self) -> list[Experiment]:
        """Of each dataset the newest runs in the paper's own setting, else the newest of any.

        Raises:
            UserError: no dataset has any.
        """
        experiments = list(self._experiments())
        if not experiments:
            raise UserError("no finished fine-tuning run with answers in this lake")
        return experiments

    def _experiments(self) -> Iterator[Experiment]:
        for dataset in DATASETS.values():
            if dataset.report is None:
                continue
            runs = self.fine_tuned(name=dataset.name)
            of_paper = [
                run
                for run in runs
                if all(
                    run.params.get(key) == value
                    for key, value in dataset.report.paper_settings.items()
                )
            ]
            for members in groups(of_paper or runs, dataset.report.run_settings):
                try:
                    rows = self.answers(dataset, members)
                except UserError:
                    # Of ASP, runs on degree estimation alone; of any, items of earlier tables.
                    continue
                yield Experiment(dataset, members, rows)
                break
