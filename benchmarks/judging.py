"""Sheets of samples that people judge, and the shares of what they judged right."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.harness import Measurement
from etl.annotation.agreement import wilson

Row = TypeVar("Row")


def in_turn(strata: Sequence[Sequence[Row]], size: int) -> list[Row]:
    """`size` members, one of each stratum in turn, from the beginning of each."""
    longest = max(map(len, strata), default=0)
    turns = (stratum[at] for at in range(longest) for stratum in strata if at < len(stratum))
    return [member for member, _ in zip(turns, range(size), strict=False)]


def print_sheet(rows: Sequence[Any], judgements: Sequence[str]) -> None:
    """Print a sheet to judge, tab-separated: the fields of the rows, and empty columns."""
    print("\t".join([*rows[0]._fields, *judgements]))
    for row in rows:
        print("\t".join([*row, *[""] * len(judgements)]))


def measurements(
    parts: Callable[[Any], Mapping[str, Measurement]],
    sample: Callable[[Any], Sequence[Any]],
    judgements: Sequence[str],
) -> Callable[[Any], Mapping[str, Measurement]]:
    """The parts of a case; none where sheet=SEED asks for a fresh sample, which is printed."""

    def measurements_or_sheet(settings: Any) -> Mapping[str, Measurement]:
        if settings.sheet is None:
            return parts(settings)
        print_sheet(sample(settings), judgements)
        return {}

    return measurements_or_sheet


def read(path: Path) -> list[dict[str, str]]:
    """The rows of a judged sheet."""
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines, delimiter="\t"))


def share(right: int, size: int) -> list[float]:
    """How many of how many are right, and the bounds of Wilson's 95 % interval in per cent."""
    return [right, size, *(100 * bound for bound in wilson(right, size))]
