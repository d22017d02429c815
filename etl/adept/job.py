"""ADEPT's DataFrames: pairs and edges to the tables adept_entries and adept_items.

The noun side is the engine's own operators over ``amod_pairs``; Python sees every different word
once. The edge side goes through `predicates` an edge at a time. Both meet by noun: what is said of
a noun stands once before its adjectives in a sorted partition, so that adjectives are neither
multiplied by edges nor held as lists (`etl.adept.blocks`). What is random depends on the seed and
the record alone, so any partitioning gives the same rows. Frames that grow with the corpus and are
read more than once are stored for the time of the job.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from conf import JobFailed, UserError, settings_hash
from etl import engine
from etl.adept import blocks
from etl.adept.draws import draw
from etl.adept.predicates import Edge, Unfit, gist, statement
from etl.adept.settings import Settings
from etl.adept.words import Words, adjective_fault, noun_fault
from etl.engine import map_arrow
from etl.knowledge import lexicons
from etl.lake import arrow
from etl.lake.frames import ordered, spark_schema
from etl.lake.scratch import Scratch, scratch
from etl.lake.spark import Blocks, Lake
from etl.lake.tables import table

JOB = "build_adept"
ENTRIES, ITEMS = "adept_entries", "adept_items"
_VERDICT = "word string, pairs long, nonsubsective boolean, reason string"
_CANDIDATE = (
    "noun string, gist string, rank long, sentence string, form string, relation string, "
    "predicate string, path string, edge string, reason string, sample string"
)
# In the order that decides: sentences of people's own words come before those of templates.
_PREDICATE = ("path", "rank", "sentence", "form", "relation", "predicate", "edge")
# Frames of (table, reason, count, sample), to be summed.
Drops = list[DataFrame]

log = logging.getLogger("adnominal")


def build(settings: Settings) -> None:
    """ADEPT before annotation: nouns with their adjectives, and sentences with one put in.

    Reads amod_pairs, conceptnet_edges and wordnet_lemmas; writes adept_entries and adept_items as
    edition=NAME, which it replaces, and to the table dropped what was left out and why.
    """
    rows = arrow.row_count(settings.lake, "amod_pairs")
    lake = Lake(engine.start(f"{JOB} {settings.name}", settings, rows=rows).spark, settings.lake)
    with scratch(settings.lake) as folder:
        _build(lake, folder, settings)


def _build(lake: Lake, folder: Scratch, settings: Settings) -> None:
    started = time.monotonic()
    pairs = _pairs(lake, settings)
    edges = _edges(lake, settings)
    words = lexicons_of(lake, settings)
    drops: Drops = []
    pairs = pairs_of(pairs, words, settings, drops, folder)
    if pairs.isEmpty():
        raise JobFailed(
            f"no noun has {settings.min_adjectives} adjectives with counts of {settings.min_count} "
            "or more; read more text, or lower min_count= or min_adjectives="
        )
    found = candidates(edges, words, settings, folder)
    said = predicates_of(found, pairs, settings, drops, folder)
    _note(lake, drops, settings)
    if said.isEmpty():
        raise JobFailed(
            "no edge of ConceptNet gives a sentence about a noun of the pairs; `python -m etl.lake "
            f"show dropped` lists why (job {JOB}/{settings.name})"
        )
    meta = {"settings": settings_hash(settings), "seed": str(settings.seed)}
    partition = {"edition": settings.name}
    items = items_of(said, pairs, settings)
    for name, rows in ((ENTRIES, _entries(pairs, settings)), (ITEMS, items)):
        commit = lake.replace(name, rows, partition, job=JOB, metadata=meta)
        log.info("%s: %d rows after %.1f s", name, commit.rows, time.monotonic() - started)


# ------------------------------------------------------------------------------------------- input


def _pairs(lake: Lake, settings: Settings) -> DataFrame:
    """The pairs of the corpora asked for; a `UserError` for one that is not there."""
    pairs = lake.read("amod_pairs")
    if not settings.corpora:
        return pairs
    there = {dict(f.partition).get("corpus") for f in arrow.files(settings.lake, "amod_pairs")}
    missing = sorted(set(settings.corpora) - there)
    if missing:
        raise UserError(
            f"corpora={','.join(missing)}: not in amod_pairs, which has "
            f"{', '.join(sorted(map(str, there)))}; extract it first (etl/extract_amod.py)"
        )
    return _union([lake.read("amod_pairs", where={"corpus": name}) for name in settings.corpora])


def _edges(lake: Lake, settings: Settings) -> DataFrame:
    wanted = dict.fromkeys(settings.relations)
    return _union([lake.read("conceptnet_edges", where={"relation": name}) for name in wanted])


def _union(frames: Sequence[DataFrame]) -> DataFrame:
    return reduce(DataFrame.unionAll, frames)


def lexicons_of(lake: Lake, settings: Settings) -> Words:
    """WordNet's lemmas (some 150,000) and the lists of ``conf/lexicons``."""
    rows = lake.read("wordnet_lemmas").groupBy("lemma").agg(F.sort_array(F.collect_set("pos")))
    return Words(
        {lemma: "".join(parts) for lemma, parts in rows.collect()},
        frozenset(lexicons.offensive()),
        frozenset(lexicons.identity()) if settings.identity == "leave_out" else frozenset(),
    )


# --------------------------------------------------------------------------------------- noun side


def pairs_of(
    pairs: DataFrame, words: Words, settings: Settings, drops: Drops, folder: Scratch
) -> DataFrame:
    """(noun, adjective, count, nonsubsective) of the nouns with enough adjectives, stored.

    Frames of what is left out go to `drops`.

    Of a pair that is left out for several reasons the first counts: its count, its noun, its
    adjective, the noun's number of adjectives.
    """
    enough = F.col("count") >= settings.min_count
    below = pairs.where(~enough).agg(
        F.count("*").alias("count"), F.min(F.concat_ws(" ", "adjective", "noun")).alias("sample")
    )
    drops.append(
        below.where("count > 0").select(
            F.lit(ENTRIES).alias("table"),
            F.lit(f"count below {settings.min_count}").alias("reason"),
            "count",
            "sample",
        )
    )
    left = pairs.where(enough)
    judged = _judged(left, words, settings, "noun", folder)
    drops.append(_by_reason(judged.withColumn("sample", F.col("word")), ENTRIES, F.col("pairs")))
    kept_nouns = judged.where("reason IS NULL").select(F.col("word").alias("noun"))
    left = left.join(kept_nouns, "noun", "left_semi")
    judged = _judged(left, words, settings, "adjective", folder)
    drops.append(_by_reason(judged.withColumn("sample", F.col("word")), ENTRIES, F.col("pairs")))
    flags = judged.where("reason IS NULL").select(F.col("word").alias("adjective"), "nonsubsective")
    met = folder.keep(
        left.join(flags, "adjective")
        .groupBy("noun", "adjective", "nonsubsective")
        .agg(F.sum("count").alias("count"), F.count("*").alias("rows"))
    )
    sizes = folder.keep(
        met.groupBy("noun").agg(F.count("*").alias("adjectives"), F.sum("rows").alias("rows"))
    )
    few = F.col("adjectives") < settings.min_adjectives
    drops.append(
        sizes.where(few).select(
            F.lit(ENTRIES).alias("table"),
            F.lit(f"noun has fewer than {settings.min_adjectives} adjectives").alias("reason"),
            F.col("rows").alias("count"),
            F.col("noun").alias("sample"),
        )
    )
    return folder.keep(
        met.join(sizes.where(~few).select("noun"), "noun", "left_semi").select(
            "noun", "adjective", "count", "nonsubsective"
        )
    )


def _entries(pairs: DataFrame, settings: Settings) -> Blocks:
    """Rows of adept_entries; tasks write them themselves."""
    edition = settings.name

    def make(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
        for nouns in blocks.whole_nouns(batches):
            yield blocks.entries(nouns, edition)

    return Blocks(ordered(pairs, "noun", F.desc("count"), "adjective"), make, compiled=True)


def _judged(
    pairs: DataFrame, words: Words, settings: Settings, kind: str, folder: Scratch
) -> DataFrame:
    """The nouns or adjectives of the pairs, with the reason to leave one out, null for none."""
    found = pairs.groupBy(F.col(kind).alias("word")).agg(F.count("*").alias("pairs"))
    fault: Callable[[str, Words, str], str | None]
    fault = noun_fault if kind == "noun" else adjective_fault
    rules = settings.rules
    special = frozenset(lexicons.nonsubsective())

    def judge(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            own = batch.column(0).to_pylist()
            reasons = [fault(word, words, rules) if word else "empty" for word in own]
            yield pa.RecordBatch.from_arrays(
                [
                    *batch.columns,
                    pa.array([word in special for word in own], pa.bool_()),
                    pa.array(reasons, pa.string()),
                ],
                ["word", "pairs", "nonsubsective", "reason"],
            )

    return folder.keep(map_arrow(found, judge, _VERDICT))


# --------------------------------------------------------------------------------------- edge side


def candidates(edges: DataFrame, words: Words, settings: Settings, folder: Scratch) -> DataFrame:
    """A row for each edge: its sentence with its rank among the noun's, or the reason for none."""
    rules, templates, seed = settings.rules, settings.templates, settings.seed
    names = [part.split()[0] for part in _CANDIDATE.split(", ")]

    def make(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            made: list[tuple[Any, ...]] = []
            columns = [column.to_pylist() for column in batch.columns]
            for relation, start, end, text, weight, uri in zip(*columns, strict=True):
                edge = Edge(relation, start or "", end or "", text, weight)
                try:
                    found = statement(edge, words, rules=rules, templates=templates)
                except Unfit as unfit:
                    sample = f"{relation} {uri} {text or f'{start} … {end}'}"
                    made.append((*[None] * (len(names) - 2), str(unfit), sample))
                    continue
                made.append(
                    (
                        found.noun,
                        gist(found, rules),
                        draw(seed, "predicate", found.noun, found.sentence),
                        found.sentence,
                        found.form,
                        relation,
                        found.predicate,
                        found.path,
                        uri,
                        None,
                        None,
                    )
                )
            arrays = zip(*made, strict=True) if made else [()] * len(names)
            yield pa.RecordBatch.from_arrays(
                [
                    pa.array(list(values), pa.int64() if name == "rank" else pa.string())
                    for name, values in zip(names, arrays, strict=True)
                ],
                names,
            )

    chosen = edges.select("relation", "start_label", "end_label", "surface_text", "weight", "uri")
    return folder.keep(map_arrow(chosen, make, _CANDIDATE))


def predicates_of(
    found: DataFrame, pairs: DataFrame, settings: Settings, drops: Drops, folder: Scratch
) -> DataFrame:
    """(noun, said): for each noun of the pairs its predicates of lowest rank, at most three."""
    drops.append(_by_reason(found, ITEMS, F.lit(1)))
    nouns = pairs.select("noun", F.lit(True).alias("entered")).distinct()
    there = found.where("reason IS NULL").join(nouns, "noun", "left")
    lost = there.where("entered IS NULL").withColumn("reason", F.lit("noun has no entry"))
    drops.append(_by_reason(lost.withColumn("sample", F.col("sentence")), ITEMS, F.lit(1)))
    once = (
        there.where("entered")
        .groupBy("noun", "gist")
        .agg(F.min(F.struct(*_PREDICATE)).alias("said"), F.count("*").alias("edges"))
    )
    ranked = once.groupBy("noun").agg(
        F.sort_array(F.collect_list("said")).alias("said"), F.sum("edges").alias("edges")
    )
    ranked = folder.keep(ranked)
    most = settings.predicates
    size = F.size("said")
    for reason, count, sample in (
        ("predicate said before", F.col("edges") - size, F.col("said")[0]["sentence"]),
        (
            f"more than {most} predicates of the noun",
            size - most,
            F.get(F.col("said"), F.lit(most))["sentence"],
        ),
    ):
        drops.append(
            ranked.where(count > 0).select(
                F.lit(ITEMS).alias("table"),
                F.lit(reason).alias("reason"),
                count.cast("long").alias("count"),
                sample.alias("sample"),
            )
        )
    return ranked.select("noun", F.slice("said", 1, most).alias("said"))


# ------------------------------------------------------------------------------------------- items


def items_of(said: DataFrame, pairs: DataFrame, settings: Settings) -> DataFrame:
    """Rows of adept_items for nouns with what is said of them and their pairs."""
    schema = table(ITEMS).schema
    told = pairs.join(said.select("noun"), "noun", "left_semi").withColumn(
        "said", F.lit(None).cast(said.schema["said"].dataType)
    )
    first = said.select(
        "noun",
        F.lit(None).cast("string").alias("adjective"),
        F.lit(None).cast("long").alias("count"),
        F.lit(None).cast("boolean").alias("nonsubsective"),
        "said",
    )
    rows = ordered(told.unionByName(first), "noun", F.desc_nulls_first("count"), "adjective").drop(
        "count"
    )

    def make(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for nouns in blocks.whole_nouns(batches):
            yield from blocks.items(nouns, settings).to_batches(max_chunksize=10_000)

    return map_arrow(rows, make, spark_schema(schema))


# ------------------------------------------------------------------------------------------- drops


def _by_reason(frame: DataFrame, name: str, count: Column) -> DataFrame:
    """The rows with a reason, as drops; `count` says for how much each row stands."""
    return frame.where("reason IS NOT NULL").select(
        F.lit(name).alias("table"), "reason", count.cast("long").alias("count"), "sample"
    )


def _note(lake: Lake, drops: Drops, settings: Settings) -> None:
    """Write the drops, pairs of adept_entries and edges of adept_items, and log them."""
    job = f"{JOB}/{settings.name}"
    rows = (
        _union(drops)
        .groupBy("table", "reason")
        .agg(F.sum("count").alias("count"), F.min("sample").alias("sample"))
        .select(F.lit(job).alias("job"), "table", "reason", "count", "sample")
    )
    found = sorted(rows.collect(), key=lambda row: (row[1], -row[3], row[2]))
    for row in found:
        log.info("dropped from %s: %d, %s, as %s", row[1], row[3], row[2], row[4])
    left_out = pa.Table.from_pylist([row.asDict() for row in found], table("dropped").schema)
    lake.replace("dropped", left_out, {"job": job}, job=JOB, allow_empty=True)
