"""The commands to disturb, on tiny lakes; each is a function that returns its exit code."""

import os
import random
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

import pyarrow as pa

from adnominal import conf
from adnominal.etl.lake import arrow, staging
from adnominal.etl.lake.storage import filesystem, table_uri
from adnominal.etl.lake.tables import TABLES
from adnominal.etl.looking.commands import main as lake_command
from tests.etl.amod.corpus import write_part

PAIRS = "amod_pairs"


@dataclass(frozen=True)
class Place:
    """The folders of a case: `root`, whose operations count, and `inputs`, which is only read."""

    root: Path
    inputs: Path
    seed: int

    @property
    def lake(self) -> str:
        return str(self.root / "lake")


@dataclass(frozen=True)
class Nothing:
    """The settings of a command without settings."""


def pairs(seed: int, corpus: str, first: int = 0, count: int = 3) -> pa.Table:
    """Rows of amod_pairs, the same for the same seed."""
    draw = random.Random(f"{seed}/{corpus}/{first}")
    rows = [
        {"corpus": corpus, "adjective": draw.choice("abc"), "noun": f"n{n}", "count": n + 1}
        for n in range(first, first + count)
    ]
    return pa.Table.from_pylist(rows, TABLES[PAIRS].schema)


def as_command(job: Callable[[], object]) -> int:
    """Run `job` with the exit code and messages of our commands."""
    return conf.run(Nothing, lambda _: job(), [])


def empty(place: Place) -> None:
    """A folder without a lake."""
    place.root.mkdir(parents=True)


def two_corpora(place: Place) -> None:
    """A table of two partitions and three commits."""
    for number, corpus in enumerate(("uk", "de", "uk")):
        rows = pairs(place.seed, corpus, 10 * number)
        arrow.append(place.lake, PAIRS, rows, job="before", transaction=("before", number))


def replaced(place: Place) -> None:
    """`two_corpora` with a replaced partition and the files of an old killed write."""
    two_corpora(place)
    arrow.replace(place.lake, PAIRS, pairs(place.seed, "uk", 50), {"corpus": "uk"}, job="before")
    killed_write(place)


def killed_write(place: Place) -> None:
    """The files of a write that was killed two days ago."""
    files = filesystem(table_uri(place.lake, PAIRS))
    write = staging.begin(files)
    folder = place.root / "lake" / PAIRS / "data" / write / "corpus=uk"
    folder.mkdir(parents=True)
    (folder / "part-0.parquet").write_bytes(b"PAR1 half a file")
    age(place.root, days=2)


def long_log(place: Place) -> None:
    """A table one commit before delta-rs writes a checkpoint."""
    for number in range(100):
        rows = pairs(place.seed, "uk", number, 1)
        arrow.append(place.lake, PAIRS, rows, job="before", transaction=("before", number))


def lexicon(place: Place) -> None:
    """A table without partitions."""
    arrow.replace(place.lake, "adjective_classes", classes(0), {}, job="before")


def classes(version: int) -> pa.Table:
    rows = [{"adjective": f"a{n}", "class": "IS"[version], "source": "t"} for n in range(3)]
    return pa.Table.from_pylist(rows, TABLES["adjective_classes"].schema)


def age(folder: Path, days: float) -> None:
    """Make everything in `folder` look `days` old."""
    moment = time.time() - days * 86_400
    for path in folder.rglob("*"):
        os.utime(path, (moment, moment))


def append(place: Place, job: str = "append", first: int = 20) -> int:
    """Append rows to a partition, in a transaction."""
    rows = pairs(place.seed, "uk", first)
    return as_command(lambda: arrow.append(place.lake, PAIRS, rows, job=job, transaction=(job, 1)))


append_other = partial(append, job="other", first=30)


def replace(place: Place, job: str = "replace", first: int = 40) -> int:
    """Replace a partition."""
    rows = pairs(place.seed, "uk", first)
    return as_command(lambda: arrow.replace(place.lake, PAIRS, rows, {"corpus": "uk"}, job=job))


replace_other = partial(replace, job="other", first=60)


def replace_whole(place: Place) -> int:
    """Replace a table without partitions."""
    return as_command(
        lambda: arrow.replace(place.lake, "adjective_classes", classes(1), {}, job="replace")
    )


def compact(place: Place) -> int:
    return lake_command(["compact", f"lake={place.lake}"])


def vacuum(place: Place) -> int:
    return lake_command(["vacuum", f"lake={place.lake}", "older_than=0s"])


def export(place: Place) -> int:
    """Export a table to a file."""
    out = place.root / "pairs.tsv"
    options = ["format=tsv", f"out={out}", "overwrite=true"]
    return lake_command(["export", PAIRS, f"lake={place.lake}", *options])


def extraction(*words: str, parts: int = 2) -> Callable[[Place], int]:
    """The extraction job on the embedded engine, with one wave per part."""

    def run(place: Place) -> int:
        from adnominal.etl.amod import job, settings

        inputs = [str(path) for path in write_parts(place)[:parts]]
        arguments = ["source=depcc", f"input={','.join(inputs)}", "wave_bytes=1", "engine=sail"]
        arguments += [f"lake={place.lake}", "partitions=1", *words]
        return conf.run(settings.Settings, job.extract, arguments)

    return run


def write_parts(place: Place) -> list[Path]:
    """Three parts of a corpus, outside the folder whose operations count."""
    place.inputs.mkdir(parents=True, exist_ok=True)
    paths = [place.inputs / f"{number:02}.gz" for number in range(3)]
    for number, path in enumerate(paths):
        if not path.exists():
            write_part(path, [("old", "key"), (f"a{number}", "key"), ("red", f"n{number}")])
    return paths


def one_wave_read(place: Place) -> None:
    """A corpus of which one part was read."""
    assert extraction(parts=1)(place) == 0


def stopped_before_the_ledger(place: Place) -> None:
    """Two parts; the job was killed after counting the first, before the ledger was updated."""
    from adnominal.etl.amod import plan

    def interrupt(*_: object) -> Any:
        raise KeyboardInterrupt

    finished, plan.updated_ledger = plan.updated_ledger, cast("Any", interrupt)
    try:
        assert extraction()(place) == 130
    finally:
        plan.updated_ledger = finished


@dataclass(frozen=True)
class Scenario:
    """A command on a lake. With `engine`, it starts an engine, and a case takes seconds."""

    name: str
    prepare: Callable[[Place], Any]
    command: Callable[[Place], int]
    engine: bool = False


SCENARIOS = {
    scenario.name: scenario
    for scenario in (
        Scenario("first write", empty, append),
        Scenario("append", two_corpora, append),
        Scenario("append, old leftovers", replaced, append),
        Scenario("append, checkpoint", long_log, append),
        Scenario("replace", two_corpora, replace),
        Scenario("replace, no partitions", lexicon, replace_whole),
        Scenario("compact", two_corpora, compact),
        Scenario("vacuum", replaced, vacuum),
        Scenario("export", two_corpora, export),
        Scenario("waves", empty, extraction(), engine=True),
        Scenario("resume", stopped_before_the_ledger, extraction(), engine=True),
        Scenario("further wave", one_wave_read, extraction(), engine=True),
    )
}


def fresh_folder(folder: Path) -> Path:
    """Delete `folder`, if it exists; its path."""
    shutil.rmtree(folder, ignore_errors=True)
    return folder
