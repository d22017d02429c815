"""ASP: published rows against the rules, fits, audit, speed, and the judged sample.

    python -m benchmarks.asp [published] [audit] [draws] [spark] [judged] [sheet]

Without names all parts run (but `sheet`, which writes a fresh sheet for judging). Each part records
its figures when it is done, and the page is written from what is recorded. ``ASP_SPARK_ROWS`` sets
the size of the large build.
"""

from __future__ import annotations

import csv
import hashlib
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import results
from etl.adept.agreement import wilson
from etl.asp import TESTS, labels
from etl.asp.audit import audit
from etl.asp.baselines import PRINTED_OTHERWISE, baselines
from etl.asp.degree import Degree
from etl.asp.entailment import Entailment
from etl.asp.gold import PUBLISHED, fit, published_gold
from etl.asp.lexicon import load_lexicon
from etl.asp.sampling import digest
from etl.asp.settings import Settings
from etl.asp.templates import parse

KEY = "asp"
SHARED = Path(os.environ.get("ADNOMINAL_DATA", Path(__file__).parents[2] / "shared" / "data"))
JUDGED = Path(__file__).parents[1] / "docs" / "asp_judged.tsv"
# What the design itself makes depend on one feature, and why.
BY_DESIGN = {
    "booster": "the test is the presence of the booster",
    "diminisher": "the test is the presence of the diminisher",
    "superlative": "the test is which of the two scopes the premise has",
}


def _sources(seed: int = 0) -> tuple[Entailment, Degree]:
    words = load_lexicon()
    return Entailment(words, seed), Degree(words, seed, published_gold())


def published() -> dict[str, Any]:
    """The release read, its rows labelled by our rules, its curves fitted."""
    from etl.published.asp import read

    reading = read(SHARED / "asp")
    words = load_lexicon()
    found: dict[str, Any] = {"entailment": {}, "degree": {}, "thresholds": {}}
    own = [r for r in reading.tables["asp_entailment"].to_pylist() if r["edition"] == "published"]
    for test in TESTS:
        rows = [r for r in own if r["test"] == test]
        pairs = [parse(test, r["premise"], r["hypothesis"], words) for r in rows]
        agreed = sum(
            labels.name(labels.entails(pair, words)) == r["label"]
            for pair, r in zip(pairs, rows, strict=True)
        )
        best = audit([(r["premise"], r["hypothesis"], r["label"]) for r in rows])
        stop = next(r for r in best if r.feature == "premise ends in a full stop")
        base = baselines(r["label"] for r in rows)
        found["entailment"][test] = {
            "rows": len(rows),
            "entailments": base.entailments,
            "agreed": agreed,
            "origins": dict(sorted(Counter(labels.origin(pair, words) for pair in pairs).items())),
            "chance": base.chance,
            "majority": base.majority,
            "full_stop": stop.accuracy,
        }
    degree = [r for r in reading.tables["asp_degree"].to_pylist() if r["edition"] == "published"]
    for test in TESTS:
        rows = [r for r in degree if r["test"] == test]
        base = baselines(r["label"] for r in rows)
        found["degree"][test] = {
            "rows": len(rows),
            "chance": base.chance,
            "not_entailment": base.not_entailment,
        }
    curves: dict[tuple[str, str], dict[float, float]] = {}
    for row in reading.tables["asp_human"].to_pylist():
        curves.setdefault((row["test"], row["polarity"]), {})[row["z"]] = row["share"]
    for (test, polarity), curve in sorted(curves.items()):
        fitted = fit(test, polarity, curve)
        count = sum(
            r["label"] == "entailment" and r["polarity"] == polarity and r["test"] == test
            for r in degree
        )
        found["thresholds"][f"{test} {polarity}"] = {
            "threshold": fitted.threshold,
            "standard_error": fitted.standard_error,
            "stated": PUBLISHED[test, polarity],
            "of_40": count / 25,
        }
    found["dropped"] = sum(count for count, _ in reading.dropped.values())
    return found


def audited(seeds: int = 3) -> dict[str, Any]:
    """The best one-feature rule of each test of the default build, for several seeds."""
    found: dict[str, Any] = {"seeds": seeds, "entailment": {}, "degree": {}}
    for seed in range(seeds):
        entailment, degree = _sources(seed)
        for test in TESTS:
            tables = {
                "entailment": [
                    (r.premise, r.hypothesis, r.label) for r in entailment.rows(test, 0, 1000)
                ],
                "degree": [
                    (r.premise, r.hypothesis, r.label)
                    for at in range(50)
                    for r in degree.rows(degree.group(test, at))
                ],
            }
            for task, rows in tables.items():
                rule = audit(rows, leave_out=["discard"])[0]
                before = found[task].get(test)
                if before is None or rule.gain > before["gain"]:
                    found[task][test] = {
                        "gain": rule.gain,
                        "accuracy": rule.accuracy,
                        "majority": rule.majority,
                        "feature": rule.feature,
                    }
    return found


def draws(size: int = 100_000) -> dict[str, Any]:
    """Rows a second and core without Spark, and that none repeats."""
    entailment, degree = _sources()
    started = time.process_time()
    made = Counter(row.item_id for test in TESTS for row in entailment.rows(test, 0, 1000))
    groups = (size - 8000) // 40 // len(TESTS)
    for test in TESTS:
        for at in range(groups):
            made.update(row.item_id for row in degree.rows(degree.group(test, at)))
    return {
        "rows": made.total(),
        "different": len(made),
        "per_second_and_core": made.total() / (time.process_time() - started),
        "capacity_entailment": {test: entailment.capacity(test) for test in TESTS},
        "capacity_degree": {test: 40 * degree.capacity(test) for test in TESTS},
    }


def spark() -> dict[str, Any]:
    """The whole job: the default build, its bytes on other partitionings, and a large build."""
    from etl import engine
    from etl.asp.job import Recipe, build, degree_rows, entailment_rows

    session = engine.start("benchmark").spark
    folder = tempfile.mkdtemp(prefix="asp-")
    try:
        build(Settings(edition="warm", entailment=100, degree=80, lake=folder))
        started = time.perf_counter()
        build(Settings(edition="default", lake=folder))
        default = time.perf_counter() - started
        size = int(os.environ.get("ASP_SPARK_ROWS", "10000000"))
        # All variants, since the lexicon has some 700,000 rows of a test in each.
        variants = ["base", "sentences", "numbers", "both"]
        each = size // len(TESTS) // len(variants) // 40 * 40
        started = time.perf_counter()
        build(
            Settings(
                edition="large",
                entailment=0,
                degree=each,
                variants=variants,
                splits=False,
                lake=folder,
            )
        )
        large = time.perf_counter() - started
        digests = {}
        for parts in (1, 2, 7):
            # 24,000 rows in that many tasks a table.
            hashed = hashlib.sha256()
            for make, rows in ((entailment_rows, 8000), (degree_rows, 16_000)):
                recipe = Recipe(Settings(task_size=-(-rows // parts)))
                frame = make(session, recipe)
                hashed.update(repr(sorted(map(tuple, frame.collect()), key=repr)).encode())
            digests[str(parts)] = hashed.hexdigest()[:16]
    finally:
        engine.stop()
        shutil.rmtree(folder, ignore_errors=True)
    return {
        "default_seconds": default,
        "digests": digests,
        "large_rows": each * len(TESTS) * len(variants),
        "large_seconds": large,
        "load": os.getloadavg()[0],
    }


class Sampled(NamedTuple):
    """A row to be judged."""

    task: str
    test: str
    premise: str
    hypothesis: str
    label: str


def sample(seed: int, size: int = 100) -> list[Sampled]:
    """`size` rows of the default build, evenly of each test and task, chosen by hash."""
    entailment, degree = _sources()
    strata: list[list[Sampled]] = []
    for test in TESTS:
        rows = [
            Sampled("entailment", test, r.premise, r.hypothesis, r.label)
            for r in entailment.rows(test, 0, 1000)
        ]
        numbers = [
            Sampled("degree", test, r.premise, r.hypothesis, r.label)
            for at in range(50)
            for r in degree.rows(degree.group(test, at))
        ]
        strata += [sorted(s, key=lambda r: digest(seed, *r)) for s in (rows, numbers)]
    return [strata[i % len(strata)][i // len(strata)] for i in range(size)]


def judged() -> dict[str, Any]:
    """The kept sheet: how many of its rows were judged right."""
    with JUDGED.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t"))
    right = sum(row["grammar"] == "right" and row["truth"] == "right" for row in rows)
    low, high = (100 * bound for bound in wilson(right, len(rows)))
    return {"rows": len(rows), "right": right, "low": low, "high": high}


def page(kept: dict[str, Any]) -> str:
    """The section of the page, of the parts that have been recorded."""
    lines = ["## ASP: Adjective Scale Probe", ""]
    if "published" in kept:
        own = kept["published"]
        rows: list[tuple[object, ...]] = [
            (
                "published test",
                "EI rows",
                "entailments",
                "our labels agree",
                "majority",
                "chance",
                "full-stop rule",
                "DE rows",
                "DE not-entailment",
                "DE chance",
            )
        ]
        for test in TESTS:
            e, d = own["entailment"][test], own["degree"][test]
            rows.append(
                (
                    test,
                    e["rows"],
                    e["entailments"],
                    f"{100 * e['agreed'] / e['rows']:.1f} %",
                    f"{e['majority']:.1f}",
                    f"{e['chance']:.1f}",
                    f"{e['full_stop']:.3f}",
                    d["rows"],
                    f"{d['not_entailment']:.2f}",
                    f"{d['chance']:.1f}",
                )
            )
        lines += [results.table(rows), "", f"Rows dropped by the importer: {own['dropped']}.", ""]
        fits: list[tuple[object, ...]] = [
            ("curve", "threshold", "standard error", "stated", "within 0.2", "entailed of 40")
        ]
        fits += [
            (
                name,
                f"{f['threshold']:.2f}",
                f"{f['standard_error']:.2f}",
                f["stated"],
                results.verdict(abs(f["threshold"] - f["stated"]), 0.2, at_least=False),
                f"{f['of_40']:g}",
            )
            for name, f in own["thresholds"].items()
        ]
        lines += [results.table(fits), ""]
        lines += [
            "Printed in the paper otherwise than any rule gives: "
            + "; ".join(
                f"{task} {test}, {what}: {printed} ({rule})"
                for (task, test, what), (printed, rule) in PRINTED_OTHERWISE.items()
            )
            + ".",
            "",
        ]
    if "audit" in kept:
        own = kept["audit"]
        rows = [
            (
                "best one-feature rule on default rows",
                "task",
                "accuracy",
                "majority",
                "points",
                "at most 2",
                "feature",
            )
        ]
        for task in ("entailment", "degree"):
            for test in TESTS:
                r = own[task][test]
                met = results.verdict(r["gain"], 2.0, at_least=False)
                designed = task == "entailment" and test in BY_DESIGN
                rows.append(
                    (
                        test,
                        task,
                        f"{r['accuracy']:.3f}",
                        f"{r['majority']:.3f}",
                        f"{r['gain']:.1f}",
                        f"by design: {BY_DESIGN[test]}" if designed else met,
                        r["feature"].replace("|", " "),
                    )
                )
        lines += [results.table(rows), "", f"Worst of {own['seeds']} seeds.", ""]
    if "draws" in kept:
        own = kept["draws"]
        lines += [
            f"{own['rows']:,} rows without Spark, {own['different']:,} different; "
            f"{own['per_second_and_core']:,.0f} rows/s a core. Rows that there are: "
            f"{min(own['capacity_entailment'].values()):,} (negation, ordering least) to "
            f"{max(own['capacity_entailment'].values()):,} a test of entailment inference, "
            f"{min(own['capacity_degree'].values()):,} or more a test and variant of degree "
            "estimation.",
            "",
        ]
    if "spark" in kept:
        own = kept["spark"]
        same = len(set(own["digests"].values())) == 1
        lines += [
            f"24,000 rows of the default build with splits: {own['default_seconds']:.1f} s "
            f"({results.verdict(own['default_seconds'], 30, at_least=False)}: at most 30). "
            f"{own['large_rows']:,} rows on two cores: {own['large_seconds']:.0f} s, "
            f"{own['large_rows'] / own['large_seconds']:,.0f} rows/s (load {own['load']:.1f}). "
            f"On 1, 2 and 7 partitions the same bytes: {'yes' if same else 'no'}.",
            "",
        ]
    if "judged" in kept:
        own = kept["judged"]
        lines += [
            f"Judged by hand (docs/asp_judged.tsv): {own['right']} of {own['rows']} rows right in "
            f"grammar and label, {own['low']:.1f} to {own['high']:.1f} % (Wilson, 95 %); "
            f"{results.verdict(own['right'] / own['rows'], 0.97)}: at least 97 %.",
            "",
        ]
    load = f"{os.getloadavg()[0]:.1f}"
    lines.append(f"(Written {datetime.now(UTC):%Y-%m-%d}, load average {load}.)")
    return "\n".join(lines)


PARTS = {
    "published": published,
    "audit": audited,
    "draws": draws,
    "spark": spark,
    "judged": judged,
}


def main(names: list[str]) -> None:
    """Run the parts named, or all, record their figures and write the page."""
    if names[:1] == ["sheet"]:
        print("\t".join([*Sampled._fields, "grammar", "truth", "remark"]))
        for row in sample(int(names[1])):
            print("\t".join([*row, "", "", ""]))
        return
    for name in names or PARTS:
        kept = results.recorded().get(KEY, {})
        kept[name] = PARTS[name]()
        results.record(KEY, kept)
    text = page(results.recorded()[KEY])
    results.write_section(KEY, text, packages=["pyspark", "scipy", "numpy"])


if __name__ == "__main__":
    main(sys.argv[1:])
