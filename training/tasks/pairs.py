"""Any table of premises and hypotheses: natural-language inference, or a user's own table.

The settings name the columns; the column `split` has the parts. Classes are those of the training
rows or the named ones. Without training rows they are those of natural-language inference,
three-way or two-way, if all labels are among them, else the labels that occur.
"""

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from adnominal.conf import UserError, setting
from adnominal.etl.lake import tables
from adnominal.etl.published.pairs import THREE_WAY, TWO_WAY
from adnominal.training.tasks import reading
from adnominal.training.tasks.dataset import Dataset, Examples, Task, strings


@dataclass(frozen=True)
class Settings:
    name: str = setting("pairs", help="the task", choices=("pairs",))
    table: str = setting("nli", help="table of the lake", example="task.table=asp_entailment")
    edition: str = setting("mnli", help="edition of the table; for nli its source: mnli, snli, …")
    premise: str = setting("premise", help="column of the first text")
    hypothesis: str | None = setting("hypothesis", help="column of the second text, or null")
    label: str = setting("label", help="column of the label")
    split: str = setting("split", help="column with train, val, test or another part")
    item: str = setting("item_id", help="column of the item's id")
    labels: list[str] = setting(
        [],
        help="the classes in order; by default those of the training rows, sorted, or without "
        "training rows those of all rows",
    )


_MOST_NAMED = 5  # maximum number of values of a column in a message


class Pairs(Task):
    """The relation of a premise and a hypothesis, in any table with such columns."""

    Settings = Settings

    def read(self, lake: str) -> Dataset:
        """Read the rows of each part in the split column; rows without a part are dropped."""
        settings = self.settings
        partition = self._check()
        table_source = reading.source(lake, settings.table, settings.edition, partition)
        texts = [settings.premise, *([settings.hypothesis] if settings.hypothesis else [])]
        names = list(dict.fromkeys([settings.item, *texts, settings.label, settings.split]))
        table = reading.rows(lake, table_source, names, column=partition)
        table = table.sort_by([(settings.item, "ascending"), (settings.label, "ascending")])
        where = f"table {settings.table}, {partition} {settings.edition}"
        split = strings(table.column(settings.split))
        labels = tuple(settings.labels) or self._labels(table, split, where)
        parts = {}
        for part, rows in sorted(reading.parts_of(table, settings.split).items()):
            values = strings(rows.column(settings.label))
            gold = reading.class_ids(values, labels, f"{where}, part {part}", rows[settings.item])
            parts[part] = Examples.of(rows, settings.item, texts, labels=gold, gold=gold)
        return Dataset(
            task=f"pairs_{settings.table}",
            edition=settings.edition,
            scheme=settings.split,
            fold="",
            labels=labels,
            parts=parts,
            sources=(table_source,),
        )

    @property
    def votes_of(self) -> str:
        """The table: its pairs are in the table label_votes under its name."""
        return str(self.settings.table)

    def _check(self) -> str:
        """Return the table's partition column; raise `UserError` for undeclared names."""
        settings = self.settings
        if settings.table not in tables.TABLES:
            raise UserError(f"table={settings.table}: expected one of {', '.join(tables.TABLES)}")
        table_spec = tables.table(settings.table)
        for key in ("premise", "hypothesis", "label", "split", "item"):
            column = getattr(settings, key)
            if column is not None and column not in table_spec.schema.names:
                raise UserError(
                    f"{key}={column}: not a column of the table {settings.table}; it has "
                    f"{', '.join(table_spec.schema.names)}"
                )
        partition = reading.partition(settings.table)
        if partition is None:
            raise UserError(
                f"table={settings.table}: expected a table partitioned by "
                f"{', '.join(reading.PARTITIONS)}"
            )
        return partition

    def _labels(self, table: pa.Table, split: pa.StringArray, where: str) -> tuple[str, ...]:
        """The labels of the training rows; without such rows, the usual labels that fit."""
        rows = table.filter(pc.equal(split, "train"))
        is_trained = rows.num_rows > 0
        if not is_trained:
            rows = table.filter(pc.is_valid(split))
            named = sorted(pc.unique(split).drop_null().to_pylist())
            if not {"val", "test"} & {*named}:
                raise UserError(
                    f"{where}: split={self.settings.split} has no part train; expected a column "
                    "with train, val or test, or labels= for rows that are not for training; got "
                    f"{', '.join(named[:_MOST_NAMED]) or 'nothing'}"
                )
        labels = pc.unique(strings(rows.column(self.settings.label))).to_pylist()
        values = sorted(label for label in labels if label)
        if values and not is_trained:
            schemes = (names for names in (THREE_WAY, TWO_WAY) if names.issuperset(values))
            values = sorted(next(schemes, values))
        if len(values) < 2:
            raise UserError(
                f"{where}: the rows{' of part train' * is_trained} have {len(values)} labels"
                f"{''.join(f' ({value})' for value in values)}; expected two or more"
            )
        return tuple(values)
