"""The report's numbers as one tidy table, ``report_numbers``: a row for each printed or added one.

An exhibit yields `Cells`: numbers of ours that share a table and a source. `rows_of` puts them
beside what the paper prints (``conf/published``) and names what each comparison shows. Everything
that a reader sees of a number, in the page or by a query, comes from these rows.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from adnominal.analysis.estimates import Interval
from adnominal.analysis.papers import published
from adnominal.analysis.papers.published import Published
from adnominal.etl.lake.tables import TABLES
from adnominal.training.finished_runs import Run

SCHEMA = TABLES["report_numbers"].schema

EQUAL = "equal"
WITHIN = "within"
DIFFERS = "differs"
COMPARED = "compared but not recomputable"
OTHER_MODEL = "other model"
SIMULATED = "simulated"
NOT_RUN = "not run"
NOT_RECOMPUTABLE = "not recomputable"
ADDED = "added"

STATUSES: Mapping[str, str] = {
    EQUAL: "ours has the printed digits",
    WITHIN: "the printed number is in our interval, or ours within the printed ±",
    DIFFERS: "neither equal nor within",
    COMPARED: "the paper's rows are unpublished; ours are other rows",
    OTHER_MODEL: "ours is of another model than the paper's",
    SIMULATED: "from labels of simulated annotators, no result",
    NOT_RUN: "nothing in this lake gives the number",
    NOT_RECOMPUTABLE: "depends on data that the paper did not publish",
    ADDED: "a number of our own, without a printed one",
}
"""What each status says, in the order in which pages count them."""

REPRODUCED = (EQUAL, WITHIN)
"""The statuses of a number that agrees with the paper's."""

Value = float | Interval
Key = tuple[str, str]
CellValues = dict[Key, Value]


@dataclass(frozen=True)
class Cells:
    """Numbers of ours in one table, with the source that they share.

    Attributes:
        table: a table of ``conf/published`` (``table 6``), or the caption of one of our own.
        values: by (row, column). Where the unit is percent, shares from 0 to 1.
        unit: of a table of our own: percent, share, or what is counted; a printed table has its.
        decimals: digits after the point in a table of our own; 1 for percent, otherwise 2 if not
            given.
        interval: how the bounds were computed, if the intervals themselves do not say so.
        model: name of the model that the numbers are of; empty if they are of the rows alone.
        runs: the runs whose answers they come from.
        edition: edition of the rows.
        is_other_model: whether the model is not the one that the paper's cell is of.
        is_simulated: whether the numbers depend on labels of simulated annotators.
        note: a sentence about these cells.
    """

    table: str
    values: Mapping[Key, Value]
    unit: str = ""
    decimals: int | None = None
    interval: str = ""
    model: str = ""
    runs: Sequence[Run] = ()
    edition: str = ""
    is_other_model: bool = False
    is_simulated: bool = False
    note: str = ""


@dataclass(frozen=True)
class Source:
    """What the numbers of an exhibit share in the table.

    Attributes:
        paper: adept, plane, asp, sygns or across.
        exhibit: ``Table 6``, or the title of an exhibit of our own.
        printed: the tables of ``conf/published`` that it stands beside.
        command: the command that fills what is not run.
        versions: the tables of the lake that it reads, each with its version.
    """

    paper: str
    exhibit: str
    printed: Sequence[str] = ()
    command: str = ""
    versions: Mapping[str, int] = field(default_factory=dict)


Row = dict[str, Any]


def rows_of(source: Source, cells: Iterable[Cells]) -> list[Row]:
    """The rows of an exhibit: every printed number, with ours if there is one, then the added ones.

    Raises:
        ValueError: numbers beside a printed table for cells that it does not have.
    """
    own_tables: list[Cells] = []
    ours: dict[tuple[str, Key], tuple[Cells, Value]] = {}
    for entry in cells:
        if entry.table not in source.printed:
            own_tables.append(entry)
            continue
        for key, value in entry.values.items():
            ours[entry.table, key] = (entry, value)
    rows = []
    for name in source.printed:
        printed_cells = published.table(source.paper, name)
        unknown = [key for table, key in ours if table == name and key not in printed_cells]
        if unknown:
            raise ValueError(f"{source.paper}, {name} has no {'/'.join(unknown[0])}")
        for key, printed in printed_cells.items():
            rows.append(_printed_row(source, printed, ours.get((name, key))))
    for entry in own_tables:
        rows += _added_rows(source, entry)
    return rows


def table_of(rows: Sequence[Row]) -> pa.Table:
    """The rows as the table ``report_numbers``."""
    return pa.Table.from_pylist(list(rows), SCHEMA)


def percent_text(row: Row) -> str:
    """Our number in percent with its interval, if it has one: ``50.0 % [38.1, 61.9]``."""
    scale = 1.0 if row["unit"] == "percent" else 100.0
    text = f"{scale * row['ours']:.1f} %"
    if row.get("low") is None:
        return text
    low, high = scale * row["low"], scale * row["high"]
    return f"{text} [{low:.1f}, {high:.1f}]"


def _printed_row(source: Source, printed: Published, ours: tuple[Cells, Value] | None) -> Row:
    """The row of a printed number, with ours beside it if there is one."""
    notes = [printed.deviation]
    row = _row(source, printed.table, printed.row, printed.column) | {
        "published": printed.value,
        "printed": printed.printed,
        "decimals": printed.decimals,
        "unit": printed.unit or None,
    }
    if ours is None:
        row["status"] = NOT_RUN if printed.recomputable else NOT_RECOMPUTABLE
        row["command"] = source.command or None
    else:
        entry, value = ours
        row |= _our_columns(entry, value, printed.unit)
        row["status"] = _status(printed, entry, row)
        notes.append(entry.note)
    row["note"] = " ".join(note for note in notes if note) or None
    return row


def _added_rows(source: Source, entry: Cells) -> Iterator[Row]:
    """The rows of numbers that the paper does not print."""
    status = SIMULATED if entry.is_simulated else ADDED
    decimals = entry.decimals
    if decimals is None:
        decimals = 1 if entry.unit == "percent" else 2
    for (name, column), value in entry.values.items():
        yield {
            **_row(source, entry.table, name, column),
            **_our_columns(entry, value, entry.unit),
            "decimals": decimals,
            "unit": entry.unit or None,
            "status": status,
            "note": entry.note or None,
        }


def _row(source: Source, table: str, row: str, column: str) -> Row:
    """The beginning of a row of report_numbers: its place in the report, without a number yet."""
    versions = ", ".join(f"{name} {version}" for name, version in source.versions.items())
    return {
        "paper": source.paper,
        "exhibit": source.exhibit,
        "table_name": table,
        "row": row,
        "column": column,
        "runs": [],
        "versions": versions or None,
    }


def _our_columns(entry: Cells, value: Value, unit: str) -> Row:
    """Our number with its bounds in the unit of the paper, and where it comes from."""
    scale = 100.0 if unit == "percent" else 1.0
    columns: Row = {
        "runs": [run.id for run in entry.runs],
        "model": entry.model or None,
        "edition": entry.edition or None,
    }
    if not isinstance(value, Interval):
        return columns | {"ours": _finite(scale * value)}
    low = _finite(scale * value.low)
    high = _finite(scale * value.high)
    has_bounds = low is not None and high is not None
    return columns | {
        "ours": _finite(scale * value.estimate),
        "low": low,
        "high": high,
        "interval_kind": (entry.interval or value.kind or None) if has_bounds else None,
        "n": value.n,
    }


def _finite(value: float) -> float | None:
    """The value as a float; None in place of NaN, which a query could not compare."""
    return None if math.isnan(value) else float(value)


def _status(printed: Published, entry: Cells, row: Row) -> str:
    """What the comparison shows; a reason why it is none comes before its outcome."""
    if entry.is_simulated:
        return SIMULATED
    if not printed.recomputable:
        return COMPARED
    if entry.is_other_model:
        return OTHER_MODEL
    value = row["ours"]
    if value is None:
        return NOT_RUN
    if published.agrees(printed, value):
        return EQUAL
    low, high = row.get("low"), row.get("high")
    is_in_ours = low is not None and high is not None and low <= printed.value <= high
    is_in_printed = printed.spread is not None and abs(value - printed.value) <= printed.spread
    return WITHIN if is_in_ours or is_in_printed else DIFFERS
