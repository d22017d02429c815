"""The form of a dataset's declaration: what the rest of Adnominal must know of the dataset.

Each dataset declares itself once, as `DATASET` in ``etl/NAME/declaration.py``, and `etl.registry`
lists the declarations. Training, prompting, scoring, prediction, model cards, datasheets, exports,
audits and the report read them, so that none of these names a dataset. How the rows are made is the
matter of the dataset's build, how they are learnt that of its task.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from etl.lake.columns import Table

RELEASED = ("published", "published_tuning", "published_wider")
"""The editions of the authors' releases, which etl/import_published.py alone writes."""


@dataclass(frozen=True)
class Facts:
    """The columns of a table that its datasheet summarises.

    Attributes:
        counted: columns with few values; the rows of each value are counted.
        distinct: columns whose different values are counted.
        texts: columns of sentences, whose words are counted.
    """

    counted: tuple[str, ...] = ()
    distinct: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Whole:
    """The configuration of an export that has all items of a table, whatever their split.

    Attributes:
        name: of the configuration.
        meaning: what it holds, for the card.
        first: whether it comes before the configurations of the splits, as the default.
    """

    name: str
    meaning: str = "every item of the edition, not split"
    first: bool = True


@dataclass(frozen=True)
class ItemTable:
    """A table of items, and the purposes of its columns.

    Attributes:
        name: of the table.
        title: of its items where people read it, as ``ASP degrees``.
        item: the column of ids.
        pair: the columns of the two texts that a model of pairs reads.
        single: the column of the text that a model of single sentences reads.
        without_context: the columns of noun and adjective, for models that read these alone.
        words: by role (adjective, noun, hypernym, class, test, …) the column that has it; the roles
            are the names by which `analysis.slices` parts the items.
        facts: for the datasheet.
        whole: the configuration of all items in exports, if there is one.
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
        names: of the labels.
        column: the column that has them.
        numbered: whether the column has their numbers from 0, not their names.
        unanswerable: labels of items that are neither trained on nor scored.
    """

    names: tuple[str, ...]
    column: str = "label"
    numbered: bool = False
    unanswerable: tuple[str, ...] = ()

    @property
    def values(self) -> tuple[int, ...] | tuple[str, ...]:
        """What the column holds for each of `names`."""
        return tuple(range(len(self.names))) if self.numbered else self.names


@dataclass(frozen=True)
class Scheme:
    """A way to split the items into parts.

    Attributes:
        name: of the scheme.
        meaning: what it holds apart, for cards.
        table: the table of items that it splits; by default the dataset's first.
        disjoint: the role of the words of which test items have none of training; None where parts
            share their words, and where the scheme is the published one.
    """

    name: str
    meaning: str
    table: str | None = None
    disjoint: str | None = None


@dataclass(frozen=True)
class Splits:
    """Where the parts of the items are written.

    Either `table` names a table with the columns scheme, `fold`, part and the items' id; or the
    items' own table has a column ``split_SCHEME`` for each scheme, with the names of parts in it.

    Attributes:
        schemes: in the order of exports and reports; the first is the published one.
        table: the table of splits; None for columns of the items' table.
        fold: the column that tells the folds of a scheme apart.
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
        """The columns of splits in the items' table; none where there is a table of splits."""
        return () if self.table else tuple(f"split_{name}" for name in self.names)

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns of the table of splits that say which part an item is in."""
        return ("scheme", *([self.fold] if self.fold else []), "part")

    @property
    def published(self) -> str:
        """The scheme of the published rows."""
        return self.schemes[0].name


@dataclass(frozen=True)
class Prompts:
    """How language models are prompted with the items (``training/prompt.py``).

    Attributes:
        file: the prompts, a name in ``conf/prompts``.
        zero_shot: the file without examples, where that is another.
        shots: the numbers of examples that a prompt may have.
        group: the column that results are told by, and that a limit of items applies to.
        number: the column that tells apart the items that are each other's examples.
    """

    file: str
    zero_shot: str | None = None
    shots: tuple[int, ...] = (0,)
    group: str | None = None
    number: str | None = None


@dataclass(frozen=True)
class Question:
    """A multiple-choice task of lm-evaluation-harness (``analysis.export format=lm_eval``).

    Attributes:
        text: the question as a Jinja template over the columns.
        choices: the answer that stands for each label; or a Jinja expression that gives the answers
            in the order of the labels.
        columns: those that the task's file has beside the label.
        name: what distinguishes it from the dataset's other questions.
        by: the column whose values are asked apart, each as a task, in the order of `values`.
        values: of `by`.
        where: the value that each of these columns has in the rows that are asked, in tables that
            have the column.
        whole: whether all items are asked, not the test parts of the splits.
        prepare: what makes the rows that are written of those of the table.
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
    """The licence of an edition, and what the edition is made of.

    Attributes:
        name: its identifier on the Hugging Face hub.
        url: its text, where there is one.
        terms: what binds whoever passes the data on.
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
        meaning: what the setting of ``etl/import_published.py`` with the dataset's name names.
        example: of the setting.
    """

    meaning: str
    example: str


@dataclass(frozen=True)
class Training:
    """What training and scoring need beyond the items.

    Attributes:
        limits: what a model that was trained on the dataset should not be used for (model cards).
        groups: the columns that scores are broken down by.
        instruction: the prompt of a language model that is fine-tuned, with ``{first}``,
            ``{second}`` and ``{labels}`` in it.
        single_instruction: the same for items of one text.
        max_length: the paper's limit of tokens, if it names one.
        measure: the measure of the paper's tables of groups.
    """

    limits: str
    groups: tuple[str, ...] = ()
    instruction: str = "{first}\n{second}\nAnswer with one of: {labels}.\nAnswer:"
    single_instruction: str = "{first}\nAnswer with one of: {labels}.\nAnswer:"
    max_length: int | None = None
    measure: str = "accuracy"


@dataclass(frozen=True)
class Report:
    """What the pages of the report that compare datasets need.

    Attributes:
        paper_settings: the settings of the runs that are preferred, those of the paper.
        run_settings: the settings in which the runs of one experiment may differ.
        strata: the columns that two items must share to be compared.
        audited: by name, the column of each part of the input that audits train a classifier on;
            the words of the last one are listed.
    """

    paper_settings: Mapping[str, str] = field(default_factory=dict)
    run_settings: tuple[str, ...] = ()
    strata: tuple[str, ...] = ("gold",)
    audited: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Dataset:
    """A dataset.

    Attributes:
        name: in settings, commands and folders.
        title: in texts.
        heading: the title with its meaning.
        summary: what the items are, in one or two sentences.
        tables: the labelled items; the first is the table that every edition has.
        splits: into parts for training and testing.
        training: for training and scoring.
        published: the licence of the editions whose names begin with ``published``.
        built: the licence of the editions that the dataset's build makes.
        labels: of the items; None where the answers are texts.
        trained_labels: the labels of the training rows, where those are others.
        unlabelled: further tables of items, which have no labels yet.
        schemas: all of the dataset's tables: those of items and splits, and its others.
        prompts: for language models, where the labels can be asked for.
        questions: for lm-evaluation-harness.
        report: for pages across datasets; None where the dataset is not on them.
        hub_task: the category of the task on the Hugging Face hub.
        release: by the authors, where it can be imported.
        layout: the format in which the release is written, if an export writes it too.
        citation: how to cite the dataset; the file of the paper in ``conf/published`` has it for
            datasets of a paper.
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
        """The names of the labels; none where the answers are texts."""
        return () if self.labels is None else self.labels.names

    def table_of(self, scheme: Scheme) -> ItemTable:
        """The table of the items that a scheme splits."""
        return next((table for table in self.tables if table.name == scheme.table), self.tables[0])
