"""The data that a task passes to training: texts and labels by part, with their sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from adnominal.conf import UserError
from adnominal.etl import declaration
from adnominal.etl.draws import draw
from adnominal.training import metrics
from adnominal.training.asking import scores
from adnominal.training.asking.scores import Results

if TYPE_CHECKING:
    from adnominal.training.asking.settings import Settings as Prompting

Ids: TypeAlias = npt.NDArray[np.int64]
# Class ids for classification, generated texts for sequence to sequence.
Predicted: TypeAlias = Ids | Sequence[str]


@dataclass(frozen=True)
class Source:
    """A table that was read: its name, the edition (or source) and the version."""

    table: str
    edition: str
    version: int


@dataclass(frozen=True)
class Examples:
    """The rows of one part, as columns of the same length.

    `item_ids`, `first`, `second` and `targets` are Arrow strings; `second` is None for tasks of one
    text, `targets` except for sequence to sequence. `labels` are ids of `Dataset.labels`, or None
    if the rows have no labels for training; `gold` are ids of `Dataset.outcomes`, and None except
    for classification. `origin` is each row's index in `Dataset.sources`; `groups` has each row's
    value by the name of a grouping for scores. `soft_labels` [rows, labels] are the shares of
    people's votes, if training is to use them (`tasks.votes`).
    """

    item_ids: pa.StringArray
    first: pa.StringArray
    second: pa.StringArray | None
    labels: Ids | None
    gold: Ids | None
    targets: pa.StringArray | None
    origin: npt.NDArray[np.int8]
    groups: Mapping[str, pa.StringArray] = field(default_factory=dict)
    soft_labels: npt.NDArray[np.float32] | None = None

    @classmethod
    def of(
        cls,
        table: pa.Table,
        item: str,
        texts: Sequence[str],
        groups: Sequence[str] = (),
        **known: Any,
    ) -> Examples:
        """Return the rows of a table: `item` names the id column, `texts` one or two text columns.

        `known` are further attributes; missing ones are None.

        Raises:
            UserError: a row has no text.
        """
        for name in texts:
            missing = table.filter(pc.is_null(table[name]))
            if missing.num_rows:
                raise UserError(
                    f"{name}: {missing.num_rows} of {table.num_rows} rows have no text, such as "
                    f"item {missing[item][0].as_py()}; expected a text in each"
                )
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
        """Concatenate the rows of all pieces; a column is kept only if every piece has it."""

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
        """Return the rows of `indices`, in their order."""

        def rows(column: Any) -> Any:
            if isinstance(column, pa.Array):
                return column.take(pa.array(indices))
            return None if column is None else column[indices]

        groups = {name: rows(column) for name, column in self.groups.items()}
        return Examples(**{name: rows(vars(self)[name]) for name in _COLUMNS}, groups=groups)

    def group(self, name: str) -> dict[str, Ids]:
        """Return the row numbers of each value of a grouping; rows without a value are in none."""
        values = self.groups[name].to_pandas()
        return dict(sorted(values.groupby(values).indices.items()))


_COLUMNS = [name for name in Examples.__dataclass_fields__ if name != "groups"]


def strings(column: pa.ChunkedArray | pa.Array) -> pa.StringArray:
    """Return a column as one array of strings."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return array.cast(pa.string())


def with_columns(table: pa.Table, **columns: pa.Array | pa.ChunkedArray) -> pa.Table:
    """Return the table with columns added or replaced."""
    for name, column in columns.items():
        at = table.schema.get_field_index(name)
        table = table.append_column(name, column) if at < 0 else table.set_column(at, name, column)
    return table


def with_full_stop(texts: pa.StringArray) -> pa.StringArray:
    """Add a full stop to texts that end without one (``task.full_stops=normalised``)."""
    return pc.if_else(pc.ends_with(texts, "."), texts, pc.binary_join_element_wise(texts, "", "."))


@dataclass(frozen=True)
class Dataset:
    """The data for training and evaluation.

    `task`, `edition`, `scheme` and `fold` are the values in the table predictions. `labels` are the
    classes that a model learns (index = id; possibly empty), `outcomes` the classes of the
    evaluation (by default the same), and `outcome_of` is the outcome of each class: ADEPT's five
    labels may be collapsed to three, and ASP is trained on three and tested on two. `max_length` is
    the paper's token limit, if it has one; `splitting` says how target texts are split into tokens;
    `instruction` is the prompt for a language model, with fields ``{first}``, ``{second}``,
    ``{labels}``.
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
    def kind(self) -> Literal["classification", "seq2seq"]:
        """The kind of learning: classes, or target texts."""
        return "classification" if self.labels else "seq2seq"

    @property
    def where(self) -> str:
        """The description of the rows in errors."""
        table = self.sources[-1].table
        return f"table {table}, edition {self.edition}, scheme {self.scheme}, fold {self.fold!r}"


Form: TypeAlias = Literal["pair", "statement", "change", "words", "text"]
"""The form in which a model reads an item.

pair       premise and hypothesis, or phrase and conclusion
statement  one sentence that states the inference (PLANE, as in its paper)
change     a sentence without and with the adjective (ADEPT)
words      only noun and adjective (ADEPT without context)
text       a sentence, answered with generated text (SyGNS)
"""


class Task:
    """A dataset as a learning task: it reads examples from tables and scores predictions.

    Attributes:
        Settings: the dataclass of ``task.*``; `settings` is an instance of it.
        dataset_spec: the dataset's declaration; None for tasks of any table.
        groups: the groupings for accuracy by group; by default the declared ones.
        form_setting: the setting for the form of items, if there is one. Scoring sets it by model.
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
        """Return the settings that give items this form; None if that is not possible."""
        return None if form == "words" else {}

    @classmethod
    def with_format(cls, form: Form, examples: Examples) -> Examples:
        """Convert texts of examples, read with `form_values`, to a form.

        As one statement, premise and hypothesis are joined.

        Raises:
            UserError: a text cannot be converted.
        """
        if form != "statement" or examples.second is None:
            return examples
        pairs = zip(examples.first.to_pylist(), examples.second.to_pylist(), strict=True)
        texts = pa.array([f"{first} {second}" for first, second in pairs], pa.string())
        return replace(examples, first=texts, second=None)

    @property
    def name(self) -> str:
        """The task's name, as in ``task.name``."""
        return str(self.settings.name)

    @property
    def needed_parts(self) -> tuple[str, ...]:
        """The parts that are required for training or testing."""
        return ("train",)

    def read(self, lake: str) -> Dataset:
        """Read the examples of all existing parts from the lake at root `lake`.

        Raises:
            UserError: a table, column, edition, split or row does not exist, or labels are out of
                range; the message lists what exists.
        """
        raise NotImplementedError

    def load(self, lake: str) -> Dataset:
        """Read the dataset and check that every needed part has rows.

        Raises:
            UserError: as `read`; also if a needed part has no rows.
        """
        dataset = self.read(lake)
        sizes = {name: len(examples) for name, examples in dataset.parts.items()}
        empty = [name for name in self.needed_parts if not sizes.get(name)]
        if empty:
            listing = ", ".join(f"{name} {size}" for name, size in sizes.items()) or "no part"
            raise UserError(f"{dataset.where}: no rows of part {empty[0]}; there is {listing}")
        return dataset

    def evaluate(self, dataset: Dataset, part: str, predicted: Predicted) -> dict[str, float]:
        """Return scores of a part by name, from 0 to 1, with accuracy and majority first.

        `predicted` has a class or a text for each row of the part. Classes are scored by
        `metrics.classification` over outcomes; if there are fewer outcomes than classes,
        ``accuracy_labels`` is the share of correct classes. The accuracy of a group of rows is
        ``accuracy/GROUPING.VALUE``; for classes, groupings with only one value are skipped.

        Raises:
            ValueError: the numbers of predictions and rows differ, or there are no rows.
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

    @property
    def votes_of(self) -> str:
        """The dataset of the items in the table label_votes."""
        assert self.dataset_spec is not None
        return self.dataset_spec.name

    def class_of_label(self, dataset: Dataset) -> dict[str, int]:
        """Return the class that a model learns for each label of the items."""
        return {label: number for number, label in enumerate(dataset.labels)}

    @classmethod
    def prompt_values(cls, settings: Prompting) -> dict[str, Any]:
        """Return the settings ``task.*``, besides the edition, of the items for prompts."""
        return {}

    def with_prompt_columns(self, rows: pa.Table, settings: Prompting) -> pa.Table:
        """Return the rows of a part for prompts (`training.asking.items.Items`)."""
        return rows

    def prompt_tally(self, rows: pa.Table, labels: Sequence[str]) -> pa.Table:
        """Return the answers to some of the prompts, counted (`training.asking.scores.tally`).

        `rows` are those of the table predictions with the columns of `with_prompt_columns`;
        `labels` are in the order of scores.
        """
        return scores.tally(rows, labels)

    def prompt_results(self, rows: pa.Table, labels: Sequence[str]) -> Results:
        """Return the figures and the table of all answers to prompts from their tally."""
        title = self.dataset_spec.title if self.dataset_spec is not None else self.name
        return scores.by_prompt(rows, title, labels)

    def combined_metrics(
        self, dataset: Dataset, predicted: Mapping[str, Predicted]
    ) -> dict[str, float]:
        """Return scores over several parts; most tasks have none."""
        return {}


def nested_subset(item_ids: pa.StringArray, size: int, seed: int) -> Ids:
    """Return ascending row numbers of `size` rows, for learning curves (SyGNS, figure 2).

    Rows are ranked by a hash of (seed, item id), so with the same seed, a smaller subset is part of
    a larger one for any row order; rows with the same id stay together.

    Raises:
        UserError: `size` is not between 1 and the number of rows.
    """
    if not 1 <= size <= len(item_ids):
        raise UserError(
            f"train_size={size}: expected 1 to {len(item_ids)}, the number of training rows"
        )
    ranks = [draw(seed, item) for item in item_ids.to_pylist()]
    # Equal ids rank equally; a stable sort keeps them in the order of the rows.
    order = np.argsort(np.array(ranks, dtype=np.uint64), kind="stable")
    return np.sort(order[:size]).astype(np.int64)
