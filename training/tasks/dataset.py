"""What a task hands to training: columns of texts and labels, by part, with where they are from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from training.tasks.tokens import Splitting

__all__ = ["Dataset", "Examples", "Ids", "Predicted", "Source", "Task"]

Ids: TypeAlias = npt.NDArray[np.int64]
# Class ids for classification, generated texts for sequence to sequence.
Predicted: TypeAlias = Ids | Sequence[str]


@dataclass(frozen=True)
class Source:
    """A table that was read: its name, the edition (or source) taken from it, and its version."""

    table: str
    edition: str
    version: int


@dataclass(frozen=True)
class Examples:
    """The rows of one part, as columns of the same length.

    `item_ids`, `first`, `second` and `targets` are Arrow strings; `second` is None for tasks of one
    text, `targets` for all but sequence to sequence. `labels` are ids of `Dataset.labels`, None
    where the rows have none that a model could be trained on; `gold` ids of `Dataset.outcomes`,
    None for all but classification. `origin` is each row's index in `Dataset.sources`; `groups`
    names what scores are broken down by (value of each row, by name of the grouping).
    """

    item_ids: pa.StringArray
    first: pa.StringArray
    second: pa.StringArray | None
    labels: Ids | None
    gold: Ids | None
    targets: pa.StringArray | None
    origin: npt.NDArray[np.int8]
    groups: Mapping[str, pa.StringArray] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.item_ids)

    def take(self, indices: Ids) -> Examples:
        """The rows of `indices`, in their order."""

        def texts(column: pa.StringArray | None) -> pa.StringArray | None:
            return None if column is None else column.take(pa.array(indices))

        return Examples(
            item_ids=texts(self.item_ids),
            first=texts(self.first),
            second=texts(self.second),
            labels=None if self.labels is None else self.labels[indices],
            gold=None if self.gold is None else self.gold[indices],
            targets=texts(self.targets),
            origin=self.origin[indices],
            groups={name: texts(column) for name, column in self.groups.items()},
        )

    def group(self, name: str) -> dict[str, Ids]:
        """The row numbers of each value of a grouping; rows without a value are in none."""
        column = self.groups[name]
        values = sorted(value for value in pc.unique(column).to_pylist() if value is not None)
        return {
            value: np.flatnonzero(
                pc.fill_null(pc.equal(column, value), False).to_numpy(zero_copy_only=False)
            )
            for value in values
        }


@dataclass(frozen=True)
class Dataset:
    """What is trained and evaluated on.

    `task`, `edition`, `scheme` and `fold` are what the table predictions says of each row. `labels`
    are the classes that a model learns (index = id; empty where there are none), `outcomes`
    those that it is evaluated in, and `outcome_of` the outcome of each class: five labels of ADEPT
    may be collapsed to three, ASP is trained on three and tested on two. `max_length` is the
    paper's limit of tokens, if it names one; `splitting` how target texts are split into tokens;
    `instruction` the prompt that a language model answers, with ``{first}``, ``{second}`` and
    ``{labels}`` in it.
    """

    task: str
    edition: str
    scheme: str
    fold: str
    labels: tuple[str, ...]
    outcomes: tuple[str, ...]
    outcome_of: Ids
    parts: Mapping[str, Examples]
    sources: tuple[Source, ...]
    max_length: int | None = None
    splitting: Splitting = "words"
    instruction: str = "{first}\n{second}\nAnswer with one of: {labels}.\nAnswer:"

    @property
    def kind(self) -> Literal["classification", "seq2seq", "masked"]:
        """What is learnt: classes, target texts, or (with neither) the words of the texts."""
        if self.labels:
            return "classification"
        targets = any(examples.targets is not None for examples in self.parts.values())
        return "seq2seq" if targets else "masked"


class Task(Protocol):
    """A dataset as something to learn: how its tables become examples, and how it is scored."""

    @property
    def name(self) -> str:
        """The task's name, as ``task.name`` has it."""

    @property
    def settings(self) -> Any:
        """The resolved settings, a frozen dataclass."""

    def load(self, lake: str) -> Dataset:
        """The examples, from the lake at root `lake`.

        Raises:
            UserError: a table, column, edition or split that is not there, labels out of range, or
                a part without rows; the message lists what there is.
        """

    def evaluate(
        self,
        dataset: Dataset,
        part: str,
        predicted: Predicted,
        scores: npt.NDArray[np.float64] | None = None,
    ) -> dict[str, float]:
        """Scores of a part by name, shares from 0 to 1: accuracy first, the majority's beside it.

        `predicted` has an entry for each row of the part; `scores`, where given, a row for each.
        """

    def together(self, dataset: Dataset, predicted: Mapping[str, Predicted]) -> dict[str, float]:
        """Scores that take several parts at once; none for most tasks."""
