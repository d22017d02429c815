"""How a paper's page is declared: a list of exhibits, each a declaration and a function.

    @exhibit("Table 6", "fine-tuned, out of distribution",
             printed=("table 6",), reads=("predictions", "plane_items"), fills=TRAIN)
    def accuracy(page: Plane) -> Iterator[Finding]:
        \"""Accuracy of BERT on adjectives that training lacks.\"""
        yield Cells("table 6", {("accuracy", "GOoD"): interval}, model=…, runs=…)

The first paragraph of the docstring is printed under the heading. The function yields numbers
(`Cells`), charts of them, examples, notes, and what is missing; it knows nothing of the page. Tests
compare each declaration with what its function reads and compares.
"""

import inspect
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

import pyarrow as pa

from adnominal.analysis.editions import Lake
from adnominal.analysis.predictions import runs_with_answers
from adnominal.analysis.report_numbers import Cells, Row, Source, rows_of
from adnominal.conf import UserError
from adnominal.etl.lake import arrow
from adnominal.training.finished_runs import Run, Runs

COMPARABLE = ("published", "paper")
"""Editions of the papers' size; counts of others say nothing beside the printed ones."""

ChartKind = Literal["curves", "bars", "shares", "matrix", "boxes", "scatter", "intervals", "forest"]


@dataclass(frozen=True)
class Chart:
    """A figure of the numbers in some tables of the exhibit; `analysis.page.figures` draws it.

    Attributes:
        tables: the tables whose numbers it draws; several become panels.
        x, y: what the axes show, with units. Rows of a table are places on the x axis, columns are
            series; a scatter takes its axes from the columns `x` and `y`, its series from tables.
        published: whether the printed numbers are drawn instead of ours.
        only_drawn: whether the numbers are too many to be printed as a table, too.
        options: further options of the kind of chart.
    """

    kind: ChartKind
    caption: str
    tables: Sequence[str]
    x: str = ""
    y: str = ""
    published: bool = False
    only_drawn: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Examples:
    """Rows to be read, such as sentences with their labels: no numbers to compare."""

    caption: str
    data: pa.Table
    is_simulated: bool = False


@dataclass(frozen=True)
class Note:
    """A paragraph of plain text."""

    text: str


@dataclass(frozen=True)
class Missing:
    """What this lake cannot give yet: its name, the command that fills it (with ``lake=LAKE`` for
    the report's lake), and the reason where it is not obvious. Without a command it cannot be had
    from published data."""

    what: str
    command: str = ""
    reason: str = ""


Finding = Cells | Chart | Examples | Note | Missing


@dataclass(frozen=True)
class Sources:
    """The lake and the runs of a report; subclasses read the data that a page's exhibits share."""

    lake: Lake
    runs: Runs

    def runs_of(
        self,
        jobs: str | Collection[str],
        settings: Mapping[str, str | Collection[str]] | None = None,
        edition: str | None = None,
    ) -> list[Run]:
        """The runs of jobs with these parameters and with answers in the lake, newest first.

        With `edition`, only runs with answers to its items.
        """
        return runs_with_answers(self.lake.root, self.runs.of(jobs, settings), edition)


Context = TypeVar("Context", bound=Sources)


@dataclass(frozen=True)
class Section:
    """An exhibit of this lake: its rows of ``report_numbers`` and everything else that it shows."""

    anchor: str
    title: str
    about: str
    rows: Sequence[Row]
    printed: Sequence[str]
    findings: Sequence[Chart | Examples | Note | Missing]


@dataclass(frozen=True)
class Exhibit(Generic[Context]):
    """A printed table, figure or section of a paper, or one of our own.

    Attributes:
        number: ``Table 4``, as printed; empty for one of our own.
        title: what it shows.
        printed: the published tables that our numbers stand beside.
        reads: the tables of the lake that it reads, including ``predictions``.
        fills: the command that fills all of its cells.
        build: yields its findings from the page's sources.
    """

    number: str
    title: str
    printed: tuple[str, ...]
    reads: tuple[str, ...]
    fills: str
    build: Callable[[Context], Iterable[Finding]]

    @property
    def name(self) -> str:
        """``Table 4``, or the title of one of our own."""
        return self.number or self.title[0].upper() + self.title[1:]

    @property
    def about(self) -> str:
        """One sentence on what is seen: the first paragraph of the function's docstring."""
        paragraph = inspect.cleandoc(self.build.__doc__ or "").split("\n\n")[0]
        # Asterisks stress a word in the source; the page has plain text.
        return " ".join(paragraph.split()).replace("*", "")

    def section(self, paper: str, context: Context) -> Section:
        """Build the exhibit; where tables or runs are missing (`UserError`), it has the printed
        numbers and says what is missing, so that it does not stop the others."""
        try:
            findings = list(self.build(context))
        except UserError as error:
            findings = [Missing(self.title, self.fills, str(error))]
        return self.assemble(paper, context.lake, findings)

    def assemble(self, paper: str, lake: Lake, findings: Sequence[Finding]) -> Section:
        """The section of these findings."""
        cells = [finding for finding in findings if isinstance(finding, Cells)]
        others = [finding for finding in findings if not isinstance(finding, Cells)]
        versions = _versions(lake, self.reads)
        source = Source(paper, self.name, self.printed, self.fills, versions)
        words = re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")
        title = f"{self.number}: {self.title}" if self.number else self.name
        rows = rows_of(source, cells)
        return Section(f"{paper}-{words}", title, self.about, rows, self.printed, others)


def _versions(lake: Lake, tables: Iterable[str]) -> dict[str, int]:
    """The versions of these tables of the lake; those that it lacks are left out."""
    versions = {name: arrow.version(lake.root, name) for name in tables if lake.has(name)}
    return {name: version for name, version in versions.items() if version is not None}


def exhibit(
    number: str,
    title: str,
    *,
    fills: str,
    printed: tuple[str, ...] = (),
    reads: tuple[str, ...] = (),
) -> Callable[[Callable[[Context], Iterable[Finding]]], Exhibit[Context]]:
    """Declare the decorated function as an `Exhibit`."""

    def declare(build: Callable[[Context], Iterable[Finding]]) -> Exhibit[Context]:
        return Exhibit(number, title, printed, reads, fills, build)

    return declare


@dataclass(frozen=True)
class Page(Generic[Context]):
    """A paper's page: its exhibits in the order of the paper.

    Attributes:
        name: adept, plane, asp, sygns or across.
        title: its heading.
        context: makes the sources that the exhibits share, from the lake, the runs and options.
        exhibits: its exhibits.
        headline: from all rows of the page, the sentence on the first screen that sets a model's
            accuracy beside the paper's and the majority; None if no model was run.
    """

    name: str
    title: str
    context: Callable[..., Context]
    exhibits: Sequence[Exhibit[Context]]
    headline: Callable[[Sequence[Row]], str | None] = lambda rows: None

    def sections(self, lake: Lake, runs: Runs, **options: Any) -> list[Section]:
        """A section for each exhibit."""
        context = self.context(lake, runs, **options)
        return [entry.section(self.name, context) for entry in self.exhibits]
