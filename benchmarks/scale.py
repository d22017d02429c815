"""Hundreds of millions of distinct pairs through the jobs: time, memory, disk, and their growth.

extraction  generated parts (`benchmarks.pairs_generator`) in ten waves, then sums over the waves,
            association, and its lookup by adjective
single      the same parts in one wave, whose counts are already the pairs
adept       `build_adept` on generated pairs and a fifth as many edges
conceptnet  the importer on lines in ConceptNet 5's format, a tenth of them English

A share of 100 is the full size. Every part and share is recorded when it is done, so that an
interrupted run continues with the missing ones. The files of a part are deleted when it ends; the
folder needs about 25 GB for the full size.
"""

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from adnominal.conf import UserError, setting
from adnominal.etl.lake import arrow
from benchmarks import conceptnet_generator, pairs_generator
from benchmarks.harness import Case, CaseSettings, Measurement
from benchmarks.jobs import emptied, stored_bytes, written_once
from benchmarks.processes import Sample, all_cores, call, usage_of
from benchmarks.results import Figures

PARTS = 200
WAVES = 10
ADEPT_PAIRS = 170_000_000
CONCEPTNET_LINES = 34_000_000
# Tables in the order in which extraction commits them, with the displayed name of the stage.
STAGES = {
    "amod_counts": "waves: parts to counts",
    "amod_pairs": "pairs: sums over the waves",
    "amod_association": "association",
    "amod_by_adjective": "the same by adjective",
}
TITLES = {
    "extraction": "Extraction in ten waves",
    "single": "Extraction in one wave",
    "adept": "`build_adept`, with a fifth as many edges",
    "conceptnet": "ConceptNet's importer, a tenth of the lines English",
}


@dataclass(frozen=True)
class Settings(CaseSettings):
    shares: list[int] = setting([1, 10, 100], help="sizes in per cent of the full size")
    memory: str = setting("4GB", help="memory of the embedded engine before it spills to disk")

    def __post_init__(self) -> None:
        self.check_known("parts", list(CASES))
        if wrong := [share for share in self.shares if not 1 <= share <= 100]:
            raise UserError(f"shares={wrong}: expected percentages from 1 to 100")


class Workplace:
    """The folders of a part of the case: inputs, and a lake that is deleted at its end."""

    def __init__(self, settings: Settings) -> None:
        self.inputs = settings.place("scale")
        self.memory = settings.memory
        self.folder = self.inputs / "case"
        self.lake = self.folder / "lake"

    def scratch(self, folder: Path) -> str:
        """The folder for scratch files within a folder."""
        path = folder / "tmp"
        path.mkdir(parents=True, exist_ok=True)
        return str(path)

    def run(self, script: str, *arguments: str) -> tuple[Figures, Sequence[Sample]]:
        """Run a job on the embedded engine: what it used (seconds, CPU seconds, 10^6 bytes of
        memory, bytes of disk including its scratch files), and its course."""
        words = (*arguments, f"lake={self.lake}", "engine=sail", f"memory={self.memory}")
        scratch = {"TMPDIR": self.scratch(self.folder)}
        usage = usage_of(script, *words, env=scratch, folder=self.folder)
        return {
            "wall": usage.wall,
            "cpu": usage.cpu,
            "memory": usage.memory,
            "disk": max((sample.disk for sample in usage.course), default=0),
            "load": os.getloadavg()[0],
            "cores": len(all_cores()),
        }, usage.course

    def rows(self, table: str) -> int:
        """The number of rows in a table of the lake."""
        return arrow.row_count(str(self.lake), table)


def stages_of(lake: Path, course: Sequence[Sample]) -> dict[str, Figures]:
    """The usage of each stage: the course, cut at the last commit of each table."""
    stages: dict[str, Figures] = {}
    times, cpus = [sample.time for sample in course], [sample.cpu for sample in course]
    start, earlier_cpu = course[0].time, 0.0
    for table in STAGES:
        log_files = (lake / table / "_delta_log").glob("*.json")
        end = max(path.stat().st_mtime for path in log_files)
        within = [sample for sample in course if start < sample.time <= end + 2]
        if not within:
            continue
        cpu = float(np.interp(end, times, cpus))
        stages[table] = {
            "wall": end - start,
            "cpu": cpu - earlier_cpu,
            "memory": max(sample.memory for sample in within),
            "disk": max(sample.disk for sample in within),
        }
        start, earlier_cpu = end, cpu
    return stages


def extraction(place: Workplace, share: int, waves: int = WAVES) -> Figures:
    """Ten waves, or one per part if there are fewer parts."""
    count = PARTS * share // 100
    parts = pairs_generator.write_parts(place.inputs / "parts", 0, count)
    stored = sum(path.stat().st_size for path in parts)
    # Room for the parts of a wave, which have equal sizes, and half of another one.
    wave_bytes = int(stored / count * (max(1, count // waves) + 0.5))
    words = ("source=depcc", f"input={','.join(map(str, parts))}", f"wave_bytes={wave_bytes}")
    figures, course = place.run("etl/extract_amod.py", *words)
    return figures | {
        "waves": len(list((place.lake / "amod_counts" / "_delta_log").glob("*.json"))),
        "pairs": count * pairs_generator.PAIRS,
        "counted": place.rows("amod_counts"),
        "rows": place.rows("amod_pairs"),
        "stored": stored,
        "tables": {
            name: sum(file.size for file in arrow.files(str(place.lake), name)) for name in STAGES
        },
        "stages": stages_of(place.lake, course),
    }


def adept(place: Workplace, share: int) -> Figures:
    """ADEPT from generated pairs and a fifth as many edges."""
    size = ADEPT_PAIRS * share // 100
    lake = place.inputs / f"lake-adept-{share}"
    limit = {"SAIL_RUNTIME__MEMORY_POOL__FAIR__MAX_SIZE": "10000000000"}
    limit["TMPDIR"] = place.scratch(place.inputs)
    generate = partial(call, "benchmarks.adept_generator:generate", size, str(lake), env=limit)
    written_once(lake, generate)
    stored = stored_bytes(lake)
    lake.rename(place.lake)
    figures, _ = place.run("etl/build_adept.py", "edition=measured")
    return figures | {
        "pairs": size,
        "edges": size // 5,
        "input": stored,
        "rows": place.rows("adept_items"),
        "entries": place.rows("adept_entries"),
    }


def conceptnet(place: Workplace, share: int) -> Figures:
    """Import lines in ConceptNet 5's layout into conceptnet_edges."""
    lines = CONCEPTNET_LINES * share // 100
    path = place.folder / "assertions.csv"
    conceptnet_generator.write(path, lines)
    figures, _ = place.run("etl/import_knowledge.py", f"conceptnet={path}", "wordnet=none")
    return figures | {
        "pairs": lines,
        "input": path.stat().st_size,
        "rows": place.rows("conceptnet_edges"),
    }


CASES: dict[str, Callable[[Workplace, int], Figures]] = {
    "extraction": extraction,
    "single": partial(extraction, waves=1),
    "adept": adept,
    "conceptnet": conceptnet,
}


def measurements(settings: Settings) -> dict[str, Measurement]:
    """A measurement for each share and part."""
    place = Workplace(settings)

    def measure(name: str, share: int) -> Figures:
        emptied(place.folder)
        figures = CASES[name](place, share)
        shutil.rmtree(place.folder)
        return figures

    return {
        f"{name}-{share}": partial(measure, name, share)
        for share in settings.shares
        for name in settings.parts or CASES
    }


def context(figures: Figures) -> dict[str, Any]:
    """What the template needs: for each part its sizes in order, each with rows of its table.

    A row has a title, the usage, and the growth: the CPU time per row divided by that of the
    previous size.
    """
    by_part: dict[str, list[Figures]] = {}
    for name in TITLES:
        keys = [key for key in figures if key.rpartition("-")[0] == name]
        sizes = [figures[key] for key in sorted(keys, key=lambda key: int(key.rpartition("-")[2]))]
        unit = "rows" if name in ("extraction", "single") else "pairs"
        for earlier, size in zip([None, *sizes], sizes, strict=False):
            by_part.setdefault(name, []).append(
                {**size, "lines": list(_lines(size, earlier, unit))}
            )
    return {"by_part": by_part}


def _lines(size: Figures, earlier: Figures | None, unit: str) -> list[tuple[str, Figures, str]]:
    def growth(stage: Figures, earlier_stage: Mapping[str, Any] | None) -> str:
        if not earlier or not earlier_stage:
            return "-"
        return f"{stage['cpu'] / size[unit] / (earlier_stage['cpu'] / earlier[unit]):.2f}"

    earlier_stages = earlier.get("stages", {}) if earlier else {}
    stages = [
        (STAGES[table], stage, growth(stage, earlier_stages.get(table)))
        for table, stage in size.get("stages", {}).items()
    ]
    return [*stages, (f"all, {size.get('waves')} waves", size, growth(size, earlier))]


CASE = Case(
    "scale",
    measurements,
    settings=Settings,
    resumes=True,
    packages=("pysail", "pyarrow", "deltalake"),
    context=context,
)
