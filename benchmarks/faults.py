"""Extractions killed at random moments and run again: are the tables those of an uninterrupted run?

On each engine, with 1, 2 and 7 tasks, a job of four waves that writes all of its tables runs once
uninterrupted. Then it is killed (kill -9) in each of several equal spans of that run's time, and
the command is repeated until it succeeds. In turn the whole process tree is killed, with JVM and
workers, or only the driver, so that the others may continue for a while beside the following run.
`python -m tests.faults` goes through single storage operations of other commands.
"""

import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path

import pyspark

from adnominal.conf import ROOT, setting
from adnominal.etl.lake import arrow
from benchmarks import synthetic_depcc
from benchmarks.cases import Bound, Case, CaseSettings, Measurement
from benchmarks.processes import kill_tree
from benchmarks.results import Figures

ENGINES = ("sail", "spark")
PARTITIONS = (1, 2, 7)
PARTS, MEGABYTES = 8, 0.5
MOST_RUNS = 5  # after a kill, each of which continues where the one before it stopped
TABLES = (
    *("amod_files", "amod_counts", "amod_pairs", "amod_association", "amod_by_adjective"),
    *("amod_examples", "amod_seen", "sentences", "dropped"),
)


@dataclass(frozen=True)
class Settings(CaseSettings):
    engines: list[str] = setting(list(ENGINES), help="engines of the job")
    partitions: list[int] = setting(list(PARTITIONS), help="tasks of a wave")
    kills: int = setting(5, help="kills of each job")
    seed: int = setting(1, help="seed of the moments of the kills")

    def __post_init__(self) -> None:
        self.check_known("engines", ENGINES)
        self.check_positive("kills")


def write_parts(folder: Path) -> Path:
    """Small parts; the last is a copy of the first, so that there are duplicate sentences."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    parts = [folder / f"part-{number}.gz" for number in range(PARTS)]
    synthetic_depcc.write_parts(parts[:-1], MEGABYTES)
    shutil.copyfile(parts[0], parts[-1])
    return folder


def job_settings(parts: Path, engine: str, partitions: int) -> list[str]:
    """The job with two parts per wave and all tables requested, without the lake."""
    largest = max(path.stat().st_size for path in parts.iterdir())
    return [
        *("source=depcc", f"input={parts}", f"wave_bytes={2 * largest}", f"engine={engine}"),
        *(f"partitions={partitions}", "examples=2", "keep_text=true", "deduplicate=sentence"),
    ]


def start(lake: Path, words: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start the job; on local Spark it uses this interpreter and its Spark."""
    spark = {"SPARK_HOME": str(Path(pyspark.__file__).parent)}
    spark |= dict.fromkeys(("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"), sys.executable)
    with lake.with_suffix(".txt").open("ab") as output:
        return subprocess.Popen(
            [sys.executable, str(ROOT / "etl" / "extract_amod.py"), *words, f"lake={lake}"],
            cwd=ROOT,
            env={**os.environ, **spark},
            stdout=output,
            stderr=output,
            start_new_session=True,
        )


def kill_at(seconds: float, lake: Path, words: Sequence[str], *, driver_alone: bool) -> bool:
    """Kill the job so many seconds after its start; whether it was still running."""
    process = start(lake, words)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        if driver_alone:
            process.kill()
            process.wait()
        else:
            kill_tree(process)
        return True
    return False


def run_until_success(lake: Path, words: Sequence[str]) -> int:
    """Repeat the job until it succeeds; the number of runs. `RuntimeError` if `MOST_RUNS` fail."""
    for number in range(1, MOST_RUNS + 1):
        if start(lake, words).wait() == 0:
            return number
    text = lake.with_suffix(".txt").read_text()
    raise RuntimeError(f"{MOST_RUNS} runs failed:\n{text[-2000:]}")


def table_digest(lake: Path, table: str) -> str:
    """SHA-256 of a table's rows, independent of order and files; empty if there is no table."""
    if arrow.version(str(lake), table) is None:
        return ""
    texts = sorted(map(repr, arrow.read(str(lake), table).to_pylist()))
    return sha256("\n".join(texts).encode()).hexdigest()


def moment_of(number: int, kills: int, wall: float, seed: str) -> float:
    """A random moment in the n-th of equal spans of a run."""
    return wall / kills * (number + random.Random(f"{seed}/{number}").random())


def measure(settings: Settings, engine: str, partitions: int) -> Figures:
    """The kills of a job: seconds of the whole run, the number of kills, of runs after them, and
    the tables that differed."""
    folder = settings.place("faults")
    words = job_settings(write_parts(folder / "parts"), engine, partitions)
    lake = folder / "lake"
    shutil.rmtree(lake, ignore_errors=True)
    begun = time.monotonic()
    run_until_success(lake, words)
    wall = time.monotonic() - begun
    expected = {table: table_digest(lake, table) for table in TABLES}
    runs = 0
    differing = []
    for number in range(settings.kills):
        seed = f"{settings.seed}/{engine}/{partitions}"
        moment = moment_of(number, settings.kills, wall, seed)
        shutil.rmtree(lake)
        while not kill_at(moment, lake, words, driver_alone=bool(number % 2)):
            moment *= 0.8  # it had ended before
            shutil.rmtree(lake)
        runs += run_until_success(lake, words)
        differing += [table for table in TABLES if table_digest(lake, table) != expected[table]]
    return {"wall": wall, "kills": settings.kills, "runs": runs, "differing": differing}


def measurements(settings: Settings) -> dict[str, Measurement]:
    """A measurement for each engine and number of tasks."""
    return {
        f"{engine} {partitions}": partial(measure, settings, engine, partitions)
        for engine in settings.engines
        for partitions in settings.partitions
    }


CASE = Case(
    "faults",
    "Extractions killed and run again",
    measurements,
    settings=Settings,
    resumes=True,
    packages=("pysail", "pyspark", "deltalake", "pyarrow"),
    bounds={
        "tables that differ": Bound(
            "figures.values()|map(attribute='differing')|sum(start=[])|length", most=0
        )
    },
)
