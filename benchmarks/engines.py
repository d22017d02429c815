"""The jobs on both engines, from the start of their process to its end, and their peers.

treebank     UD English Web Treebank, dev
counting     two parts in DepCC's layout, against the kernel alone and a polars script
many         24 different parts, against the kernel alone
wikipedia    articles on one core and on all, against `nlp.pipe` on one
association, adept, plane, asp, sygns: on generated pairs of several sizes

Every command is the one that a user types, on all cores; Spark runs locally. Each figure is
recorded as soon as it is measured, and an interrupted run continues with the missing ones.
"""

import os
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa

from adnominal.conf import ROOT, setting
from adnominal.etl.lake import arrow
from benchmarks.cases import Bound, Case, CaseSettings, Measurement, data_file
from benchmarks.inputs import copy_dump, make_parts
from benchmarks.peers import read_part
from benchmarks.plane_generator import write_classes, write_lake
from benchmarks.processes import Usage, all_cores, call, run_measured, run_script
from benchmarks.results import Figures
from benchmarks.sources import read_dump

ENGINES = ("sail", "spark")
MEMORY = 8  # GB for either engine, in addition to Python's memory
PARTS = 24
MEGABYTES = 250
SMALL_PART = f"input={ROOT / 'conf' / 'demo' / 'depcc-part.gz'}"
DERIVED = ("amod_pairs", "amod_association", "amod_by_adjective")


@dataclass(frozen=True)
class Settings(CaseSettings):
    engines: list[str] = setting(list(ENGINES), help="sail, spark")
    sizes: list[int] = setting(
        [1, 10, 50],
        help="millions of pairs; ADEPT has a fifth as many edges, PLANE twice as many items, ASP a "
        "fifth as many rows, SyGNS a fiftieth as many sentences",
    )
    rounds: int = setting(3, help="runs of treebank and counting; the medians are recorded")
    megabytes: float = setting(MEGABYTES, help="size of a part of counting and many, 10^6 bytes")
    copies: int = setting(4, help="copies of the articles of wikipedia")

    def __post_init__(self) -> None:
        self.check_known("engines", ENGINES)


@dataclass(frozen=True)
class Run:
    """What a measurement is about: the settings, the folder of inputs and lakes, an engine, and a
    size in millions of pairs."""

    settings: Settings
    folder: Path
    engine: str
    size: int

    def job(self, script: str, *words: str, cores: Sequence[int] | None = None) -> Usage:
        """A run of a job, with the memory that both engines get."""
        settings = [*words, f"engine={self.engine}"]
        if self.engine == "sail":
            settings.append(f"memory={MEMORY}GB")
        environment = {"SPARK_DRIVER_MEMORY": f"{MEMORY}g"}
        return run_script(script, *settings, env=environment, cores=cores)

    def extraction(self, *words: str, cores: Sequence[int] | None = None) -> Usage:
        """A run of the extraction into a new lake."""
        lake = self.folder / "lake-extraction"
        shutil.rmtree(lake, ignore_errors=True)
        return self.job("etl/extract_amod.py", *words, f"lake={lake}", cores=cores)

    def build(self, script: str, lake: Path, table: str, *words: str) -> Figures:
        """A build of a dataset; its table is deleted: the next build finds the same lake."""
        usage = self.job(script, f"lake={lake}", "edition=measured", *words)
        rows = arrow.row_count(str(lake), table)
        shutil.rmtree(lake / table)
        return {**median_usage([usage]), "rows": rows}

    def parts(self) -> list[Path]:
        """The parts in DepCC's layout."""
        return make_parts(self.folder, self.settings.megabytes, PARTS)


def median_usage(runs: Sequence[Usage]) -> Figures:
    """Medians over several runs of one command."""
    return {
        "wall": median(usage.wall for usage in runs),
        "cpu": median(usage.cpu for usage in runs),
        "memory": max(usage.memory for usage in runs),
        "load": os.getloadavg()[0],
    }


def treebank(run: Run) -> Figures:
    """UD EWT's dev part, 1.8 MB of CoNLL-U."""
    words = ("source=conllu", f"input={data_file('ud_ewt/en_ewt-ud-dev.conllu')}")
    return median_usage([run.extraction(*words) for _ in range(run.settings.rounds)])


def count_parts(run: Run) -> Figures:
    """Two parts, also read by the kernel alone and by a polars script on all cores."""
    parts = run.parts()[:2]
    names = [str(part) for part in parts]
    script = [sys.executable, "-m", "benchmarks.peers", *names, str(run.folder / "polars.parquet")]
    runs, kernel, polars = [], [], []
    for _ in range(run.settings.rounds):
        kernel.append(sum(read_part("compiled", part).seconds for part in parts))
        polars.append(run_measured(script))
        runs.append(run.extraction("source=depcc", f"input={','.join(names)}"))
    return {**median_usage(runs), "kernel": median(kernel), "polars": median_usage(polars)}


def count_many_parts(run: Run) -> Figures:
    """24 different parts; ``start`` is the CPU time of a job on a part of 150 sentences."""
    parts = run.parts()
    start = run.extraction("source=depcc", SMALL_PART)
    # Half of the parts before the job and half after it, so that other load affects both sides.
    readings = [read_part("compiled", part) for part in parts[::2]]
    usage = run.extraction("source=depcc", f"input={','.join(map(str, parts))}")
    readings += [read_part("compiled", part) for part in parts[1::2]]
    gigabytes = sum(reading.bytes for reading in readings) / 1e9
    return {
        **median_usage([usage]),
        "gigabytes": gigabytes,
        "start": start.cpu,
        "kernel_a_gb": sum(reading.seconds for reading in readings) / gigabytes,
        "cpu_a_gb": (usage.cpu - start.cpu) / gigabytes,
    }


def wikipedia(run: Run) -> Figures:
    """Articles on one core and on all, compared with `nlp.pipe` on one."""
    sample = str(data_file("wikipedia/enwiki-sample.xml.bz2"))
    dump = copy_dump(sample, run.folder / "wikipedia.xml.bz2", run.settings.copies)
    words = ("source=wikipedia", f"input={dump.path}", "unit_bytes=262144")
    pipe = read_dump("pipe", dump.path)
    cores = all_cores()
    one = run.extraction(*words, cores=cores[-1:])
    every = run.extraction(*words, cores=cores)
    return {
        **median_usage([every]),
        "words": dump.words,
        "repeated": dump.repeated,
        "articles": dump.articles,
        "cores": len(cores),
        "pipe": pipe.seconds,
        "one_core": one.wall,
        "one_core_cpu": one.cpu,
    }


def generated_lake(run: Run) -> Path:
    """A lake with generated pairs of a corpus, counted in one wave, and edges."""
    lake = run.folder / f"lake-{run.size}"
    if (lake / "complete").exists():
        return lake
    shutil.rmtree(lake, ignore_errors=True)
    words = ("source=depcc", SMALL_PART, "corpus=generated", f"lake={lake}", "engine=sail")
    run_script("etl/extract_amod.py", *words)
    call("benchmarks.adept_generator:generate", run.size * 1_000_000, str(lake))
    pairs = arrow.dataset(str(lake), "amod_pairs").to_table()
    first_wave = pa.array([0] * pairs.num_rows, pa.int32())
    counts = pairs.add_column(1, "wave", first_wave)
    arrow.append(str(lake), "amod_counts", counts, job="benchmark")
    (lake / "complete").touch()
    return lake


def association(run: Run) -> Figures:
    """Pairs and association from the counts, as extraction makes them without new files."""
    lake = generated_lake(run)
    # With these tables there would be nothing to do.
    for table in DERIVED:
        shutil.rmtree(lake / table, ignore_errors=True)
    words = ("source=depcc", SMALL_PART, "corpus=generated", f"lake={lake}")
    usage = run.job("etl/extract_amod.py", *words)
    return {**median_usage([usage]), "rows": arrow.row_count(str(lake), "amod_association")}


def adept(run: Run) -> Figures:
    """ADEPT from the pairs and a fifth as many edges."""
    return run.build("etl/build_adept.py", generated_lake(run), "adept_items")


def plane(run: Run) -> Figures:
    """PLANE: twice as many items as pairs, without splits."""
    lake = run.folder / f"lake-plane-{run.size}"
    classes = run.folder / "classes.tsv"
    write_classes(classes)
    if not (lake / "complete").exists():
        shutil.rmtree(lake, ignore_errors=True)
        write_lake(str(lake), 2_000_000 * run.size)
        (lake / "complete").touch()
    words = ["preset=paper", "association=false", f"classes={classes}"]
    words += ["every_class=false", "schemes=[]"]
    return run.build("etl/build_plane.py", lake, "plane_items", *words)


def asp(run: Run) -> Figures:
    """ASP's degree rows, in all variants."""
    groups = 200_000 * run.size // 20 // 40  # of forty rows, in five tests and four variants
    words = ["entailment=0", f"degree={40 * groups}", "splits=false"]
    words.append("variants=base,sentences,numbers,both")
    return run.build("etl/build_asp.py", run.folder / "lake-asp", "asp_degree", *words)


def sygns(run: Run) -> Figures:
    """SyGNS: sentences of depths 0 to 4 with all meanings."""
    per_depth = 20_000 * run.size // 5
    words = (f"sentences={per_depth}", f"per_depth={per_depth}", "embedded=0")
    return run.build("etl/build_sygns.py", run.folder / "lake-sygns", "sygns", *words)


ONCE = {
    "treebank": treebank,
    "counting": count_parts,
    "many": count_many_parts,
    "wikipedia": wikipedia,
}
BY_SIZE = {
    "association": association,
    "adept": adept,
    "plane": plane,
    "asp": asp,
    "sygns": sygns,
}
CASES: dict[str, Callable[[Run], Figures]] = {**ONCE, **BY_SIZE}


def measurements(settings: Settings) -> dict[str, Measurement]:
    """A measurement for each part, size and engine."""
    folder = settings.place("engines")
    found: dict[str, Measurement] = {}
    for part in settings.selected_parts(CASES):
        for size in settings.sizes if part in BY_SIZE else [0]:
            for engine in settings.engines:
                name = f"{part}-{size}-{engine}" if size else f"{part}-{engine}"
                found[name] = partial(CASES[part], Run(settings, folder, engine, size))
    return found


def context(figures: Figures) -> dict[str, Any]:
    """The rows of the table: the part, the size in millions, and the figures on both engines."""
    rows: dict[tuple[int, int], list[Any]] = {}
    for name, run in figures.items():
        part, *size, engine = name.split("-")
        millions = int(size[0]) if size else 0
        place = (list(CASES).index(part), millions)
        row = rows.setdefault(place, [part, millions, {}, {}])
        row[2 + ENGINES.index(engine)] = run
    return {"rows": [rows[place] for place in sorted(rows)]}


SAIL = {part: f"figures['{part}-sail']" for part in ONCE}
SPARK_MANY = "figures['many-spark']"

CASE = Case(
    "engines",
    "The engines",
    measurements,
    settings=Settings,
    resumes=True,
    packages=("pysail", "pyspark", "pyarrow", "polars"),
    bounds={
        "treebank": Bound(f"{SAIL['treebank']}.wall", most=5),
        "counting": Bound(f"{SAIL['counting']}.cpu - 1.5 * {SAIL['counting']}.kernel", most=6),
        "polars": Bound(f"{SAIL['counting']}.wall / {SAIL['counting']}.polars.wall", most=1),
        "wikipedia": Bound(f"{SAIL['wikipedia']}.pipe / {SAIL['wikipedia']}.one_core", least=0.85),
        "cores": Bound(f"{SAIL['wikipedia']}.one_core / {SAIL['wikipedia']}.wall", least=1.8),
        "many_sail": Bound(f"{SAIL['many']}.cpu_a_gb / {SAIL['many']}.kernel_a_gb", most=1.3),
        "many_spark": Bound(f"{SPARK_MANY}.cpu_a_gb / {SPARK_MANY}.kernel_a_gb", most=1.5),
    },
    context=context,
)
