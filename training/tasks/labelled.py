"""The task of a declared dataset with one label per item, to be predicted from its texts."""

from typing import ClassVar

import pyarrow as pa

from adnominal.etl import declaration
from adnominal.training.tasks import reading
from adnominal.training.tasks.dataset import Dataset, Examples, Source, Task


class LabelledTask(Task):
    """A declared dataset as a classification; a subclass names it and its settings.

    The settings have `edition`, the scheme under its declared name, and `fold` if the dataset has
    folds. `further_columns` are read in addition to texts, label and groups.
    """

    dataset_spec: ClassVar[declaration.Dataset]
    further_columns: ClassVar[tuple[str, ...]] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        """The columns of the one or two texts that a model reads."""
        items = self.dataset_spec.tables[0]
        return items.pair or ((items.single,) if items.single else ())

    def read(self, lake: str) -> Dataset:
        """Read the items of each part of the scheme and fold, repeated as in the split.

        Raises:
            UserError: as `reading.by_scheme`; also if a label is not declared.
        """
        dataset_spec, training = self.dataset_spec, self.dataset_spec.training
        scheme = str(getattr(self.settings, dataset_spec.splits.setting))
        fold = str(getattr(self.settings, "fold", ""))
        columns = [*self.texts, self.labels.column, *self.groups, *self.further_columns]
        sources, tables = reading.by_scheme(
            lake, dataset_spec, self.settings.edition, scheme, columns, fold
        )
        parts = {part: self.examples(rows, sources[0]) for part, rows in tables.items()}
        pair = len(self.texts) == 2
        return Dataset(
            task=dataset_spec.name,
            edition=self.settings.edition,
            scheme=scheme,
            fold=fold,
            labels=dataset_spec.label_names,
            parts={part: examples for part, examples in parts.items() if len(examples)},
            sources=sources,
            max_length=training.max_length,
            instruction=training.instruction if pair else training.single_instruction,
        )

    @property
    def labels(self) -> declaration.Labels:
        """The declared labels."""
        assert self.dataset_spec.labels is not None
        return self.dataset_spec.labels

    def examples(self, rows: pa.Table, source: Source) -> Examples:
        """Return the rows of a part, which were read from `source`, as examples."""
        item = self.dataset_spec.tables[0].item
        labels = reading.label_ids(rows, self.labels, source, item)
        groups = (*self.groups, *self.further_columns)
        return Examples.of(rows, item, self.texts, groups, labels=labels, gold=labels)
