"""What a task hands to training: columns of texts and labels, by part, with where they are from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from conf import UserError
from etl import declaration
from etl.draws import draw
from training import metrics
from training.prompting import scores
from training.prompting.scores import Results

if TYPE_CHECKING:
    from training.prompting.settings import Settings as Prompting

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
    def concatenate(cls, pieces: Sequence[Examples]) -> Examples:
        """The rows of all pieces, one after the other; a column only where every piece has it."""

        def concatenated_column(columns: Sequence[Any]) -> Any:
            if any(column is None for column in columns):
                return None
            both = np.concatenate if isinstance(columns[0], np.ndarray) else pa.concat_arrays
            return both(columns)

        columns = {
            name: concatenated_column([vars(piece)[name] for piece in pieces]) for name in _COLUMNS
        }
        groups = {
            key: concatenated_column([piece.groups[key] for piece in pieces])
            for key in pieces[0].groups
        }
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
        values = self.groups[name].to_pandas()
        return dict(sorted(values.groupby(values).indices.items()))


_COLUMNS = [name for name in Examples.__dataclass_fields__ if name != "groups"]


def strings(column: pa.ChunkedArray | pa.Array) -> pa.StringArray:
    """A column as one array of strings."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return array.cast(pa.string())


def with_columns(table: pa.Table, **columns: pa.Array | pa.ChunkedArray) -> pa.Table:
    """The table with further columns, or with others in the place of those of these names."""
    for name, column in columns.items():
        at = table.schema.get_field_index(name)
        table = table.append_column(name, column) if at < 0 else table.set_column(at, name, column)
    return table


def with_full_stop(texts: pa.StringArray) -> pa.StringArray:
    """The texts, with a full stop where they end without (``task.full_stops=normalised``)."""
    return pc.if_else(pc.ends_with(texts, "."), texts, pc.binary_join_element_wise(texts, "", "."))


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


Form: TypeAlias = Literal["pair", "statement", "change", "words", "text"]
"""What a model reads of an item.

pair       premise and hypothesis, or phrase and conclusion
statement  one sentence that states the inference (PLANE as its paper has it)
change     a sentence without and with the adjective (ADEPT)
words      noun and adjective alone (ADEPT without context)
text       a sentence, answered in words of the model's own (SyGNS)
"""


class Task:
    """A dataset as something to learn: how its tables become examples, and how it is scored.

    Attributes:
        Settings: the dataclass of ``task.*``; `settings` is an instance of it.
        dataset_spec: the dataset's declaration; None for tasks of any table.
        groups: the groupings that accuracy is broken down by; by default those declared.
        form_setting: the setting that says how items are put to a model, if there is one. Scoring
            chooses it by the model.
    """

    Settings: ClassVar[type]
    dataset_spec: ClassVar[declaration.Dataset | None] = None
    groups: ClassVar[tuple[str, ...]] = ()
    form_setting: ClassVar[str | None] = None

    def __init_subclass__(cls) -> None:
        if cls.dataset_spec is not None and "groups" not in vars(cls):
            cls.groups = cls.dataset_spec.training.groups

    def __init__(self, settings: Any) -> None:
        self.settings = settings

    @classmethod
    def form_values(cls, form: Form) -> Mapping[str, Any] | None:
        """The settings that put items in a form; None where they cannot be put in it."""
        return None if form == "words" else {}

    @classmethod
    def with_format(cls, form: Form, examples: Examples) -> Examples:
        """The examples, read with `form_values`, with their texts in a form.

        As one statement, premise and hypothesis stand one after the other.

        Raises:
            UserError: a text that cannot be put in it.
        """
        if form != "statement" or examples.second is None:
            return examples
        pairs = zip(examples.first.to_pylist(), examples.second.to_pylist(), strict=True)
        texts = pa.array([f"{first} {second}" for first, second in pairs], pa.string())
        return replace(examples, first=texts, second=None)

    @property
    def name(self) -> str:
        """The task's name, as ``task.name`` has it."""
        return str(self.settings.name)

    @property
    def needed_parts(self) -> tuple[str, ...]:
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
        empty = [name for name in self.needed_parts if not sizes.get(name)]
        if empty:
            listing = ", ".join(f"{name} {size}" for name, size in sizes.items()) or "no part"
            raise UserError(f"{dataset.where}: no rows of part {empty[0]}; there is {listing}")
        return dataset

    def evaluate(self, dataset: Dataset, part: str, predicted: Predicted) -> dict[str, float]:
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

    @classmethod
    def prompt_values(cls, settings: Prompting) -> dict[str, Any]:
        """The settings ``task.*``, beside the edition, of the items that a prompt asks about."""
        return {}

    def with_prompt_columns(self, rows: pa.Table, settings: Prompting) -> pa.Table:
        """The rows of a part that a prompt asks about (`training.prompting.items.Items`)."""
        return rows

    def prompt_results(self, rows: pa.Table) -> Results:
        """The figures and the table of answers to prompts.

        `rows` are those of the table predictions with the columns of `with_prompt_columns`.
        """
        assert self.dataset_spec is not None
        return scores.by_prompt(rows, self.dataset_spec.title, self.dataset_spec.label_names)

    def combined_metrics(
        self, dataset: Dataset, predicted: Mapping[str, Predicted]
    ) -> dict[str, float]:
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
