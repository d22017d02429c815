"""The jobs on both engines, from the start of their process to its end, and their peers.

`treebank` (UD English Web Treebank, dev), `counting` (two parts in DepCC's layout, compared with
the kernel and polars), `many` (24 different parts), `wikipedia`, and, on generated pairs of several
sizes, `association`, `adept`, `plane`, and by rows `asp` and `sygns`. Every command is the one that
a user types, on all cores; Spark runs locally. Each figure is recorded as soon as it is measured,
so that an interrupted run continues with the missing ones (again=true measures all).
"""

import os
import shutil
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from adnominal.conf import ROOT, UserError, setting
from adnominal.etl.lake import arrow
from benchmarks import peers
from benchmarks.harness import DATA, Bound, Case, CaseSettings, Measurement, log
from benchmarks.inputs import make_dumps, make_parts
from benchmarks.jobs import written_once
from benchmarks.parse_sides import measure_side as read_by_spacy
from benchmarks.plane_generator import Known, write_classes, write_lake
from benchmarks.processes import Usage, all_cores, call, measured, usage_of
from benchmarks.results import Figures

ENGINES = ("sail", "spark")
MEMORY = 8  # GB for either engine, in addition to Python's memory
PARTS = 24
MEGABYTES = 250
WRITTEN = ("amod_counts", "amod_pairs", "amod_association", "amod_by_adjective")
ONE_PART = f"input={ROOT / 'conf' / 'demo' / 'depcc-part.gz'}"


@dataclass(frozen=True)
class Settings(CaseSettings):
    engines: list[str] = setting(list(ENGINES), help="sail, spark")
    sizes: list[int] = setting(
        [1, 10, 50],
        help="millions of pairs; ADEPT has a fifth as many edges, PLANE twice as many items, ASP a "
        "fifth as many rows, SyGNS a fiftieth as many sentences",
    )
    rounds: int = setting(3, help="runs of treebank and counting; the medians are recorded")

    def __post_init__(self) -> None:
        self.check_known("parts", list(CASES))
        self.check_known("engines", ENGINES)


@dataclass(frozen=True)
class Run:
    """An engine and a size (millions of pairs) with the folder of inputs and lakes."""

    settings: Settings
    folder: Path
    engine: str
    size: int

    def extraction(self, *arguments: str, cores: Sequence[int] | None = None) -> Usage:
        """A run of the extraction into a new lake (`extracted`)."""
        shutil.rmtree(self.extracted, ignore_errors=True)
        words = (*arguments, f"lake={self.extracted}")
        return run_job("etl/extract_amod.py", self.engine, *words, cores=cores)

    @property
    def extracted(self) -> Path:
        """The lake of the last extraction."""
        return self.folder / "lake-extraction"

    def build(self, script: str, lake: Path, table: str, *arguments: str) -> Figures:
        """Build a dataset, then delete its table, so that the next build finds the same lake."""
        words = (f"lake={lake}", "edition=measured", *arguments)
        figures = figures_of([run_job(script, self.engine, *words)])
        rows = arrow.row_count(str(lake), table)
        shutil.rmtree(lake / table)
        return figures | {"rows": rows}


def run_job(script: str, engine: str, *arguments: str, cores: Sequence[int] | None = None) -> Usage:
    """Run a job on an engine with the memory that both engines get."""
    words = [*arguments, f"engine={engine}"]
    if engine == "sail":
        words.append(f"memory={MEMORY}GB")
    environment = {"SPARK_DRIVER_MEMORY": f"{MEMORY}g"}
    usage = usage_of(script, *words, env=environment, cores=cores)
    log.info("%s engine=%s: %.1f s, %.1f CPU s", script, engine, usage.wall, usage.cpu)
    return usage


def figures_of(runs: Sequence[Usage]) -> Figures:
    """Medians over several runs of one command."""
    return {
        "wall": median(usage.wall for usage in runs),
        "cpu": median(usage.cpu for usage in runs),
        "memory": max(usage.memory for usage in runs),
        "runs": len(runs),
        "load": os.getloadavg()[0],
    }


def shared_file(name: str) -> Path:
    """A file of published data; `UserError` if it is missing."""
    path = DATA / name
    if not path.exists():
        raise UserError(f"{path} is missing; set ADNOMINAL_DATA")
    return path


def treebank(run: Run) -> Figures:
    """UD EWT's dev part, 1.8 MB of CoNLL-U."""
    words = ("source=conllu", f"input={shared_file('ud_ewt/en_ewt-ud-dev.conllu')}")
    return figures_of([run.extraction(*words) for _ in range(run.settings.rounds)])


def counting(run: Run) -> Figures:
    """Two parts of 250 MB, also read by the kernel alone and by a polars script on all cores."""
    parts = make_parts(run.folder, MEGABYTES, PARTS)[:2]
    runs, kernel, polars = [], [], []
    script = [sys.executable, "-m", "benchmarks.polars_script", *map(str, parts)]
    script.append(str(run.folder / "polars.parquet"))
    for _ in range(run.settings.rounds):
        kernel.append(sum(peers.measure_side("compiled", part).seconds for part in parts))
        polars.append(measured(script).checked())
        runs.append(run.extraction("source=depcc", f"input={','.join(map(str, parts))}"))
    return figures_of(runs) | {"kernel": median(kernel), "polars": figures_of(polars)}


def many(run: Run) -> Figures:
    """24 different parts of 250 MB, minus the cost of one part of a few sentences.

    `writing_a_gb` shows what the job needs in addition to the kernel: the CPU seconds that Arrow
    takes to write the rows of its tables from memory.
    """
    parts = make_parts(run.folder, MEGABYTES, PARTS)
    start = run.extraction("source=depcc", ONE_PART)
    readings = [peers.measure_side("compiled", part) for part in parts[::2]]
    usage = run.extraction("source=depcc", f"input={run.folder / f'depcc-{MEGABYTES}-*.gz'}")
    readings += [peers.measure_side("compiled", part) for part in parts[1::2]]
    gigabytes = sum(reading.size for reading in readings) / 1e9
    kernel = sum(reading.seconds for reading in readings)
    return figures_of([usage]) | {
        "gigabytes": gigabytes,
        "start": start.cpu,
        "kernel_a_gb": kernel / gigabytes,
        "cpu_a_gb": (usage.cpu - start.cpu) / gigabytes,
        "writing_a_gb": sum(seconds_to_write(run.extracted, name) for name in WRITTEN) / gigabytes,
    }


def seconds_to_write(lake: Path, table: str) -> float:
    """CPU seconds that Arrow takes to write a table's Parquet files from rows in memory."""
    seconds = 0.0
    for file in arrow.files(str(lake), table):
        path = lake / table / file.path
        schema = pq.read_schema(path)
        texts = [field.name for field in schema if pa.types.is_string(field.type)]
        rows = pq.read_table(path, partitioning=None, read_dictionary=texts)
        started = time.process_time()
        pq.write_table(rows, pa.BufferOutputStream(), use_dictionary=texts, store_schema=False)
        seconds += time.process_time() - started
    return seconds


def wikipedia(run: Run) -> Figures:
    """Articles of 1.6 million words on one core and on all, compared with `nlp.pipe` on one."""
    sample = shared_file("wikipedia/enwiki-sample.xml.bz2")
    dumps = run.folder / "dumps"
    dumps.mkdir(exist_ok=True)
    dump = make_dumps(str(sample), dumps, 100_000)[16]
    words = ("source=wikipedia", f"input={dump.path}", "unit_bytes=262144")
    pipe = read_by_spacy("pipe", dump.path)
    cores = all_cores()
    one = run.extraction(*words, cores=cores[-1:])
    every = run.extraction(*words, cores=cores)
    return figures_of([every]) | {
        "words": dump.words,
        "repeated": dump.repeated,
        "articles": dump.articles,
        "cores": len(cores),
        "pipe": pipe.seconds,
        "one_core": one.wall,
        "one_core_cpu": one.cpu,
    }


def generated(folder: Path, size: int) -> Path:
    """A lake with `size` million generated pairs of a corpus, counted in one wave, and edges."""
    lake = folder / f"lake-{size}"

    def write() -> None:
        words = ("source=depcc", ONE_PART, "corpus=generated", f"lake={lake}")
        run_job("etl/extract_amod.py", "sail", *words)
        call("benchmarks.adept_generator:generate", size * 1_000_000, str(lake))
        counts = arrow.dataset(str(lake), "amod_pairs").to_table()
        wave = pa.array([0] * counts.num_rows, pa.int32())
        arrow.append(str(lake), "amod_counts", counts.add_column(1, "wave", wave), job="benchmark")

    return written_once(lake, write)


def association(run: Run) -> Figures:
    """Pairs and association from the counts, as extraction makes them without new files."""
    lake = generated(run.folder, run.size)
    # With these tables there would be nothing to do.
    for name in ("amod_pairs", "amod_association", "amod_by_adjective"):
        shutil.rmtree(lake / name, ignore_errors=True)
    words = ("source=depcc", ONE_PART, "corpus=generated", f"lake={lake}")
    figures = figures_of([run_job("etl/extract_amod.py", run.engine, *words)])
    return figures | {"rows": arrow.row_count(str(lake), "amod_association")}


def adept(run: Run) -> Figures:
    """ADEPT from the pairs and a fifth as many edges."""
    return run.build("etl/build_adept.py", generated(run.folder, run.size), "adept_items")


def plane(run: Run) -> Figures:
    """PLANE: twice as many items as pairs, without splits."""
    lake = run.folder / f"lake-plane-{run.size}"
    classes = run.folder / "classes.tsv"
    write_classes(classes)
    items = 2_000_000 * run.size
    written_once(lake, lambda: write_lake(str(lake), items, Known()))
    words = ["preset=paper", "association=false", f"classes={classes}"]
    words += ["every_class=false", "schemes=[]"]
    return run.build("etl/build_plane.py", lake, "plane_items", *words)


def asp(run: Run) -> Figures:
    """ASP's degree rows, in all variants."""
    each = 200_000 * run.size // 20 // 40 * 40  # of five tests in four variants
    words = ["entailment=0", f"degree={each}", "splits=false"]
    words.append("variants=base,sentences,numbers,both")
    return run.build("etl/build_asp.py", run.folder / "lake-asp", "asp_degree", *words)


def sygns(run: Run) -> Figures:
    """SyGNS: sentences of depths 0 to 4 with all meanings."""
    each = 20_000 * run.size // 5
    words = (f"sentences={each}", f"per_depth={each}", "embedded=0")
    return run.build("etl/build_sygns.py", run.folder / "lake-sygns", "sygns", *words)


# The names of these functions are the parts and begin the keys of the recorded figures.
BY_SIZE = {run.__name__: run for run in (association, adept, plane, asp, sygns)}
CASES: dict[str, Callable[[Run], Figures]] = {
    **{run.__name__: run for run in (treebank, counting, many, wikipedia)},
    **BY_SIZE,
}


def measurements(settings: Settings) -> dict[str, Measurement]:
    """A measurement for each part, engine and size."""
    folder = settings.place("engines")
    return {
        f"{name}-{size}-{engine}" if size else f"{name}-{engine}": partial(
            attempted, CASES[name], Run(settings, folder, engine, size)
        )
        for name in settings.parts or CASES
        for size in (settings.sizes if name in BY_SIZE else [0])
        for engine in settings.engines
    }


def attempted(case: Callable[[Run], Figures], run: Run) -> Figures:
    """The figures of a case, or the last line of its error, which is also recorded."""
    try:
        return case(run)
    except RuntimeError as error:
        log.error("%s: %s", case.__name__, error)
        return {"failed": str(error).strip().splitlines()[-1]}


def context(figures: Figures) -> dict[str, Any]:
    """What the template needs besides the figures: rows of the table, Sail's times over Spark's,
    and for each size its ratio to the size before and the ratio of their CPU times on Sail."""
    rows = []
    finished: defaultdict[tuple[str, str], dict[int, Figures]] = defaultdict(dict)
    for name in CASES:
        for key, run in figures.items():
            part, *millions, engine = key.split("-")
            if part == name:
                rows.append((" ".join([name, *(f"{size} M" for size in millions)]), engine, run))
                if millions and "wall" in run:
                    finished[name, engine][int(millions[0])] = run
    ratios, growth = {}, {}
    for name in BY_SIZE:
        sail, spark = (dict(sorted(finished[name, engine].items())) for engine in ENGINES)
        growth[name] = [
            (larger / size, sail[larger]["cpu"] / sail[size]["cpu"])
            for size, larger in pairwise(sail)
        ]
        both = {size: sail[size]["wall"] / spark[size]["wall"] for size in sail if size in spark}
        if both:
            ratios[name] = both
    return {"rows": rows, "ratios": ratios, "growth": growth}


def _wikipedia(name: str, value: str, least: float) -> dict[str, Bound]:
    runs = {engine: f"figures['wikipedia-{engine}']" for engine in ENGINES}
    return {
        f"{name}_{engine}": Bound(f"{run}.{value.format(run=run)}", least=least)
        for engine, run in runs.items()
    }


CASE = Case(
    "engines",
    measurements,
    settings=Settings,
    resumes=True,
    packages=("pysail", "pyspark", "pyarrow", "polars"),
    bounds={
        "treebank": Bound("figures['treebank-sail'].wall", most=5),
        "counting": Bound(
            "figures['counting-sail'].cpu - 1.5 * figures['counting-sail'].kernel", most=6
        ),
        "polars": Bound(
            "figures['counting-sail'].wall / figures['counting-sail'].polars.wall", most=1
        ),
        **_wikipedia("wikipedia", "pipe / {run}.one_core", 0.85),
        **_wikipedia("cores", "one_core / {run}.wall", 1.8),
        "many_sail": Bound(
            "figures['many-sail'].cpu_a_gb / figures['many-sail'].kernel_a_gb", most=1.3
        ),
        "many_spark": Bound(
            "figures['many-spark'].cpu_a_gb / figures['many-spark'].kernel_a_gb", most=1.5
        ),
    },
    context=context,
)
