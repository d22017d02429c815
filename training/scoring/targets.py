"""The tasks that models are scored on, their items in the form that each model reads."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from analysis.label_map import Undefined
from conf import UserError
from etl.knowledge.english import article
from training import tasks
from training.scoring.sources import Form
from training.tasks import Dataset, Examples, Task

# The settings of a task that choose the form of its items: the model decides them here.
_FORMS = {"plane": "input", "adept": "context"}


@dataclass(frozen=True)
class Target:
    """A task that models are scored on: `key` is its name in tasks=, `part` the rows.

    `limit` rows at most, drawn by `seed` and item.
    """

    key: str
    values: Mapping[str, Any]
    part: str
    lake: str
    limit: int | None
    seed: int

    @classmethod
    def of(
        cls,
        key: str,
        task_settings: Mapping[str, Any] | None,
        lake: str,
        limit: int | None,
        seed: int,
    ) -> Target:
        """The task that ``task.KEY.*`` describes.

        Raises:
            UserError: an unknown task, or settings that it does not take.
        """
        values = dict(task_settings or {})
        part = str(values.pop("part", "test"))
        values.setdefault("name", key)
        target = cls(key, values, part, lake, limit, seed)
        form = _FORMS.get(target.name)
        if form in values:
            raise UserError(
                f"task.{key}.{form}={values[form]}: the model decides how it is asked; leave it out"
            )
        try:
            tasks.task(values)
        except UserError as error:
            raise UserError(f"task.{key}: {error}") from error
        return target

    @property
    def name(self) -> str:
        """The task's own name: adept, plane, asp, pairs or sygns."""
        return str(self.values["name"])

    def task(self, form: Form) -> Task:
        """The task, its items in a form.

        Raises:
            Undefined: its items cannot be put in that form.
        """
        values = dict(self.values)
        if form == "words" and self.name != "adept":
            raise Undefined("A model of noun and adjective alone reads no sentence.")
        if self.name == "adept":
            values["context"] = form != "words"
        elif self.name == "plane":
            values["input"] = "pair" if form == "pair" else "sentence"
        return tasks.task(values)

    def dataset(self, form: Form) -> Dataset:
        """The rows asked, as the task's one part, their texts in a form.

        Raises:
            Undefined: as `task`.
            UserError: what the task refuses; no rows of the part.
        """
        task = self.task(form)
        dataset = self._loaded(task)
        examples = self._selected(dataset)
        if examples.second is not None and examples.second.null_count:
            raise UserError(f"task.{self.key}: rows without a second text")
        return dataclasses.replace(
            dataset, parts={self.part: _put(self.name, form, examples)}, max_length=None
        )

    def _loaded(self, task: Task) -> Dataset:
        key = tuple(sorted((name, str(value)) for name, value in vars(task.settings).items()))
        if key not in self._datasets:
            self._datasets[key] = task.load(self.lake)
        return self._datasets[key]

    @cached_property
    def _datasets(self) -> dict[Any, Dataset]:
        return {}

    def _selected(self, dataset: Dataset) -> Examples:
        if self.part not in dataset.parts:
            parts = ", ".join(f"{name} ({len(rows)})" for name, rows in dataset.parts.items())
            raise UserError(
                f"task.{self.key}.part={self.part}: {dataset.task}, edition {dataset.edition}, "
                f"scheme {dataset.scheme} {dataset.fold} has no such part; there is {parts}"
            )
        examples = dataset.parts[self.part]
        if self.limit is None or self.limit >= len(examples):
            return examples
        return examples.take(tasks.nested_subset(examples.item_ids, self.limit, self.seed))


def _put(name: str, form: Form, examples: Examples) -> Examples:
    """The examples with their texts in a form."""
    if form == "statement" and name == "adept":
        # The sentence with the adjective is what may or may not hold.
        return dataclasses.replace(examples, first=examples.second, second=None)
    if form == "statement" and examples.second is not None:
        # Premise and hypothesis have no sentence in common: the one after the other.
        pairs = zip(examples.first.to_pylist(), examples.second.to_pylist(), strict=True)
        texts = pa.array([f"{first} {second}" for first, second in pairs], pa.string())
        return dataclasses.replace(examples, first=texts, second=None)
    if form == "change" and name == "plane":
        # "A gun is a weapon", "A fake gun is a weapon": what the adjective makes of it.
        pairs = zip(examples.first.to_pylist(), examples.groups["noun"].to_pylist(), strict=True)
        without = pa.array([_without(text, noun) for text, noun in pairs], pa.string())
        return dataclasses.replace(examples, first=without, second=examples.first)
    return examples


def _without(sentence: str, noun: str) -> str:
    """PLANE's sentence with the noun as its subject: its first words, up to the noun, left out.

    Raises:
        UserError: the sentence does not have the noun.
    """
    words = sentence.split(" ")
    if noun not in words:
        raise UserError(f"item of PLANE {sentence!r}: without its noun {noun!r}")
    predicate = " ".join(words[words.index(noun) :])
    return f"{article(noun).capitalize()} {predicate}"
