"""Hundreds of millions of distinct pairs through the jobs: time, memory and disk.

extraction  generated parts (`benchmarks.pairs_generator`) in ten waves, then sums over the waves,
            association, and its lookup by adjective
adept       `build_adept` on generated pairs and a fifth as many edges

A share of 100 is the full size. Each part and share is recorded when it is done, and an interrupted
run continues with the missing ones. The files of a share are deleted when it ends; the folder needs
about 25 GB for the full size.
"""

import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from adnominal.conf import UserError, setting
from adnominal.etl.lake import arrow
from benchmarks import pairs_generator
from benchmarks.cases import Case, CaseSettings, Measurement
from benchmarks.processes import Sample, Usage, all_cores, call, run_script
from benchmarks.results import Figures

PARTS = 200
WAVES = 10
ADEPT_PAIRS = 170_000_000
# Tables in the order in which extraction commits them, with the displayed name of the stage.
STAGES = {
    "amod_counts": "waves: parts to counts",
    "amod_pairs": "pairs: sums over the waves",
    "amod_association": "association",
    "amod_by_adjective": "the same by adjective",
}


@dataclass(frozen=True)
class Settings(CaseSettings):
    shares: list[int] = setting([1, 10, 100], help="sizes in per cent of the full size")
    memory: str = setting("4GB", help="memory of the embedded engine before it spills to disk")

    def __post_init__(self) -> None:
        wrong = [share for share in self.shares if not 1 <= share <= 100]
        if wrong:
            raise UserError(f"shares={wrong}: expected percentages from 1 to 100")

    @property
    def case(self) -> Path:
        """The folder of a share's lake and scratch files, which is deleted when it ends."""
        return self.place("scale") / "case"

    @property
    def lake(self) -> Path:
        """The lake of a share."""
        return self.case / "lake"


def run_job(settings: Settings, script: str, *words: str) -> Usage:
    """What a job used on the embedded engine; its scratch files are a part of its disk."""
    scratch = settings.case / "tmp"
    scratch.mkdir(parents=True, exist_ok=True)
    words = (*words, f"lake={settings.lake}", "engine=sail", f"memory={settings.memory}")
    return run_script(script, *words, env={"TMPDIR": str(scratch)}, folder=settings.case)


def usage_figures(usage: Usage) -> Figures:
    """Seconds, CPU seconds, 10^6 bytes of memory, and bytes of disk."""
    return {
        "wall": usage.wall,
        "cpu": usage.cpu,
        "memory": usage.memory,
        "disk": max(sample.disk for sample in usage.course),
        "load": os.getloadavg()[0],
        "cores": len(all_cores()),
    }


def extraction(settings: Settings, share: int) -> Figures:
    """Ten waves, or one per part if there are fewer parts."""
    number = PARTS * share // 100
    parts = pairs_generator.write_parts(settings.place("scale") / "parts", number)
    part_bytes = sum(path.stat().st_size for path in parts) / number
    # Room for the parts of a wave, which have nearly equal sizes, and half of another one.
    wave_bytes = int(part_bytes * (max(1, number // WAVES) + 0.5))
    words = ("source=depcc", f"input={','.join(map(str, parts))}", f"wave_bytes={wave_bytes}")
    usage = run_job(settings, "etl/extract_amod.py", *words)
    lake = str(settings.lake)
    sizes = {}
    for table in STAGES:
        sizes[table] = sum(file.size for file in arrow.files(lake, table))
    return {
        **usage_figures(usage),
        "waves": len(commits(settings.lake, "amod_counts")),
        "pairs": number * pairs_generator.PAIRS,
        "counted": arrow.row_count(lake, "amod_counts"),
        "rows": arrow.row_count(lake, "amod_pairs"),
        "tables": sizes,
        "stages": stages_of(settings.lake, usage.course),
    }


def commits(lake: Path, table: str) -> list[Path]:
    """The commits of a table."""
    return list((lake / table / "_delta_log").glob("*.json"))


def stages_of(lake: Path, course: Sequence[Sample]) -> dict[str, Figures]:
    """What each stage used: the course, cut at the last commit of each table."""
    times = [sample.time for sample in course]
    cpus = [sample.cpu for sample in course]
    stages: dict[str, Figures] = {}
    start, cpu_before = course[0].time, 0.0
    for table in STAGES:
        end = max(path.stat().st_mtime for path in commits(lake, table))
        within = [sample for sample in course if start < sample.time <= end + 2]
        if not within:
            continue
        cpu = float(np.interp(end, times, cpus))
        stages[table] = {
            "wall": end - start,
            "cpu": cpu - cpu_before,
            "memory": max(sample.memory for sample in within),
            "disk": max(sample.disk for sample in within),
        }
        start, cpu_before = end, cpu
    return stages


def adept(settings: Settings, share: int) -> Figures:
    """ADEPT from generated pairs and a fifth as many edges."""
    size = ADEPT_PAIRS * share // 100
    limit = {"SAIL_RUNTIME__MEMORY_POOL__FAIR__MAX_SIZE": "10000000000"}
    call("benchmarks.adept_generator:generate", size, str(settings.lake), env=limit)
    usage = run_job(settings, "etl/build_adept.py", "edition=measured")
    rows = arrow.row_count(str(settings.lake), "adept_items")
    return {**usage_figures(usage), "pairs": size, "rows": rows}


FUNCTIONS = {"extraction": extraction, "adept": adept}


def measurements(settings: Settings) -> dict[str, Measurement]:
    """A measurement for each share and part."""
    names = settings.selected_parts(FUNCTIONS)

    def measure(name: str, share: int) -> Figures:
        shutil.rmtree(settings.case, ignore_errors=True)
        figures = FUNCTIONS[name](settings, share)
        shutil.rmtree(settings.case)
        return figures

    return {
        f"{name}-{share}": partial(measure, name, share)
        for share in settings.shares
        for name in names
    }


def context(figures: Figures) -> dict[str, Any]:
    """The figures of each part, by size."""
    sizes: dict[str, list[Figures]] = {name: [] for name in FUNCTIONS}
    for name in sorted(figures, key=lambda name: float(figures[name]["pairs"])):
        sizes[re.sub(r"-\d+$", "", name)].append(figures[name])
    return sizes


CASE = Case(
    "scale",
    "Scale: different pairs by the hundred million",
    measurements,
    settings=Settings,
    resumes=True,
    packages=("pysail", "pyarrow", "deltalake"),
    context=context,
)
