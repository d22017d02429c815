"""How fast pairs are counted in a DepCC part: the kernel and its peers.

All sides read one synthetic part (`benchmarks.synthetic_depcc`) in one run, taking turns, each in
its own process on one core; medians of CPU time are compared, and counts must be equal. The whole
job on different parts is measured by `engines` and `scale`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median_high

from adnominal.conf import setting
from benchmarks.harness import Bound, Case, CaseSettings, Exact, whole
from benchmarks.inputs import make_parts, make_slice
from benchmarks.peers import SUBJECT, measure_side
from benchmarks.processes import all_cores
from benchmarks.results import Figures
from benchmarks.sides import Reading, check_identical, numbered, spread, take_turns

SIDES = ("isal", "compiled", "polars", "duckdb", "line_loop")
SLICED = ("compiled", "conllu")
NAMES = {
    "isal": "isal, decompression alone (the floor)",
    "compiled": "kernel, compiled",
    "polars": "polars",
    "duckdb": "DuckDB",
    "line_loop": "line loop (ADEPT's method)",
    "conllu": "conllu library",
}
# How many times faster than each peer the compiled kernel must be.
TIMES = {"polars": 5.0, "duckdb": 5.0, "line_loop": 8.0, "conllu": 150.0}


@dataclass(frozen=True)
class Settings(CaseSettings):
    megabytes: float = setting(1000.0, help="minimum size of the part, uncompressed, in 10^6 bytes")
    rounds: int = setting(5, help="readings of the part by each side")
    slice_megabytes: float = setting(5.0, help="size of the slice that the conllu library reads")
    sides: list[str] = setting(list(SIDES), choices=SIDES, help="sides that read the part")

    def __post_init__(self) -> None:
        self.check_positive("megabytes", "rounds", "slice_megabytes")


def measured(settings: Settings) -> Figures:
    """Figures of the kernel and its peers; `AssertionError` unless all counts are equal."""
    (part,) = make_parts(settings.place("depcc"), settings.megabytes, 1)
    piece = make_slice(part, settings.slice_megabytes)
    readings = take_turns(
        {side: partial(measure_side, side, part) for side in settings.sides}, settings.rounds
    )
    sliced = take_turns(
        {side: partial(measure_side, side, piece) for side in SLICED}, settings.rounds
    )
    cores = len(all_cores())
    together = {
        side: measure_side(side, part, cores)
        for side in ("polars", "duckdb")
        if side in settings.sides
    }
    check_identical(numbered(readings) | together)
    check_identical(numbered(sliced))
    return summary(part, readings, sliced) | {
        "rounds": settings.rounds,
        "cores": cores,
        "together": {side: [r.wall, r.seconds] for side, r in together.items()},
    }


def summary(
    part: Path, readings: Mapping[str, list[Reading]], sliced: Mapping[str, list[Reading]]
) -> Figures:
    """The figures: sizes in bytes, speeds in 10^6 uncompressed bytes per CPU second.

    ``times_the_kernel`` is the median over the rounds of a side's CPU time over the kernel's.
    """
    compiled = readings[SUBJECT][0]
    ledger = compiled.ledger or {}
    read = {**readings, "conllu": sliced["conllu"]}
    sides = {side: spread(side_readings) for side, side_readings in read.items()}
    kernel = {**dict.fromkeys(readings, readings), "conllu": sliced}
    return {
        "part_bytes": compiled.size,
        "part_stored_bytes": part.stat().st_size,
        "part_tokens": ledger["tokens"],
        "part_sentences": ledger["sentences"],
        "part_amod": ledger["amod"],
        "part_pairs": compiled.pairs,
        "part_distinct_pairs": compiled.distinct or 0,
        "slice_bytes": sliced["conllu"][0].size,
        "sides": sides,
        "mb_per_second": {side: read[side][0].size / 1e6 / sides[side]["median"] for side in sides},
        "times_the_kernel": {
            side: median_high(
                a.seconds / b.seconds
                for a, b in zip(side_readings, kernel[side][SUBJECT], strict=True)
            )
            for side, side_readings in read.items()
        },
    }


CASE = Case(
    "extract",
    whole(measured),
    settings=Settings,
    size="part_bytes",
    packages=("isal", "pyarrow", "numpy", "polars", "duckdb", "conllu"),
    bounds={
        "kernel": Bound("mb_per_second.compiled / mb_per_second.isal", least=0.40),
        **{
            side: Bound(f"mb_per_second.compiled / mb_per_second.{side}", least=times)
            for side, times in TIMES.items()
        },
        # A busy machine slows both sides of a round, so ratios by round are steady.
        "kernel beside decompression": Bound("times_the_kernel.isal", least=0.40, steady=0.9),
        "kernel beside the line loop": Bound("times_the_kernel.line_loop", least=8.0, steady=0.9),
    },
    exact={
        name: Exact(f"part_{name}", counts, "megabytes")
        for name, counts in {
            "sentences": {1000.0: 1_325_364},
            "tokens": {1000.0: 21_727_642},
            "pairs": {1000.0: 999_349},
            "distinct_pairs": {1000.0: 670_917},
        }.items()
    },
)
