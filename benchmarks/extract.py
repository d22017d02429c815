"""How fast pairs are counted in a DepCC part: the kernel, its peers, and the whole Spark job.

    python -m benchmarks.extract [megabytes=1000] [folder=DIR] [only_job=true] [key=value …]

All sides read one synthetic part (`benchmarks.synthetic_depcc`) in one run, taking turns, each in
a process of its own on one core; medians of CPU time are compared, and equal counts asserted. Then
`spark-submit etl/extract_amod.py` reads `copies` hard links of the part and twice as many: the
difference is what a gigabyte costs once the job is warm. Copies bring no new pairs, so what is
shuffled is measured on `distinct` parts that follow each other in one corpus.
"""

from __future__ import annotations

import gzip
import logging
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import conf
from benchmarks import jobs, synthetic_depcc
from benchmarks.peers import Pairs, Reading, check_identical, isal, measure, pairs_of
from benchmarks.peers import kernel as count_by_kernel
from benchmarks.results import record, table, verdict, write_section
from conf import UserError, setting

PACKAGES = ("pyspark", "isal", "pyarrow", "numpy", "polars", "duckdb", "conllu")
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
SPARK_OVER_KERNEL = 1.5
SHUFFLE_SHARE = 0.02
# The start-up of a JVM varies by a few hundredths of itself: what is told from a difference of two
# runs must be more than that by far.
TELLING = 0.15
BESIDE = 3  # readings by the kernel before a run of the job, and after it
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
    copies: int = setting(48, help="parts that the Spark job reads, and then twice as many")
    distinct: int = setting(2, help="different parts on which shuffling is measured")
    spark_rounds: int = setting(1, help="runs of the Spark job on each number of parts; 0: none")
    master: str = setting("local[2]", help="Spark master of the job")
    only_job: bool = setting(
        False, help="measure the Spark job and the compiled kernel, no peers, and only print"
    )
    keep: bool = setting(True, help="write RESULTS.md and results.json, not only print")

    def __post_init__(self) -> None:
        for name in ("megabytes", "rounds", "slice_megabytes", "copies", "distinct"):
            if getattr(self, name) <= 0:
                raise UserError(f"{name}={getattr(self, name)}: expected more than 0")
        if self.only_job and not self.spark_rounds:
            raise UserError("only_job=true spark_rounds=0: nothing is left to measure")


@dataclass(frozen=True)
class SparkRun:
    """One run of the job: CPU seconds of all processes, and the bytes shuffled.

    `copies` is 0 for the run on different parts; `size` and `stored` are the bytes of all parts.
    `kernel` holds readings of the first part by the kernel right before and after the run, since a
    machine's speed changes within the minutes that a run takes.
    """

    copies: int
    parts: int
    size: int
    stored: int
    wall: float
    cpu: float
    shuffled: int
    executor_seconds: float
    kernel: tuple[Reading, ...]


def benchmark(settings: Settings) -> None:
    """Measure the kernel, its peers and the Spark job; print the figures and keep them."""
    folder = Path(settings.folder or Path(tempfile.gettempdir()) / "adnominal-bench")
    folder.mkdir(parents=True, exist_ok=True)
    parts = make_parts(folder, settings.megabytes, settings.distinct)
    part = parts[0]
    if settings.only_job:
        runs = run_job(parts, settings, folder)
        print("\n".join(spark_lines(job_figures(runs), runs, settings)))
        return
    piece = make_slice(part, settings.slice_megabytes)
    readings, sliced = take_turns(part, piece, settings.rounds)
    cores = len(jobs.all_cores())
    together = {side: measure(side, part, cores) for side in ("polars", "duckdb")}
    check_identical({"compiled": readings["compiled"][0], **together})
    runs = run_job(parts, settings, folder) if settings.spark_rounds else []
    figures = summary(part, readings, sliced, runs)
    section = page(figures, readings, sliced, together, runs, settings, part, piece)
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


# ---------------------------------------------------------------------------------- the Spark job


def run_job(parts: Sequence[Path], settings: Settings, folder: Path) -> list[SparkRun]:
    """The runs of the job on copies of the first part, by turns few and many, then on all parts."""
    runs = [
        run_spark([parts[0]] * copies, settings, folder, copies)
        for copies in settings.spark_rounds * (settings.copies, 2 * settings.copies)
    ]
    return [*runs, run_spark(parts, settings, folder, 0)]


def run_spark(parts: Sequence[Path], settings: Settings, folder: Path, copies: int) -> SparkRun:
    """The job on `parts`, of which some may be the same.

    Raises `AssertionError` unless tables and ledger hold the kernel's counts of all parts.
    """
    counts: Pairs = Counter()
    ledger: Counter[str] = Counter()
    for part, times in Counter(parts).items():
        pairs, stated = count_by_kernel(str(part), "auto")
        for pair, count in pairs_of(pairs).items():
            counts[pair] += times * count
        for name, count in stated.items():
            ledger[name] += times * count
    with tempfile.TemporaryDirectory(prefix="job-", dir=folder) as name:
        here = Path(name)
        for sub in ("input", "events"):
            (here / sub).mkdir()
        for number, part in enumerate(parts):
            os.link(part, here / "input" / f"part-{number:04d}.gz")
        lake = here / "lake"
        arguments = ["source=depcc", f"input={here / 'input'}", f"lake={lake}"]
        kernel = [measure("compiled", parts[0]) for _ in range(BESIDE)]
        used = jobs.run(arguments, master=settings.master, events=here / "events")
        kernel += [measure("compiled", parts[0]) for _ in range(BESIDE)]
        tasks = jobs.tasks_of(here / "events")
        check_tables(lake, counts, ledger)
    run = SparkRun(
        copies=copies,
        parts=len(parts),
        size=sum(times * isal(str(part)) for part, times in Counter(parts).items()),
        stored=sum(part.stat().st_size for part in parts),
        wall=used.wall,
        cpu=used.cpu,
        shuffled=tasks.shuffled,
        executor_seconds=tasks.executor_seconds,
        kernel=tuple(kernel),
    )
    log.info(
        "job on %d parts: %.1f s, %.1f CPU s; kernel %s CPU s a part",
        len(parts),
        run.wall,
        run.cpu,
        ", ".join(f"{reading.seconds:.2f}" for reading in run.kernel),
    )
    return run


def check_tables(lake: Path, counts: Pairs, ledger: Mapping[str, int]) -> None:
    """Raise `AssertionError` unless ``amod_pairs`` holds `counts`, and the ledger these sums."""
    found = jobs.pairs_in(lake)
    differing = [pair for pair in found.keys() | counts.keys() if found[pair] != counts[pair]]
    if differing:
        pair = min(differing)
        raise AssertionError(
            f"amod_pairs differs in {len(differing)} of {len(counts)} pairs; {' '.join(pair)}: "
            f"expected {counts[pair]}, found {found[pair]}"
        )
    sums = jobs.ledger_sums(lake)
    for name in ("sentences", "tokens", "pairs", "rejected_lines"):
        if sums[name] != ledger[name]:
            raise AssertionError(f"amod_files: {sums[name]} {name}, expected {ledger[name]}")


# --------------------------------------------------------------------------------------- the page


def summary(
    part: Path,
    readings: Mapping[str, Sequence[Reading]],
    sliced: Mapping[str, Sequence[Reading]],
    runs: Sequence[SparkRun],
) -> dict[str, float | int | dict[str, float]]:
    """The figures to keep: sizes in bytes, speeds in 10^6 uncompressed bytes per CPU second."""
    compiled = readings["compiled"][0]
    size, ledger = compiled.size, compiled.ledger or {}
    figures: dict[str, float | int | dict[str, float]] = {
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
    if runs:
        figures |= job_figures(runs)
    return figures


def job_figures(runs: Sequence[SparkRun]) -> dict[str, float]:
    """What `runs` tell, beside the kernel as it was measured around them."""
    small = [run for run in runs if run.copies == min(r.copies for r in runs if r.copies)]
    large = [run for run in runs if run.copies == 2 * small[0].copies]
    (different,) = (run for run in runs if not run.copies)
    before, after = (median(run.cpu for run in taken) for taken in (small, large))
    kernel = 1e3 / speed([reading for run in runs for reading in run.kernel])
    cpu = (after - before) / (large[0].size - small[0].size) * 1e9
    return {
        "kernel_cpu_seconds_per_gb": kernel,
        "job_cpu_seconds_per_gb_warm": cpu,
        "job_cpu_seconds_start": before - cpu * small[0].size / 1e9,
        "job_over_kernel_warm": cpu / kernel,
        "job_over_kernel_with_start": after / (large[0].size / 1e9) / kernel,
        "shuffle_share": different.shuffled / different.size,
        "shuffle_share_of_stored": different.shuffled / different.stored,
        "shuffle_share_of_copies": large[0].shuffled / large[0].size,
    }


def page(
    figures: Mapping[str, float | int | dict[str, float]],
    readings: Mapping[str, Sequence[Reading]],
    sliced: Mapping[str, Sequence[Reading]],
    together: Mapping[str, Reading],
    runs: Sequence[SparkRun],
    settings: Settings,
    part: Path,
    piece: Path,
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
        f"pairs, {compiled.distinct:,} of them distinct. {settings.rounds} rounds in turns, each "
        "side in a fresh process on one core; CPU time of the process from opening the file to "
        "the counts. All sides gave the same counts.",
        "",
        table(rows),
        "",
        f"The conllu library read the first {sliced['conllu'][0].size / 1e6:.1f} MB only, with "
        "the kernel's counts of these. "
        + "; ".join(
            f"{NAMES[side]} on {len(jobs.all_cores())} cores: {reading.wall:.2f} s from start to "
            f"end, {reading.seconds:.2f} CPU s"
            for side, reading in together.items()
        )
        + f". Most memory held: kernel {compiled.peak_mb:.0f} MB, "
        + ", ".join(f"{NAMES[s]} {readings[s][0].peak_mb:.0f} MB" for s in ("polars", "duckdb"))
        + ".",
    ]
    if runs:
        lines += spark_lines(figures, runs, settings)
    return "\n".join(lines)


def spark_lines(
    figures: Mapping[str, float | int | dict[str, float]],
    runs: Sequence[SparkRun],
    settings: Settings,
) -> list[str]:
    """What the page says of the Spark job."""

    def figure(name: str) -> float:
        value = figures[name]
        assert not isinstance(value, dict)
        return float(value)

    rows = [["input", "GB", "s from start to end", "CPU s, all processes", "shuffled MB"]]
    rows += [
        [
            f"{run.parts} copies" if run.copies else f"{run.parts} different parts",
            f"{run.size / 1e9:.2f}",
            f"{run.wall:.1f}",
            f"{run.cpu:.1f}",
            f"{run.shuffled / 1e6:.1f}",
        ]
        for run in runs
    ]
    ratio, share = figure("job_over_kernel_warm"), figure("shuffle_share")
    sizes = [run.size for run in runs if run.copies]
    more = (max(sizes) - min(sizes)) / 1e9 * figure("kernel_cpu_seconds_per_gb")
    return [
        "",
        "### The whole Spark job",
        "",
        f"`spark-submit --master {settings.master} etl/extract_amod.py source=depcc` on parts of "
        "this size; CPU time of the JVM, the driver and all Python workers, from a cold start.",
        "",
        table(rows),
        "",
        table(
            [
                ["what", "measured", "target", ""],
                [
                    "CPU per GB once warm (from the difference), over the kernel's "
                    f"{figure('kernel_cpu_seconds_per_gb'):.2f} s (before and after each run)",
                    f"{figure('job_cpu_seconds_per_gb_warm'):.2f} s: {ratio:.2f} times",
                    f"<= {SPARK_OVER_KERNEL} times",
                    verdict(ratio, SPARK_OVER_KERNEL, at_least=False)
                    if more >= TELLING * figure("job_cpu_seconds_start")
                    else "too small an input to tell",
                ],
                [
                    "CPU per GB, start-up of "
                    f"{figure('job_cpu_seconds_start'):.0f} s included, over the kernel's",
                    f"{figure('job_over_kernel_with_start'):.2f} times",
                    "",
                    "",
                ],
                [
                    "shuffle, of the uncompressed input (different parts)",
                    f"{share:.2%}",
                    f"<= {SHUFFLE_SHARE:.0%}",
                    verdict(share, SHUFFLE_SHARE, at_least=False),
                ],
                [
                    "shuffle, of the stored input (different parts)",
                    f"{figure('shuffle_share_of_stored'):.2%}",
                    f"<= {SHUFFLE_SHARE:.0%}",
                    verdict(figure("shuffle_share_of_stored"), SHUFFLE_SHARE, at_least=False),
                ],
            ]
        ),
    ]


if __name__ == "__main__":
    sys.exit(conf.run(Settings, benchmark))
