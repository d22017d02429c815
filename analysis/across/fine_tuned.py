"""The fine-tuned runs that represent each dataset on the page across datasets."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from adnominal.analysis import slices
from adnominal.analysis.papers.exhibits import Sources
from adnominal.analysis.predictions import labelled_runs
from adnominal.analysis.rows import distinct_values, is_right, tuples, where_equal, with_columns
from adnominal.conf import UserError
from adnominal.etl.declaration import Dataset
from adnominal.etl.lake import arrow
from adnominal.etl.registry import DATASETS
from adnominal.training.finished_runs import Run, groups


@dataclass(frozen=True)
class Experiment:
    """Runs of one dataset that differ only by seed and fold, with their concatenated answers: the
    columns of predictions and the words of the items."""

    dataset: Dataset
    runs: Sequence[Run]
    rows: pa.Table

    @property
    def title(self) -> str:
        """The dataset and the split that the runs were trained on."""
        return f"{self.dataset.title} {self.rows.column('scheme')[0].as_py()}"

    @property
    def correct(self) -> list[bool]:
        """Whether each answer is right."""
        return is_right(self.rows)

    @property
    def strata(self) -> list[str]:
        """The stratum of each item, within which items are compared: gold label (ADEPT), class and
        type (PLANE), test (ASP)."""
        assert self.dataset.report is not None
        return [
            " ".join(map(str, values)) for values in tuples(self.rows, *self.dataset.report.strata)
        ]


@dataclass(frozen=True)
class Across(Sources):
    """What the exhibits of the page across datasets share."""

    def fine_tuned(self, **settings: str | tuple[str, ...]) -> list[Run]:
        """The fine-tuned runs with these task settings whose answers are in the lake."""
        return self.runs_of("finetune", {f"task.{name}": settings[name] for name in settings})

    def answers(self, dataset: Dataset, runs: Sequence[Run]) -> pa.Table:
        """The concatenated answers of runs on one edition, with the words of their items. If the
        dataset has several item tables, only the first is used.

        Raises:
            UserError: items that are no longer in the lake, or no rows.
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
        """The newest runs of each dataset with the paper's settings, or the newest of any settings.

        Raises:
            UserError: no dataset has runs.
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
                    # ASP runs on degree estimation alone, or items no longer in the lake.
                    continue
                yield Experiment(dataset, members, rows)
                break
