"""PLANE's DataFrames: pairs to plane_items, plane_splits, plane_association.

What a scheme lacks is known before an item is written: splits are planned from the phrases.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from conf import UserError, settings_hash
from etl.engine import running, start
from etl.knowledge.lexicons import adjective_classes
from etl.lake import arrow
from etl.lake.frames import ordered
from etl.lake.scratch import Scratch, scratch
from etl.lake.spark import Blocks, Lake
from etl.lake.tables import table
from etl.plane import TYPES, blocks, items
from etl.plane.pool import pool_of
from etl.plane.settings import Settings
from etl.plane.splits import plan

JOB = "build_plane"
# Of the paper's dataset (section 3.2), and the share of inflected nouns in its release.
PAPER_ITEMS, PAPER_NOUNS, PAPER_INFLECTED = 1_900_000, 7_800, 0.29

log = logging.getLogger("adnominal")


class Words:
    """What is known of words, each frame small enough to be sent to every worker.

    Attributes:
        classes: (adjective, class), sorted.
        adjectives: the same as a frame, see `etl.plane.items.lexicon`.
        nouns: of each noun of the pairs, see `etl.plane.items.nouns_of`; stored.
        words: of each word that sentences have for nouns, its hypernyms.
        chains: (noun, chain) for the words, where they are asked for.
    """

    def __init__(
        self,
        classes: list[tuple[str, str]],
        adjectives: DataFrame,
        nouns: DataFrame,
        chains: DataFrame | None,
    ) -> None:
        self.classes, self.adjectives, self.nouns, self.chains = classes, adjectives, nouns, chains
        # In paper text a word is its noun, in clean text several nouns may share one. Not an
        # aggregate: each of its lists would be counted as all the lists of its batch.
        first = F.row_number().over(Window.partitionBy("word").orderBy("noun")) == 1
        self.words = (
            nouns.withColumn("first", first)
            .where("first")
            .select(F.col("word").alias("noun"), "hypernyms", "reached", "direct")
        )


def build(settings: Settings) -> None:
    """PLANE: which inferences hold of adjective–noun phrases, and splits to train and test on.

    From amod_pairs, the tables of WordNet and the lexicon of adjective classes, writes plane_items,
    plane_splits and plane_association as edition=NAME, which it replaces; what was left out is
    counted by reason in the table dropped.
    """
    classes = sorted(classes_of(settings.classes).items())
    size = arrow.row_count(settings.lake, "amod_pairs")
    lake = Lake(start(f"{JOB} {settings.name}", settings, rows=size).spark, settings.lake)
    with scratch(settings.lake) as folder:
        _build(lake, folder, settings, classes)


def _build(lake: Lake, folder: Scratch, settings: Settings, classes: list[tuple[str, str]]) -> None:
    started = time.monotonic()

    def say(what: str, *values: object) -> None:
        log.info(f"{what} after %.1f s", *values, time.monotonic() - started)

    pairs = _pairs(lake, settings.corpus)
    association = _association(lake, settings) if settings.association else None
    words = known_words(lake, settings, pairs, classes, folder)
    judged = items.judged(pairs, words.adjectives, words.nouns)
    found = folder.keep(items.phrases_of(judged, settings))
    dropped = _left_out([judged, found], settings)
    phrases = found.where(F.col("reason").isNull()).drop("reason")
    size = _size(items.numbers_of(phrases, words.words), dropped, settings)
    say("%d items to be built", size)
    if settings.text == "paper":
        _beside_paper(phrases, words, size)
    chosen = None
    if settings.schemes:
        pool = pool_of(phrases, words.words, words.chains, classes, words.adjectives, settings.seed)
        chosen = plan(pool, settings.schemes, settings.sizes, settings.seed)
        say("%d groups of splits chosen", chosen.num_rows)

    measured: DataFrame | pa.Table = table("plane_association").schema.empty_table()
    if association is not None:
        measured = _measured(association, judged, phrases, settings)
    picked = table("plane_splits").schema.empty_table()
    if chosen is not None:
        picked = split_rows(chosen, settings)
    rows = _rows(lake.spark, phrases, words, chosen, size, settings)
    meta = {"settings": settings_hash(settings), "seed": str(settings.seed)}
    for name, frame in (
        ("plane_items", rows),
        ("plane_splits", picked),
        ("plane_association", measured),
    ):
        empty = name != "plane_items"
        own = {"edition": settings.name}
        lake.replace(name, frame, own, job=JOB, metadata=meta, allow_empty=empty)
        say("%s written", name)
    job = f"{JOB}/{settings.name}"
    left_out = pa.Table.from_pylist(dropped, table("dropped").schema)
    lake.replace("dropped", left_out, {"job": job}, job=JOB, allow_empty=True)
    seconds = time.monotonic() - started
    say("all done, %.0f items a second", size / seconds)


def classes_of(path: str | None) -> dict[str, str]:
    """The class of each adjective of the project's lexicon, and of those that a user's file adds.

    Raises:
        UserError: the file is not as `etl.knowledge.lexicons` wants it, or has another class for
            an adjective of the lexicon.
    """
    classes = dict(adjective_classes())
    for word, kind in (adjective_classes(path) if path is not None else {}).items():
        if classes.setdefault(word, kind) != kind:
            raise UserError(
                f"classes={path}: {word} is of class {kind} there and {classes[word]} in the "
                "lexicon (conf/lexicons/adjective_classes.tsv); expected adjectives that the "
                "lexicon does not have, or the same class"
            )
    return classes


def _pairs(lake: Lake, corpora: list[str]) -> DataFrame:
    """(corpus, adjective, noun, count) of the corpora named, or of all."""
    pairs = lake.read("amod_pairs")
    if not corpora:
        return pairs
    there = {row["corpus"] for row in pairs.select("corpus").distinct().collect()}
    unknown = [name for name in corpora if name not in there]
    if unknown:
        raise UserError(
            f"corpus={unknown[0]}: not in amod_pairs; expected some of {', '.join(sorted(there))}"
        )
    return pairs.where(F.col("corpus").isin(corpora))


def _association(lake: Lake, settings: Settings) -> DataFrame:
    measured = lake.read("amod_association")
    return measured.where(F.col("corpus").isin(settings.corpus)) if settings.corpus else measured


def known_words(
    lake: Lake,
    settings: Settings,
    pairs: DataFrame,
    classes: list[tuple[str, str]],
    folder: Scratch,
) -> Words:
    """What WordNet and the lexicon know of the words of the pairs."""
    adjectives = items.lexicon(lake.spark, classes)
    hypernyms = lake.read("wordnet_hypernyms")
    exceptions: dict[str, list[str]] = {}
    irregular = lake.read("wordnet_exceptions").where(F.col("pos") == "n")
    for row in irregular.orderBy("form", "place").collect():
        exceptions.setdefault(row["form"], []).append(row["lemma"])
    own = pairs.join(F.broadcast(adjectives.select("adjective")), "adjective", "left_semi")
    nouns = folder.keep(
        items.nouns_of(
            own.select("noun").distinct(),
            lake.read("wordnet_lemmas"),
            exceptions,
            items.hypernyms_of(hypernyms, settings.distance),
            settings,
        )
    )
    chains = None
    if settings.chains:
        chains = (
            nouns.select("base", F.col("word").alias("noun"))
            .join(items.chains_of(hypernyms), "base")
            .groupBy("noun")
            .agg(F.min("chain").alias("chain"))
        )
    return Words(classes, adjectives, nouns, chains)


def _size(numbers: DataFrame, dropped: Iterable[Mapping[str, Any]], settings: Settings) -> int:
    """How many items the groups of phrase and hypernym make; there must be some."""
    by_class = {row["class"]: row["count"] for row in numbers.collect() if row["count"]}
    for kind, number in sorted(by_class.items()):
        log.info("class %s: %d items", kind, number * len(TYPES))
    if by_class:
        return int(sum(by_class.values())) * len(TYPES)
    reasons = "; ".join(f"{row['reason']}: {row['count']}" for row in dropped) or "no pairs"
    raise UserError(
        f"no item to build from the pairs of {', '.join(settings.corpus) or 'all corpora'} "
        f"({reasons}); expected more pairs (etl/extract_amod.py), min_count= less than "
        f"{settings.min_count}, or every_class=false"
    )


def _beside_paper(phrases: DataFrame, words: Words, size: int) -> None:
    """Say how many items and nouns there are, and how many of the nouns are inflected, beside the
    paper's; nouns that are all lemmas are of a corpus that was read otherwise."""
    forms = words.nouns.select(F.col("word").alias("noun"), "base")
    counted = (
        phrases.select("noun")
        .distinct()
        .join(forms, "noun")
        .agg(
            F.count("*").alias("nouns"),
            F.sum((F.lower("noun") != F.col("base")).cast("long")).alias("inflected"),
        )
        .collect()[0]
    )
    nouns, inflected = counted["nouns"], counted["inflected"] or 0
    log.info(
        "%d items of %d nouns, %.0f %% of them inflected; the paper has %d items of about %d "
        "nouns, its release %.0f %% inflected",
        size,
        nouns,
        100 * inflected / max(1, nouns),
        PAPER_ITEMS,
        PAPER_NOUNS,
        100 * PAPER_INFLECTED,
    )
    if nouns and not inflected:
        log.warning(
            "no noun is inflected: the pairs are of lemmas, the paper's of nouns as the text has "
            "them; etl/extract_amod.py noun_by=form (conf/plane/paper.yaml) reads them so"
        )


def _left_out(frames: Iterable[DataFrame], settings: Settings) -> list[dict[str, Any]]:
    """Rows of the table ``dropped``: pairs, then phrases, that make no item, by reason."""
    rows = []
    for frame in frames:
        counted = (
            frame.where(F.col("reason").isNotNull())
            .groupBy("reason")
            .agg(
                F.count("*").alias("count"),
                F.min(F.concat("adjective", F.lit(" "), "noun")).alias("sample"),
            )
        )
        for row in sorted(counted.collect()):
            log.info("left out: %d, %s, as %s", row["count"], row["reason"], row["sample"])
            own = {"job": f"{JOB}/{settings.name}", "table": "plane_items"}
            rows.append({**own, **row.asDict()})
    return rows


def _rows(
    spark: SparkSession,
    phrases: DataFrame,
    words: Words,
    chosen: pa.Table | None,
    size: int,
    settings: Settings,
) -> Blocks:
    """Rows of ``plane_items``, made in tasks of about as many items.

    Sorted by noun, as the tables of pairs are.
    """
    tasks = math.ceil(size / settings.task_size)
    spread = phrases.repartition(running().partitions(tasks, tasks), "noun")
    given = ordered(spread, "noun", "adjective").select(
        "adjective",
        "class",
        "noun",
        F.lit(None).cast("string").alias("hypernym"),
        F.lit(None).cast("int").alias("distance"),
        "place",  # without a reader of it the engines would leave out the sort
    )
    if chosen is not None and settings.chains:
        missing = chains_missing(spark, chosen, phrases, words, settings)
        given = given.unionByName(missing, allowMissingColumns=True)
    # As many words as WordNet has at the most.
    known = words.words.select("noun", "hypernyms").orderBy("noun").toArrow().cast(blocks.WORDS)
    own = (settings.distance, settings.intensional_distance, settings.text, settings.name)
    return Blocks(given, blocks.maker(lambda: blocks.Vocabulary(known, *own)))


def split_rows(chosen: pa.Table, settings: Settings) -> pa.Table:
    """Rows of ``plane_splits`` for chosen groups: all items of a group, of one_it the third."""
    single = pc.equal(chosen["scheme"], "one_it")
    parts = [
        blocks.split_items(chosen.filter(own), settings.name, types)
        for own, types in ((single, (3,)), (pc.invert(single), TYPES))
    ]
    return pa.concat_tables(parts)


def chains_missing(
    spark: SparkSession, chosen: pa.Table, phrases: DataFrame, words: Words, settings: Settings
) -> DataFrame:
    """Groups of inference type 3 that chains of one_it have and the phrases do not make.

    The published One-IT files pair hypernyms with adjectives of the noun below them, whether or not
    the corpus has the phrase, and intensional adjectives with all three distances.
    """
    keys = ["adjective", "noun", "hypernym"]
    own = chosen.filter(pc.equal(chosen["scheme"], "one_it")).select([*keys, "class", "distance"])
    own = own.group_by([*keys, "class"]).aggregate([("distance", "min")])
    wanted = spark.createDataFrame(own.rename_columns([*keys, "class", "distance"]))
    there = items.among(wanted, phrases, words.words, settings)
    missing = wanted.join(F.broadcast(there), keys, "left_anti")
    return missing.select("adjective", "class", "noun", "hypernym", "distance")


def _measured(
    association: DataFrame, judged: DataFrame, phrases: DataFrame, settings: Settings
) -> DataFrame:
    """Rows of ``plane_association``: the PMI of each phrase that items were made of (appendix A).

    By the noun as the corpus has it, since that is what was counted.
    """
    kept = (
        judged.where(F.col("reason").isNull())
        .select("adjective", "class", F.col("noun").alias("found"), F.col("word").alias("noun"))
        .join(phrases.select("adjective", "noun"), ["adjective", "noun"], "left_semi")
        .select("adjective", "class", F.col("found").alias("noun"))
        .distinct()
    )
    return association.join(kept, ["adjective", "noun"]).select(
        "corpus",
        "adjective",
        "class",
        "noun",
        "count",
        "pmi",
        F.lit(settings.name).alias("edition"),
    )
