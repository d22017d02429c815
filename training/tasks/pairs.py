"""Any table of premises and hypotheses: natural-language inference, or a table of one's own.

The columns are named in the settings; `split` names the parts. Classes are what the training rows
have, or those named.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from conf import UserError, setting
from etl.lake import tables
from training.tasks import reading
from training.tasks.dataset import Dataset, Examples, Predicted
from training.tasks.scoring import classification

# The partition column that tells one dataset of the table from another.
_PARTITIONS = ("edition", "source", "corpus")


@dataclass(frozen=True)
class Settings:
    """Settings ``task.*`` of any table of pairs."""

    name: str = setting("pairs", help="the task", choices=("pairs",))
    table: str = setting("nli", help="table of the lake", example="task.table=asp_entailment")
    edition: str = setting("mnli", help="edition of the table; of nli its source: mnli, snli, …")
    premise: str = setting("premise", help="column of the first text")
    hypothesis: str | None = setting("hypothesis", help="column of the second text, or null")
    label: str = setting("label", help="column of the label")
    split: str = setting("split", help="column that says train, val, test or another part")
    item: str = setting("item_id", help="column of the item's id")
    labels: list[str] = setting(
        [], help="the classes in order; if empty those of the training rows, sorted"
    )


@dataclass(frozen=True)
class Pairs:
    """What holds between a premise and a hypothesis: any table that has such columns."""

    settings: Settings

    @property
    def name(self) -> str:
        return self.settings.name

    def load(self, lake: str) -> Dataset:
        """The rows of each part that the split column names; rows without a part are left out.

        Raises:
            UserError: no such table, column or edition, a label that is none of the classes, or no
                rows to train on.
        """
        own = self.settings
        partition = self._check()
        of = reading.source(lake, own.table, own.edition, partition)
        texts = [own.premise, *([own.hypothesis] if own.hypothesis else [])]
        names = list(dict.fromkeys([own.item, *texts, own.label, own.split]))
        table = reading.rows(lake, of, names, column=partition)
        table = table.sort_by([(own.item, "ascending"), (own.label, "ascending")])
        where = f"table {own.table}, {partition} {own.edition}"
        split = reading.strings(table.column(own.split))
        found = sorted(part for part in pc.unique(split).to_pylist() if part)
        labels = tuple(own.labels) or self._labels(table, split, where)
        parts = {}
        for part in found:
            rows = table.filter(pc.equal(split, part))
            ids = reading.strings(rows.column(own.item))
            gold = reading.class_ids(
                reading.strings(rows.column(own.label)), labels, f"{where}, part {part}", ids
            )
            columns = [reading.strings(rows.column(name)) for name in texts]
            parts[part] = Examples(
                item_ids=ids,
                first=columns[0],
                second=columns[1] if len(columns) == 2 else None,
                labels=gold,
                gold=gold,
                targets=None,
                origin=np.zeros(len(ids), dtype=np.int8),
            )
        reading.require_parts(parts, ("train",), where)
        return Dataset(
            task=f"pairs_{own.table}",
            edition=own.edition,
            scheme=own.split,
            fold="",
            labels=labels,
            outcomes=labels,
            outcome_of=np.arange(len(labels)),
            parts=parts,
            sources=(of,),
        )

    def _check(self) -> str:
        """The table's partition column; `UserError` for what is not declared."""
        own = self.settings
        if own.table not in tables.TABLES:
            raise UserError(f"table={own.table}: expected one of {', '.join(tables.TABLES)}")
        declared = tables.table(own.table)
        named = {
            "premise": own.premise,
            "hypothesis": own.hypothesis,
            "label": own.label,
            "split": own.split,
            "item": own.item,
        }
        for key, column in named.items():
            if column is not None and column not in declared.schema.names:
                raise UserError(
                    f"{key}={column}: not a column of the table {own.table}; it has "
                    f"{', '.join(declared.schema.names)}"
                )
        for column in _PARTITIONS:
            if column in declared.partition_by:
                return column
        raise UserError(
            f"table={own.table}: expected a table partitioned by {', '.join(_PARTITIONS)}"
        )

    def _labels(self, table: pa.Table, split: pa.StringArray, where: str) -> tuple[str, ...]:
        trained = table.filter(pc.equal(split, "train")).column(self.settings.label)
        values = sorted(value for value in pc.unique(reading.strings(trained)).to_pylist() if value)
        if len(values) < 2:
            raise UserError(
                f"{where}: the rows of part train have {len(values)} labels"
                f"{''.join(f' ({value})' for value in values)}; expected two or more"
            )
        return tuple(values)

    def evaluate(
        self,
        dataset: Dataset,
        part: str,
        predicted: Predicted,
        scores: npt.NDArray[np.float64] | None = None,
    ) -> dict[str, float]:
        """accuracy, majority, macro_f1 and scores of each class."""
        return classification(dataset, part, predicted, ())

    def together(self, dataset: Dataset, predicted: Mapping[str, Predicted]) -> dict[str, float]:
        return {}
