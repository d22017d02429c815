"""What the page shows of sections and their numbers, for its templates.

A template gets texts that are ready to print and decides only where they stand.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

import pyarrow as pa

from adnominal.analysis.estimates import STANDARD_DEVIATION
from adnominal.analysis.page import figures
from adnominal.analysis.papers.exhibits import Chart, Examples, Missing, Note, Section
from adnominal.analysis.report_numbers import (
    ADDED,
    COMPARED,
    DIFFERS,
    EQUAL,
    NOT_RECOMPUTABLE,
    NOT_RUN,
    OTHER_MODEL,
    REPRODUCED,
    SIMULATED,
    WITHIN,
    Row,
)

# A table with more columns than this is turned if it has fewer rows.
_MOST_COLUMNS = 8
# A table with more columns than this is set smaller.
_MOST_LARGE = 6
# Of a longer table the first rows are shown and the others folded, unless these are only a few.
_FIRST_ROWS = 5
_FIRST_TEXTS = 3
_FEW_ROWS = 3

# The words and colours of a cell's status; others show nothing beside the number.
_STATUS_CLASSES = {
    EQUAL: "equal",
    WITHIN: "within",
    DIFFERS: "differs",
    COMPARED: "compared",
    OTHER_MODEL: "other",
    SIMULATED: "simulated",
}


@dataclass(frozen=True)
class Cell:
    """A cell of a table of numbers.

    Attributes:
        printed: the number as the paper prints it; empty where it prints none.
        ours: our number; empty where there is none.
        bounds: the interval of ours, ``[68.4, 72.8]``.
        difference: ours minus printed, where they differ.
        status: class of the cell in the style sheet.
        hint: what the comparison shows, with the note, for hover and focus.
    """

    printed: str
    ours: str
    bounds: str
    difference: str
    status: str
    hint: str


NamedCells = tuple[str, Sequence[Cell]]


@dataclass(frozen=True)
class NumberTable:
    """A table of numbers: names of the columns, then each row's name and cells.

    `name` is that of the rows in ``report_numbers``. The page shows the rows `first` at once and
    the `others` folded; where nothing is ours, or simulated labels give a table that the paper does
    not have, the whole table `is_folded`.
    """

    name: str
    caption: str
    columns: Sequence[str]
    first: Sequence[NamedCells]
    others: Sequence[NamedCells]
    is_folded: bool
    is_small: bool
    is_simulated: bool
    is_printed: bool
    has_ours: bool
    notes: Sequence[str]
    sources: str

    @property
    def rows(self) -> list[NamedCells]:
        """All rows."""
        return [*self.first, *self.others]


@dataclass(frozen=True)
class Figure:
    """A drawn chart: its SVG for the page, the same as a file, the caption, and the tables of the
    numbers that it shows, which are folded below it."""

    anchor: str
    caption: str
    picture: str
    file: str
    tables: Sequence[NumberTable]


@dataclass(frozen=True)
class TextTable:
    """Rows to be read: the `first` at once, the `others` folded."""

    caption: str
    columns: Sequence[str]
    first: Sequence[Sequence[str]]
    others: Sequence[Sequence[str]]
    is_simulated: bool


@dataclass(frozen=True)
class SectionView:
    """An exhibit on the page, its parts in the order in which they are read.

    `missing` has the results that a command gives, `unavailable` those that cannot be had.
    """

    anchor: str
    title: str
    about: str
    state: str
    tables: Sequence[NumberTable]
    figures: Sequence[Figure]
    texts: Sequence[TextTable]
    notes: Sequence[str]
    missing: Sequence[Missing]
    unavailable: Sequence[Missing]


@dataclass(frozen=True)
class PaperView:
    """A paper on the page: its summary, then what was run, then what was not.

    `unfinished` has the exhibits that lack a result, whether they are shown or not.
    """

    anchor: str
    title: str
    citation: str
    summary: str
    headline: str
    shown: Sequence[SectionView]
    not_run: Sequence[SectionView]
    unfinished: Sequence[SectionView]


def paper_view(
    anchor: str, title: str, citation: str, headline: str, sections: Sequence[Section]
) -> PaperView:
    """The view of a paper's sections."""
    views = [section_view(section) for section in sections]
    return PaperView(
        anchor=anchor,
        title=title,
        citation=citation,
        summary=summary(views),
        headline=headline,
        shown=[view for view in views if view.state != NOT_RUN],
        not_run=[view for view in views if view.state == NOT_RUN],
        unfinished=[view for view in views if view.missing or view.state == NOT_RUN],
    )


def summary(sections: Sequence[SectionView]) -> str:
    """``2 of 12 exhibits reproduced, 3 compared, 8 not run``."""
    counts = Counter(section.state for section in sections)
    prints_numbers = counts["shown"] + counts[NOT_RUN] < len(sections)
    parts = [f"{len(sections)} exhibits"]
    if prints_numbers:
        parts = [f"{counts.pop('reproduced', 0)} of {len(sections)} exhibits reproduced"]
    states = ("compared", "shown", NOT_RUN, NOT_RECOMPUTABLE)
    parts += [f"{counts[state]} {state}" for state in states if counts[state]]
    return ", ".join(parts)


def state_of(section: Section) -> str:
    """reproduced (every number that can be recomputed agrees), compared, shown (it prints no
    numbers), not recomputable, or not run."""
    printed = [row["status"] for row in section.rows if row.get("printed") is not None]
    possible = [status for status in printed if status != NOT_RECOMPUTABLE]
    if printed and not possible:
        return NOT_RECOMPUTABLE
    if possible and all(status in REPRODUCED for status in possible):
        return "reproduced"
    if any(status != NOT_RUN for status in possible):
        return "compared"
    has_content = any(
        isinstance(finding, Examples) or (isinstance(finding, Chart) and not finding.published)
        for finding in section.findings
    )
    has_numbers = any(row["status"] in (ADDED, SIMULATED) for row in section.rows)
    return "shown" if has_content or has_numbers else NOT_RUN


def section_view(section: Section) -> SectionView:
    """The view of a section."""
    charts = [finding for finding in section.findings if isinstance(finding, Chart)]
    examples = [finding for finding in section.findings if isinstance(finding, Examples)]
    missing = [finding for finding in section.findings if isinstance(finding, Missing)]
    tables = list(number_tables(section))
    figures_of_section = []
    for number, chart in enumerate(charts, 1):
        folded = [table for table in tables if _shows_all_of(chart, table)]
        tables = [table for table in tables if table not in folded]
        anchor = f"{section.anchor}-{number}"
        figures_of_section.append(_figure(anchor, chart, section.rows, folded))
    return SectionView(
        anchor=section.anchor,
        title=section.title,
        about=section.about,
        state=state_of(section),
        tables=tables,
        figures=figures_of_section,
        texts=[_text_table(entry) for entry in examples],
        notes=[finding.text for finding in section.findings if isinstance(finding, Note)],
        missing=[finding for finding in missing if finding.command],
        unavailable=[finding for finding in missing if not finding.command],
    )


def _shows_all_of(chart: Chart, table: NumberTable) -> bool:
    """Whether the figure shows what the table does; a figure shows either ours or what is
    printed."""
    if table.name not in chart.tables:
        return False
    return not (table.has_ours if chart.published else table.is_printed)


def number_tables(section: Section) -> Iterator[NumberTable]:
    """The tables of a section's numbers; those that only a figure shows are left to it."""
    drawn = {
        table
        for finding in section.findings
        if isinstance(finding, Chart) and finding.only_drawn
        for table in finding.tables
    }
    by_table: dict[str, list[Row]] = {}
    for row in section.rows:
        by_table.setdefault(row["table_name"], []).append(row)
    for name, rows in by_table.items():
        if name not in drawn:
            yield _number_table(section, name, rows)


def _number_table(section: Section, name: str, rows: Sequence[Row]) -> NumberTable:
    """A table of numbers, its longer side downwards if it is wide."""
    cells = {(row["row"], row["column"]): _cell(row) for row in rows}
    names = list(dict.fromkeys(row for row, _ in cells))
    columns = list(dict.fromkeys(column for _, column in cells))
    if len(columns) > _MOST_COLUMNS and len(names) < len(columns):
        cells = {(column, row): cell for (row, column), cell in cells.items()}
        names, columns = columns, names
    empty = Cell("", "", "", "", "", "")
    named = [(row, [cells.get((row, column), empty) for column in columns]) for row in names]
    first, others = _split_rows(named)
    is_printed = name in section.printed
    has_ours = any(row.get("ours") is not None for row in rows)
    is_simulated = any(row["status"] == SIMULATED for row in rows)
    return NumberTable(
        name=name,
        caption=_caption(section, name, rows),
        columns=columns,
        first=first,
        others=others,
        is_folded=not has_ours or (is_simulated and not is_printed),
        is_small=len(columns) > _MOST_LARGE,
        is_simulated=is_simulated,
        is_printed=is_printed,
        has_ours=has_ours,
        notes=_notes(rows),
        sources=_sources(rows),
    )


def _split_rows(named: Sequence[NamedCells]) -> tuple[list[NamedCells], list[NamedCells]]:
    """The rows to show and the rows to fold, which are those without a number of ours if others
    have one, and those of a long table after its first."""
    with_ours = [entry for entry in named if any(cell.ours for cell in entry[1])]
    shown = with_ours or named
    if len(shown) > _FIRST_ROWS + _FEW_ROWS:
        shown = shown[:_FIRST_ROWS]
    shown_names = {name for name, _ in shown}
    return list(shown), [entry for entry in named if entry[0] not in shown_names]


def _caption(section: Section, name: str, rows: Sequence[Row]) -> str:
    """The table's name, its unit, and whether it has published numbers only."""
    is_printed = name in section.printed
    caption = name[0].upper() + name[1:]
    unit = rows[0].get("unit")
    words = {"percent": "in percent", "share": "as shares", None: ""}.get(unit, unit)
    parts = [caption, words or ""]
    if is_printed and all(row.get("ours") is None for row in rows):
        parts.append("as published")
    return ", ".join(part for part in parts if part)


def _notes(rows: Iterable[Row]) -> list[str]:
    """The remarks on cells, each once with the cells that it is about."""
    about: dict[str, list[str]] = {}
    for row in rows:
        if row.get("note"):
            about.setdefault(row["note"], []).append(f"{row['row']}, {row['column']}")
    return [
        note if len(cells) > 3 else f"{'; '.join(cells)}: {note}" for note, cells in about.items()
    ]


def _sources(rows: Iterable[Row]) -> str:
    """The models and editions that our numbers are of."""
    with_ours = [row for row in rows if row.get("ours") is not None]
    models = dict.fromkeys(row["model"] for row in with_ours if row.get("model"))
    editions = dict.fromkeys(row["edition"] for row in with_ours if row.get("edition"))
    parts = []
    if models:
        parts.append(", ".join(models))
    if editions:
        parts.append(f"edition {', '.join(editions)}")
    return "; ".join(parts)


def _cell(row: Row) -> Cell:
    """A number as the page shows it: printed, ours, interval, difference, status."""
    printed, ours = _with_separators(row.get("printed") or ""), row.get("ours")
    if ours is None:
        return Cell(printed, "", "", "", "", row["status"] if printed else "")
    status = row["status"]
    digits = row["decimals"]
    # A number that differs only behind the printed digits must not look equal.
    if printed and status == DIFFERS and number(ours, digits) == number(row["published"], digits):
        digits += 3
    bounds = ""
    if row.get("interval_kind") == STANDARD_DEVIATION:
        bounds = f"± {number((row['high'] - row['low']) / 2, digits)}"
    elif row.get("low") is not None:
        bounds = f"[{number(row['low'], digits)}, {number(row['high'], digits)}]"
    difference = ""
    if printed and status in (DIFFERS, COMPARED, OTHER_MODEL):
        difference = signed_number(ours - row["published"], digits)
    hint = [status if printed else "", row.get("interval_kind") or "", row.get("note") or ""]
    return Cell(
        printed,
        number(ours, digits),
        bounds,
        difference,
        _STATUS_CLASSES.get(status, ""),
        "; ".join(part for part in hint if part),
    )


def _with_separators(printed: str) -> str:
    """The printed number with its thousands separated, as ours have them."""
    return re.sub(r"(?<![.\d])\d{4,}", lambda digits: f"{int(digits[0]):,}", printed)


def _figure(
    anchor: str, chart: Chart, rows: Sequence[Row], tables: Sequence[NumberTable]
) -> Figure:
    file = figures.svg(figures.draw(chart, rows))
    caption = chart.caption
    if chart.kind == "matrix":
        caption += ". Shades show the share of the row, percentages the share of all items."
    return Figure(anchor, caption, figures.for_page(file, anchor), file, tables)


def _text_table(entry: Examples) -> TextTable:
    columns = [name.replace("_", " ") for name in entry.data.column_names]
    texts = [[_text(value) for value in column.to_pylist()] for column in entry.data.columns]
    rows = [list(row) for row in zip(*texts, strict=True)]
    size = _FIRST_TEXTS if len(rows) > _FIRST_TEXTS + _FEW_ROWS else len(rows)
    return TextTable(entry.caption, columns, rows[:size], rows[size:], entry.is_simulated)


def _text(value: object) -> str:
    """A value as text for readers."""
    match value:
        case None:
            return "–"
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return number(value, 2)
        case _:
            return str(value)


def round_half_up(value: float, digits: int) -> Decimal:
    """Round the value to `digits`; halves are rounded up, as in papers."""
    # Rounding to twelve digits first hides binary representation errors.
    return Decimal(f"{value:.12g}").quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)


def number(value: float, digits: int) -> str:
    """Format a number as ``1,234.5``, with a typographic minus sign if it is negative."""
    return f"{round_half_up(value, digits):,f}".replace("-", "−")


def signed_number(value: float, digits: int) -> str:
    """Format a difference as ``+1.4`` or ``−0.2``; one that rounds to zero has no sign."""
    rounded = round_half_up(value, digits)
    return f"{rounded:+,f}".replace("-", "−") if rounded else f"{abs(rounded):f}"


def contents(rows: pa.Table) -> TextTable:
    """The contents of the lake, folded at the end of the first screen."""
    return _text_table(Examples("Tables of the lake", rows))


Facts = Mapping[str, str]
"""What the first screen says of the report: lake, edition, date, commit, machine."""
