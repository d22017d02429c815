"""What a report is made of: sections of text, tables and figures, and what has not been run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa
from matplotlib.figure import Figure

__all__ = ["Block", "FigureBlock", "NotRun", "Section", "Sections", "Table", "Text", "Unavailable"]


@dataclass(frozen=True)
class Text:
    """A paragraph: plain text, without markup."""

    text: str


@dataclass(frozen=True)
class Table:
    """A table as it is to be read: `data` has a row a row, numbers already rounded for print where
    they are text, and rounded by the writer to `digits` where they are floating point."""

    caption: str
    data: pa.Table
    digits: int = 2


@dataclass(frozen=True)
class FigureBlock:
    """A figure, and the table that it plots."""

    caption: str
    figure: Figure
    data: pa.Table


@dataclass(frozen=True)
class NotRun:
    """A table or figure of a paper without data of ours yet: what it is, and the command to run."""

    caption: str
    command: str


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


# A page's module has `sections(lake, runs) -> list[Section]`.
Sections: TypeAlias = Callable[..., Sequence[Section]]
