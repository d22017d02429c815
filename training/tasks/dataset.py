"""What a task hands to training: columns of texts and labels, by part, with where they are from."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from conf import UserError
from training import metrics

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

    @classmethod
    def of(
        cls,
        table: pa.Table,
        item: str,
        texts: Sequence[str],
        groups: Sequence[str] = (),
        **known: Any,
    ) -> Examples:
        """The rows of a table: `item` names the column of ids, `texts` those of one or two texts.

        `known` are attributes as they stand above; those that are missing are None.
        """
        columns = {"labels": None, "gold": None, "targets": None, **known}
        columns.setdefault("origin", np.zeros(table.num_rows, dtype=np.int8))
        return cls(
            item_ids=strings(table.column(item)),
            first=strings(table.column(texts[0])),
            second=strings(table.column(texts[1])) if len(texts) == 2 else None,
            groups={name: strings(table.column(name)) for name in groups},
            **columns,
        )

    @classmethod
    def joined(cls, pieces: Sequence[Examples]) -> Examples:
        """The rows of all pieces, one after the other; a column only where every piece has it."""

        def whole(columns: Sequence[Any]) -> Any:
            if any(column is None for column in columns):
                return None
            both = np.concatenate if isinstance(columns[0], np.ndarray) else pa.concat_arrays
            return both(columns)

        columns = {name: whole([vars(piece)[name] for piece in pieces]) for name in _COLUMNS}
        groups = {key: whole([own.groups[key] for own in pieces]) for key in pieces[0].groups}
        return cls(**columns, groups=groups)

    def __len__(self) -> int:
        return len(self.item_ids)

    def take(self, indices: Ids) -> Examples:
        """The rows of `indices`, in their order."""

        def rows(column: Any) -> Any:
            if isinstance(column, pa.Array):
                return column.take(pa.array(indices))
            return None if column is None else column[indices]

        groups = {name: rows(column) for name, column in self.groups.items()}
        return Examples(**{name: rows(vars(self)[name]) for name in _COLUMNS}, groups=groups)

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


_COLUMNS = [name for name in Examples.__dataclass_fields__ if name != "groups"]


def strings(column: pa.ChunkedArray | pa.Array) -> pa.StringArray:
    """A column as one array of strings."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return whole.cast(pa.string())


@dataclass(frozen=True)
class Dataset:
    """What is trained and evaluated on.

    `task`, `edition`, `scheme` and `fold` are what the table predictions says of each row. `labels`
    are the classes that a model learns (index = id; empty where there are none), `outcomes`
    those that it is evaluated in (by default the same), and `outcome_of` the outcome of each class:
    five labels of ADEPT may be collapsed to three, ASP is trained on three and tested on two.
    `max_length` is the paper's limit of tokens, if it names one; `splitting` how target texts are
    split into tokens; `instruction` the prompt that a language model answers, with ``{first}``,
    ``{second}`` and ``{labels}`` in it.
    """

    task: str
    edition: str
    scheme: str
    fold: str
    labels: tuple[str, ...]
    parts: Mapping[str, Examples]
    sources: tuple[Source, ...]
    outcomes: tuple[str, ...] = ()
    outcome_of: Ids = field(default_factory=lambda: np.arange(0))
    max_length: int | None = None
    splitting: Literal["words", "formula"] = "words"
    instruction: str = "{first}\n{second}\nAnswer with one of: {labels}.\nAnswer:"

    def __post_init__(self) -> None:
        if not self.outcomes:
            object.__setattr__(self, "outcomes", self.labels)
            object.__setattr__(self, "outcome_of", np.arange(len(self.labels)))

    @property
    def kind(self) -> Literal["classification", "seq2seq", "masked"]:
        """What is learnt: classes, target texts, or (with neither) the words of the texts."""
        if self.labels:
            return "classification"
        targets = any(examples.targets is not None for examples in self.parts.values())
        return "seq2seq" if targets else "masked"

    @property
    def where(self) -> str:
        """What errors call the rows."""
        table = self.sources[-1].table
        return f"table {table}, edition {self.edition}, scheme {self.scheme}, fold {self.fold!r}"


class Task:
    """A dataset as something to learn: how its tables become examples, and how it is scored.

    `settings` are ``task.*``, resolved: an instance of `Settings`. `groups` are the groupings that
    accuracy is broken down by.
    """

    Settings: ClassVar[type]
    groups: ClassVar[tuple[str, ...]] = ()

    def __init__(self, settings: Any) -> None:
        self.settings = settings

    @property
    def name(self) -> str:
        """The task's name, as ``task.name`` has it."""
        return str(self.settings.name)

    @property
    def needed(self) -> tuple[str, ...]:
        """The parts without which there is nothing to train or to test."""
        return ("train",)

    def read(self, lake: str) -> Dataset:
        """The examples, from the lake at root `lake`, whatever parts there are.

        Raises:
            UserError: a table, column, edition, split or row that is not there, or labels out of
                range; the message lists what there is.
        """
        raise NotImplementedError

    def load(self, lake: str) -> Dataset:
        """`read`, with rows in every part that is needed.

        Raises:
            UserError: as `read`; or a part without rows.
        """
        dataset = self.read(lake)
        sizes = {name: len(examples) for name, examples in dataset.parts.items()}
        empty = [name for name in self.needed if not sizes.get(name)]
        if empty:
            there = ", ".join(f"{name} {size}" for name, size in sizes.items()) or "no part"
            raise UserError(f"{dataset.where}: no rows of part {empty[0]}; there is {there}")
        return dataset

    def evaluate(
        self,
        dataset: Dataset,
        part: str,
        predicted: Predicted,
        scores: npt.NDArray[np.float64] | None = None,
    ) -> dict[str, float]:
        """Scores of a part by name, shares from 0 to 1: accuracy first, the majority's beside it.

        `predicted` has a class, or a text, for each row of the part. Classes are scored by
        `metrics.classification` over outcomes; where evaluation has fewer outcomes than there are
        classes, ``accuracy_labels`` is the share of right classes. The accuracy of a group of rows
        is ``accuracy/GROUPING.VALUE``; of classes, groupings with one value alone are left out.

        Raises:
            ValueError: another number of predictions than the part has rows; or no rows.
        """
        examples = dataset.parts[part]
        if examples.gold is None:
            right = metrics.exact_match(examples.targets, [str(text) for text in predicted])
            figures = {"accuracy": float(right.mean())}
        else:
            outcomes = dataset.outcome_of[np.asarray(predicted, dtype=np.int64)]
            figures = metrics.classification(examples.gold, outcomes, dataset.outcomes)
            if len(dataset.outcomes) < len(dataset.labels) and examples.labels is not None:
                share = np.mean(examples.labels == np.asarray(predicted))
                figures["accuracy_labels"] = float(share)
            right = examples.gold == outcomes
        for name in self.groups:
            members = examples.group(name)
            if len(members) == 1 and examples.gold is not None:
                continue
            for value, rows in members.items():
                key = f"accuracy/{metrics.metric_name(name)}.{metrics.metric_name(value)}"
                figures[key] = float(right[rows].mean())
        return figures

    def together(self, dataset: Dataset, predicted: Mapping[str, Predicted]) -> dict[str, float]:
        """Scores that take several parts at once; none for most tasks."""
        return {}


def nested_subset(item_ids: pa.StringArray, size: int, seed: int) -> Ids:
    """The row numbers, ascending, of `size` rows: learning curves (SyGNS, figure 2).

    Rows are ranked by a hash of (seed, item id), so a smaller subset of the same seed lies in a
    greater one whatever the order of the rows; rows with one id stand together.

    Raises:
        UserError: `size` is not between 1 and the number of rows.
    """
    if not 1 <= size <= len(item_ids):
        raise UserError(
            f"train_size={size}: expected 1 to {len(item_ids)}, the training rows that there are"
        )
    ranks = [draw(seed, item) for item in item_ids.to_pylist()]
    # Equal ids rank equally; a stable sort keeps them in the order of the rows.
    order = np.argsort(np.array(ranks, dtype=np.uint64), kind="stable")
    return np.sort(order[:size]).astype(np.int64)


def draw(*parts: object) -> int:
    """A number of 64 bits that depends on all parts alone."""
    text = "\t".join(map(str, parts))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())
