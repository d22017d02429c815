"""The form of a dataset's declaration: what the rest of Adnominal must know about it.

Each dataset declares itself once, as `DATASET` in ``etl/NAME/declaration.py``, and `etl.registry`
lists the declarations. Training, prompting, scoring, prediction, model cards, exports, dataset
cards, audits and the report read them, so that none of these names a dataset. The dataset's build
defines how its rows are made, and its training task how they are learnt.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from adnominal.etl.lake.columns import Table

RELEASED = ("published", "published_tuning", "published_wider")
"""The editions of the authors' releases, which only etl/import_published.py writes."""


@dataclass(frozen=True)
class Facts:
    """The columns of a table that the dataset card summarises.

    Attributes:
        counted: columns with few values; rows are counted for each value.
        distinct: columns whose distinct values are counted.
        texts: columns of sentences, whose words are counted.
    """

    counted: tuple[str, ...] = ()
    distinct: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Whole:
    """An export configuration with all items of a table, whatever their split.

    Attributes:
        name: name of the configuration.
        meaning: its content, for the card.
        first: whether it comes before the configurations of the splits, as the default.
    """

    name: str
    meaning: str = "every item of the edition, not split"
    first: bool = True


@dataclass(frozen=True)
class ItemTable:
    """A table of items and the roles of its columns.

    Attributes:
        name: name of the table.
        title: title of its items for readers, such as ``ASP degrees``.
        item: the column of item ids.
        pair: the columns of the two texts that a model of pairs reads.
        single: the column of the text that a model of single sentences reads.
        without_context: the columns of noun and adjective, for models that read only these.
        words: the column of each role (adjective, noun, hypernym, class, test, …);
            `analysis.slices` groups the items by these roles.
        facts: the columns that the dataset card summarises.
        whole: the export configuration of all items, if there is one.
    """

    name: str
    title: str
    item: str = "item_id"
    pair: tuple[str, str] | None = None
    single: str | None = None
    without_context: tuple[str, str] | None = None
    words: Mapping[str, str] = field(default_factory=dict)
    facts: Facts = Facts()
    whole: Whole | None = None


@dataclass(frozen=True)
class Labels:
    """The labels of items, in the order of their numbers and of a model's scores.

    Attributes:
        names: names of the labels.
        column: the column of labels.
        numbered: whether the column has label numbers from 0 instead of names.
        ordered: whether the labels are degrees, from low to high.
        unanswerable: labels of items that are neither trained on nor scored.
    """

    names: tuple[str, ...]
    column: str = "label"
    numbered: bool = False
    ordered: bool = False
    unanswerable: tuple[str, ...] = ()

    @property
    def values(self) -> tuple[int, ...] | tuple[str, ...]:
        """The value of the column for each of `names`."""
        return tuple(range(len(self.names))) if self.numbered else self.names


@dataclass(frozen=True)
class Scheme:
    """A way to split the items into parts.

    Attributes:
        name: name of the scheme.
        meaning: what it keeps apart, for cards.
        table: the table of items that it splits; by default the dataset's first.
        disjoint: the role whose words in test items do not occur in training; None if parts share
            their words or the scheme is the published one.
    """

    name: str
    meaning: str
    table: str | None = None
    disjoint: str | None = None


@dataclass(frozen=True)
class Splits:
    """Where the split of the items is stored.

    Either `table` names a table with the columns scheme, `fold`, part and the items' id; or the
    items' own table has a column ``split_SCHEME`` with the part of each item for each scheme.

    Attributes:
        schemes: the schemes in the order of exports and reports; the first is the published one.
        table: the table of splits; None for columns of the items' table.
        fold: the column that identifies the fold of a scheme.
        setting: the name of the scheme among the task's settings.
    """

    schemes: tuple[Scheme, ...]
    table: str | None = None
    fold: str | None = None
    setting: str = "scheme"

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the schemes."""
        return tuple(scheme.name for scheme in self.schemes)

    @property
    def columns(self) -> tuple[str, ...]:
        """The split columns in the items' table; none if there is a table of splits."""
        return () if self.table else tuple(f"split_{name}" for name in self.names)

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns of the table of splits that determine an item's part."""
        return ("scheme", *([self.fold] if self.fold else []), "part")

    @property
    def published(self) -> str:
        """The scheme of the published rows."""
        return self.schemes[0].name


@dataclass(frozen=True)
class Prompts:
    """How language models are prompted with the items (``training/prompt.py``).

    Attributes:
        file: the file of prompts in ``conf/prompts``.
        zero_shot: the file for prompts without examples, if it differs.
        group: the column by which results are reported and item limits apply.
        number: the column that identifies an item among those that serve as each other's examples.
    """

    file: str
    zero_shot: str | None = None
    group: str | None = None
    number: str | None = None


@dataclass(frozen=True)
class Question:
    """A multiple-choice task of lm-evaluation-harness (``analysis.export format=lm_eval``).

    Attributes:
        text: the question as a Jinja template over the columns.
        choices: the answer for each label, or a Jinja expression for the answers in label order.
        columns: the columns of the task's file besides the label.
        name: suffix that tells it from the dataset's other questions.
        by: the column whose values become separate tasks, in the order of `values`.
        values: values of `by`.
        where: the values that select the rows, by column, in tables that have the column.
        whole: whether all items are asked instead of the test parts of the splits.
        prepare: the function that turns rows of the table into rows of the task's file.
    """

    text: str
    choices: Mapping[str, str] | str
    columns: tuple[str, ...]
    name: str = ""
    by: str | None = None
    values: tuple[str, ...] = ()
    where: Mapping[str, str] = field(default_factory=dict)
    whole: bool = False
    prepare: Callable[[pa.Table], pa.Table] | None = None


@dataclass(frozen=True)
class Licence:
    """The licence of an edition and the sources of its rows.

    Attributes:
        name: its identifier on the Hugging Face hub.
        url: address of its text, if there is one.
        terms: obligations of those who redistribute the data.
        made_of: the sources of the rows.
    """

    name: str
    url: str | None
    terms: tuple[str, ...]
    made_of: tuple[str, ...]


@dataclass(frozen=True)
class Release:
    """The authors' release of a dataset, which `read` of ``etl/published/NAME.py`` reads.

    Attributes:
        meaning: meaning of the dataset's setting in ``etl/import_published.py``.
        example: example of the setting.
        sample: whether it is a sample of the dataset, too small to train on or to compare with.
    """

    meaning: str
    example: str
    sample: bool = False


@dataclass(frozen=True)
class Training:
    """What training and scoring need beyond the items.

    Attributes:
        limits: what a model trained on the dataset should not be used for (model cards).
        groups: the columns that scores are broken down by.
        instruction: the prompt of a fine-tuned language model, with the fields ``{first}``,
            ``{second}`` and ``{labels}``.
        single_instruction: the same for items of one text.
        max_length: the paper's token limit, if it has one.
        measure: the measure in the paper's tables by group.
    """

    limits: str
    groups: tuple[str, ...] = ()
    instruction: str = "{first}\n{second}\nAnswer with one of: {labels}.\nAnswer:"
    single_instruction: str = "{first}\nAnswer with one of: {labels}.\nAnswer:"
    max_length: int | None = None
    measure: str = "accuracy"


@dataclass(frozen=True)
class Report:
    """Settings of the report pages that compare datasets.

    Attributes:
        paper_settings: the paper's settings; runs with them are preferred.
        run_settings: the settings in which the runs of one experiment may differ.
        strata: the columns that two items must share to be compared.
        audited: by name, the columns of the input parts on which audits train a classifier; the
            words of the last one are listed.
    """

    paper_settings: Mapping[str, str] = field(default_factory=dict)
    run_settings: tuple[str, ...] = ()
    strata: tuple[str, ...] = ("gold",)
    audited: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Dataset:
    """A dataset.

    Attributes:
        name: name in settings, commands and folders.
        title: title in text.
        heading: title with an explanation.
        summary: what the items are, in one or two sentences.
        tables: tables of labelled items; every edition has the first one.
        splits: the split into parts for training and testing.
        training: what training and scoring need.
        published: the licence of the editions whose names begin with ``published``.
        built: the licence of the editions that the dataset's build makes.
        labels: labels of the items; None if the answers are text.
        trained_labels: labels of the training rows, if they differ.
        unlabelled: further tables of items without labels yet.
        schemas: all of the dataset's tables: items, splits and others.
        prompts: prompts for language models, if they can be asked for the labels.
        questions: tasks for lm-evaluation-harness.
        report: settings of pages across datasets; None if the dataset is not on them.
        hub_task: the category of the task on the Hugging Face hub.
        release: the authors' release, if it can be imported.
        layout: format of the release, if an export writes it too.
        citation: how to cite the dataset; for datasets of a paper, ``conf/published`` has it.
    """

    name: str
    title: str
    heading: str
    summary: str
    schemas: tuple[Table, ...]
    tables: tuple[ItemTable, ...]
    splits: Splits
    training: Training
    published: Licence
    built: Licence
    labels: Labels | None = None
    trained_labels: Labels | None = None
    unlabelled: tuple[ItemTable, ...] = ()
    prompts: Prompts | None = None
    questions: tuple[Question, ...] = ()
    report: Report | None = None
    hub_task: str = "text-classification"
    release: Release | None = None
    layout: str | None = None
    citation: str | None = None

    @property
    def label_names(self) -> tuple[str, ...]:
        """The names of the labels; none if the answers are text."""
        return () if self.labels is None else self.labels.names

    def table_of(self, scheme: Scheme) -> ItemTable:
        """Return the table of the items that a scheme splits."""
        return next((table for table in self.tables if table.name == scheme.table), self.tables[0])
