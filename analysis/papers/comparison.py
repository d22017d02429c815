"""Published numbers compared with ours, in the layout of the paper."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from analysis.inference.intervals import Interval
from analysis.papers import published
from analysis.papers.published import Beside
from analysis.rendering.blocks import Block, NotRun, Table, Text
from analysis.rendering.numbers import number, round_half_up

Ours = Mapping[tuple[str, str], float | Interval]
# Columns from which a table is turned, its rows becoming the columns.
_TURNED = 9
# Columns from which cells are kept narrow.
_NARROW = 6


@dataclass(frozen=True)
class Missing:
    """The command that makes what cells without ours lack, and, where it is not plain, why."""

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
    """A paper's table with ours in its cells, what deviates, and what was not run.

    `ours` is by (row, column), as `published.beside` takes it: shares where the paper has
    percentages. A cell has the printed number; ours with its interval; and ours less printed, with
    the interval of the difference (the printed number has none of its own) and a star where the
    printed number lies outside of it. `edition` is that of ours.
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
    printed, ours, low, high = cell.printed, cell.ours, cell.low, cell.high
    if ours is None:
        plain = cell.status == "not run" and not any_ours
        return printed.printed if plain else f"{printed.printed}\n{cell.status}"
    # What is exact must not be rounded to equality.
    digits = printed.decimals if cell.agrees or not printed.exact else printed.decimals + 3
    lines = [printed.printed, f"ours {number(ours, digits)}"]
    if low is not None and high is not None:
        lines[1] += f"{gap}[{number(low, digits)}, {number(high, digits)}]"
        # What rounds to the printed number is never outside of our interval.
        inside = low <= printed.value <= high or printed.approximate or cell.agrees
        difference, *ends = (_signed(value - printed.value, digits) for value in (ours, low, high))
        lines.append(f"{difference}{gap}[{', '.join(ends)}]{'' if inside else ' *'}")
    else:
        lines.append("equal" if cell.agrees else _signed(ours - printed.value, digits))
    return "\n".join(lines)


def _signed(value: float, digits: int) -> str:
    # What rounds to nothing has no sign.
    decimal = round_half_up(value, digits)
    return f"{decimal:+,f}".replace("-", "−") if decimal else f"{abs(decimal):f}"


def _remarks(numbers: Mapping[tuple[str, str], Beside]) -> str:
    """The remarks of the file on single cells, then on the table."""
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
