"""Sheets of samples that people judge, and the shares judged correct."""

import csv
from collections.abc import Callable, Mapping, Sequence
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, TypeVar

from statsmodels.stats.proportion import proportion_confint

from benchmarks.harness import Measurement

Row = TypeVar("Row")


def in_turn(strata: Sequence[Sequence[Row]], size: int) -> list[Row]:
    """`size` members, taken in turn from the beginning of each stratum."""
    turns = chain.from_iterable(zip_longest(*strata))
    return [member for member in turns if member is not None][:size]


def measurements(
    parts: Callable[[Any], Mapping[str, Measurement]],
    sample: Callable[[Any], Sequence[Any]],
    judgements: Sequence[str],
) -> Callable[[Any], Mapping[str, Measurement]]:
    """The parts of a case; none if sheet=SEED requests a new sample, which is printed as a
    tab-separated sheet: the fields of its rows, and empty columns for judgements."""
    blanks = [""] * len(judgements)

    def measurements_or_sheet(settings: Any) -> Mapping[str, Measurement]:
        if settings.sheet is None:
            return parts(settings)
        rows = sample(settings)
        for cells in ([*rows[0]._fields, *judgements], *([*row, *blanks] for row in rows)):
            print("\t".join(cells))
        return {}

    return measurements_or_sheet


def read(path: Path) -> list[dict[str, str]]:
    """The rows of a judged sheet."""
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines, delimiter="\t"))


def share(right: int, size: int) -> list[float]:
    """The number right, the number judged, and Wilson's 95 % interval in per cent."""
    low, high = proportion_confint(right, size, method="wilson")
    return [right, size, 100 * float(low), 100 * float(high)]
