"""Published numbers with ours beside them, in the layout that the paper has."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal

import pyarrow as pa

from analysis import published
from analysis.interval import Interval
from analysis.published import Published
from analysis.reporting.page import Block, NotRun, Table, Text

Ours = Mapping[tuple[str, str], float | Interval]
# Columns from which a table is turned, its rows becoming the columns.
_TURNED = 9
# Columns from which cells are kept narrow.
_NARROW = 6


def mean_over_runs(scores: Sequence[Interval]) -> Interval:
    """The mean of runs that differ in their seed (or round) alone, with Student's interval over
    the runs; of one run its own interval. `n` is the number of items of a run, the least.

    Raises:
        ValueError: no run.
    """
    if not scores:
        raise ValueError("no runs")
    if len(scores) == 1:
        return scores[0]
    level = scores[0].level
    mean, reach = student([own.estimate for own in scores], level)
    least = min(own.n for own in scores)
    return Interval(mean, max(0.0, mean - reach), min(1.0, mean + reach), least, level)


def student(values: Sequence[float], level: float = 0.95) -> tuple[float, float]:
    """The mean of two values or more, and how far Student's interval reaches to either side."""
    from scipy.stats import t

    mean = math.fsum(values) / len(values)
    spread = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (len(values) - 1))
    reach = float(t.ppf(0.5 + level / 2, len(values) - 1)) * spread / math.sqrt(len(values))
    return mean, reach


def percent(own: Interval) -> str:
    """``70.6 [68.4, 72.8]``, of shares."""
    estimate, low, high = (_number(100 * value, 1) for value in (own.estimate, own.low, own.high))
    return f"{estimate} [{low}, {high}]"


def comparison(
    paper: str,
    name: str,
    ours: Ours,
    *,
    caption: str,
    edition: str = "",
    command: str = "",
    reason: str = "",
) -> list[Block]:
    """A paper's table with ours in its cells, what deviates, and what was not run.

    `ours` is by (row, column), as `analysis.published.beside` takes it: shares where the paper has
    percentages. A cell has the printed number; ours with its interval; and ours less printed, with
    the interval of the difference (the printed number has none of its own) and a star where the
    printed number lies outside of it. `edition` is that of ours; `command` runs what the cells
    without ours want.
    """
    numbers = published.table(paper, name)
    beside = {
        (row["row"], row["column"]): row for row in published.beside(paper, name, ours).to_pylist()
    }
    some = any(row["status"] == "recomputed" for row in beside.values())
    wanting = any(row["status"] == "not run" for row in beside.values())
    # Of many columns intervals stand in lines of their own, or the page is too narrow.
    gap = "\n" if len({column for _, column in numbers}) > _NARROW else " "
    texts = {key: _cell(numbers[key], beside[key], some, gap) for key in numbers}
    unit = next(iter(numbers.values())).unit
    of = {"percent": ", in percent", "share": ", as shares", "": ""}.get(unit, f", {unit}")
    whose = f"; ours of edition {edition}" if edition else ""
    told = caption + of + (whose if some else " (as published)")
    statuses = Counter(str(row["status"]) for row in beside.values())
    blocks: list[Block] = [Table(told, _laid_out(texts), printed=dict(statuses))]
    remarks = _remarks(numbers, beside)
    if remarks:
        blocks.append(Text(remarks))
    if wanting and command:
        which = caption if not some else f"{caption}: cells without ours"
        blocks.append(NotRun(which, command, reason))
    return blocks


def _laid_out(texts: Mapping[tuple[str, str], str]) -> pa.Table:
    rows = list(dict.fromkeys(row for row, _ in texts))
    columns = list(dict.fromkeys(column for _, column in texts))
    if len(columns) >= _TURNED > len(rows):
        texts = {(column, row): text for (row, column), text in texts.items()}
        rows, columns = columns, rows
    found = {"": rows} | {column: [texts.get((row, column)) for row in rows] for column in columns}
    return pa.table({name: pa.array(values, pa.string()) for name, values in found.items()})


def _cell(own: Published, row: Mapping[str, object], some: bool, gap: str) -> str:
    if row["status"] != "recomputed":
        status = str(row["status"])
        return own.printed if status == "not run" and not some else f"{own.printed}\n{status}"
    here = row["ours"]
    assert isinstance(here, float)
    # What is exact must not be rounded to equality.
    digits = own.decimals if row["agrees"] or not own.exact else own.decimals + 3
    lines = [own.printed, f"ours {_number(here, digits)}"]
    low, high = row["low"], row["high"]
    if isinstance(low, float) and isinstance(high, float):
        lines[1] += f"{gap}[{_number(low, digits)}, {_number(high, digits)}]"
        # What rounds to the printed number is never outside of our interval.
        inside = low <= own.value <= high or own.approximate or row["agrees"]
        outside = "" if inside else " *"
        lines.append(
            f"{_signed(here - own.value, digits)}{gap}[{_signed(low - own.value, digits)}, "
            f"{_signed(high - own.value, digits)}]{outside}"
        )
    elif row["agrees"]:
        lines.append("equal")
    else:
        lines.append(_signed(here - own.value, digits))
    return "\n".join(lines)


def _rounded(value: float, digits: int) -> Decimal:
    # Halves go up, as papers round them; twelve digits hide what binary fractions add.
    return Decimal(f"{value:.12g}").quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)


def _number(value: float, digits: int) -> str:
    return f"{_rounded(value, digits):,f}".replace("-", "−")


def _signed(value: float, digits: int) -> str:
    # What rounds to nothing has no sign.
    rounded = _rounded(value, digits)
    return f"{rounded:+,f}".replace("-", "−") if rounded else f"{abs(rounded):f}"


def _remarks(
    numbers: Mapping[tuple[str, str], Published],
    beside: Mapping[tuple[str, str], Mapping[str, str]],
) -> str:
    """What the file says of single cells, then of the table."""
    deviations: dict[str, list[str]] = {}
    for (row, column), own in numbers.items():
        if own.deviation:
            deviations.setdefault(own.deviation, []).append(f"{row}, {column}")
    told = [f"{' and '.join(cells)}: {why}." for why, cells in deviations.items()]
    absent = dict.fromkeys(
        row for (row, _), own in beside.items() if own["status"] == "not recomputable"
    )
    if absent:
        told.append(f"Not recomputable: {'; '.join(absent)}.")
    note = next(iter(numbers.values())).note
    return " ".join([*told, note]).strip()
