"""How fast pairs are counted in a DepCC part: the kernel and its peers.

    python -m benchmarks.extract [megabytes=1000] [folder=DIR] [key=value …]

All sides read one synthetic part (`benchmarks.synthetic_depcc`) in one run, taking turns, each in
a process of its own on one core; medians of CPU time are compared, and equal counts asserted. The
whole job on different parts is measured by `benchmarks.engines` and `benchmarks.scale`.
"""

from __future__ import annotations

import gzip
import logging
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import conf
from benchmarks import synthetic_depcc
from benchmarks.jobs import all_cores
from benchmarks.peers import Reading, check_identical, measure
from benchmarks.results import record, table, verdict, write_section
from conf import UserError, setting

PACKAGES = ("isal", "pyarrow", "numpy", "polars", "duckdb", "conllu")
ON_THE_PART = ("isal", "compiled", "polars", "duckdb", "line_loop")
NAMES = {
    "isal": "isal, decompression alone (the floor)",
    "compiled": "kernel, compiled",
    "polars": "polars",
    "duckdb": "DuckDB",
    "line_loop": "line loop (ADEPT's method)",
    "conllu": "conllu library",
}
# Of the floor that a kernel must reach; and how many times a peer the compiled kernel must be.
OF_THE_FLOOR = {"compiled": 0.40}
TIMES = {"polars": 5.0, "duckdb": 5.0, "line_loop": 8.0, "conllu": 150.0}
BLOCK = 1 << 20
NEWDOC = b"\n# newdoc\t"

log = logging.getLogger("adnominal")


@dataclass(frozen=True)
class Settings:
    """Settings of ``benchmarks/extract.py``."""

    megabytes: float = setting(1000.0, help="least size of the part, uncompressed, in 10^6 bytes")
    folder: str | None = setting(
        None, help="where the part is made and kept; the system's temporary folder if not given"
    )
    rounds: int = setting(5, help="readings of the part by each side")
    slice_megabytes: float = setting(5.0, help="size of the slice that the conllu library reads")
    keep: bool = setting(True, help="write RESULTS.md and results.json, not only print")

    def __post_init__(self) -> None:
        for name in ("megabytes", "rounds", "slice_megabytes"):
            if getattr(self, name) <= 0:
                raise UserError(f"{name}={getattr(self, name)}: expected more than 0")


def benchmark(settings: Settings) -> None:
    """Measure the kernel and its peers; print the figures and keep them."""
    folder = Path(settings.folder or Path(tempfile.gettempdir()) / "adnominal-bench")
    folder.mkdir(parents=True, exist_ok=True)
    (part,) = make_parts(folder, settings.megabytes, 1)
    piece = make_slice(part, settings.slice_megabytes)
    readings, sliced = take_turns(part, piece, settings.rounds)
    cores = len(all_cores())
    together = {side: measure(side, part, cores) for side in ("polars", "duckdb")}
    check_identical({"compiled": readings["compiled"][0], **together})
    figures = summary(part, readings, sliced)
    section = page(readings, sliced, together, settings.rounds, part)
    print(section)
    if settings.keep:
        write_section("extract", section, packages=PACKAGES)
        record("extract", figures)


# ------------------------------------------------------------------------------------- the input


def make_parts(folder: Path, megabytes: float, number: int) -> list[Path]:
    """`number` synthetic parts of at least that size in `folder`, made unless they are there.

    They follow each other in one corpus, cut between documents: the same words, other sentences.
    """
    names = [folder / f"depcc-{megabytes:g}-{i + 1}-of-{number}.gz" for i in range(number)]
    if all(name.exists() for name in names):
        return names
    log.info("making %d parts of %g MB in %s", number, megabytes, folder)
    whole = folder / "depcc.new"
    synthetic_depcc.write(whole, megabytes * number)
    content = bytearray()
    with gzip.open(whole) as stream:
        for i, name in enumerate(names):
            if i + 1 < number:
                content += stream.read(max(0, int(megabytes * 1e6) - len(content)))
                end = content.find(NEWDOC, max(0, len(content) - len(NEWDOC)))
                while end < 0 and (block := stream.read(BLOCK)):
                    searched = max(0, len(content) - len(NEWDOC))
                    content += block
                    end = content.find(NEWDOC, searched)
            else:
                content += stream.read()
                end = len(content)
            fresh = name.with_suffix(".new")
            with gzip.GzipFile(fresh, "wb", compresslevel=6, mtime=0) as file:
                file.write(memoryview(content)[:end])
            fresh.replace(name)
            content = content[end:]
    whole.unlink()
    return names


def make_slice(part: Path, megabytes: float) -> Path:
    """The first megabytes of `part`, up to the end of a sentence, as a gzip file beside it."""
    piece = part.with_name(f"{part.stem}-first-{megabytes:g}.gz")
    if not piece.exists():
        with gzip.open(part) as stream:
            content = stream.read(int(megabytes * 1e6))
        content = content[: content.rfind(b"\n\n") + 2]
        fresh = piece.with_suffix(".new")
        fresh.write_bytes(gzip.compress(content, 6, mtime=0))
        fresh.replace(piece)
    return piece


# -------------------------------------------------------------------------------------- the sides


def take_turns(
    part: Path, piece: Path, rounds: int
) -> tuple[dict[str, list[Reading]], dict[str, list[Reading]]]:
    """`rounds` readings of `part` by each side, and of `piece` by conllu and the compiled kernel.

    The sides take turns, each round beginning with another one, so that a slow minute of the
    machine falls on all. Raises `AssertionError` unless all counts are the same.
    """
    readings: dict[str, list[Reading]] = {side: [] for side in ON_THE_PART}
    sliced: dict[str, list[Reading]] = {"compiled": [], "conllu": []}
    for number in range(rounds):
        turn = number % len(ON_THE_PART)
        for side in (*ON_THE_PART[turn:], *ON_THE_PART[:turn]):
            readings[side].append(measure(side, part))
        for side, taken in sliced.items():
            taken.append(measure(side, piece))
        check_identical({side: taken[-1] for side, taken in sliced.items()})
        log.info(
            "round %d of %d: %s",
            number + 1,
            rounds,
            ", ".join(f"{side} {taken[-1].seconds:.2f} s" for side, taken in readings.items()),
        )
    check_identical({f"{s} {i}": r for s, taken in readings.items() for i, r in enumerate(taken)})
    return readings, sliced


def speed(readings: Sequence[Reading]) -> float:
    """Uncompressed 10^6 bytes per CPU second, by the median reading."""
    return readings[0].size / 1e6 / median(reading.seconds for reading in readings)


# --------------------------------------------------------------------------------------- the page


def summary(
    part: Path,
    readings: Mapping[str, Sequence[Reading]],
    sliced: Mapping[str, Sequence[Reading]],
) -> dict[str, float | int | dict[str, float]]:
    """The figures to keep: sizes in bytes, speeds in 10^6 uncompressed bytes per CPU second."""
    compiled = readings["compiled"][0]
    size, ledger = compiled.size, compiled.ledger or {}
    return {
        "part_bytes": size,
        "part_stored_bytes": part.stat().st_size,
        "part_tokens": ledger["tokens"],
        "part_sentences": ledger["sentences"],
        "part_pairs": ledger["pairs"],
        "part_distinct_pairs": compiled.distinct or 0,
        "mb_per_second": {
            **{side: speed(taken) for side, taken in readings.items()},
            "conllu": speed(sliced["conllu"]),
        },
    }


def page(
    readings: Mapping[str, Sequence[Reading]],
    sliced: Mapping[str, Sequence[Reading]],
    together: Mapping[str, Reading],
    rounds: int,
    part: Path,
) -> str:
    """The section of RESULTS.md."""
    compiled = readings["compiled"][0]
    ledger = compiled.ledger or {}
    floor, kernel = speed(readings["isal"]), speed(readings["compiled"])
    rows: list[list[str]] = [
        ["side", "CPU s (median, range)", "MB/s", "of the floor", "kernel is", "target", ""]
    ]
    for side, taken in {**readings, "conllu": sliced["conllu"]}.items():
        seconds = [reading.seconds for reading in taken]
        rate = speed(taken)
        target, outcome = "", ""
        if side in OF_THE_FLOOR:
            target = f">= {OF_THE_FLOOR[side]:.2f} of the floor"
            outcome = verdict(rate / floor, OF_THE_FLOOR[side])
        elif side in TIMES:
            target = f"kernel >= {TIMES[side]:g} times"
            outcome = verdict(kernel / rate, TIMES[side])
        rows.append(
            [
                NAMES[side],
                f"{median(seconds):.2f} ({min(seconds):.2f}–{max(seconds):.2f})",
                f"{rate:.0f}" if rate >= 10 else f"{rate:.1f}",
                f"{rate / floor:.3f}",
                f"{kernel / rate:.1f} times" if side not in ("isal", "compiled") else "",
                target,
                outcome,
            ]
        )
    lines = [
        "## Counting pairs in DepCC",
        "",
        f"`python -m benchmarks.extract`: one synthetic part of {compiled.size / 1e6:.1f} MB "
        f"({part.stat().st_size / 1e6:.1f} MB stored as gzip), {ledger['sentences']:,} sentences, "
        f"{ledger['tokens']:,} tokens, {ledger['amod']:,} amod relations, {compiled.pairs:,} "
        f"pairs, {compiled.distinct:,} of them distinct. {rounds} rounds in turns, each "
        "side in a fresh process on one core; CPU time of the process from opening the file to "
        "the counts. All sides gave the same counts.",
        "",
        table(rows),
        "",
        f"The conllu library read the first {sliced['conllu'][0].size / 1e6:.1f} MB only, with "
        "the kernel's counts of these. "
        + "; ".join(
            f"{NAMES[side]} on {len(all_cores())} cores: {reading.wall:.2f} s from start to "
            f"end, {reading.seconds:.2f} CPU s"
            for side, reading in together.items()
        )
        + f". Most memory held: kernel {compiled.peak_mb:.0f} MB, "
        + ", ".join(f"{NAMES[s]} {readings[s][0].peak_mb:.0f} MB" for s in ("polars", "duckdb"))
        + ".",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(conf.run(Settings, benchmark))
