"""What a report is made of: sections of text, tables and figures, and what has not been run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import pyarrow as pa
from matplotlib.figure import Figure

from conf import UserError


@dataclass(frozen=True)
class Text:
    """A paragraph: plain text, without markup."""

    text: str


@dataclass(frozen=True)
class RunsText(Text):
    """The runs that a table or figure is of, as (model, id) and in words."""

    runs: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Table:
    """A table as readers see it.

    Attributes:
        data: its rows. Text is printed as it is and may have several lines; floating-point numbers
            are rounded to `digits`; underscores in the names of columns become spaces.
        folded: whether only the caption shows until the reader opens it.
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
    """A table or figure without data of ours yet: what it is, the command that makes them (with
    ``lake=LAKE`` for the lake of the report), and, where it is not obvious, what is missing."""

    caption: str
    command: str
    reason: str = ""


@dataclass(frozen=True)
class Unavailable:
    """A table or figure that nothing published would give: what it is, and why."""

    caption: str
    reason: str


Block: TypeAlias = Text | Table | FigureBlock | NotRun | Unavailable


@dataclass(frozen=True)
class Section:
    """A table, figure or section of a paper, or a page of our own, with its anchor."""

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


def build_blocks(caption: str, command: str, build: Callable[[], Sequence[Block]]) -> list[Block]:
    """The blocks; where `build` raises a UserError (a table or an edition is missing), the reason
    and the command that makes the data, so that one section without data never stops the others."""
    try:
        return list(build())
    except UserError as error:
        return [NotRun(caption, command, str(error))]


def blocks_by_anchor(report: Report) -> Iterator[tuple[str, Block]]:
    """Every block with the anchor that its picture and the file of its data are named after."""
    for number, block in enumerate(report.opening, 1):
        yield f"opening-{number}", block
    for part in report.parts:
        for section in part.sections:
            for number, block in enumerate(section.blocks, 1):
                yield f"{section.anchor}-{number}", block


def cells(table: Table) -> tuple[list[str], list[bool], list[list[str]]]:
    """A table as text: names of columns, which of them are numbers, and the cells row by row.

    Floating point is rounded to the table's digits, whole numbers get thousands separators, truth
    values are yes and no, and what is null is a dash.
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
