"""The text formats and the maintenance of tables.

reading        Parquet to staged rows, against pyarrow's reading of the same column
cores          one Parquet file parsed on one core and on two
relations      a DepCC part counted only for amod, against the bare kernel; and with all relations
upkeep         a table with many commits: opening, compaction, vacuum
interleavings  runs of writers, compaction and vacuum in random order
kills          kill -9 during each command, then the command again
"""

import os
import random
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable

from adnominal.conf import load, setting
from adnominal.etl.amod import reading, tasks
from adnominal.etl.amod.kernel import PairCounter
from adnominal.etl.amod.settings import Settings as ExtractionSettings
from adnominal.etl.corpora.blocks import blocks
from adnominal.etl.corpora.files import open_input
from adnominal.etl.lake import actions, arrow, upkeep
from adnominal.etl.lake.storage import filesystem, table_uri
from adnominal.etl.lake.tables import TABLES
from benchmarks.harness import Bound, Case, CaseSettings, in_parts
from benchmarks.inputs import make_parts, units_of
from benchmarks.interleaving import interleaved
from benchmarks.jobs import stored_bytes
from benchmarks.killing import Command
from benchmarks.processes import timed, usage_of
from benchmarks.results import Figures
from benchmarks.sides import take_turns
from benchmarks.web_texts import write_english, write_texts

RELATIONS = ("predicative", "compound", "obj", "advmod")
ROW = {"corpus": "uk", "adjective": "a", "noun": "n", "count": 1}


@dataclass(frozen=True)
class Settings(CaseSettings):
    text_mb: int = setting(500, help="10^6 bytes of text for the part reading")
    parsed_mb: int = setting(9, help="10^6 bytes of text for the part cores")
    relations_mb: int = setting(100, help="10^6 bytes of the DepCC part for relations")
    commits: int = setting(10_000, help="commits of the table in upkeep")
    runs: int = setting(1000, help="runs of interleavings")
    kills: int = setting(5, help="kills of each command")
    repeats: int = setting(3, help="readings of which the median is taken")


def _cpu(act: Callable[[], Any], *, subject: bool = False) -> float:
    with timed(subject=subject) as timing:
        act()
    return timing.cpu


def texts_file(settings: Settings, folder: Path) -> Path:
    """The Parquet file of generated texts."""
    path = folder / "texts.parquet"
    if not path.exists():
        write_texts(path, settings.text_mb)
    return path


def measure_reading(settings: Settings, folder: Path) -> Figures:
    path = texts_file(settings, folder)
    file_units = list(enumerate(units_of(str(path))))
    task = load(ExtractionSettings, ["source=text", f"input={path}"])

    def staged_rows() -> int:
        return sum(staged.num_rows for staged in reading.read_units(file_units, task))

    def pyarrow_alone(columns: list[str]) -> int:
        # Memory-mapped, which is faster than the default.
        file = pq.ParquetFile(path, memory_map=True)
        batches = file.iter_batches(1024, columns=columns, use_threads=False)
        return sum(rows.num_rows for rows in batches)

    acts: dict[str, Callable[[], int]] = {
        "ours": staged_rows,
        "pyarrow": partial(pyarrow_alone, ["text"]),
        "pyarrow_with_ids": partial(pyarrow_alone, ["text", "id"]),
    }
    # In turn, because a machine's speed changes within seconds.
    rounds = [{name: _cpu(act) for name, act in acts.items()} for _ in range(5 * settings.repeats)]
    seconds = {name: median(times[name] for times in rounds) for name in acts}
    return {
        "megabytes": settings.text_mb,
        **{f"{name}_mb_per_s": settings.text_mb / seconds[name] for name in acts},
        "ratio": seconds["pyarrow"] / seconds["ours"],
    }


def measure_cores(settings: Settings, folder: Path) -> Figures:
    """spaCy on a Parquet file, on one core and on two, and on a single sentence."""
    path, tiny = folder / "english.parquet", folder / "tiny.parquet"
    write_english(path, settings.parsed_mb)
    pq.write_table(pa.table({"text": ["The old key is small."]}), tiny)
    walls = {}
    for name, cores, file in (("start", [0], tiny), ("one", [0], path), ("two", [0, 1], path)):
        words = ("source=text", "parser=spacy", f"input={file}", "unit_bytes=100000")
        lake = f"lake={folder / name}"
        walls[name] = usage_of("etl/extract_amod.py", *words, lake, cores=cores).wall
    return {"megabytes": settings.parsed_mb, **walls, "ratio": walls["one"] / walls["two"]}


def measure_relations(settings: Settings, folder: Path) -> Figures:
    """Tasks that support more relations but count only amod, against the kernel without them."""
    megabytes = settings.relations_mb
    (path,) = make_parts(folder, megabytes, 1)
    file_units = list(enumerate(units_of(str(path))))
    words = ["source=depcc", f"input={path}"]
    alone = load(ExtractionSettings, words)
    relations = f"relations=amod,{','.join(RELATIONS)}"
    every = load(ExtractionSettings, [*words, relations])

    def bare() -> None:
        counter, rows = PairCounter("depcc", alone.rules, alone.kernel), tasks.Rows()
        with open_input(str(path)) as stream:
            for block in blocks(stream):
                counter.feed(block)
        tasks.add_pairs(rows, 0, counter)
        tasks.add_stats(rows, 0, counter.stats())
        list(rows.take())

    sides = {
        "bare": lambda: _cpu(bare),
        "alone": lambda: _cpu(lambda: list(tasks.count_units(file_units, alone)), subject=True),
    }
    seconds = take_turns(sides, 2 * settings.repeats)
    medians = {name: median(times) for name, times in seconds.items()}
    return {
        "megabytes": megabytes,
        "bare_mb_per_s": megabytes / medians["bare"],
        "alone_mb_per_s": megabytes / medians["alone"],
        "ratio": medians["alone"] / medians["bare"],
        "every_mb_per_s": megabytes / _cpu(lambda: list(tasks.count_units(file_units, every))),
    }


def many_commits(root: str, commits: int) -> None:
    """Write a table with this number of commits, each of one file."""
    declared = TABLES["amod_pairs"]
    rows = pa.Table.from_pylist([ROW] * 20, declared.schema)
    arrow.append(root, "amod_pairs", rows, job="bench")
    uri = table_uri(root, "amod_pairs")
    files = filesystem(uri)
    first = actions.read(files, 0) or []
    info, add = (next(a for a in first if kind in a) for kind in ("commitInfo", "add"))
    source = Path(root, "amod_pairs", add["add"]["path"])
    for version in range(1, commits):
        copy = source.with_name(f"copy-{version}.parquet")
        copy.write_bytes(source.read_bytes())
        path = f"{add['add']['path'].rpartition('/')[0]}/{copy.name}"
        actions.put_commit(uri, version, [info, {"add": {**add["add"], "path": path}}])
        if version % 100 == 0:
            DeltaTable(uri).create_checkpoint()


def opening_ms(root: str) -> float:
    """The median time to open the table."""
    times = []
    for _ in range(9):
        with timed() as timing:
            arrow.version(root, "amod_pairs")
        times.append(timing.wall)
    return median(times) * 1e3


def measure_upkeep(settings: Settings, folder: Path) -> Figures:
    root, declared = str(folder / "many"), TABLES["amod_pairs"]
    many_commits(root, settings.commits)
    at_first = opening_ms(root)
    rows = arrow.read(root, "amod_pairs").num_rows
    with timed() as compaction:
        upkeep.compact(root, declared)
    compacted = opening_ms(root)
    with timed() as vacuum:
        upkeep.vacuum(root, declared, timedelta(0))
    # Only data files are compared with the live data; the log is reported separately.
    live = sum(file.size for file in arrow.files(root, "amod_pairs"))
    assert arrow.read(root, "amod_pairs").num_rows == rows
    return {
        "commits": settings.commits,
        "open_ms": at_first,
        "open_compacted_ms": compacted,
        "open_vacuumed_ms": opening_ms(root),
        "compact_seconds": compaction.wall,
        "vacuum_seconds": vacuum.wall,
        "data_over_live": stored_bytes(Path(root, "amod_pairs", "data")) / live,
        "log_bytes": stored_bytes(Path(root, "amod_pairs", "_delta_log")),
    }


def measure_interleavings(settings: Settings, folder: Path) -> Figures:
    """Random orders of writers, compaction and vacuum; `AssertionError` if a row is lost."""
    for seed in range(settings.runs):
        with tempfile.TemporaryDirectory(dir=folder) as lake:
            interleaved(lake, random.Random(seed), turns=3)
    return {"runs": settings.runs}


def measure_kills(settings: Settings, folder: Path) -> Figures:
    """Kill each command after a random share of its time and run it again, several times."""
    root = str(folder / "kill")
    rng = random.Random(0)
    lake = f"lake={root}"
    all_words = {
        "compact": ["-m", "etl.lake", "compact"],
        "vacuum": ["-m", "etl.lake", "vacuum", "older_than=0s"],
        "verify": ["-m", "etl.lake", "verify"],
    }
    output = folder / "output.txt"
    commands = {name: Command([*words, lake], output) for name, words in all_words.items()}
    for number in range(60):
        rows = pa.Table.from_pylist([{**ROW, "noun": f"n{number}"}], TABLES["amod_pairs"].schema)
        arrow.append(root, "amod_pairs", rows, job="bench")
    expected = arrow.read(root, "amod_pairs").sort_by("noun")
    killed: Counter[str] = Counter()
    for name, command in commands.items():
        wall = command.run()
        for _ in range(settings.kills):
            command.killed_and_run_again(rng.uniform(0.3, 1.0) * wall)
            killed[name] += 1
            assert arrow.read(root, "amod_pairs").sort_by("noun").equals(expected), name
    return dict(killed)


def in_folder(part: Callable[[Settings, Path], Figures]) -> Callable[[Settings], Figures]:
    """Run the part in a temporary folder."""

    def measure(settings: Settings) -> Figures:
        parent = settings.folder or os.environ.get("TMPDIR")
        with tempfile.TemporaryDirectory(dir=parent) as folder:
            return part(settings, Path(folder))

    return measure


CASE = Case(
    "sources",
    in_parts(
        reading=in_folder(measure_reading),
        cores=in_folder(measure_cores),
        relations=in_folder(measure_relations),
        upkeep=in_folder(measure_upkeep),
        interleavings=in_folder(measure_interleavings),
        kills=in_folder(measure_kills),
    ),
    settings=Settings,
    packages=("pyarrow", "deltalake", "pysail", "spacy"),
    bounds={
        "reading": Bound("reading.ratio", least=0.9),
        "cores": Bound("cores.ratio", least=1.8),
        "start": Bound("cores.start / cores.one", most=0.05),
        "relations": Bound("relations.ratio", most=1.03),
        "opening": Bound("upkeep.open_ms", most=100),
        "space": Bound("upkeep.data_over_live", most=1.1),
    },
)
