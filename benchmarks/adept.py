"""ADEPT: the release against the rules, a real build, the judged sample, and growth.

    python -m benchmarks.adept [published] [real] [judged] [scale]
    python -m benchmarks.adept sheet SEED        (a fresh sheet for judging, to standard output)

Without names all parts run. `real` and `sheet` use the lake in ``ADEPT_LAKE``, which `real` makes
where it is not there (published data in ``ADNOMINAL_DATA``; some minutes). ``ADEPT_PAIRS`` lists
the sizes of `scale`, by default 1000000,10000000,50000000. Each part records its figures when it is
done, and the page is written from what is recorded.
"""

from __future__ import annotations

import contextlib
import csv
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from benchmarks import results
from conf import ROOT
from etl.adept.agreement import wilson
from etl.adept.baselines import CLASSES, accuracy, majority, normative_rule
from etl.adept.draws import draw
from etl.adept.predicates import DEFAULT_RELATIONS, RELATIONS
from etl.adept.variants import insert
from etl.lake import arrow

KEY = "adept"
SHARED = Path(os.environ.get("ADNOMINAL_DATA", ROOT.parent / "shared" / "data"))
LAKE = os.environ.get("ADEPT_LAKE", str(Path(tempfile.gettempdir()) / "lake_adept_benchmark"))
JUDGED = ROOT / "docs" / "adept_judged.tsv"
EDGES = ROOT / "benchmarks" / "adept_edges.csv"
SIZES = os.environ.get("ADEPT_PAIRS", "1000000,10000000,50000000")
EDITIONS = ("clean", "paper")


def published() -> dict[str, Any]:
    """The release read: counts, baselines, label shares, surface forms by our insertion."""
    from etl.knowledge.lexicons import nonsubsective
    from etl.published.adept import read

    reading = read(SHARED / "adept")
    rows = reading.tables["adept"].to_pylist()
    words = nonsubsective()
    train = [row["label"] for row in rows if row["split_random"] == "train"]
    val = [row for row in rows if row["split_random"] == "val"]
    gold = [row["label"] for row in val]
    shares: defaultdict[str, Counter[int]] = defaultdict(Counter)
    for row in rows:
        kind = "dead" if row["modifier"] == "dead" else "the 60"
        shares[kind if row["modifier"] in words else "others"][row["label"]] += 1
    other = [
        row["sentence1"]
        for row in rows
        if insert(row["sentence1"], row["modifier"], row["noun"], "letter") != row["sentence2"]
    ]
    return {
        "rows": len(rows),
        "notes": reading.notes,
        "dropped": sum(count for count, _ in reading.dropped.values()),
        "baselines": {
            str(classes): {
                "majority": accuracy([majority(train, classes)] * len(gold), gold, classes),
                "rule": accuracy(
                    [normative_rule(row["modifier"], words, classes) for row in val], gold, classes
                ),
            }
            for classes in CLASSES
        },
        "shares": {
            kind: [own[label] / own.total() for label in range(5)] for kind, own in shares.items()
        },
        "other_forms": len(other),
    }


def _run(script: str, *arguments: str) -> float:
    """Run a job to its end; its seconds."""
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, str(ROOT / "etl" / script), *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{script} ended with {done.returncode}:\n{done.stderr[-3000:]}")
    return time.perf_counter() - started


def real() -> dict[str, Any]:
    """Pairs of the Wikipedia sample and UD EWT with ConceptNet's edges, min_count=1."""
    lake = f"lake={LAKE}"
    if arrow.version(LAKE, "amod_pairs") is None:
        ewt = SHARED / "ud_ewt"
        files = f"{ewt}/rebuilt-train.conllu.gz,{ewt}/en_ewt-ud-dev.conllu"
        _run("extract_amod.py", "source=conllu", f"input={files}", lake)
        dump = SHARED / "wikipedia" / "enwiki-sample.xml.bz2"
        _run("extract_amod.py", "source=wikipedia", f"input={dump}", lake)
    if arrow.version(LAKE, "conceptnet_edges") is None:
        folder = SHARED / "conceptnet"
        edges = [folder / "conceptnet4_en_divisi2.tsv.gz", folder / "cn5_assertions.csv", EDGES]
        demo = ROOT / "conf" / "demo" / "conceptnet.csv"
        edges += [demo] if demo.exists() else []
        _run("import_knowledge.py", f"conceptnet={','.join(map(str, edges))}", lake)
    relations = f"relations={','.join(RELATIONS)}"
    found: dict[str, Any] = {
        "pairs": Counter(arrow.read(LAKE, "amod_pairs", columns=["corpus"]).column(0).to_pylist()),
        "edges": Counter(
            arrow.read(LAKE, "conceptnet_edges", columns=["relation"]).column(0).to_pylist()
        ),
    }
    for edition in EDITIONS:
        seconds = _run("build_adept.py", f"preset={edition}", "min_count=1", relations, lake)
        where = [("edition", "=", edition)]
        items = arrow.read(LAKE, "adept_items", where=where).to_pylist()
        drops = arrow.read(LAKE, "dropped", where=[("job", "=", f"build_adept/{edition}")])
        found[edition] = {
            "seconds": seconds,
            "entries": arrow.read(LAKE, "adept_entries", where=where, columns=["noun"]).num_rows,
            "items": len(items),
            "sentences": len({row["sentence"] for row in items}),
            "paths": Counter(row["path"] for row in items if row["chosen"]),
            "relations": Counter(row["relation"] for row in items if row["chosen"]),
            "nonsubsective": sum(row["nonsubsective"] for row in items) / len(items),
            "dropped": [
                [row["table"], row["reason"], row["count"], row["sample"]]
                for row in sorted(
                    drops.to_pylist(), key=lambda row: (row["table"], -row["count"], row["reason"])
                )
            ],
        }
    found["load"] = os.getloadavg()[0]
    return found


# ------------------------------------------------------------------------------------------ judged


class Sampled(NamedTuple):
    """An item to be judged."""

    path: str
    relation: str
    article: str
    sentence: str
    modified_sentence: str


def article_case(sentence: str, modified: str) -> str:
    """What became of the article before the noun: none, kept, or flipped."""
    for at, (one, two) in enumerate(zip(sentence.split(), modified.split(), strict=False)):
        if one != two:
            if {one.lower(), two.lower()} == {"a", "an"}:
                return "flipped"
            return "kept" if at and sentence.split()[at - 1].lower() in ("a", "an") else "none"
    return "none"


def sample(seed: int, size: int = 200) -> list[Sampled]:
    """Chosen items of the clean edition, taken in turn from every path, relation and article."""
    where = [("edition", "=", "clean")]
    strata: defaultdict[tuple[str, ...], list[Sampled]] = defaultdict(list)
    for row in arrow.read(LAKE, "adept_items", where=where).to_pylist():
        if not row["chosen"]:
            continue
        case = article_case(row["sentence"], row["modified_sentence"])
        one = Sampled(row["path"], row["relation"], case, row["sentence"], row["modified_sentence"])
        strata[one[:3]].append(one)
    queues = [
        sorted(strata[key], key=lambda one: draw(seed, *one), reverse=True)
        for key in sorted(strata)
    ]
    chosen: list[Sampled] = []
    while len(chosen) < size and any(queues):
        for queue in queues:
            if queue and len(chosen) < size:
                chosen.append(queue.pop())
    return chosen


def judged() -> dict[str, Any]:
    """The kept sheet: how many of its items were judged well formed, also by stratum."""
    with JUDGED.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t"))

    def share(own: list[dict[str, str]]) -> list[float]:
        right = sum(row["grammar"] == "right" for row in own)
        return [right, len(own), *(100 * bound for bound in wilson(right, len(own)))]

    strata = {"all": share(rows)}
    for column in ("path", "relation", "article"):
        for value in sorted({row[column] for row in rows}):
            strata[f"{column} {value}"] = share([row for row in rows if row[column] == value])
    return strata


# ------------------------------------------------------------------------------------------- scale


def generate(size: int, lake: str) -> None:
    """`size` pairs and a fifth as many edges over WordNet's words, frequencies after Zipf.

    A fifth of the edges is of the five relations, as in ConceptNet; half of these have a surface
    text. Nothing is drawn: words and counts are hashes of the row's number.
    """
    from pyspark.sql import DataFrame
    from pyspark.sql import functions as F

    from etl import engine
    from etl.knowledge import wordnet
    from etl.lake.spark import Lake

    spark = engine.start("adept-generate").spark
    tables = Lake(spark, lake)
    lemmas = wordnet.lemmas(wordnet.find())
    if not tables.exists("wordnet_lemmas"):
        tables.replace("wordnet_lemmas", lemmas, {}, job="benchmark")
    rows = [row for row in lemmas.to_pylist() if re.fullmatch(r"[a-z]{3,}", row["lemma"])]
    words = {
        part: sorted({row["lemma"] for row in rows if row["pos"] == part}, key=lambda w: draw(0, w))
        for part in "nav"
    }

    def listed(part: str, name: str) -> DataFrame:
        numbered = [(number, word) for number, word in enumerate(words[part])]
        return F.broadcast(spark.createDataFrame(numbered, f"{name}_rank long, {name} string"))

    def rank(part: str, salt: int) -> Any:
        # Zipf and Mandelbrot's law with an offset of 50: the first word of 60,000 has 0.3 %.
        most = len(words[part])
        even = F.pmod(F.xxhash64("id", F.lit(salt)), F.lit(1 << 40)) / float(1 << 40)
        return F.floor(50 * F.pow(F.lit((most + 50) / 50), even) - 50).cast("long")

    tail = F.pmod(F.xxhash64("id", F.lit(9)), F.lit(1_000_000)) / 1e6
    compound = F.pmod(F.xxhash64("id", F.lit(8)), F.lit(2)) == 0
    pairs = (
        spark.range(size)
        .select("id", rank("n", 1).alias("noun_rank"), rank("a", 2).alias("one_rank"),
                rank("a", 3).alias("two_rank"))
        .join(listed("n", "noun"), "noun_rank")
        .join(listed("a", "one"), "one_rank")
        .join(listed("a", "two"), "two_rank")
        .select(
            F.lit("generated").alias("corpus"),
            F.when(compound, F.concat_ws("-", "one", "two")).otherwise(F.col("one"))
            .alias("adjective"),
            "noun",
            F.floor(3 / (1 - tail)).cast("long").alias("count"),
        )
    )  # fmt: skip
    tables.append("amod_pairs", pairs, job="benchmark")
    others = 4 * len(DEFAULT_RELATIONS)
    relations = F.array(*[F.lit(name) for name in DEFAULT_RELATIONS])
    at = F.pmod(F.xxhash64("id", F.lit(4)), F.lit(len(DEFAULT_RELATIONS) + others))
    edges = (
        spark.range(size // 5)
        .select("id", rank("n", 5).alias("noun_rank"), rank("v", 6).alias("verb_rank"),
                rank("n", 7).alias("thing_rank"), at.alias("at"))
        .join(listed("n", "noun"), "noun_rank")
        .join(listed("v", "verb"), "verb_rank")
        .join(listed("n", "thing"), "thing_rank")
        .withColumn("relation", F.coalesce(F.get(relations, F.col("at").cast("int")),
                                           F.lit("RelatedTo")))
        .withColumn("said", F.when(F.col("relation").isin("CapableOf", "UsedFor"),
                                   F.concat_ws(" ", "verb", "thing")).otherwise(F.col("thing")))
        .withColumn("text", F.concat(F.lit("[["), "noun", F.lit("]] can [["), "said", F.lit("]]")))
        .select(
            "relation",
            F.col("noun").alias("start"),
            F.col("said").alias("end"),
            F.col("noun").alias("start_label"),
            F.col("said").alias("end_label"),
            F.when(F.col("id") % 2 == 0, F.col("text")).alias("surface_text"),
            F.lit(1.0).alias("weight"),
            F.lit("generated").alias("dataset"),
            F.lit("5").alias("release"),
            F.lit("none").alias("license"),
            F.col("id").cast("string").alias("uri"),
        )
    )  # fmt: skip
    tables.append("conceptnet_edges", edges, job="benchmark")
    engine.stop()


def cpu_seconds() -> float:
    """CPU of this process, of those below it, and of those that they have waited for."""
    own = psutil.Process()
    return sum(sum(one.cpu_times()[:4]) for one in (own, *own.children(recursive=True)))


def resident_mib() -> float:
    """Memory of this process and those below it; pages that they share count once for each."""
    own = psutil.Process()
    sizes = []
    for one in (own, *own.children(recursive=True)):
        with contextlib.suppress(psutil.NoSuchProcess):
            sizes.append(one.memory_info().rss / 2**20)
    return float(sum(sizes))


def build_measured(lake: str) -> dict[str, float]:
    """Build from a generated lake in this process: seconds, and the memory of it and its workers.

    The engine is the one that the variable ENGINE names, or the one that the job takes itself.
    """
    from etl import engine
    from etl.adept.job import build
    from etl.adept.settings import Settings

    peak = 0.0
    done = threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(0.5):
            peak = max(peak, resident_mib())

    watcher = threading.Thread(target=watch)
    watcher.start()
    started, used = time.perf_counter(), cpu_seconds()
    try:
        build(Settings(lake=lake, engine=os.environ.get("ENGINE", "auto")))
    finally:
        done.set()
        watcher.join()
    seconds, used = time.perf_counter() - started, cpu_seconds() - used
    name = engine.running().name
    engine.stop()
    items = arrow.read(lake, "adept_items", columns=["noun"]).num_rows
    entries = arrow.read(lake, "adept_entries", columns=["noun"]).num_rows
    return {
        "seconds": seconds,
        "cpu": used,
        "engine": name,
        "peak_mib": peak,
        "items": items,
        "entries": entries,
    }


def scale() -> dict[str, Any]:
    """Builds of generated pairs, each in a process of its own with the same memory.

    What is measured is recorded size by size: that the last one fails takes nothing from the first.
    """
    found: dict[str, Any] = {}
    for size in map(int, SIZES.split(",")):
        folder = tempfile.mkdtemp(prefix="adept-scale-")
        try:
            for name in ("generate", "build"):
                done = subprocess.run(
                    [sys.executable, "-m", "benchmarks.adept", f"_{name}", str(size), folder],
                    cwd=ROOT,
                    capture_output=True,
                    text=True,
                    check=False,
                )
                if done.returncode:
                    raise RuntimeError(f"{name} of {size} pairs:\n{done.stderr[-3000:]}")
            found[str(size)] = json.loads(done.stdout.splitlines()[-1])
            found[str(size)]["load"] = os.getloadavg()[0]
            results.record(KEY, results.recorded().get(KEY, {}) | {"scale": found})
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    return found


# -------------------------------------------------------------------------------------------- page


def page(kept: dict[str, Any]) -> str:
    """The section of the page, of the parts that have been recorded."""
    lines = ["## ADEPT", ""]
    if "published" in kept:
        own = kept["published"]
        rows: list[tuple[object, ...]] = [("val accuracy", "majority", "normative rule")]
        rows += [
            (f"{classes} classes", f"{one['majority']:.2f}", f"{one['rule']:.2f}")
            for classes, one in own["baselines"].items()
        ]
        share = 100 * (1 - own["other_forms"] / own["rows"])
        lines += [
            f"**Release** (train and val): {own['rows']:,} rows, {own['dropped']} dropped. "
            + ". ".join(own["notes"]).replace("sentence pairs:", "Sentence pairs:")
            + ".",
            "",
            results.table(rows),
            "",
            f"Inserting the modifier by our rule gives the published second sentence for "
            f"{share:.2f} % of the rows ({results.verdict(share, 99.9)}: at least 99.9 %); "
            f"{own['other_forms']} rows differ (docs/adept.md).",
            "",
        ]
        shares: list[tuple[object, ...]] = [("label shares", "0", "1", "2", "3", "4")]
        shares += [
            (kind, *(f"{value:.3f}" for value in values))
            for kind, values in sorted(own["shares"].items())
        ]
        lines += [results.table(shares), ""]
    if "real" in kept:
        own = kept["real"]
        pairs = ", ".join(f"{corpus} {count:,}" for corpus, count in sorted(own["pairs"].items()))
        used = sum(own["edges"].get(relation, 0) for relation in RELATIONS)
        lines += [
            f"**Real build** (pairs: {pairs}; min_count=1; {sum(own['edges'].values()):,} edges, "
            f"{used:,} of them of the seven relations; load {own['load']:.1f}).",
            "",
        ]
        head = ("edition", "seconds", "entries", "items", "sentences", "by surface text",
                "by template", "non-subsective")  # fmt: skip
        table: list[tuple[object, ...]] = [head]
        for edition in EDITIONS:
            one = own[edition]
            table.append(
                (
                    edition,
                    f"{one['seconds']:.0f}",
                    f"{one['entries']:,}",
                    f"{one['items']:,}",
                    f"{one['sentences']:,}",
                    f"{one['paths'].get('surface_text', 0):,}",
                    f"{one['paths'].get('template', 0):,}",
                    f"{100 * one['nonsubsective']:.1f} %",
                )
            )
        lines += [results.table(table), ""]
        for edition in EDITIONS:
            drops: list[tuple[object, ...]] = [(f"dropped, {edition}", "reason", "count", "as")]
            for name, reason, count, text in own[edition]["dropped"]:
                drops.append((name, reason, f"{count:,}", text.replace("|", " ")[:70]))
            lines += [results.table(drops), ""]
    if "judged" in kept:
        own = kept["judged"]
        right, size, low, high = own["all"]
        rows = [("judged", "well formed", "of", "share", "interval")]
        rows += [
            (name, f"{r:.0f}", f"{n:.0f}", f"{100 * r / n:.1f} %", f"{low_:.1f} to {high_:.1f}")
            for name, (r, n, low_, high_) in own.items()
        ]
        lines += [
            f"**Judged by hand** (docs/adept_judged.tsv): {right:.0f} of {size:.0f} items well "
            f"formed, {low:.1f} to {high:.1f} % (Wilson, 95 %); "
            f"{results.verdict(100 * right / size, 90)}: at least 90 %.",
            "",
            results.table(rows),
            "",
        ]
    if "scale" in kept:
        own = kept["scale"]
        rows = [
            (
                "pairs",
                "seconds",
                "times",
                "CPU s",
                "times",
                "entries",
                "items",
                "engine",
                "peak MiB",
                "load",
            )
        ]
        before: tuple[int, float, float] | None = None
        ratios = []
        for size, one in sorted(((int(s), o) for s, o in own.items())):
            told = ["-", "-"]
            if before is not None:
                limit = 1.1 * size / before[0]
                times = (one["seconds"] / before[1], one["cpu"] / before[2])
                told = [f"{value:.1f} of {limit:.1f}" for value in times]
                ratios.append(
                    " and ".join(results.verdict(t, limit, at_least=False) for t in times)
                )
            rows.append(
                (
                    f"{size:,}",
                    f"{one['seconds']:.0f}",
                    told[0],
                    f"{one['cpu']:.0f}",
                    told[1],
                    f"{one['entries']:,}",
                    f"{one['items']:,}",
                    one.get("engine", "spark"),
                    f"{one['peak_mib']:.0f}" if "peak_mib" in one else "-",
                    f"{one['load']:.1f}",
                )
            )
            before = (size, one["seconds"], one["cpu"])
        lines += [
            "**Growth** (generated pairs with a fifth as many edges; two cores, the JVM holding "
            "driver and executors; times the step before, of at most 1.1 times the growth, in "
            "seconds and in CPU seconds, which other work on the machine does not stretch: "
            f"{', '.join(ratios) or 'one size only'}).",
            "",
            results.table(rows),
            "",
        ]
    lines.append(f"(Written {datetime.now(UTC):%Y-%m-%d}, load average {os.getloadavg()[0]:.1f}.)")
    return "\n".join(lines)


PARTS = {"published": published, "real": real, "judged": judged, "scale": scale}


def main(names: list[str]) -> None:
    """Run the parts named, or all, record their figures and write the page."""
    if names[:1] == ["sheet"]:
        print("\t".join([*Sampled._fields, "grammar", "remark"]))
        for row in sample(int(names[1])):
            print("\t".join([*row, "", ""]))
        return
    if names[:1] == ["_generate"]:
        generate(int(names[1]), names[2])
        return
    if names[:1] == ["_build"]:
        print(json.dumps(build_measured(names[2])))
        return
    for name in names or PARTS:
        kept = results.recorded().get(KEY, {})
        kept[name] = PARTS[name]()
        results.record(KEY, kept)
    text = page(results.recorded()[KEY])
    results.write_section(KEY, text, packages=["pyspark", "deltalake", "lemminflect", "inflect"])


if __name__ == "__main__":
    main(sys.argv[1:])
