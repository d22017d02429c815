"""The tasks that models are scored on, with items in the form that each model reads."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from adnominal.conf import UserError
from adnominal.training import tasks
from adnominal.training.answering.label_map import Undefined
from adnominal.training.tasks import Dataset, Examples, Form, Task


class Target:
    """A task that models are scored on, as ``task.KEY.*`` describes it.

    Attributes:
        key: its name in tasks=.
        name: its name in ``task.name``: of its dataset, or pairs.
        part: the rows to score, of which at most `limit` are drawn, by `seed` and item.

    Raises:
        UserError: the task is unknown or does not take the settings, or they are no mapping.
    """

    def __init__(
        self,
        key: str,
        task_settings: object,
        lake: str,
        limit: int | None,
        seed: int,
    ) -> None:
        if task_settings is not None and not isinstance(task_settings, Mapping):
            raise UserError(
                f"task.{key}={task_settings}: expected a setting of the task, as "
                f"task.{key}.edition={task_settings}"
            )
        values = {"name": key, "part": "test", **(task_settings or {})}
        self.key, self.lake, self.limit, self.seed = key, lake, limit, seed
        self.part, self.name = str(values.pop("part")), str(values["name"])
        self._values = values
        self._datasets: dict[Any, Dataset] = {}
        known = tasks.TASKS.get(self.name)
        form = None if known is None else known.form_setting
        if form in values:
            raise UserError(
                f"task.{key}.{form}={values[form]}: the model decides the form of its input; omit "
                "this setting"
            )
        try:
            tasks.task(values)
        except UserError as error:
            raise UserError(f"task.{key}: {error}") from error

    def task(self, form: Form) -> Task:
        """Return the task with its items in a form.

        Raises:
            Undefined: its items cannot be converted to that form.
        """
        values_of_form = tasks.TASKS[self.name].form_values(form)
        if values_of_form is None:
            raise Undefined("A model of only noun and adjective cannot read sentences.")
        return tasks.task({**self._values, **values_of_form})

    def dataset(self, form: Form) -> Dataset:
        """Return the rows to score as the task's only part, with texts in a form.

        Raises:
            Undefined: as `task`.
            UserError: the task refuses the settings, or the part has no rows.
        """
        task = self.task(form)
        dataset = self._load(task)
        examples = task.with_format(form, self._select(dataset))
        return dataclasses.replace(dataset, parts={self.part: examples}, max_length=None)

    def _load(self, task: Task) -> Dataset:
        key = tuple(sorted((name, str(value)) for name, value in vars(task.settings).items()))
        if key not in self._datasets:
            self._datasets[key] = task.read(self.lake)
        return self._datasets[key]

    def _select(self, dataset: Dataset) -> Examples:
        if not len(dataset.parts.get(self.part, ())):
            parts = ", ".join(f"{name} ({len(rows)})" for name, rows in dataset.parts.items())
            raise UserError(
                f"task.{self.key}.part={self.part}: {dataset.task}, edition {dataset.edition}, "
                f"scheme {dataset.scheme} {dataset.fold} has no such rows; there is {parts}"
            )
        examples = dataset.parts[self.part]
        if self.limit is None or self.limit >= len(examples):
            return examples
        return examples.take(tasks.nested_subset(examples.item_ids, self.limit, self.seed))
