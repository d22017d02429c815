"""kill -9 at random moments, then the same command again: are the tables those of a whole run?

    python -m benchmarks.kill [folder=DIR] [key=value …]

On each engine, on 1, 2 and 7 partitions, a job of several waves is run once in peace; then five
times it is killed at a random moment (seeded; one in each fifth of the time after the engine is up)
and the same command given again, at once, until it ends well. Killed is the whole tree of
processes, JVM and workers included, or the Python driver alone, whose JVM or workers may go on for
a while beside the next run. The job
is asked for all that it can write: examples, sentences, duplicates left out. Finished cases are
kept in `folder`, so that the benchmark itself can be stopped and run again.
"""

from __future__ import annotations

import json
import logging
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path

import conf
from benchmarks import jobs, synthetic_depcc
from benchmarks.processes import kill_tree
from benchmarks.results import record, table, write_section
from conf import ROOT, UserError, setting, settings_hash

PACKAGES = ("pysail", "pyspark", "deltalake", "pyarrow")
TABLES = (
    "amod_files",
    "amod_counts",
    "amod_pairs",
    "amod_association",
    "amod_by_adjective",
    "amod_examples",
    "amod_seen",
    "sentences",
    "dropped",
)
# Runs after which a case is given up: each goes on where the one before it stopped.
RUNS = 5
WAITED = 900.0

log = logging.getLogger("adnominal")


@dataclass(frozen=True)
class Settings:
    """Settings of ``benchmarks/kill.py``."""

    folder: str | None = setting(
        None, help="where input, lakes and finished cases lie; the system's temporary folder"
    )
    engines: list[str] = setting(["sail", "spark"], help="engines of the job")
    partitions: list[int] = setting([1, 2, 7], help="tasks of a wave; each gets all the kills")
    kills: int = setting(5, help="kills on each number of partitions")
    files: int = setting(8, help="parts of the input, two a wave")
    megabytes: float = setting(0.5, help="size of each part, uncompressed, in 10^6 bytes")
    seed: int = setting(1, help="seed of the parts and of the moments")
    keep: bool = setting(True, help="write RESULTS.md and results.json, not only print")

    def __post_init__(self) -> None:
        for name in ("kills", "files", "megabytes"):
            if getattr(self, name) <= 0:
                raise UserError(f"{name}={getattr(self, name)}: expected more than 0")


@dataclass(frozen=True)
class Peace:
    """An uninterrupted run: seconds to its end and to its first trace, commits, and tables."""

    wall: float
    ready: float
    commits: int
    digests: dict[str, str | None]


@dataclass(frozen=True)
class Case:
    """One kill and what came after.

    moment     seconds after the start at which it was killed
    commits    commits to tables that it had made by then
    killed     "tree" or "driver", and how many processes that were
    runs       runs of the command until it ended well, the killed one not counted
    differing  tables whose content is not that of the uninterrupted run; empty is what is wanted
    left       files left in the staging folder
    """

    engine: str
    partitions: int
    moment: float
    commits: int
    killed: str
    processes: int
    runs: int
    differing: list[str]
    left: int


def benchmark(settings: Settings) -> None:
    """Run the matrix of kills; print its table and keep it. `JobFailed` if a table differs."""
    base = Path(settings.folder or Path(tempfile.gettempdir()) / "adnominal-bench") / "kill"
    folder = base / settings_hash(settings, ["files", "megabytes", "seed"])
    inputs = make_input(folder / "input", settings)
    peace: dict[tuple[str, int], Peace] = {}
    cases: list[Case] = []
    for engine, partitions in product(settings.engines, settings.partitions):
        arguments = job_arguments(inputs, settings, engine, partitions)
        whole = in_peace(folder / f"{engine}-{partitions}-peace", arguments)
        peace[engine, partitions] = whole
        log.info("%s, %d partitions in peace: %.0f s", engine, partitions, whole.wall)
        for number in range(settings.kills):
            place = folder / f"{engine}-{partitions}-kill-{number}-of-{settings.kills}"
            case = one_kill(place, arguments, whole, number, settings)
            log.info("%s", case)
            cases.append(case)
    section = page(peace, cases, settings)
    print(section)
    if settings.keep:
        write_section("kill", section, packages=PACKAGES)
        record("kill", {"cases": len(cases), "differing": sum(bool(c.differing) for c in cases)})
    wrong = [case for case in cases if case.differing]
    if wrong:
        raise conf.JobFailed(f"{len(wrong)} of {len(cases)} cases differ, such as {wrong[0]}")


def make_input(folder: Path, settings: Settings) -> Path:
    """Small parts, the last a copy of the first (duplicates across waves to be left out)."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(settings.files):
        part = folder / f"part-{number:02d}.gz"
        if part.exists():
            continue
        if number and number == settings.files - 1:
            shutil.copyfile(folder / "part-00.gz", part)
        else:
            fresh = folder / "part.new"
            synthetic_depcc.write(fresh, settings.megabytes, settings.seed + number)
            fresh.replace(part)
    return folder


def job_arguments(inputs: Path, settings: Settings, engine: str, partitions: int) -> list[str]:
    """The job with two files a wave, and all tables asked for; the lake is yet to be named."""
    largest = max(path.stat().st_size for path in inputs.iterdir())
    return [
        "source=depcc",
        f"input={inputs}",
        f"wave_bytes={2 * largest}",
        f"engine={engine}",
        f"partitions={partitions}",
        "examples=2",
        "keep_text=true",
        "deduplicate=sentence",
        f"seed={settings.seed}",
    ]


def digests(lake: Path) -> dict[str, str | None]:
    """The content of all tables of a lake."""
    return {name: jobs.table_digest(lake, name) for name in TABLES}


def differing(found: dict[str, str | None], wanted: dict[str, str | None]) -> list[str]:
    """The tables whose content is not the same."""
    return [name for name in TABLES if found.get(name) != wanted.get(name)]


# --------------------------------------------------------------------------------------- the runs


def start(lake: Path, arguments: list[str], output: Path) -> subprocess.Popen[bytes]:
    """Start the job as ``python etl/extract_amod.py``, so that the driver is the Python process."""
    with output.open("ab") as file:
        return subprocess.Popen(
            [sys.executable, str(ROOT / "etl" / "extract_amod.py"), *arguments, f"lake={lake}"],
            stdout=file,
            stderr=file,
            env={**os.environ, **jobs.environment()},
            start_new_session=True,
        )


def in_peace(place: Path, arguments: list[str]) -> Peace:
    """The uninterrupted run; one that was made before is read again from `place`."""
    kept = place / "peace.json"
    if kept.exists():
        return Peace(**json.loads(kept.read_text()))
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    output = place / "output.txt"
    began = time.monotonic()
    process = start(place / "lake", arguments, output)
    ready = None
    while process.poll() is None:
        # The ledger is the first table written, when the engine is up and the waves are planned.
        if ready is None and (place / "lake" / "amod_files" / "_delta_log").exists():
            ready = time.monotonic() - began
        time.sleep(0.05)
        if time.monotonic() - began > WAITED:
            kill_tree(process)
    wall = time.monotonic() - began
    if process.returncode or ready is None:
        raise RuntimeError(f"the uninterrupted run failed:\n{output.read_text()[-2000:]}")
    peace = Peace(wall, ready, commits_in(place / "lake"), digests(place / "lake"))
    missing = [name for name, digest in peace.digests.items() if digest is None]
    if missing:
        raise RuntimeError(f"the job did not write {', '.join(missing)}: nothing to compare")
    kept.write_text(json.dumps(asdict(peace)))
    return peace


def moment_of(peace: Peace, number: int, case: str, settings: Settings) -> float:
    """When to kill: random within the `number`-th of equal spans between the first and last work.

    The work begins a little before its first trace, the ledger, is on the disk.
    """
    random_ = random.Random(f"{settings.seed}/{case}/{number}")
    begin = 0.9 * peace.ready
    span = (peace.wall - begin) / settings.kills
    return begin + span * (number + random_.random())


def one_kill(
    place: Path,
    arguments: list[str],
    peace: Peace,
    number: int,
    settings: Settings,
) -> Case:
    """Kill one run and repeat the command; a case that was finished before is read again."""
    kept = place / "case.json"
    if kept.exists():
        return Case(**json.loads(kept.read_text()))
    given = dict(word.split("=", 1) for word in arguments)
    engine, partitions = given["engine"], int(given["partitions"])
    moment = moment_of(peace, number, f"{engine}/{partitions}", settings)
    whole = number % 2 == 0
    while True:
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        output = place / "output.txt"
        process = start(place / "lake", arguments, output)
        try:
            process.wait(moment)
        except subprocess.TimeoutExpired:
            break
        # This run was faster than the one in peace.
        moment *= 0.8
    if whole:
        processes = kill_tree(process)
    else:
        process.kill()
        process.wait()
        processes = 1
    commits = commits_in(place / "lake")

    runs = 0
    code = -1
    while code != 0:
        if runs == RUNS:
            raise RuntimeError(f"{RUNS} runs after the kill failed:\n{output.read_text()[-2000:]}")
        runs += 1
        process = start(place / "lake", arguments, output)
        try:
            code = process.wait(WAITED)
        except subprocess.TimeoutExpired:
            kill_tree(process)
    staging = place / "lake" / "_staging"
    case = Case(
        engine=engine,
        partitions=partitions,
        moment=moment,
        commits=commits,
        killed="tree" if whole else "driver",
        processes=processes,
        runs=runs,
        differing=differing(digests(place / "lake"), peace.digests),
        left=sum(path.is_file() for path in staging.rglob("*")) if staging.exists() else 0,
    )
    kept.write_text(json.dumps(asdict(case)))
    if not case.differing:
        shutil.rmtree(place / "lake")
    return case


def commits_in(lake: Path) -> int:
    """How many commits the tables of a lake have had."""
    return sum(1 for _ in lake.glob("*/_delta_log/*.json"))


# --------------------------------------------------------------------------------------- the page


def page(peace: dict[tuple[str, int], Peace], cases: list[Case], settings: Settings) -> str:
    """The section of RESULTS.md."""
    rows = [
        [
            "engine",
            "partitions",
            "killed after",
            "at commit",
            "killed",
            "runs after",
            "tables that differ",
        ]
    ]
    rows += [
        [
            case.engine,
            str(case.partitions),
            f"{case.moment:.1f} s",
            f"{case.commits} of {peace[case.engine, case.partitions].commits}",
            f"all {case.processes} processes" if case.killed == "tree" else "Python driver alone",
            str(case.runs),
            ", ".join(case.differing) or "none",
        ]
        for case in cases
    ]
    same = sum(not case.differing for case in cases)
    left = sum(bool(case.left) for case in cases)
    waves = -(-settings.files // 2)
    calm = ", ".join(f"{engine} {n}: {p.wall:.1f} s" for (engine, n), p in peace.items())
    equal = len({json.dumps(p.digests) for p in peace.values()}) == 1
    return "\n".join(
        [
            "## Kill and go on",
            "",
            f"`python -m benchmarks.kill`: {settings.files} DepCC parts of {settings.megabytes:g} "
            f"MB in {waves} waves, with examples, sentences and duplicate sentences left out, on "
            f"this machine. Uninterrupted runs by engine and partitions: {calm}; their tables are "
            f"{'the same' if equal else 'NOT THE SAME'} on all of them. After each kill -9 the "
            "same command was given again at once until it ended well.",
            "",
            f"**{same} of {len(cases)} cases: all {len(TABLES)} tables hold what those of the "
            f"uninterrupted run hold** ({', '.join(TABLES)}; rows compared by digest). Staged "
            f"files were left behind in {left} cases.",
            "",
            table(rows),
        ]
    )


if __name__ == "__main__":
    sys.exit(conf.run(Settings, benchmark))
