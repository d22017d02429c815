"""Measure the forms of text, the counting of lists, and the upkeep of tables.

    python -m benchmarks.sources [CASE …]     (all if none is named)

reading  Parquet to staged rows, against pyarrow's reading of the same column
listed   3,979 bigrams as neighbours, against a naive tokenised count; the whole job
cores    one Parquet file parsed on one core and on two
relations  a DepCC part counted for amod alone, beside the bare kernel; and with all relations
upkeep   a table of 10,000 commits: opening, compaction, vacuum
interleavings  1,000 runs of writers, compaction and vacuum in a random order
kills    kill -9 in the midst of each new command, then the command again
"""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import DeltaTable

from benchmarks.extract import make_parts
from benchmarks.interleaving import interleaved
from benchmarks.processes import kill_tree, measured
from benchmarks.results import record, recorded, table, verdict, write_section
from benchmarks.web_texts import vocabulary, write_copies, write_english, write_texts
from conf import ROOT, load
from etl.amod import reading, tasks
from etl.amod.adjacent import AdjacentCounter
from etl.amod.kernel import PairCounter
from etl.amod.settings import Settings
from etl.corpora.blocks import blocks
from etl.corpora.files import open_input
from etl.lake import actions, arrow, upkeep
from etl.lake.storage import filesystem, table_uri
from etl.lake.tables import TABLES

if TYPE_CHECKING:
    from io import BufferedReader

PAIRS = 3979
TEXT_MB = 500
COPIES = 4  # of these texts in the file that the list job reads, so that its start is a small share
PARSED_MB = 9
RELATIONS_MB = 100
RELATIONS = ("predicative", "compound", "obj", "advmod")
COMMITS = 10_000
INTERLEAVINGS = 1000
KILLS = 5
REPEATS = 3
PACKAGES = ("pyarrow", "deltalake", "pysail", "spacy")


def bigrams() -> list[tuple[str, str]]:
    """A list of pairs of mid-frequency words, as studies of novel combinations have them."""
    words = vocabulary(np.random.default_rng(0), 60_000)
    chance = random.Random(1)
    pairs: set[tuple[str, str]] = set()
    while len(pairs) < PAIRS:
        pairs.add((chance.choice(words[20:8000]), chance.choice(words[20:8000])))
    return sorted(pairs)


def cpu_seconds(act: Callable[[], Any]) -> float:
    """The median of some runs' CPU seconds."""
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        act()
        times.append(time.process_time() - start)
    return median(times)


# ------------------------------------------------------------------------------------- the cases


def measure_reading(folder: Path) -> dict[str, Any]:
    path = folder / "texts.parquet"
    write_texts(path, TEXT_MB)
    settings = load(Settings, ["source=text", f"input={path}"])
    size = path.stat().st_size
    unit = {"file": 0, "path": str(path), "bytes": size, "start": 0, "end": size}
    batch = pa.RecordBatch.from_pylist([unit], schema=tasks.UNITS)
    task = tasks.Task.of(settings)

    def ours() -> int:
        return sum(staged.num_rows for staged in reading.read_units([batch], task))

    def pyarrow_alone() -> int:
        file = pq.ParquetFile(path)
        found = file.iter_batches(1024, columns=["text"], use_threads=False)
        return sum(rows.num_rows for rows in found)

    seconds, alone = cpu_seconds(ours), cpu_seconds(pyarrow_alone)
    return {
        "megabytes": TEXT_MB,
        "ours_mb_per_s": TEXT_MB / seconds,
        "pyarrow_mb_per_s": TEXT_MB / alone,
        "ratio": alone / seconds,
    }


def naive(texts: Iterator[str], pairs: set[tuple[str, str]]) -> Counter[tuple[str, str]]:
    """Tokens between anything but letters, digits and white space, then pairs of neighbours."""
    counts: Counter[tuple[str, str]] = Counter()
    for text in texts:
        for line in text.lower().split("\n"):
            for part in re.split(r"[^\w\s]+", line):
                words = part.split()
                counts.update(pair for pair in pairwise(words) if pair in pairs)
    return counts


def measure_listed(folder: Path) -> dict[str, Any]:
    once, path, pairs = folder / "texts.parquet", folder / "copies.parquet", bigrams()
    if not once.exists():
        write_texts(once, TEXT_MB)
    write_copies(once, path, COPIES)
    texts = pq.read_table(once, columns=["text"])["text"]
    size = pc.sum(pc.binary_length(texts)).as_py() / 1e6
    counter = AdjacentCounter(pairs)

    def count() -> None:
        for chunk in texts.chunks:
            assert not counter.feed_texts(chunk.cast(pa.string()))

    seconds = cpu_seconds(count)
    ours = {pair: n // REPEATS for pair, n in zip(pairs, counter.counts(), strict=True)}
    expected = naive((text.as_py() for text in texts), set(pairs))
    listing = folder / "list.tsv"
    listing.write_text("".join(f"{a}\t{n}\n" for a, n in pairs), encoding="utf-8")
    words = ["source=text", f"input={path}", f"pairs={listing}", "adjacent=true"]
    command = [sys.executable, "etl/extract_amod.py", *words, f"lake={folder / 'lake'}"]
    job = measured(command).checked()
    rows = arrow.read(str(folder / "lake"), "listed_counts").to_pylist()
    by_job = {(row["adjective"], row["noun"]): row["adjacent"] // COPIES for row in rows}
    return {
        "megabytes": size,
        "copies": COPIES,
        "pairs": len(pairs),
        "found": sum(1 for n in ours.values() if n),
        "occurrences": sum(ours.values()),
        "mb_per_s": size / seconds,
        "equal": ours == {pair: expected[pair] for pair in pairs} == by_job,
        "job_wall": job.wall,
        "job_cpu": job.cpu,
        "job_memory_mb": job.memory,
    }


def measure_cores(folder: Path) -> dict[str, Any]:
    """spaCy, which Parquet files are not given by themselves; and the same of a single sentence."""
    path, tiny = folder / "english.parquet", folder / "tiny.parquet"
    write_english(path, PARSED_MB)
    pq.write_table(pa.table({"text": ["The old key is small."]}), tiny)
    walls = {}
    for name, cores, file in (("start", [0], tiny), ("one", [0], path), ("two", [0, 1], path)):
        words = ["source=text", "parser=spacy", f"input={file}", f"lake={folder / name}"]
        command = [sys.executable, "etl/extract_amod.py", *words, "unit_bytes=100000"]
        walls[name] = measured(command, cores=cores).checked().wall
    return {"megabytes": PARSED_MB, **walls, "ratio": walls["one"] / walls["two"]}


def measure_relations(folder: Path) -> dict[str, Any]:
    """Tasks that can count further relations, asked for none, against the kernel without them."""
    (path,) = make_parts(folder, RELATIONS_MB, 1)
    size = path.stat().st_size
    unit = {"file": 0, "path": str(path), "bytes": size, "start": 0, "end": size}
    batch = pa.RecordBatch.from_pylist([unit], schema=tasks.UNITS)
    words = ["source=depcc", f"input={path}"]
    alone = tasks.Task.of(load(Settings, words))
    every = tasks.Task.of(load(Settings, [*words, f"relations=amod,{','.join(RELATIONS)}"]))

    def bare() -> None:
        counter, rows = PairCounter("depcc", alone.rules, alone.kernel), tasks.Rows()
        with cast("BufferedReader", open_input(str(path))) as stream:
            for block in blocks(stream):
                counter.feed(block)
        tasks.add_pairs(rows, 0, counter)
        tasks.add_stats(rows, 0, counter.stats())
        list(rows.take())

    seconds: dict[str, list[float]] = {"bare": [], "alone": []}
    for _ in range(2 * REPEATS):
        for name, act in (
            ("bare", bare),
            ("alone", lambda: list(tasks.count_units([batch], alone))),
        ):
            start = time.process_time()
            act()
            seconds[name].append(time.process_time() - start)
    start = time.process_time()
    list(tasks.count_units([batch], every))
    taken = time.process_time() - start
    medians = {name: median(times) for name, times in seconds.items()}
    return {
        "megabytes": RELATIONS_MB,
        "bare_mb_per_s": RELATIONS_MB / medians["bare"],
        "alone_mb_per_s": RELATIONS_MB / medians["alone"],
        "ratio": medians["alone"] / medians["bare"],
        "every_mb_per_s": RELATIONS_MB / taken,
    }


def many_commits(root: str) -> int:
    """A table of `COMMITS` commits of a file each; bytes of a file."""
    declared = TABLES["amod_pairs"]
    row = {"corpus": "uk", "adjective": "a", "noun": "n", "count": 1}
    rows = pa.Table.from_pylist([row] * 20, declared.schema)
    arrow.append(root, "amod_pairs", rows, job="bench")
    uri = table_uri(root, "amod_pairs")
    files = filesystem(uri)
    first = actions.read(files, 0) or []
    info, add = (next(a for a in first if kind in a) for kind in ("commitInfo", "add"))
    source = Path(root, "amod_pairs", add["add"]["path"])
    for version in range(1, COMMITS):
        copy = source.with_name(f"copy-{version}.parquet")
        copy.write_bytes(source.read_bytes())
        path = f"{add['add']['path'].rpartition('/')[0]}/{copy.name}"
        actions.put(uri, version, [info, {"add": {**add["add"], "path": path}}])
        if version % 100 == 0:
            DeltaTable(uri).create_checkpoint()
    return source.stat().st_size


def stored_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def open_seconds(root: str) -> float:
    times = []
    for _ in range(9):
        start = time.perf_counter()
        arrow.version(root, "amod_pairs")
        times.append(time.perf_counter() - start)
    return median(times)


def measure_upkeep(folder: Path) -> dict[str, Any]:
    root, declared = str(folder / "many"), TABLES["amod_pairs"]
    many_commits(root)
    before = open_seconds(root)
    rows = arrow.read(root, "amod_pairs").num_rows
    start = time.perf_counter()
    upkeep.compact(root, declared)
    compaction = time.perf_counter() - start
    compacted = open_seconds(root)
    start = time.perf_counter()
    upkeep.vacuum(root, declared, timedelta(0))
    vacuum = time.perf_counter() - start
    # Data as a table of a month has it: a file of this size would hide the log.
    live = sum(file.size for file in arrow.files(root, "amod_pairs"))
    left = stored_bytes(Path(root, "amod_pairs", "data"))
    log = stored_bytes(Path(root, "amod_pairs", "_delta_log"))
    assert arrow.read(root, "amod_pairs").num_rows == rows
    return {
        "commits": COMMITS,
        "open_ms": before * 1e3,
        "open_compacted_ms": compacted * 1e3,
        "open_vacuumed_ms": open_seconds(root) * 1e3,
        "compact_seconds": compaction,
        "vacuum_seconds": vacuum,
        "data_over_live": left / live,
        "log_bytes": log,
    }


def measure_interleavings(folder: Path) -> dict[str, Any]:
    for seed in range(INTERLEAVINGS):
        with tempfile.TemporaryDirectory(dir=folder) as own:
            interleaved(own, random.Random(seed), turns=3)
    return {"runs": INTERLEAVINGS}


def measure_kills(folder: Path) -> dict[str, Any]:
    """Each command killed after a random share of its time, then run again, some times."""
    texts = folder / "kill.parquet"
    write_texts(texts, 60)
    listing = folder / "kill.tsv"
    listing.write_text("".join(f"{a}\t{n}\n" for a, n in bigrams()), encoding="utf-8")
    root = str(folder / "kill")
    chance = random.Random(0)
    words = ["source=text", f"input={texts}", f"pairs={listing}", "adjacent=true"]
    commands = {
        "pairs=": ["etl/extract_amod.py", *words, "wave_bytes=1", f"lake={root}"],
        "compact": ["-m", "etl.lake", "compact", f"lake={root}"],
        "vacuum": ["-m", "etl.lake", "vacuum", "older_than=0s", f"lake={root}"],
        "verify": ["-m", "etl.lake", "verify", f"lake={root}"],
    }
    subprocess.run([sys.executable, *commands["pairs="]], cwd=ROOT, check=True, capture_output=True)
    counts = arrow.read(root, "listed_counts")
    pairs = TABLES["amod_pairs"]
    row = {"corpus": "uk", "adjective": "a", "noun": "n", "count": 1}
    for number in range(60):
        one = pa.Table.from_pylist([{**row, "noun": f"n{number}"}], pairs.schema)
        arrow.append(root, "amod_pairs", one, job="bench")
    expected = arrow.read(root, "amod_pairs").sort_by("noun")
    killed: Counter[str] = Counter()
    for name, command in commands.items():
        start = time.perf_counter()
        subprocess.run([sys.executable, *command], cwd=ROOT, check=True, capture_output=True)
        whole = time.perf_counter() - start
        for _ in range(KILLS):
            process = subprocess.Popen(
                [sys.executable, *command],
                cwd=ROOT,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            time.sleep(chance.uniform(0.3, 1.0) * whole)
            if process.poll() is None:
                killed[name] += 1
            kill_tree(process)
            subprocess.run([sys.executable, *command], cwd=ROOT, check=True, capture_output=True)
            assert arrow.read(root, "listed_counts").equals(counts), name
            assert arrow.read(root, "amod_pairs").sort_by("noun").equals(expected), name
    return dict(killed)


# ------------------------------------------------------------------------------------- the page

CASES: dict[str, Callable[[Path], dict[str, Any]]] = {
    "reading": measure_reading,
    "listed": measure_listed,
    "cores": measure_cores,
    "relations": measure_relations,
    "upkeep": measure_upkeep,
    "interleavings": measure_interleavings,
    "kills": measure_kills,
}


def page(figures: dict[str, Any]) -> str:
    """The section of the measurements, from what has been measured so far."""
    lines = ["## Sources, lists, upkeep of tables", ""]
    if found := figures.get("reading"):
        lines += [
            f"**Parquet.** {found['megabytes']} MB of text, zstd, one core: to staged rows "
            f"{found['ours_mb_per_s']:.0f} MB/s, pyarrow's reading of the column alone "
            f"{found['pyarrow_mb_per_s']:.0f} MB/s, {found['ratio']:.2f} of it (target 0.9: "
            f"{verdict(found['ratio'], 0.9)}).",
            "",
        ]
    if found := figures.get("listed"):
        equal = "equal" if found["equal"] else "NOT EQUAL"
        job_rate = found["megabytes"] * found["copies"] / found["job_cpu"]
        lines += [
            f"**A list of {found['pairs']:,} bigrams** on {found['megabytes']:.0f} MB of synthetic "
            f"text as neighbours: {found['mb_per_s']:.0f} MB/s a core once in memory; counts "
            f"{equal} to those of a naive tokenised count ({found['occurrences']:,} occurrences of "
            f"{found['found']:,} pairs). The whole job on a Parquet file of these texts "
            f"{found['copies']} times, from process start: {found['job_wall']:.1f} s, "
            f"{found['job_cpu']:.1f} CPU seconds, {found['job_memory_mb']:.0f} MB: "
            f"{job_rate:.0f} MB/s a core (target 200: {verdict(job_rate, 200)}).",
            "",
        ]
    if found := figures.get("cores"):
        lines += [
            f"**One Parquet file of {found['megabytes']} MB, parsed by spaCy**, from start to end: "
            f"{found['one']:.0f} s on one core, {found['two']:.0f} s on two, "
            f"{found['ratio']:.2f} times as fast (target 1.8: {verdict(found['ratio'], 1.8)}). A "
            f"single sentence takes {found['start']:.1f} s, {found['start'] / found['one']:.1%} "
            "of the one core's time (target 5 %: "
            f"{verdict(found['start'] / found['one'], 0.05, at_least=False)}).",
            "",
        ]
    if found := figures.get("relations"):
        lines += [
            f"**Further relations**, off: a part of {found['megabytes']} MB takes "
            f"{found['ratio']:.3f} times the CPU time of the kernel without them, "
            f"{found['alone_mb_per_s']:.0f} beside {found['bare_mb_per_s']:.0f} MB/s (target 1.03: "
            f"{verdict(found['ratio'], 1.03, at_least=False)}). With all four of them, in Python, "
            f"{found['every_mb_per_s']:.1f} MB/s.",
            "",
        ]
    if found := figures.get("upkeep"):
        rows = [
            ["state", "opening, ms"],
            [f"{found['commits']:,} commits", f"{found['open_ms']:.0f}"],
            ["compacted", f"{found['open_compacted_ms']:.0f}"],
            ["vacuumed", f"{found['open_vacuumed_ms']:.0f}"],
        ]
        lines += [
            f"**A table of {found['commits']:,} commits**, a file each (target 100 ms: "
            f"{verdict(found['open_ms'], 100, at_least=False)}).",
            "",
            table(rows),
            "",
            f"Compaction took {found['compact_seconds']:.1f} s, vacuum "
            f"{found['vacuum_seconds']:.1f} s. Files of rows then take "
            f"{found['data_over_live']:.2f} times the live data (target 1.1: "
            f"{verdict(found['data_over_live'], 1.1, at_least=False)}), the log "
            f"{found['log_bytes'] / 1e3:.0f} kB.",
            "",
        ]
    if found := figures.get("interleavings"):
        lines += [
            f"**{found['runs']:,} random interleavings** of appends, replacements, compaction and "
            "vacuum, each within another's midst, lost and doubled no row.",
            "",
        ]
    if found := figures.get("kills"):
        stated = ", ".join(f"`{name}` {count}" for name, count in found.items())
        lines += [
            f"**kill -9** in the midst of each command, then run again: {stated} times, with the "
            "tables of a run that was not killed.",
            "",
        ]
    return "\n".join(lines)


def main(names: list[str]) -> None:
    """Measure the cases named and write their section."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        for name in names or list(CASES):
            taken = CASES[name](Path(folder))
            print(name, taken, flush=True)
            # Read anew: another process may have recorded figures of its own meanwhile.
            figures = recorded().get("sources", {}) | {name: taken}
            record("sources", figures)
            write_section("sources", page(figures), packages=PACKAGES)


if __name__ == "__main__":
    main(sys.argv[1:])
