"""ADEPT's build: from pairs and edges to the tables adept_entries and adept_items.

The noun side runs in the engine's own operators over ``amod_pairs``; Python sees every distinct
word once. The edge side goes through `predicates` one edge at a time. Both are joined by noun: in a
sorted partition, a row with a noun's predicates precedes its adjectives, so adjectives are neither
multiplied by edges nor held as lists (`etl.adept.blocks`). Random choices depend only on the seed
and the record, so any partitioning gives the same rows. Frames that grow with the corpus and are
read more than once are stored for the duration of the job.
"""

from collections.abc import Callable, Iterator
from functools import reduce
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from adnominal.conf import JobFailed
from adnominal.etl import building
from adnominal.etl.adept import blocks
from adnominal.etl.adept.predicates import Edge, Unfit, gist, statement
from adnominal.etl.adept.settings import Settings
from adnominal.etl.adept.words import Words, adjective_fault, noun_fault
from adnominal.etl.building import begin_build, collect_drops, drops_by_reason
from adnominal.etl.draws import rank
from adnominal.etl.engine import map_arrow
from adnominal.etl.engine.versions import to_arrow
from adnominal.etl.knowledge import lexicons
from adnominal.etl.lake import arrow
from adnominal.etl.lake.blocks import Blocks
from adnominal.etl.lake.frames import sort_rows, spark_schema
from adnominal.etl.lake.schema import batch_of
from adnominal.etl.lake.scratch import Scratch, scratch
from adnominal.etl.lake.spark import Lake
from adnominal.etl.lake.tables import table

JOB = "build_adept"
ENTRIES, ITEMS = "adept_entries", "adept_items"
_VERDICT = "word string, pairs long, nonsubsective boolean, reason string"
_CANDIDATE = pa.schema(
    [
        ("noun", pa.string()),
        ("gist", pa.string()),
        *blocks.PREDICATE_TYPE,
        ("reason", pa.string()),
        ("sample", pa.string()),
    ]
)
# Frames of (table, reason, count, sample), to be summed.
Drops = list[DataFrame]


def build(settings: Settings) -> None:
    """Build ADEPT before annotation: nouns with adjectives, and sentences with one inserted.

    Reads amod_pairs, conceptnet_edges and wordnet_lemmas; replaces edition=NAME in adept_entries
    and adept_items, and records dropped rows with their reasons in the table dropped.
    """
    run = begin_build(JOB, settings, arrow.row_count(settings.lake, "amod_pairs"))
    with scratch(settings.lake) as folder:
        lake = run.lake
        pairs = building.pairs_of(lake, settings.corpora, "corpora")
        relations = dict.fromkeys(settings.relations)
        edges = [lake.read("conceptnet_edges", where={"relation": name}) for name in relations]
        words = lexicons_of(lake, settings)
        drops: Drops = []
        pairs = pairs_of(pairs, words, settings, drops, folder)
        if pairs.isEmpty():
            raise JobFailed(
                f"no noun has {settings.min_adjectives} adjectives with counts of "
                f"{settings.min_count} or more; read more text, or lower min_count= or "
                "min_adjectives="
            )
        sentences = candidates(reduce(DataFrame.unionAll, edges), words, settings, folder)
        predicates = predicates_of(sentences, pairs, settings, drops, folder)
        run.write_dropped(collect_drops(drops))
        if predicates.isEmpty():
            raise JobFailed(
                "no edge of ConceptNet gives a sentence about a noun of the pairs; "
                f"`python -m etl.lake show dropped` lists why (job {JOB}/{settings.name})"
            )
        run.replace(ENTRIES, _entries(pairs, settings))
        run.replace(ITEMS, items_of(predicates, pairs, settings))


# ------------------------------------------------------------------------------------------- input


def lexicons_of(lake: Lake, settings: Settings) -> Words:
    """Return WordNet's lemmas (about 150,000) and the lists of ``conf/lexicons``."""
    lemmas = lake.read("wordnet_lemmas").groupBy("lemma").agg(F.sort_array(F.collect_set("pos")))
    # As Arrow: rows of Python objects would take seconds.
    lemma, parts = to_arrow(lemmas).to_pydict().values()
    parts_of_speech = ("".join(letters) for letters in parts)
    return Words(
        dict(zip(lemma, parts_of_speech, strict=True)),
        lexicons.offensive_words(settings.offensive),
        frozenset(lexicons.identity()) if settings.identity == "leave_out" else frozenset(),
    )


# --------------------------------------------------------------------------------------- noun side


def pairs_of(
    pairs: DataFrame, words: Words, settings: Settings, drops: Drops, folder: Scratch
) -> DataFrame:
    """Return stored (noun, adjective, count, nonsubsective) of nouns with enough adjectives.

    Dropped rows are added to `drops`. If several reasons apply to a pair, the first of these
    counts: its count, its noun, its adjective, the noun's number of adjectives.
    """
    is_frequent = F.col("count") >= settings.min_count
    rare_pairs = pairs.where(~is_frequent).agg(
        F.count("*").alias("count"), F.min(F.concat_ws(" ", "adjective", "noun")).alias("sample")
    )
    rare = rare_pairs.where("count > 0").withColumn(
        "reason", F.lit(f"count below {settings.min_count}")
    )
    drops.append(drops_by_reason(rare, ENTRIES, F.col("sample"), F.col("count")))
    frequent = pairs.where(is_frequent)
    judged = _judged_words(frequent, words, settings, "noun", folder)
    drops.append(drops_by_reason(judged, ENTRIES, F.col("word"), F.col("pairs")))
    kept_nouns = judged.where("reason IS NULL").select(F.col("word").alias("noun"))
    frequent = frequent.join(kept_nouns, "noun", "left_semi")
    judged = _judged_words(frequent, words, settings, "adjective", folder)
    drops.append(drops_by_reason(judged, ENTRIES, F.col("word"), F.col("pairs")))
    flags = judged.where("reason IS NULL").select(F.col("word").alias("adjective"), "nonsubsective")
    noun_pairs = folder.keep(
        frequent.join(flags, "adjective")
        .groupBy("noun", "adjective", "nonsubsective")
        .agg(F.sum("count").alias("count"), F.count("*").alias("rows"))
    )
    sizes = folder.keep(
        noun_pairs.groupBy("noun").agg(
            F.count("*").alias("adjectives"), F.sum("rows").alias("rows")
        )
    )
    is_poor = F.col("adjectives") < settings.min_adjectives
    reason = F.lit(f"noun has fewer than {settings.min_adjectives} adjectives")
    lonely = sizes.where(is_poor).withColumn("reason", reason)
    drops.append(drops_by_reason(lonely, ENTRIES, F.col("noun"), F.col("rows")))
    return folder.keep(
        noun_pairs.join(sizes.where(~is_poor).select("noun"), "noun", "left_semi").select(
            "noun", "adjective", "count", "nonsubsective"
        )
    )


def _entries(pairs: DataFrame, settings: Settings) -> Blocks:
    """Return rows of adept_entries, which tasks write themselves."""
    edition = settings.name

    def make(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
        for nouns in blocks.whole_nouns(batches):
            yield blocks.entries(nouns, edition)

    return Blocks(sort_rows(pairs, "noun", F.desc("count"), "adjective"), make, compiled=True)


def _judged_words(
    pairs: DataFrame, words: Words, settings: Settings, kind: str, folder: Scratch
) -> DataFrame:
    """Return the nouns or adjectives of the pairs with the reason to drop each, or null."""
    pairs_by_word = pairs.groupBy(F.col(kind).alias("word")).agg(F.count("*").alias("pairs"))
    fault: Callable[[str, Words, str], str | None]
    fault = noun_fault if kind == "noun" else adjective_fault
    rules, is_special = settings.rules, lexicons.is_nonsubsective

    def judge(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            column = batch.column(0).to_pylist()
            reasons = [fault(word, words, rules) if word else "empty" for word in column]
            yield pa.RecordBatch.from_arrays(
                [
                    *batch.columns,
                    pa.array([bool(word) and is_special(word) for word in column], pa.bool_()),
                    pa.array(reasons, pa.string()),
                ],
                ["word", "pairs", "nonsubsective", "reason"],
            )

    return folder.keep(map_arrow(pairs_by_word, judge, _VERDICT))


# --------------------------------------------------------------------------------------- edge side


def candidates(edges: DataFrame, words: Words, settings: Settings, folder: Scratch) -> DataFrame:
    """Return a row per edge: its sentence and rank among the noun's, or the reason for none."""
    rules, templates, seed = settings.rules, settings.templates, settings.seed

    def make(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows: list[tuple[Any, ...]] = []
            columns = [column.to_pylist() for column in batch.columns]
            for relation, start, end, text, weight, uri in zip(*columns, strict=True):
                edge = Edge(relation, start or "", end or "", text, weight)
                try:
                    sentence_of_edge = statement(edge, words, rules=rules, templates=templates)
                except Unfit as unfit:
                    sample = f"{relation} {uri} {text or f'{start} … {end}'}"
                    rows.append((*[None] * (len(_CANDIDATE) - 2), str(unfit), sample))
                    continue
                rows.append(
                    (
                        sentence_of_edge.noun,
                        gist(sentence_of_edge, rules),
                        sentence_of_edge.path,
                        rank(seed, "predicate", sentence_of_edge.noun, sentence_of_edge.sentence),
                        sentence_of_edge.sentence,
                        sentence_of_edge.form,
                        relation,
                        sentence_of_edge.predicate,
                        uri,
                        None,
                        None,
                    )
                )
            yield batch_of(rows, _CANDIDATE)

    labelled = edges.select("relation", "start_label", "end_label", "surface_text", "weight", "uri")
    return folder.keep(map_arrow(labelled, make, spark_schema(_CANDIDATE)))


def predicates_of(
    sentences: DataFrame, pairs: DataFrame, settings: Settings, drops: Drops, folder: Scratch
) -> DataFrame:
    """Return (noun, said): each noun of the pairs with its lowest-ranked predicates."""
    drops.append(drops_by_reason(sentences, ITEMS, F.col("sample")))
    nouns = pairs.select("noun", F.lit(True).alias("entered")).distinct()
    sentences_of_entries = sentences.where("reason IS NULL").join(nouns, "noun", "left")
    lost = sentences_of_entries.where("entered IS NULL").withColumn(
        "reason", F.lit("noun has no entry")
    )
    drops.append(drops_by_reason(lost, ITEMS, F.col("sentence")))
    most = settings.predicates

    def make(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for nouns in blocks.whole_nouns(batches):
            yield from blocks.predicates(nouns, most + 1).to_batches()

    # Sorted, not aggregated: an aggregate would keep a row of text per sentence in memory.
    rows = sentences_of_entries.where("entered").select("noun", "gist", *blocks.PREDICATE)
    sentences_in_order = sort_rows(rows, "noun", "gist", *blocks.PREDICATE)
    predicate_rows = folder.keep(
        map_arrow(sentences_in_order, make, spark_schema(blocks.PREDICATES))
    )
    for reason, count, sample in (
        (
            "predicate said before",
            F.col("edges") - F.col("different"),
            F.col("said")[0]["sentence"],
        ),
        (
            f"more than {most} predicates of the noun",
            F.col("different") - most,
            F.get(F.col("said"), F.lit(most))["sentence"],
        ),
    ):
        surplus = predicate_rows.where(count > 0).withColumn("reason", F.lit(reason))
        drops.append(drops_by_reason(surplus, ITEMS, sample, count))
    return predicate_rows.select("noun", F.slice("said", 1, most).alias("said"))


# ------------------------------------------------------------------------------------------- items


def items_of(statements: DataFrame, pairs: DataFrame, settings: Settings) -> DataFrame:
    """Return rows of adept_items from nouns with their predicates and pairs."""
    schema = table(ITEMS).schema
    adjectives = pairs.join(statements.select("noun"), "noun", "left_semi").withColumn(
        "said", F.lit(None).cast(statements.schema["said"].dataType)
    )
    first = statements.select(
        "noun",
        F.lit(None).cast("string").alias("adjective"),
        F.lit(None).cast("long").alias("count"),
        F.lit(None).cast("boolean").alias("nonsubsective"),
        "said",
    )
    rows = sort_rows(
        adjectives.unionByName(first), "noun", F.desc_nulls_first("count"), "adjective"
    ).drop("count")

    def make(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for nouns in blocks.whole_nouns(batches):
            yield from blocks.items(nouns, settings).to_batches(max_chunksize=10_000)

    return map_arrow(rows, make, spark_schema(schema))
