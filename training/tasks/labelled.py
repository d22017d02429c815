"""The task of a declared dataset whose items have one of its labels: the texts decide the label."""

from __future__ import annotations

from typing import ClassVar

import pyarrow as pa

from etl import declaration
from training.tasks import reading
from training.tasks.dataset import Dataset, Examples, Source, Task


class LabelledTask(Task):
    """A declared dataset as a classification; a subclass names it and its settings.

    The settings have `edition`, the scheme under the name that the declaration gives it, and `fold`
    where the dataset has folds. `further_columns` are read beside texts, label and groups.
    """

    dataset_spec: ClassVar[declaration.Dataset]
    further_columns: ClassVar[tuple[str, ...]] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        """The columns of the one or two texts that a model reads."""
        items = self.dataset_spec.tables[0]
        return items.pair or ((items.single,) if items.single else ())

    def read(self, lake: str) -> Dataset:
        """The items of each part of the scheme and fold; an item that a split lists twice is twice.

        Raises:
            UserError: as `reading.by_scheme`; or a label that is not declared.
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
        """The rows of a part, which were read from `source`, as examples."""
        item = self.dataset_spec.tables[0].item
        labels = reading.label_ids(rows, self.labels, source, item)
        groups = (*self.groups, *self.further_columns)
        return Examples.of(rows, item, self.texts, groups, labels=labels, gold=labels)
