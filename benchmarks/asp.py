"""ASP: published rows compared with the rules, fits, speed, and the judged sample.

published  the release, its rows labelled by the rules, its curves fitted
draws      rows per second and core without an engine, and a check that none repeats
spark      the whole job: the default build, and its bytes with other partitionings
judged     the stored sheet of judged rows; `sheet=SEED` prints a new one instead
"""

import hashlib
import os
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from adnominal.conf import ROOT, setting
from adnominal.etl.asp import TESTS, labels
from adnominal.etl.asp.baselines import PRINTED_OTHERWISE, baselines  # noqa: F401 (the template's)
from adnominal.etl.asp.degree import Degree
from adnominal.etl.asp.entailment import Entailment
from adnominal.etl.asp.gold import PUBLISHED, fit, published_gold
from adnominal.etl.asp.lexicon import load_lexicon
from adnominal.etl.asp.settings import Settings as BuildSettings
from adnominal.etl.asp.templates import parse
from adnominal.etl.draws import draw
from benchmarks import judging
from benchmarks.harness import DATA, Bound, Case, CaseSettings, Exact, in_parts
from benchmarks.processes import timed
from benchmarks.results import Figures

JUDGED = ROOT / "docs" / "asp_judged.tsv"
TASKS = ("entailment", "degree")
DRAWN_ROWS = 100_000


@dataclass(frozen=True)
class Settings(CaseSettings):
    sheet: int | None = setting(None, help="print a new sheet for judging, drawn with this seed")


def generators(seed: int = 0) -> tuple[Entailment, Degree]:
    """The generators for both tasks."""
    words = load_lexicon()
    return Entailment(words, seed), Degree(words, seed, published_gold())


def default_rows(entailment: Entailment, degree: Degree, test: str) -> Iterator[tuple[str, Any]]:
    """The rows of a test in the default build, with their task."""
    for row in entailment.rows(test, 0, 1000):
        yield "entailment", row
    for at in range(50):
        for numbered in degree.rows(degree.group(test, at)):
            yield "degree", numbered


def published(settings: Settings) -> Figures:
    """Read the release, label its rows by the rules and fit its curves."""
    from adnominal.etl.published.asp import read

    reading = read(DATA / "asp")

    def rows_of(table: str) -> list[dict[str, Any]]:
        return [r for r in reading.tables[table].to_pylist() if r["edition"] == "published"]

    entailment, degree = rows_of("asp_entailment"), rows_of("asp_degree")
    return {
        "entailment": {t: _entailment([r for r in entailment if r["test"] == t]) for t in TESTS},
        "degree": {t: _degree([r for r in degree if r["test"] == t]) for t in TESTS},
        "thresholds": _thresholds(reading.tables["asp_human"].to_pylist(), degree),
        "dropped": sum(count for count, _ in reading.dropped.values()),
    }


def _entailment(rows: list[dict[str, Any]]) -> Figures:
    words = load_lexicon()
    pairs = [parse(r["test"], r["premise"], r["hypothesis"], words) for r in rows]
    base = baselines(r["label"] for r in rows)
    return {
        "rows": len(rows),
        "entailments": base.entailments,
        "agreed": sum(
            labels.name(labels.entails(pair, words)) == r["label"]
            for pair, r in zip(pairs, rows, strict=True)
        ),
        "origins": dict(sorted(Counter(labels.origin(pair, words) for pair in pairs).items())),
        "chance": base.chance,
        "majority": base.majority,
        "full_stop": _full_stop_accuracy(rows),
    }


def _full_stop_accuracy(rows: list[dict[str, Any]]) -> float:
    """The accuracy of a guess that knows only whether the premise ends in a full stop."""
    labels_with, labels_without = Counter[str](), Counter[str]()
    for row in rows:
        has_stop = row["premise"].endswith(".")
        counts = labels_with if has_stop else labels_without
        counts[row["label"]] += 1
    right = max(labels_with.values(), default=0) + max(labels_without.values(), default=0)
    return right / len(rows)


def _degree(rows: list[dict[str, Any]]) -> Figures:
    base = baselines(r["label"] for r in rows)
    return {"rows": len(rows), "chance": base.chance, "not_entailment": base.not_entailment}


def _thresholds(human: list[dict[str, Any]], degree: list[dict[str, Any]]) -> Figures:
    curves: dict[tuple[str, str], dict[float, float]] = {}
    for row in human:
        curves.setdefault((row["test"], row["polarity"]), {})[row["z"]] = row["share"]
    entailed = Counter((r["test"], r["polarity"]) for r in degree if r["label"] == "entailment")
    thresholds = {}
    for (test, polarity), curve in sorted(curves.items()):
        fitted = fit(test, polarity, curve)
        thresholds[f"{test} {polarity}"] = {
            "threshold": fitted.threshold,
            "standard_error": fitted.standard_error,
            "stated": PUBLISHED[test, polarity],
            "of_40": entailed[test, polarity] / 25,
        }
    return thresholds


def draws(settings: Settings) -> Figures:
    entailment, degree = generators()
    groups = (DRAWN_ROWS - 8000) // 40 // len(TESTS)
    with timed(subject=True) as timing:
        items = Counter(row.item_id for test in TESTS for row in entailment.rows(test, 0, 1000))
        for test in TESTS:
            for at in range(groups):
                items.update(row.item_id for row in degree.rows(degree.group(test, at)))
    return {
        "rows": items.total(),
        "different": len(items),
        "per_second_and_core": items.total() / timing.cpu,
        "capacity_entailment": {test: entailment.capacity(test) for test in TESTS},
        "capacity_degree": {test: 40 * degree.capacity(test) for test in TESTS},
    }


def spark(settings: Settings) -> Figures:
    from adnominal.etl import engine
    from adnominal.etl.asp.job import Recipe, build, degree_rows, entailment_rows

    session = engine.start("benchmark").spark
    with tempfile.TemporaryDirectory(prefix="asp-") as folder:
        build(BuildSettings(edition="warm", entailment=100, degree=80, lake=folder))
        with timed() as default:
            build(BuildSettings(edition="default", lake=folder))
        digests = {}
        for parts in (1, 2, 7):
            # 24,000 rows in that many tasks per table.
            hashed = hashlib.sha256()
            for rows_of, rows in ((entailment_rows, 8000), (degree_rows, 16_000)):
                frame = rows_of(session, Recipe(BuildSettings(task_size=-(-rows // parts))))
                hashed.update(repr(sorted(map(tuple, frame.collect()), key=repr)).encode())
            digests[str(parts)] = hashed.hexdigest()[:16]
        engine.stop()
    return {"default_seconds": default.wall, "digests": digests, "load": os.getloadavg()[0]}


class Sampled(NamedTuple):
    """A row to be judged."""

    task: str
    test: str
    premise: str
    hypothesis: str
    label: str


def sample(seed: int, size: int = 100) -> list[Sampled]:
    """`size` rows of the default build, evenly from each test and task, selected by hash."""
    sources = generators()
    strata: list[list[Sampled]] = []
    for test in TESTS:
        rows = [
            Sampled(task, test, row.premise, row.hypothesis, row.label)
            for task, row in default_rows(*sources, test)
        ]
        for task in TASKS:
            stratum = [row for row in rows if row.task == task]
            strata.append(sorted(stratum, key=lambda row: draw(seed, *row)))
    return judging.in_turn(strata, size)


def judged(settings: Settings) -> Figures:
    """The stored sheet: how many of its rows were judged correct."""
    rows = judging.read(JUDGED)
    right = sum(row["grammar"] == "right" and row["truth"] == "right" for row in rows)
    _, _, low, high = judging.share(right, len(rows))
    return {"rows": len(rows), "right": right, "low": low, "high": high}


CASE = Case(
    "asp",
    judging.measurements(
        in_parts(published=published, draws=draws, spark=spark, judged=judged),
        lambda settings: sample(settings.sheet),
        ("grammar", "truth", "remark"),
    ),
    settings=Settings,
    packages=("pyspark", "scipy", "numpy"),
    bounds={
        "default build": Bound("spark.default_seconds", most=30),
        "judged": Bound("judged.right / judged.rows", least=0.97),
    },
    exact={
        "labels that agree": Exact(
            "published.entailment.values()|map(attribute='agreed')|sum", 1000 * len(TESTS)
        ),
        "drawn rows that repeat": Exact("draws.rows - draws.different", 0),
    },
)
