"""How a page is declared: as a list of exhibits, each a function with its sources.

    @exhibit("Table 4", "agreement", command=IMPORT, tables=("adept",), beside=("table 4",))
    def agreement(page: Adept) -> list[Block]: ...

    PAGE = Page("adept", "ADEPT: adjectives and plausibility", Adept, (examples, agreement, …))

The tests check each declaration against what its function reads and compares: `tables` are the
tables of the lake, including ``predictions``, and `beside` the tables of ``conf/published``.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from adnominal.analysis.editions import Lake
from adnominal.analysis.papers.comparison import comparison
from adnominal.analysis.predictions import runs_with_answers
from adnominal.analysis.rendering.blocks import Block, NotRun, RunsText, Section
from adnominal.conf import UserError
from adnominal.training.finished_runs import Run, Runs


@dataclass(frozen=True)
class Sources:
    """The lake and the runs of a report; subclasses read the data that a page's exhibits share."""

    lake: Lake
    runs: Runs

    @property
    def remarks(self) -> Mapping[str, str]:
        """Remarks by table, added to the titles of the sections that read it; usually none."""
        return {}

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
class Exhibit(Generic[Context]):
    """A printed table, figure or section of a paper, or an additional one of our own.

    Attributes:
        number: ``Table 4``, as printed; empty for one of our own.
        title: what it shows.
        command: the command that makes the data it needs.
        tables: the tables of the lake that it reads.
        beside: the published tables that our numbers are compared with.
        build: makes its blocks from the page's context.
    """

    number: str
    title: str
    command: str
    tables: tuple[str, ...]
    beside: tuple[str, ...]
    build: Callable[[Context], Sequence[Block]]

    def section(self, page: str, context: Context) -> Section:
        """Build its section; if tables or runs are missing (UserError), the section has the printed
        numbers and a `NotRun` block, so that it does not stop the others."""
        named = f"{self.number}: {self.title}"
        name = named if self.number else self.title[0].upper() + self.title[1:]
        words = re.sub(r"[^a-z0-9]+", "-", (self.number or self.title).lower()).strip("-")
        try:
            blocks = list(self.build(context))
        except UserError as error:
            blocks = [
                block
                for table in self.beside
                for block in comparison(page, table, {}, table.capitalize())
            ]
            blocks.append(NotRun(name, self.command, str(error)))
        return Section(f"{page}-{words}", name, blocks)


def exhibit(
    number: str,
    title: str,
    *,
    command: str,
    tables: tuple[str, ...] = (),
    beside: tuple[str, ...] = (),
) -> Callable[[Callable[[Context], Sequence[Block]]], Exhibit[Context]]:
    """Declare the decorated function as an `Exhibit`."""

    def declare(build: Callable[[Context], Sequence[Block]]) -> Exhibit[Context]:
        return Exhibit(number, title, command, tables, beside, build)

    return declare


@dataclass(frozen=True)
class Page(Generic[Context]):
    """A page: its exhibits in the order of the paper.

    `context` makes the sources that the exhibits share, from the lake, the runs and options.
    """

    name: str
    title: str
    context: Callable[..., Context]
    exhibits: Sequence[Exhibit[Context]]

    def sections(self, lake: Lake, runs: Runs, **options: Any) -> list[Section]:
        """A section for each exhibit."""
        context = self.context(lake, runs, **options)
        remarks = context.remarks
        sections = []
        for entry in self.exhibits:
            section = entry.section(self.name, context)
            of_tables = [f" ({remarks[table]})" for table in entry.tables if table in remarks]
            sections.append(replace(section, title="".join([section.title, *of_tables])))
        return sections


def runs_text(runs: Iterable[Run]) -> list[Block]:
    """A block with the runs that our numbers come from; no block without runs."""
    names = tuple(dict.fromkeys((run.model, run.id) for run in runs))
    if not names:
        return []
    return [RunsText(f"Runs: {'; '.join(f'{model} {run}' for model, run in names)}.", names)]
