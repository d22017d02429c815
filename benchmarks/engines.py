"""The jobs on both engines, from the start of their process to its end, and their peers.

    python -m benchmarks.engines [cases=[treebank]] [sizes=[1,10]] [folder=DIR] [key=value …]

Cases: `treebank` (UD English Web Treebank, dev), `counting` (two parts of DepCC's layout beside the
kernel and polars), `many` (24 different parts), `wikipedia`, and, on generated pairs of several
sizes, `association`, `adept`, `plane`, and by rows `asp` and `sygns`. Every command is the one that
a user types, on all cores; Spark runs locally. Each figure is recorded when it is taken, so that a
run that was stopped goes on with those that are missing (again=true takes all anew).
"""

from __future__ import annotations

import logging
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa

import conf
from benchmarks import plane, results
from benchmarks.extract import make_parts
from benchmarks.jobs import all_cores
from benchmarks.parse import make_dumps
from benchmarks.parse_sides import measure as read_by_spacy
from benchmarks.peers import measure
from benchmarks.processes import Usage, measured
from benchmarks.results import table, verdict
from conf import ROOT, UserError, setting
from etl.lake import arrow

KEY = "engines"
SHARED = Path(os.environ.get("ADNOMINAL_DATA", ROOT.parent / "shared" / "data"))
ENGINES = ("sail", "spark")
MEMORY = 8  # GB for either engine, beside what Python takes
PARTS = 24
MEGABYTES = 250

Figures = dict[str, Any]

log = logging.getLogger("adnominal")


@dataclass(frozen=True)
class Settings:
    """Settings of ``benchmarks/engines.py``."""

    cases: list[str] = setting(
        [
            *("treebank", "counting", "many", "wikipedia"),
            *("association", "adept", "plane", "asp", "sygns"),
        ],
        help="what is measured",
    )
    engines: list[str] = setting(list(ENGINES), help="sail, spark")
    sizes: list[int] = setting(
        [1, 10, 50],
        help="millions of pairs; ADEPT has a fifth as many edges, PLANE twice as many items, ASP a "
        "fifth as many rows, SyGNS a fiftieth as many sentences",
    )
    rounds: int = setting(3, help="runs of treebank and counting; their medians are kept")
    folder: str | None = setting(
        None, help="where inputs and lakes lie; the system's temporary folder if not given"
    )
    again: bool = setting(False, help="take figures anew that are there")
    keep: bool = setting(True, help="write RESULTS.md and results.json, not only print")

    def __post_init__(self) -> None:
        for name, known in (("cases", CASES), ("engines", ENGINES)):
            if unknown := set(getattr(self, name)) - set(known):
                raise UserError(f"{name}={sorted(unknown)}: expected some of {', '.join(known)}")


def run(script: str, engine: str, *arguments: str, cores: Sequence[int] | None = None) -> Usage:
    """A job as a user starts it, to its end; on some cores only, where they are given."""
    command = [sys.executable, str(ROOT / "etl" / script), *arguments, f"engine={engine}"]
    if engine == "sail":
        command.append(f"memory={MEMORY}GB")
    environment = {"SPARK_DRIVER_MEMORY": f"{MEMORY}g"}
    used = measured(command, env=environment, cores=cores).checked()
    log.info("%s engine=%s: %.1f s, %.1f CPU s", script, engine, used.wall, used.cpu)
    return used


def figures_of(runs: Sequence[Usage]) -> Figures:
    """Medians of some runs of one command."""
    return {
        "wall": median(used.wall for used in runs),
        "cpu": median(used.cpu for used in runs),
        "memory": max(used.memory for used in runs),
        "runs": len(runs),
        "load": os.getloadavg()[0],
    }


def extraction(
    folder: Path, engine: str, *arguments: str, cores: Sequence[int] | None = None
) -> Usage:
    """A run of the extraction into a new lake, which is deleted."""
    lake = folder / "lake-extraction"
    shutil.rmtree(lake, ignore_errors=True)
    used = run("extract_amod.py", engine, *arguments, f"lake={lake}", cores=cores)
    shutil.rmtree(lake)
    return used


# ---------------------------------------------------------------------------------- counting pairs


def treebank(settings: Settings, folder: Path, engine: str, size: int) -> Figures:
    """UD EWT's dev part, 1.8 MB of CoNLL-U."""
    file = SHARED / "ud_ewt" / "en_ewt-ud-dev.conllu"
    if not file.exists():
        raise UserError(f"case treebank: {file} is not there; set ADNOMINAL_DATA")
    arguments = ("source=conllu", f"input={file}")
    return figures_of([extraction(folder, engine, *arguments) for _ in range(settings.rounds)])


def counting(settings: Settings, folder: Path, engine: str, size: int) -> Figures:
    """Two parts of 250 MB; the kernel alone and a polars script on all cores read them too."""
    parts = make_parts(folder, MEGABYTES, PARTS)[:2]
    runs, kernel, polars = [], [], []
    script = [sys.executable, "-m", "benchmarks.polars_script", *map(str, parts)]
    script.append(str(folder / "polars.parquet"))
    for _ in range(settings.rounds):
        kernel.append(sum(measure("compiled", part).seconds for part in parts))
        polars.append(measured(script).checked())
        runs.append(
            extraction(folder, engine, "source=depcc", f"input={','.join(map(str, parts))}")
        )
    peers = {"kernel": median(kernel), "polars": figures_of(polars)}
    return figures_of(runs) | peers


def many(settings: Settings, folder: Path, engine: str, size: int) -> Figures:
    """24 different parts of 250 MB, less what one part of a few sentences takes."""
    parts = make_parts(folder, MEGABYTES, PARTS)
    demo = ROOT / "conf" / "demo" / "depcc-part.gz"
    start = extraction(folder, engine, "source=depcc", f"input={demo}")
    before = [measure("compiled", part) for part in parts[::2]]
    used = extraction(folder, engine, "source=depcc", f"input={folder / f'depcc-{MEGABYTES}-*.gz'}")
    readings = [*before, *(measure("compiled", part) for part in parts[1::2])]
    gigabytes = sum(reading.size for reading in readings) / 1e9
    kernel = sum(reading.seconds for reading in readings)
    return figures_of([used]) | {
        "gigabytes": gigabytes,
        "start": start.cpu,
        "kernel_a_gb": kernel / gigabytes,
        "cpu_a_gb": (used.cpu - start.cpu) / gigabytes,
    }


def wikipedia(settings: Settings, folder: Path, engine: str, size: int) -> Figures:
    """Articles of 1.6 million words on one core and on all, beside bare `nlp.pipe` on one."""
    sample = SHARED / "wikipedia" / "enwiki-sample.xml.bz2"
    if not sample.exists():
        raise UserError(f"case wikipedia: {sample} is not there; set ADNOMINAL_DATA")
    dumps = folder / "dumps"
    dumps.mkdir(exist_ok=True)
    dump = make_dumps(str(sample), dumps, 100_000)[16]
    arguments = ("source=wikipedia", f"input={dump.path}", "unit_bytes=262144")
    pipe = read_by_spacy("pipe", dump.path)
    cores = all_cores()
    one = extraction(folder, engine, *arguments, cores=cores[-1:])
    every = extraction(folder, engine, *arguments, cores=cores)
    return figures_of([every]) | {
        "words": dump.words,
        "repeated": dump.repeated,
        "articles": dump.articles,
        "cores": len(cores),
        "pipe": pipe.seconds,
        "one_core": one.wall,
        "one_core_cpu": one.cpu,
    }


# ------------------------------------------------------------------------------- the datasets' jobs


def generated(folder: Path, size: int) -> Path:
    """A lake with so many million generated pairs of a corpus, counted in one wave, and edges."""
    lake = folder / f"lake-{size}"
    if (lake / "complete").exists():
        return lake
    shutil.rmtree(lake, ignore_errors=True)
    demo = ROOT / "conf" / "demo" / "depcc-part.gz"
    run(
        "extract_amod.py",
        "sail",
        "source=depcc",
        f"input={demo}",
        "corpus=generated",
        f"lake={lake}",
    )
    command = [sys.executable, "-m", "benchmarks.adept", "_generate", str(size * 1_000_000)]
    measured([*command, str(lake)]).checked()
    counts = arrow.dataset(str(lake), "amod_pairs").to_table()
    wave = pa.array([0] * counts.num_rows, pa.int32())
    arrow.append(str(lake), "amod_counts", counts.add_column(1, "wave", wave), job="benchmark")
    (lake / "complete").touch()
    return lake


def association(settings: Settings, folder: Path, engine: str, size: int) -> Figures:
    """Pairs and association anew from the counts, as extraction does it when nothing is new."""
    lake = generated(folder, size)
    for name in (
        "amod_pairs",
        "amod_association",
        "amod_by_adjective",
    ):  # else there is nothing to be done
        shutil.rmtree(lake / name, ignore_errors=True)
    demo = ROOT / "conf" / "demo" / "depcc-part.gz"
    arguments = ["source=depcc", f"input={demo}", "corpus=generated", f"lake={lake}"]
    figures = figures_of([run("extract_amod.py", engine, *arguments)])
    return figures | {"rows": arrow.row_count(str(lake), "amod_association")}


def adept(settings: Settings, folder: Path, engine: str, size: int) -> Figures:
    """ADEPT from the pairs and a fifth as many edges."""
    lake = generated(folder, size)
    figures = figures_of([run("build_adept.py", engine, f"lake={lake}", "edition=measured")])
    return figures | {"rows": _taken(lake, "adept_items")}


def plane_items(settings: Settings, folder: Path, engine: str, size: int) -> Figures:
    """PLANE: twice as many items as the size says pairs, without splits."""
    lake = folder / f"lake-plane-{size}"
    words = folder / "classes.tsv"
    if not (lake / "complete").exists():
        shutil.rmtree(lake, ignore_errors=True)
        plane.write_classes(words)
        plane.write_lake(str(lake), 2_000_000 * size)
        (lake / "complete").touch()
    arguments = [f"lake={lake}", "edition=measured", "preset=paper", "association=false"]
    arguments += [f"classes={words}", "every_class=false", "schemes=[]"]
    figures = figures_of([run("build_plane.py", engine, *arguments)])
    return figures | {"rows": _taken(lake, "plane_items")}


def asp(settings: Settings, folder: Path, engine: str, size: int) -> Figures:
    """ASP's degree rows, in all variants."""
    each = 200_000 * size // 20 // 40 * 40  # of five tests in four variants
    arguments = ["edition=measured", "entailment=0", f"degree={each}", "splits=false"]
    arguments.append("variants=base,sentences,numbers,both")
    lake = folder / "lake-asp"
    figures = figures_of([run("build_asp.py", engine, *arguments, f"lake={lake}")])
    return figures | {"rows": _taken(lake, "asp_degree")}


def sygns(settings: Settings, folder: Path, engine: str, size: int) -> Figures:
    """SyGNS: sentences of the depths 0 to 4 with all meanings."""
    each = 20_000 * size // 5
    arguments = ["edition=measured", f"sentences={each}", f"per_depth={each}", "embedded=0"]
    lake = folder / "lake-sygns"
    figures = figures_of([run("build_sygns.py", engine, *arguments, f"lake={lake}")])
    return figures | {"rows": _taken(lake, "sygns")}


def _taken(lake: Path, name: str) -> int:
    """How many rows a table has; it is deleted, for the next build to find a lake as it was."""
    rows = arrow.row_count(str(lake), name)
    shutil.rmtree(lake / name)
    return rows


# -------------------------------------------------------------------------------- all, and the page

Case = Callable[[Settings, Path, str, int], Figures]

ONCE: dict[str, Case] = {
    "treebank": treebank,
    "counting": counting,
    "many": many,
    "wikipedia": wikipedia,
}
BY_SIZE: dict[str, Case] = {
    "association": association,
    "adept": adept,
    "plane": plane_items,
    "asp": asp,
    "sygns": sygns,
}
CASES = (*ONCE, *BY_SIZE)


def benchmark(settings: Settings) -> None:
    """Take the figures that are missing, print the page and keep it."""
    folder = Path(settings.folder or Path(tempfile.gettempdir()) / "adnominal-bench")
    folder.mkdir(parents=True, exist_ok=True)
    kept: Figures = results.recorded().get(KEY, {})
    for name in settings.cases:
        for size in settings.sizes if name in BY_SIZE else [0]:
            for engine in settings.engines:
                key = f"{name}-{size}-{engine}" if size else f"{name}-{engine}"
                if key in kept and not settings.again:
                    continue
                case = ONCE.get(name) or BY_SIZE[name]
                try:
                    kept[key] = case(settings, folder, engine, size)
                except RuntimeError as error:
                    log.error("%s: %s", key, error)
                    kept[key] = {"failed": str(error).strip().splitlines()[-1]}
                if settings.keep:
                    results.record(KEY, kept)
    text = page(kept)
    print(text)
    if settings.keep:
        results.write_section(KEY, text, packages=("pysail", "pyspark", "pyarrow", "polars"))


def page(kept: Figures) -> str:
    """The section, of the figures that there are."""
    lines = [
        "## The engines",
        "",
        "Each command from the start of its process to its end, on all cores, medians; CPU seconds "
        "and memory are those of all its processes, pages that they share counted once. Spark runs "
        f"locally (`engine=spark`); either engine is given {MEMORY} GB.",
        "",
    ]
    rows: list[Sequence[object]] = [("job", "engine", "s", "CPU s", "memory, MB", "rows")]
    for name in CASES:
        for key, figures in kept.items():
            parts = key.split("-")
            if parts[0] != name:
                continue
            size = f" {parts[1]} M" if len(parts) == 3 else ""
            rows.append((f"{name}{size}", parts[-1], *_cells(figures)))
    lines += [table(rows), "", *_verdicts(kept)]
    return "\n".join(lines)


def _cells(figures: Figures) -> tuple[str, ...]:
    if "failed" in figures:
        return ("failed", "-", "-", figures["failed"][:60])
    rows = f"{figures['rows']:,}" if "rows" in figures else "-"
    return (f"{figures['wall']:.1f}", f"{figures['cpu']:.1f}", f"{figures['memory']:,.0f}", rows)


def _verdicts(kept: Figures) -> list[str]:
    lines = []
    if found := kept.get("treebank-sail"):
        lines.append(
            f"- Treebank: {found['wall']:.1f} s ({verdict(found['wall'], 5, at_least=False)}: at "
            "most 5)."
        )
    if found := kept.get("counting-sail"):
        most = 1.5 * found["kernel"] + 6
        polars = found["polars"]
        lines.append(
            f"- Two parts of 250 MB: {found['cpu']:.1f} CPU s; the kernel alone takes "
            f"{found['kernel']:.2f} ({verdict(found['cpu'], most, at_least=False)}: at most 1.5 "
            f"times that and 6 s). {found['wall']:.1f} s beside {polars['wall']:.1f} of the polars "
            f"script ({verdict(found['wall'], polars['wall'], at_least=False)}: at most as long)."
        )
    for engine in ENGINES:
        if found := kept.get(f"wikipedia-{engine}"):
            faster = found["one_core"] / found["wall"]
            share = found["pipe"] / found["one_core"]
            lines.append(
                f"- Wikipedia, {found['words']:,} words ({found['repeated']} of "
                f"{found['articles']} articles repeated under other titles), {engine}: one core "
                f"takes {found['one_core']:.0f} s, start included, {share:.2f} of the speed of "
                f"bare `nlp.pipe` ({verdict(share, 0.85)}: at least 0.85); {found['cores']} cores "
                f"are {faster:.2f} times as fast ({verdict(faster, 1.8)}: at least 1.8)."
            )
    for engine, times in (("sail", 1.3), ("spark", 1.5)):
        if found := kept.get(f"many-{engine}"):
            ratio = found["cpu_a_gb"] / found["kernel_a_gb"]
            lines.append(
                f"- {PARTS} different parts, {found['gigabytes']:.1f} GB, {engine}: "
                f"{found['cpu_a_gb']:.2f} CPU s a GB, {ratio:.2f} times the kernel's "
                f"{found['kernel_a_gb']:.2f} ({verdict(ratio, times, at_least=False)}: at most "
                f"{times}); left out are {found['start']:.1f} CPU s, what a part of 150 sentences "
                "takes."
            )
    for name in BY_SIZE:
        sizes = sorted({int(key.split("-")[1]) for key in kept if key.split("-")[0] == name})
        ratios = []
        for size in sizes:
            walls = [kept.get(f"{name}-{size}-{engine}", {}).get("wall") for engine in ENGINES]
            if None not in walls:
                ratios.append(f"{walls[0] / walls[1]:.2f} ({size} M)")
        if ratios:
            lines.append(f"- {name}: Sail's seconds over Spark's {', '.join(ratios)}.")
    return lines


if __name__ == "__main__":
    sys.exit(conf.run(Settings, benchmark))
