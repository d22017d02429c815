"""The numbers that the four papers print: ``conf/published/PAPER.yaml``.

A file has ``paper``, ``citation`` and ``tables``. A table has

table             the paper's name for it (``table 5``; parts of a table as ``table 4, two``)
title, unit       what the numbers are; unit is percent, share, Cohen's kappa, or absent for counts
columns           names of the columns
rows              a name and its numbers, one per column, as printed: 66.4, 69.9 ± 38, ~7800,
                  >50000, or null for an empty cell
not_recomputable  rows that depend on unpublished data
exact             true if the numbers are exact and nothing is rounded (0.9 does not equal 1)
deviations        ROW/COLUMN: why the printed number differs from what its rule gives
note              any other remark, for readers of the file
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from adnominal.conf import UserError

PAPERS = ("adept", "plane", "asp", "sygns")
# libyaml reads the files in a tenth of the time, where PyYAML was built with it.
_LOADER = yaml.CBaseLoader if yaml.__with_libyaml__ else yaml.BaseLoader
_UNITS = ("percent", "share", "Cohen's kappa", "")
_REQUIRED = {"table", "title", "columns", "rows"}
_OPTIONAL = {"unit", "not_recomputable", "exact", "deviations", "note"}
_NUMBER = re.compile(r"[~>]?(?P<value>\d*\.?\d+)(?: ± (?P<spread>\d*\.?\d+))?")


@dataclass(frozen=True)
class Published:
    """A printed number.

    Attributes:
        printed: as in the paper, ``69.9 ± 38``; its digits set the precision of comparisons.
        value: 69.9.
        recomputable: whether the number can be computed from available data.
        deviation: why the printed number differs from what its rule gives; empty if it does not.
        exact: whether the printed number is exact, not rounded.
    """

    table: str
    row: str
    column: str
    printed: str
    value: float
    unit: str
    recomputable: bool
    deviation: str
    exact: bool = False

    @property
    def decimals(self) -> int:
        """Digits after the decimal point, as printed."""
        return len(_parts(self.printed)["value"].partition(".")[2])

    @property
    def spread(self) -> float | None:
        """The number after ±, a standard deviation; None without one."""
        spread = _parts(self.printed)["spread"]
        return float(spread) if spread else None


def _parts(printed: str) -> dict[str, str]:
    match = _NUMBER.fullmatch(printed)
    if match is None:
        raise ValueError(f"{printed!r} is not a number like 66.4, 69.9 ± 38, ~7800 or >50000")
    return match.groupdict(default="")


@cache
def load(paper: str) -> tuple[Published, ...]:
    """Every number of a paper, in the order of its tables.

    Raises:
        UserError: no such paper, or its file breaks the rules above (all faults are listed).
    """
    return parse(paper, _text(paper))


@cache
def citation(paper: str) -> str:
    """The paper in one line."""
    return " ".join(str(_document(paper, _text(paper))["citation"]).split())


def _text(paper: str) -> str:
    if paper not in PAPERS:
        raise UserError(f"paper={paper}: expected one of {', '.join(PAPERS)}")
    return (files("adnominal.conf") / "published" / f"{paper}.yaml").read_text(encoding="utf-8")


@cache
def _document(paper: str, text: str) -> Mapping[str, Any]:
    # Scalars remain text: a printed 85.0 must not become 85.
    document = yaml.load(text, Loader=_LOADER)
    if not isinstance(document, dict) or set(document) != {"paper", "citation", "tables"}:
        raise UserError(f"published/{paper}.yaml: expected the keys paper, citation and tables")
    return document


def parse(paper: str, text: str) -> tuple[Published, ...]:
    """Parse the text of a file into its numbers; `load` reads the files of the package.

    Raises:
        UserError: the text breaks the rules; all faults are listed.
    """
    document = _document(paper, text)
    faults: list[str] = []
    numbers: list[Published] = []
    if document["paper"] != paper:
        faults.append(f"paper is {document['paper']!r}")
    for entry in document["tables"]:
        numbers += _table(entry, faults)
    names = [(number.table, number.row, number.column) for number in numbers]
    faults += sorted({f"{'/'.join(n)} is there twice" for n in names if names.count(n) > 1})
    if faults:
        raise UserError(f"published/{paper}.yaml: {len(faults)} faults: {'; '.join(faults)}")
    return tuple(numbers)


def _table(entry: Mapping[str, Any], faults: list[str]) -> Iterator[Published]:
    name = entry.get("table", "a table without name")
    unknown = sorted(set(entry) - _REQUIRED - _OPTIONAL)
    missing = sorted(_REQUIRED - set(entry))
    if unknown or missing:
        faults.append(f"{name}: unknown keys {unknown}, missing keys {missing}")
        return
    unit = entry.get("unit", "")
    if unit not in _UNITS:
        faults.append(f"{name}: unit {unit!r}; expected one of {', '.join(filter(None, _UNITS))}")
    columns: Sequence[str] = entry["columns"]
    rows: Mapping[str, Any] = entry["rows"]
    not_recomputable = entry.get("not_recomputable", [])
    deviations = dict(entry.get("deviations", {}))
    faults += [
        f"{name}: not_recomputable names {row!r}, no row"
        for row in not_recomputable
        if row not in rows
    ]
    for row, cells in rows.items():
        numbers = [cells] if isinstance(cells, str) else cells
        if len(numbers) != len(columns):
            faults.append(f"{name}, {row}: {len(numbers)} numbers for {len(columns)} columns")
            continue
        for column, printed in zip(columns, numbers, strict=True):
            deviation = deviations.pop(f"{row}/{column}", "")
            if printed == "null":
                continue
            try:
                parts = _parts(printed)
            except ValueError as error:
                faults.append(f"{name}, {row}, {column}: {error}")
                continue
            yield Published(
                table=name,
                row=row,
                column=column,
                printed=printed,
                value=float(parts["value"]),
                unit=unit,
                recomputable=row not in not_recomputable,
                deviation=deviation,
                exact=entry.get("exact") == "true",
            )
    faults += [f"{name}: deviations names {key!r}, no cell" for key in deviations]


def table(paper: str, name: str) -> dict[tuple[str, str], Published]:
    """A table's numbers by (row, column).

    Raises:
        UserError: the paper has no such table.
    """
    cells = {(number.row, number.column): number for number in load(paper) if number.table == name}
    if not cells:
        names = dict.fromkeys(number.table for number in load(paper))
        raise UserError(f"{paper} has no {name!r}; it has {', '.join(names)}")
    return cells


def value(paper: str, name: str, row: str, column: str) -> Published:
    """One number.

    Raises:
        UserError: the table has no such row and column.
    """
    cells = table(paper, name)
    if (row, column) not in cells:
        known = ", ".join(f"{r}/{c}" for r, c in cells)
        raise UserError(f"{paper}, {name} has no {row}/{column}; it has {known}")
    return cells[row, column]


def agrees(published: Published, ours: float) -> bool:
    """Whether our number, in the paper's unit, rounds to the printed digits (halves may round
    either way); if the printed number is exact, whether ours is equal."""
    if published.exact:
        return abs(ours - published.value) < 1e-9
    # Twelve digits: 56.25 must not become 56.2499999 when computed from a share.
    exact = Decimal(f"{ours:.12g}")
    digit = Decimal(1).scaleb(-published.decimals)
    printed = Decimal(_parts(published.printed)["value"])
    return printed in (
        exact.quantize(digit, ROUND_HALF_UP),
        exact.quantize(digit, ROUND_HALF_EVEN),
    )
