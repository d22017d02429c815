"""What is disturbed: commands on tiny lakes, each a function that returns its exit code."""

from __future__ import annotations

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

import conf
from etl.lake import arrow, staging
from etl.lake.__main__ import main as lake_command
from etl.lake.storage import filesystem, table_uri
from etl.lake.tables import TABLES
from tests.etl.amod.corpus import write_part

PAIRS = "amod_pairs"


@dataclass(frozen=True)
class Place:
    """The folders of a case: `root`, whose operations are counted, and one of files only read."""

    root: Path
    inputs: Path
    seed: int

    @property
    def lake(self) -> str:
        return str(self.root / "lake")


@dataclass(frozen=True)
class Nothing:
    """Settings of a command that has none."""


def pairs(seed: int, corpus: str, first: int = 0, count: int = 3) -> pa.Table:
    """Rows of amod_pairs, the same for the same seed."""
    draw = random.Random(f"{seed}/{corpus}/{first}")
    rows = [
        {"corpus": corpus, "adjective": draw.choice("abc"), "noun": f"n{n}", "count": n + 1}
        for n in range(first, first + count)
    ]
    return pa.Table.from_pylist(rows, TABLES[PAIRS].schema)


def as_command(job: Callable[[], object]) -> int:
    """`job` with the exit code and the message that a command of the house would give."""
    return conf.run(Nothing, lambda _: job(), [])


# ------------------------------------------------------------------------------------- the lakes


def empty(place: Place) -> None:
    """No lake yet."""
    place.root.mkdir(parents=True)


def two_corpora(place: Place) -> None:
    """A table of two partitions and three commits."""
    for number, corpus in enumerate(("uk", "de", "uk")):
        rows = pairs(place.seed, corpus, 10 * number)
        arrow.append(place.lake, PAIRS, rows, job="before", transaction=("before", number))


def replaced(place: Place) -> None:
    """As `two_corpora`, one partition replaced since, and an old killed write beside it."""
    two_corpora(place)
    arrow.replace(place.lake, PAIRS, pairs(place.seed, "uk", 50), {"corpus": "uk"}, job="before")
    killed_write(place)


def killed_write(place: Place) -> None:
    """What a write that was killed two days ago has left."""
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
    """Make everything below `folder` look as old as that."""
    moment = time.time() - days * 86_400
    for path in folder.rglob("*"):
        os.utime(path, (moment, moment))


# ---------------------------------------------------------------------------------- the commands


def append(place: Place, job: str = "append", first: int = 20) -> int:
    """Rows added to a partition, once."""
    rows = pairs(place.seed, "uk", first)
    return as_command(lambda: arrow.append(place.lake, PAIRS, rows, job=job, transaction=(job, 1)))


append_other = partial(append, job="other", first=30)


def replace(place: Place, job: str = "replace", first: int = 40) -> int:
    """A partition replaced."""
    rows = pairs(place.seed, "uk", first)
    return as_command(lambda: arrow.replace(place.lake, PAIRS, rows, {"corpus": "uk"}, job=job))


replace_other = partial(replace, job="other", first=60)


def replace_whole(place: Place) -> int:
    """A table without partitions replaced."""
    return as_command(
        lambda: arrow.replace(place.lake, "adjective_classes", classes(1), {}, job="replace")
    )


def compact(place: Place) -> int:
    return lake_command(["compact", f"lake={place.lake}"])


def vacuum(place: Place) -> int:
    return lake_command(["vacuum", f"lake={place.lake}", "older_than=0s"])


def export(place: Place) -> int:
    """A table written as one file."""
    out = place.root / "pairs.tsv"
    return lake_command(
        ["export", PAIRS, f"lake={place.lake}", "format=tsv", f"out={out}", "overwrite=true"]
    )


def extraction(*words: str, parts: int = 2) -> Callable[[Place], int]:
    """The extraction job on the embedded engine, a wave a part."""

    def run(place: Place) -> int:
        from etl.amod import job, settings

        inputs = [str(path) for path in write_parts(place)[:parts]]
        arguments = ["source=depcc", f"input={','.join(inputs)}", "wave_bytes=1", "engine=sail"]
        return conf.run(
            settings.Settings,
            job.extract,
            [*arguments, f"lake={place.lake}", "partitions=1", *words],
        )

    return run


def write_parts(place: Place) -> list[Path]:
    """Three parts of a corpus; they lie outside the folder whose operations are counted."""
    place.inputs.mkdir(parents=True, exist_ok=True)
    paths = [place.inputs / f"{number:02}.gz" for number in range(3)]
    for number, path in enumerate(paths):
        if not path.exists():
            write_part(path, [("old", "key"), (f"a{number}", "key"), ("red", f"n{number}")])
    return paths


def one_wave_read(place: Place) -> None:
    """A corpus of one part, read."""
    assert extraction(parts=1)(place) == 0


def stopped_before_the_ledger(place: Place) -> None:
    """Two parts, of which the first is counted, but not yet in the ledger: killed in between."""
    from etl.amod import plan

    def interrupt(*_: object) -> Any:
        raise KeyboardInterrupt

    finished, plan.updated_ledger = plan.updated_ledger, cast("Any", interrupt)
    try:
        assert extraction()(place) == 130
    finally:
        plan.updated_ledger = finished


# ------------------------------------------------------------------------------------- scenarios


@dataclass(frozen=True)
class Scenario:
    """A command on a lake. `engine`: it starts an engine, so that a case takes seconds."""

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


def fresh(folder: Path) -> Path:
    """`folder`, which is not there afterwards, whatever it was."""
    shutil.rmtree(folder, ignore_errors=True)
    return folder
