"""How fast pairs are counted in a DepCC part: the kernel and its peers.

All sides read one synthetic part (`benchmarks.synthetic_depcc`) in one run, taking turns, each in
its own process on one core. Medians of CPU time are compared, and the counts must be equal. The
whole job on different parts is measured by `engines` and `scale`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from adnominal.conf import setting
from benchmarks.cases import Bound, Case, CaseSettings, in_parts
from benchmarks.inputs import make_parts, make_slice
from benchmarks.peers import read_part
from benchmarks.results import Figures
from benchmarks.sides import Reading, check_identical, spread, take_turns

SIDES = {
    "isal": "isal, decompression alone (the floor)",
    "compiled": "kernel, compiled",
    "polars": "polars",
    "duckdb": "DuckDB",
    "line_loop": "line loop (ADEPT's method)",
    "conllu": "conllu library, first 5 MB",
}
# How many times faster than each peer the compiled kernel must be.
TIMES = {"polars": 5.0, "duckdb": 5.0, "line_loop": 8.0, "conllu": 150.0}


@dataclass(frozen=True)
class Settings(CaseSettings):
    megabytes: float = setting(1000.0, help="minimum size of the part, uncompressed, in 10^6 bytes")
    rounds: int = setting(5, help="readings of the part by each side")
    slice_megabytes: float = setting(5.0, help="size of the slice that the conllu library reads")

    def __post_init__(self) -> None:
        self.check_positive("megabytes", "rounds", "slice_megabytes")


def measure(settings: Settings) -> Figures:
    """Figures of the kernel and its peers; `AssertionError` unless all counts are equal."""
    (part,) = make_parts(settings.place("depcc"), settings.megabytes, 1)
    slice_of_part = make_slice(part, settings.slice_megabytes)
    readers = {side: partial(read_part, side, part) for side in SIDES if side != "conllu"}
    readings = take_turns(readers, settings.rounds)
    check_identical(readings)
    slice_readers = {
        side: partial(read_part, side, slice_of_part) for side in ("compiled", "conllu")
    }
    slice_readings = take_turns(slice_readers, settings.rounds)
    check_identical(slice_readings)
    return {"rounds": settings.rounds, **summarise(part, readings, slice_readings)}


def summarise(
    part: Path,
    readings: Mapping[str, list[Reading]],
    slice_readings: Mapping[str, list[Reading]],
) -> Figures:
    """The figures: sizes in bytes, speeds in 10^6 uncompressed bytes per CPU second."""
    kernel = readings["compiled"][0]
    sides, speeds = {}, {}
    for side in SIDES:
        of_side = slice_readings if side == "conllu" else readings
        sides[side] = spread(of_side[side])
        speeds[side] = of_side[side][0].bytes / 1e6 / sides[side]["median"]
    return {
        "part_bytes": kernel.bytes,
        "part_stored_bytes": part.stat().st_size,
        "part_tokens": kernel.tokens,
        "part_pairs": kernel.pairs,
        "part_distinct_pairs": kernel.distinct,
        "sides": sides,
        "mb_per_second": speeds,
    }


# Counts of the part of 1,000 MB.
FULL_SIZE = "kernel.part_bytes == 1000515527"
COUNTS = {
    "tokens": 21_727_642,
    "pairs": 999_349,
    "distinct_pairs": 670_917,
}
SPEED = "kernel.mb_per_second"

CASE = Case(
    "extract",
    "Counting pairs in DepCC",
    in_parts(kernel=measure),
    settings=Settings,
    packages=("isal", "pyarrow", "numpy", "polars", "duckdb", "conllu"),
    bounds={
        "isal": Bound(f"{SPEED}.compiled / {SPEED}.isal", least=0.40),
        **{
            side: Bound(f"{SPEED}.compiled / {SPEED}.{side}", least=times)
            for side, times in TIMES.items()
        },
    },
    exact={f"kernel.part_{name} if {FULL_SIZE} else none": count for name, count in COUNTS.items()},
)
