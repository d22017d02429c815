"""Hundreds of millions of different pairs through the jobs: time, memory, disk, and their growth.

    python -m benchmarks.scale [cases=[extraction]] [shares=[1,10,100]] [folder=DIR] [key=value …]

extraction  generated parts (`benchmarks.pairs_generator`) in ten waves, then sums over the waves,
            association, and its look-up by adjective
single      the same parts in one wave, whose counts are the pairs as they stand
adept       `build_adept` on generated pairs and a fifth as many edges (`benchmarks.adept`)
conceptnet  the importer on lines in ConceptNet 5's format, a tenth of them English

A share of 100 is the size that is aimed at. Every case and share is recorded when it is done, so
that a run that was stopped goes on with those that are missing. What a case has written is deleted
when it ends; the folder needs some 25 GB for the whole.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import conf
from benchmarks import conceptnet_generator, pairs_generator, results
from benchmarks.processes import Sample, Usage, measured
from conf import ROOT, UserError, setting
from etl.lake import arrow

KEY = "scale"
PARTS = 200
WAVES = 10
ADEPT_PAIRS = 170_000_000
CONCEPTNET_LINES = 34_000_000
# Tables in the order in which extraction commits them, with what a reader calls the stage.
STAGES = {
    "amod_counts": "waves: parts to counts",
    "amod_pairs": "pairs: sums over the waves",
    "amod_association": "association",
    "amod_by_adjective": "the same by adjective",
}

Figures = dict[str, Any]

log = logging.getLogger("adnominal")


@dataclass(frozen=True)
class Settings:
    """Settings of ``benchmarks/scale.py``."""

    cases: list[str] = setting(
        ["extraction", "single", "adept", "conceptnet"], help="what is measured"
    )
    shares: list[int] = setting([1, 10, 100], help="per cent of the whole size")
    memory: str = setting("4GB", help="memory of the embedded engine before it spills to disk")
    folder: str | None = setting(
        None, help="where inputs and lakes lie; the system's temporary folder if not given"
    )
    again: bool = setting(False, help="take figures anew that are there")
    keep: bool = setting(True, help="write RESULTS.md and results.json, not only print")

    def __post_init__(self) -> None:
        if unknown := set(self.cases) - set(CASES):
            raise UserError(f"cases={sorted(unknown)}: expected some of {', '.join(CASES)}")
        if wrong := [share for share in self.shares if not 1 <= share <= 100]:
            raise UserError(f"shares={wrong}: expected per cents from 1 to 100")


def run(folder: Path, memory: str, script: str, *arguments: str) -> Usage:
    """A job as a user starts it, to its end, with its scratch files in `folder` as well."""
    scratch = folder / "tmp"
    scratch.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, str(ROOT / "etl" / script), *arguments, f"memory={memory}"]
    return measured(command, env={"TMPDIR": str(scratch)}, folder=folder).checked()


def figures_of(used: Usage) -> Figures:
    """What a whole command used: seconds, CPU seconds, 10^6 bytes of memory, bytes of disk."""
    return {
        "wall": used.wall,
        "cpu": used.cpu,
        "memory": used.memory,
        "disk": max((sample.disk for sample in used.course), default=0),
        "load": os.getloadavg()[0],
        "cores": len(os.sched_getaffinity(0)),
    }


def stages_of(lake: Path, course: Sequence[Sample]) -> dict[str, Figures]:
    """The course cut where the last commit of each table was: what each stage used."""
    stages: dict[str, Figures] = {}
    start, before = course[0].time, 0.0
    for table in STAGES:
        log_files = (lake / table / "_delta_log").glob("*.json")
        end = max(path.stat().st_mtime for path in log_files)
        within = [sample for sample in course if start < sample.time <= end + 2]
        if not within:
            continue
        cpu = _cpu_at(course, end)
        stages[table] = {
            "wall": end - start,
            "cpu": cpu - before,
            "memory": max(sample.memory for sample in within),
            "disk": max(sample.disk for sample in within),
        }
        start, before = end, cpu
    return stages


def _cpu_at(course: Sequence[Sample], moment: float) -> float:
    """CPU seconds at a moment between two samples."""
    for earlier, later in pairwise(course):
        if moment <= later.time:
            share = (moment - earlier.time) / (later.time - earlier.time)
            return earlier.cpu + share * (later.cpu - earlier.cpu)
    return course[-1].cpu


# ------------------------------------------------------------------------------------- the cases


def extraction(settings: Settings, folder: Path, share: int) -> Figures:
    """Ten waves, or as many as there are parts."""
    return _extracted(settings, folder, share, WAVES)


def single(settings: Settings, folder: Path, share: int) -> Figures:
    """One wave of all parts."""
    return _extracted(settings, folder, share, 1)


def _extracted(settings: Settings, folder: Path, share: int, waves: int) -> Figures:
    count = PARTS * share // 100
    started = time.monotonic()
    parts = pairs_generator.write_parts(folder / "parts", 0, count)
    log.info("%d parts after %.0f s", count, time.monotonic() - started)
    stored = sum(path.stat().st_size for path in parts)
    own = folder / "case"
    lake = own / "lake"
    shutil.rmtree(own, ignore_errors=True)
    # Room for the parts of a wave, which are of a size, and for half of one more.
    wave_bytes = int(stored / count * (max(1, count // waves) + 0.5))
    names = [str(path) for path in parts]
    arguments = ("source=depcc", f"input={','.join(names)}", f"lake={lake}")
    used = run(own, settings.memory, "extract_amod.py", *arguments, f"wave_bytes={wave_bytes}")
    files = {name: _table_bytes(lake, name) for name in STAGES}
    figures = figures_of(used) | {
        "waves": len(list((lake / "amod_counts" / "_delta_log").glob("*.json"))),
        "pairs": count * pairs_generator.PAIRS,
        "counted": arrow.row_count(str(lake), "amod_counts"),
        "rows": arrow.row_count(str(lake), "amod_pairs"),
        "stored": stored,
        "tables": files,
        "stages": stages_of(lake, used.course),
    }
    shutil.rmtree(own)
    return figures


def _table_bytes(lake: Path, name: str) -> int:
    return sum(file.size for file in arrow.files(str(lake), name))


def adept(settings: Settings, folder: Path, share: int) -> Figures:
    """ADEPT from generated pairs and a fifth as many edges."""
    size = ADEPT_PAIRS * share // 100
    lake = folder / f"lake-adept-{share}"
    if not (lake / "complete").exists():
        shutil.rmtree(lake, ignore_errors=True)
        scratch = folder / "tmp"
        scratch.mkdir(parents=True, exist_ok=True)
        limit = {"SAIL_RUNTIME__MEMORY_POOL__FAIR__MAX_SIZE": "4000000000", "TMPDIR": str(scratch)}
        command = [sys.executable, "-m", "benchmarks.adept", "_generate", str(size), str(lake)]
        measured(command, env=limit).checked()
        (lake / "complete").touch()
    before = _folder_bytes(lake)
    own = folder / "case"
    shutil.rmtree(own, ignore_errors=True)
    own.mkdir()
    lake.rename(own / "lake")
    used = run(own, settings.memory, "build_adept.py", f"lake={own / 'lake'}", "edition=measured")
    figures = figures_of(used) | {
        "pairs": size,
        "edges": size // 5,
        "input": before,
        "rows": arrow.row_count(str(own / "lake"), "adept_items"),
        "entries": arrow.row_count(str(own / "lake"), "adept_entries"),
    }
    shutil.rmtree(own)
    return figures


def _folder_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def conceptnet(settings: Settings, folder: Path, share: int) -> Figures:
    """Lines of ConceptNet 5's layout into conceptnet_edges."""
    lines = CONCEPTNET_LINES * share // 100
    own = folder / "case"
    shutil.rmtree(own, ignore_errors=True)
    own.mkdir()
    path = own / "assertions.csv"
    conceptnet_generator.write(path, lines)
    stored = path.stat().st_size
    lake = own / "lake"
    arguments = (f"conceptnet={path}", "wordnet=none", f"lake={lake}")
    used = run(own, settings.memory, "import_knowledge.py", *arguments)
    figures = figures_of(used) | {
        "pairs": lines,
        "input": stored,
        "rows": arrow.row_count(str(lake), "conceptnet_edges"),
    }
    shutil.rmtree(own)
    return figures


CASES: dict[str, Callable[[Settings, Path, int], Figures]] = {
    "extraction": extraction,
    "single": single,
    "adept": adept,
    "conceptnet": conceptnet,
}


# -------------------------------------------------------------------------------- all, and the page


def benchmark(settings: Settings) -> None:
    """Take the figures that are missing, print the page and keep it."""
    folder = Path(settings.folder or Path(tempfile.gettempdir()) / "adnominal-scale")
    folder.mkdir(parents=True, exist_ok=True)
    recorded: Figures = results.recorded().get(KEY, {})
    for share in settings.shares:
        for name in settings.cases:
            key = f"{name}-{share}"
            if key in recorded and not settings.again:
                continue
            recorded[key] = CASES[name](settings, folder, share)
            log.info("%s: %s", key, json.dumps(recorded[key]))
            if settings.keep:
                # Read anew: another process may have recorded figures of its own meanwhile.
                results.record(KEY, results.recorded().get(KEY, {}) | {key: recorded[key]})
    text = page(recorded)
    print(text)
    if settings.keep:
        results.write_section(KEY, text, packages=("pysail", "pyarrow", "deltalake"))


def page(recorded: Figures) -> str:
    """The section, of the figures that there are."""
    lines = [
        "## Scale: different pairs by the hundred million",
        "",
        "`python -m benchmarks.scale`: every job from the start of its process to its end, on all "
        "cores; CPU seconds and memory of all its processes (pages that they share counted once), "
        "disk with inputs in the lake, staged rows and what was spilled. *Growth* is the CPU time "
        "a row over that of the share before. The load average is that of the machine at the "
        "end: above the number of cores, seconds from start to end say little.",
        "",
    ]
    for name, title in (
        ("extraction", "Extraction in ten waves"),
        ("single", "Extraction in one wave"),
    ):
        found = _of(recorded, name)
        if found:
            lines += [f"**{title}** (different parts, Zipf's and Heaps' laws):", ""]
            lines += [table_of_extraction(found), ""]
    for name, title, unit in (
        ("adept", "`build_adept`, with a fifth as many edges", "pairs"),
        ("conceptnet", "ConceptNet's importer, a tenth of the lines English", "lines"),
    ):
        found = _of(recorded, name)
        if found:
            lines += [f"**{title}**:", "", table_of_builds(found, unit), ""]
    return "\n".join(lines)


def _of(recorded: Figures, name: str) -> list[Figures]:
    keys = [key for key in recorded if key.rpartition("-")[0] == name]
    return [recorded[key] for key in sorted(keys, key=lambda key: int(key.rpartition("-")[2]))]


def _cells(figures: Figures, growth: str, disk: bool = True) -> list[str]:
    return [
        f"{figures['wall']:.0f}",
        f"{figures['cpu']:.0f}",
        growth,
        f"{figures['memory']:,.0f}",
        f"{figures['disk'] / 1e9:.2f}" if disk else "-",
    ]


HEAD = ("s", "CPU s", "growth", "memory, MB", "disk, GB", "load")


def table_of_extraction(found: Sequence[Figures]) -> str:
    """Sizes with their stages."""
    rows: list[Sequence[object]] = [("pairs", "different", "stage", *HEAD)]
    previous: Figures | None = None
    for figures in found:
        sizes = (f"{figures['pairs'] / 1e6:,.1f} M", f"{figures['rows'] / 1e6:,.2f} M")
        for table, stage in figures["stages"].items():
            earlier = previous["stages"].get(table) if previous else None
            growth = _growth(stage, figures, earlier, previous)
            rows.append((*sizes, STAGES[table], *_cells(stage, growth), "-"))
        growth = _growth(figures, figures, previous, previous)
        cells = _cells(figures, growth)
        rows.append((*sizes, f"all, {figures['waves']} waves", *cells, f"{figures['load']:.1f}"))
        previous = figures
    return results.table(rows)


def _growth(one: Figures, size: Figures, earlier: Figures | None, before: Figures | None) -> str:
    if not earlier or not before:
        return "-"
    return f"{one['cpu'] / size['rows'] / (earlier['cpu'] / before['rows']):.2f}"


def table_of_builds(found: Sequence[Figures], unit: str) -> str:
    """Sizes of a build or an import."""
    rows: list[Sequence[object]] = [(unit, "rows written", *HEAD)]
    previous: Figures | None = None
    for figures in found:
        growth = "-"
        if previous:
            a_row = figures["cpu"] / figures["pairs"]
            growth = f"{a_row / (previous['cpu'] / previous['pairs']):.2f}"
        sizes = (f"{figures['pairs'] / 1e6:,.1f} M", f"{figures['rows']:,}")
        rows.append((*sizes, *_cells(figures, growth), f"{figures['load']:.1f}"))
        previous = figures
    return results.table(rows)


if __name__ == "__main__":
    sys.exit(conf.run(Settings, benchmark))
