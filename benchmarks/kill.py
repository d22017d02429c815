"""kill -9 at random moments, then the same command again: are the tables those of a whole run?

On each engine, on 1, 2 and 7 partitions, a job of several waves runs once uninterrupted. Then it is
killed several times at a random moment (seeded; one in each span of the time after the engine is
up), and the same command is repeated at once until it succeeds. The kill hits the whole process
tree, including JVM and workers, or only the Python driver, whose JVM or workers may continue for a
while next to the following run. The job writes everything that it can: examples, sentences,
without duplicates. Finished cases are stored in `folder`, so that the benchmark itself can be
stopped and continued.
"""

import json
import shutil
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path

from adnominal.conf import setting, settings_hash
from benchmarks import jobs, synthetic_depcc
from benchmarks.harness import Bound, Case, CaseSettings, log, whole
from benchmarks.killing import Command, moment_in, stored
from benchmarks.results import Figures

TABLES = (
    *("amod_files", "amod_counts", "amod_pairs", "amod_association", "amod_by_adjective"),
    *("amod_examples", "amod_seen", "sentences", "dropped"),
)


@dataclass(frozen=True)
class Settings(CaseSettings):
    engines: list[str] = setting(["sail", "spark"], help="engines of the job")
    partitions: list[int] = setting([1, 2, 7], help="tasks of a wave; each gets all the kills")
    kills: int = setting(5, help="kills for each number of partitions")
    files: int = setting(8, help="parts of the input, two per wave")
    megabytes: float = setting(0.5, help="size of each part, uncompressed, in 10^6 bytes")
    seed: int = setting(1, help="seed of the parts and of the times of the kills")

    def __post_init__(self) -> None:
        self.check_positive("kills", "files", "megabytes")


def measured(settings: Settings) -> Figures:
    """The matrix of kills."""
    identity = settings_hash(settings, ["files", "megabytes", "seed"])
    folder = settings.place("kill") / identity
    inputs = make_input(folder / "input", settings)
    peace: dict[str, Figures] = {}
    kills: list[Figures] = []
    for engine, partitions in product(settings.engines, settings.partitions):
        arguments = job_arguments(inputs, settings, engine, partitions)
        place = folder / f"{engine}-{partitions}-peace"
        undisturbed = stored(place / "peace.json", partial(in_peace, place, arguments))
        peace[f"{engine} {partitions}"] = undisturbed
        log.info("%s, %d partitions in peace: %s", engine, partitions, undisturbed)
        for number in range(settings.kills):
            place = folder / f"{engine}-{partitions}-kill-{number}-of-{settings.kills}"
            kill = partial(one_kill, place, arguments, undisturbed, number, settings)
            case = {"engine": engine, "partitions": partitions, **stored(place / "case.json", kill)}
            kills.append(case)
            log.info("%s", case)
    return figures_of(peace, kills, settings)


def figures_of(peace: dict[str, Figures], kills: list[Figures], settings: Settings) -> Figures:
    """The recorded figures: the number of cases, how many differ, and each of them."""
    return {
        "cases": len(kills),
        "differing": sum(bool(kill["differing"]) for kill in kills),
        "kills": kills,
        "peace": {name: [run["wall"], run["commits"]] for name, run in peace.items()},
        "equal": len({json.dumps(run["digests"]) for run in peace.values()}) == 1,
        "files": settings.files,
        "megabytes": settings.megabytes,
    }


def make_input(folder: Path, settings: Settings) -> Path:
    """Small parts, the last a copy of the first (duplicates across waves, to be dropped)."""
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
    """The job with two files per wave and all tables requested, without the lake."""
    largest = max(path.stat().st_size for path in inputs.iterdir())
    return [
        *("source=depcc", f"input={inputs}", f"wave_bytes={2 * largest}", f"engine={engine}"),
        *(f"partitions={partitions}", "examples=2", "keep_text=true", "deduplicate=sentence"),
        f"seed={settings.seed}",
    ]


def command_in(place: Path, arguments: list[str]) -> Command:
    """The job on a lake in the folder."""
    words = ["etl/extract_amod.py", *arguments, f"lake={place / 'lake'}"]
    return Command(words, place / "output.txt")


def digests(lake: Path) -> dict[str, str | None]:
    """The content of all tables of a lake."""
    return {name: jobs.table_digest(lake, name) for name in TABLES}


def differing(contents: dict[str, str | None], expected: dict[str, str | None]) -> list[str]:
    """The tables whose contents differ."""
    return [name for name in TABLES if contents.get(name) != expected.get(name)]


def commits_in(lake: Path) -> int:
    """The number of commits to the tables of a lake."""
    return sum(1 for _ in lake.glob("*/_delta_log/*.json"))


def in_peace(place: Path, arguments: list[str]) -> Figures:
    """The uninterrupted run: seconds to its end and to its first write, commits, tables."""
    lake = jobs.emptied(place) / "lake"
    command = command_in(place, arguments)
    ready: list[float] = []

    def watch(seconds: float) -> None:
        # The ledger is the first table written, once the engine is up and the waves are planned.
        if not ready and (lake / "amod_files" / "_delta_log").exists():
            ready.append(seconds)

    wall = command.run(watch)
    if not ready:
        raise command.error("the uninterrupted run wrote no ledger")
    contents = digests(lake)
    if missing := [name for name, digest in contents.items() if digest is None]:
        raise RuntimeError(f"the job did not write {', '.join(missing)}: nothing to compare")
    return {"wall": wall, "ready": ready[0], "commits": commits_in(lake), "digests": contents}


def moment_of(peace: Figures, number: int, case: str, settings: Settings) -> float:
    """The time of the kill: in the `number`-th of equal spans between first and last work, which
    begins shortly before its first write, the ledger, is on disk."""
    seed = f"{settings.seed}/{case}/{number}"
    return moment_in(0.9 * peace["ready"], peace["wall"], (number, settings.kills), seed)


def one_kill(
    place: Path, arguments: list[str], peace: Figures, number: int, settings: Settings
) -> Figures:
    """Kill one run and repeat the command.

    Adds to the figures of `Command.killed_and_run_again` the commits before the kill, what was
    killed, the tables that differ from the uninterrupted run's, and the files left in staging.
    """
    lake, driver_alone = place / "lake", bool(number % 2)
    words = dict(word.split("=", 1) for word in arguments)
    case = f"{words['engine']}/{words['partitions']}"
    figures = command_in(place, arguments).killed_and_run_again(
        moment_of(peace, number, case, settings),
        driver_alone=driver_alone,
        prepare=partial(jobs.emptied, place),
        inspect=lambda: {"commits": commits_in(lake)},
    ) | {
        "killed": "driver" if driver_alone else "tree",
        "differing": differing(digests(lake), peace["digests"]),
        "left": sum(path.is_file() for path in (lake / "_staging").rglob("*")),
    }
    if not figures["differing"]:
        shutil.rmtree(lake)
    return figures


CASE = Case(
    "kill",
    whole(measured),
    settings=Settings,
    packages=("pysail", "pyspark", "deltalake", "pyarrow"),
    bounds={"cases whose tables differ": Bound("differing", most=0)},
)
