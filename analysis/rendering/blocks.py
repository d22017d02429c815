"""The parts of a report: sections of text, tables and figures, and what has not been run."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import pyarrow as pa
from matplotlib.figure import Figure


@dataclass(frozen=True)
class Text:
    """A paragraph: plain text, without markup."""

    text: str


@dataclass(frozen=True)
class RunsText(Text):
    """The runs that a table or figure is based on, as (model, id) and in words."""

    runs: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Table:
    """A table as readers see it.

    Attributes:
        data: its rows. Text is printed unchanged and may have several lines; floating-point numbers
            are rounded to `digits`; underscores in column names become spaces.
        folded: whether only the caption is shown until the reader opens it.
        printed: how many cells of a paper's table have each status (`published.beside`); empty for
            a table of our own.
    """

    caption: str
    data: pa.Table
    digits: int = 2
    folded: bool = False
    printed: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class FigureBlock:
    """A figure, and the table that it plots."""

    caption: str
    figure: Figure
    data: pa.Table


@dataclass(frozen=True)
class NotRun:
    """A table or figure for which we have no data yet: its caption, the command that makes the data
    (with ``lake=LAKE`` for the report's lake) and, where it is not obvious, what is missing."""

    caption: str
    command: str
    reason: str = ""


@dataclass(frozen=True)
class Unavailable:
    """A table or figure that cannot be made from published data: its caption and the reason."""

    caption: str
    reason: str


Block: TypeAlias = Text | Table | FigureBlock | NotRun | Unavailable


@dataclass(frozen=True)
class Section:
    """A table, figure or section of a paper, or one of our own, with its anchor."""

    anchor: str
    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Part:
    """A paper's page: its sections under one heading."""

    anchor: str
    title: str
    sections: Sequence[Section]


@dataclass(frozen=True)
class Report:
    """A whole report."""

    title: str
    opening: Sequence[Block]
    parts: Sequence[Part]


def blocks_by_anchor(report: Report) -> Iterator[tuple[str, Block]]:
    """Every block with its anchor, which names its picture and its data file."""
    for number, block in enumerate(report.opening, 1):
        yield f"opening-{number}", block
    for part in report.parts:
        for section in part.sections:
            for number, block in enumerate(section.blocks, 1):
                yield f"{section.anchor}-{number}", block


def cells(table: Table) -> tuple[list[str], list[bool], list[list[str]]]:
    """A table as text: column names, whether each column is numeric, and the cells row by row.

    Floating-point numbers are rounded to the table's digits, integers get thousands separators,
    Booleans become yes and no, and nulls become a dash.
    """
    data = table.data
    numeric = [pa.types.is_integer(f.type) or pa.types.is_floating(f.type) for f in data.schema]
    columns = [
        [_text(value, table.digits) for value in column.to_pylist()] for column in data.columns
    ]
    names = [name.replace("_", " ") for name in data.column_names]
    return names, numeric, [list(row) for row in zip(*columns, strict=True)]


def _text(value: Any, digits: int) -> str:
    match value:
        case None:
            return "–"
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return "–" if value != value else f"{value:,.{digits}f}".replace("-", "−")
        case _:
            return str(value)
