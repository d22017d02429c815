"""Published numbers compared with ours, in the layout of the paper."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from adnominal.analysis.papers import published
from adnominal.analysis.papers.published import Beside
from adnominal.analysis.rendering.blocks import Block, NotRun, Table, Text
from adnominal.analysis.rendering.numbers import number, round_half_up
from adnominal.analysis.statistics import Interval

Ours = Mapping[tuple[str, str], float | Interval]
# Tables with at least this many columns are transposed.
_TURNED = 9
# Tables with at least this many columns get narrow cells.
_NARROW = 6


@dataclass(frozen=True)
class Missing:
    """The command that fills the cells without our numbers and, where not obvious, the reason."""

    command: str
    reason: str = ""


def comparison(
    paper: str,
    name: str,
    ours: Ours,
    caption: str,
    edition: str = "",
    missing: Missing | None = None,
) -> list[Block]:
    """A paper's table with our numbers in its cells, its deviations, and what was not run.

    `ours` maps (row, column) to a number as in `published.beside`: shares where the paper has
    percentages. A cell shows the printed number; ours with its interval; and ours minus printed,
    with the interval of ours shifted by the printed number, which has none, and a star where the
    printed number is outside our interval. `edition` is the edition of our numbers.
    """
    numbers = published.beside(paper, name, ours)
    statuses = Counter(cell.status for cell in numbers.values())
    any_ours = bool(statuses["recomputed"])
    # With many columns, intervals have separate lines so that the table fits the page.
    gap = "\n" if len({column for _, column in numbers}) > _NARROW else " "
    texts = {key: _cell(cell, any_ours, gap) for key, cell in numbers.items()}
    unit = next(iter(numbers.values())).printed.unit
    title = caption + {"percent": ", in percent", "share": ", as shares", "": ""}.get(
        unit, f", {unit}"
    )
    if not any_ours:
        title += " (as published)"
    elif edition:
        title += f"; ours of edition {edition}"
    blocks: list[Block] = [Table(title, _layout(texts), printed=dict(statuses))]
    remarks = _remarks(numbers)
    if remarks:
        blocks.append(Text(remarks))
    if statuses["not run"] and missing is not None:
        cells = f"{caption}: cells without ours" if any_ours else caption
        blocks.append(NotRun(cells, missing.command, missing.reason))
    return blocks


def _layout(texts: Mapping[tuple[str, str], str]) -> pa.Table:
    rows = list(dict.fromkeys(row for row, _ in texts))
    columns = list(dict.fromkeys(column for _, column in texts))
    if len(columns) >= _TURNED > len(rows):
        texts = {(column, row): text for (row, column), text in texts.items()}
        rows, columns = columns, rows
    cells = {"": rows} | {column: [texts.get((row, column)) for row in rows] for column in columns}
    return pa.table({name: pa.array(values, pa.string()) for name, values in cells.items()})


def _cell(cell: Beside, any_ours: bool, gap: str) -> str:
    """The lines of a cell: the printed number, ours, and ours minus printed.

    `any_ours` tells whether any cell of the table has a number of ours, and `gap` stands between a
    number and its interval.
    """
    printed = cell.printed
    if cell.ours is None:
        if cell.status == "not run" and not any_ours:
            return printed.printed
        return f"{printed.printed}\n{cell.status}"
    digits = printed.decimals
    # A different number must not be rounded to equality with an exact one.
    if printed.exact and not cell.agrees:
        digits += 3
    ours = f"ours {number(cell.ours, digits)}"
    difference = _signed(cell.ours - printed.value, digits)
    if cell.low is None or cell.high is None:
        if cell.agrees:
            difference = "equal"
        return "\n".join([printed.printed, ours, difference])
    low = number(cell.low, digits)
    high = number(cell.high, digits)
    low_difference = _signed(cell.low - printed.value, digits)
    high_difference = _signed(cell.high - printed.value, digits)
    # A number that rounds to the printed one counts as inside our interval.
    inside = cell.low <= printed.value <= cell.high or printed.approximate or cell.agrees
    star = "" if inside else " *"
    ours = f"{ours}{gap}[{low}, {high}]"
    difference = f"{difference}{gap}[{low_difference}, {high_difference}]{star}"
    return "\n".join([printed.printed, ours, difference])


def _signed(value: float, digits: int) -> str:
    # A number that rounds to zero has no sign.
    decimal = round_half_up(value, digits)
    return f"{decimal:+,f}".replace("-", "−") if decimal else f"{abs(decimal):f}"


def _remarks(numbers: Mapping[tuple[str, str], Beside]) -> str:
    """The published file's remarks on single cells, then on the table."""
    deviations: dict[str, list[str]] = {}
    for (row, column), cell in numbers.items():
        if cell.printed.deviation:
            deviations.setdefault(cell.printed.deviation, []).append(f"{row}, {column}")
    sentences = [f"{' and '.join(cells)}: {why}." for why, cells in deviations.items()]
    not_recomputable = dict.fromkeys(
        row for (row, _), cell in numbers.items() if cell.status == "not recomputable"
    )
    if not_recomputable:
        sentences.append(f"Not recomputable: {'; '.join(not_recomputable)}.")
    note = next(iter(numbers.values())).printed.note
    return " ".join([*sentences, note]).strip()
