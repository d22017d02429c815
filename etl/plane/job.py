"""PLANE's build: from pairs to plane_items, plane_splits and plane_association.

Splits are planned from the phrases, so a shortage is reported before any item is written.
"""

import logging
import math
from collections.abc import Collection, Iterable
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from adnominal.conf import UserError
from adnominal.etl.building import begin_build, collect_drops, drops_by_reason, pairs_of
from adnominal.etl.dropped import Dropped
from adnominal.etl.engine import running
from adnominal.etl.engine.versions import rows_of, to_arrow
from adnominal.etl.knowledge.lexicons import adjective_classes, class_list
from adnominal.etl.lake import arrow
from adnominal.etl.lake.blocks import Blocks
from adnominal.etl.lake.frames import sort_rows
from adnominal.etl.lake.scratch import Scratch, scratch
from adnominal.etl.lake.spark import Lake
from adnominal.etl.lake.tables import table
from adnominal.etl.plane import TYPES, blocks, items
from adnominal.etl.plane.pool import pool_of
from adnominal.etl.plane.settings import Settings
from adnominal.etl.plane.splits import plan

JOB = "build_plane"
# Sizes of the paper's dataset (section 3.2), and the share of inflected nouns in its release.
PAPER_ITEMS, PAPER_NOUNS, PAPER_INFLECTED = 1_900_000, 7_800, 0.29

log = logging.getLogger("adnominal")


class Words(NamedTuple):
    """DataFrames about words, each small enough to be broadcast to every worker.

    Attributes:
        adjectives: their classes, see `etl.plane.items.lexicon`.
        nouns: the nouns of the pairs, see `etl.plane.items.nouns_of`; stored.
        words: the hypernyms of each word that sentences use for nouns.
        chains: (noun, chain) for the words, if requested.
    """

    adjectives: DataFrame
    nouns: DataFrame
    words: DataFrame
    chains: DataFrame | None


def build(settings: Settings) -> None:
    """Build PLANE: inferences about adjective–noun phrases, with splits for training and testing.

    From amod_pairs, the tables of WordNet and the lexicon of adjective classes, it replaces
    edition=NAME in plane_items, plane_splits and plane_association; dropped rows are counted by
    reason in the table dropped.
    """
    classes = sorted(classes_of(settings.classes).items())
    tagged = tagged_adjectives(settings.classes, settings.drop_tags)
    if tagged:
        log.info(
            "%d adjectives of %s are not used, by their tags: %s",
            len(tagged),
            settings.classes,
            ", ".join(tagged),
        )
    run = begin_build(JOB, settings, arrow.row_count(settings.lake, "amod_pairs"))
    with scratch(settings.lake) as folder:
        lake = run.lake
        pairs = pairs_of(lake, settings.corpus, "corpus")
        association = lake.read("amod_association") if settings.association else None
        if association is not None and settings.corpus:
            association = association.where(F.col("corpus").isin(settings.corpus))
        adjectives = items.lexicon(lake.spark, classes, tagged)
        words = known_words(lake, settings, pairs, adjectives, folder)
        judged_pairs = items.judged_pairs(pairs, words.adjectives, words.nouns)
        all_phrases = folder.keep(items.phrases_of(judged_pairs, settings))
        sample = F.concat("adjective", F.lit(" "), "noun")
        dropped = collect_drops(
            [drops_by_reason(frame, "plane_items", sample) for frame in (judged_pairs, all_phrases)]
        )
        phrases = all_phrases.where(F.col("reason").isNull()).drop("reason")
        size = _size(items.numbers_of(phrases, words.words), dropped, settings)
        run.report("%d items to be built", size)
        if settings.text == "paper":
            _log_beside_paper(phrases, words, size)
        groups = None
        if settings.schemes:
            pool = pool_of(
                phrases, words.words, words.chains, classes, words.adjectives, settings.seed
            )
            groups = plan(pool, settings.schemes, settings.sizes, settings.seed)
            run.report("%d groups of splits chosen", groups.num_rows)

        measured: DataFrame | pa.Table = table("plane_association").schema.empty_table()
        if association is not None:
            measured = _phrase_association(association, judged_pairs, phrases, settings)
        picked = table("plane_splits").schema.empty_table()
        if groups is not None:
            picked = split_rows(groups, settings)
        run.replace("plane_items", _rows(lake.spark, phrases, words.words, groups, size, settings))
        run.replace("plane_splits", picked, allow_empty=True)
        run.replace("plane_association", measured, allow_empty=True)
        run.write_dropped(dropped)
        run.report("all done, %.0f items a second", size / run.seconds)


def classes_of(path: str | None) -> dict[str, str]:
    """Return the class of each adjective in the project's lexicon and in a user's file.

    Raises:
        UserError: the file does not have the layout of `etl.knowledge.lexicons`, or has another
            class for an adjective of the lexicon.
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


def tagged_adjectives(path: str | None, tags: Collection[str]) -> list[str]:
    """Return the adjectives of a user's file that have one of the tags (section 3.2).

    The paper dropped the context-dependent adjectives of its sources; the project's lexicon has
    only those that remained.
    """
    if path is None:
        return []
    tags_of_words = class_list(path).tags
    return sorted(word for word, word_tags in tags_of_words.items() if word_tags & set(tags))


def known_words(
    lake: Lake,
    settings: Settings,
    pairs: DataFrame,
    adjectives: DataFrame,
    folder: Scratch,
) -> Words:
    """Return what WordNet knows about the words of the pairs, beside their adjectives."""
    hypernyms = lake.read("wordnet_hypernyms")
    exceptions: dict[str, list[str]] = {}
    irregular = lake.read("wordnet_exceptions").where(F.col("pos") == "n")
    for row in irregular.orderBy("form", "place").collect():
        exceptions.setdefault(row["form"], []).append(row["lemma"])
    met = pairs.join(F.broadcast(adjectives.select("adjective")), "adjective", "left_semi")
    nouns = folder.keep(
        items.nouns_of(
            met.select("noun").distinct(),
            lake.read("wordnet_lemmas"),
            exceptions,
            items.hypernyms_of(hypernyms, settings.distance),
            settings,
        )
    )
    # In paper text a word is its noun; in clean text several nouns may share a word. No aggregate
    # is used, because each of its lists would count as all the lists of its batch.
    first = F.row_number().over(Window.partitionBy("word").orderBy("noun")) == 1
    words = (
        nouns.withColumn("first", first)
        .where("first")
        .select(F.col("word").alias("noun"), "hypernyms", "reached", "direct")
    )
    chains = None
    if settings.chains:
        chains = (
            nouns.select("base", F.col("word").alias("noun"))
            .join(items.chains_of(hypernyms), "base")
            .groupBy("noun")
            .agg(F.min("chain").alias("chain"))
        )
    return Words(adjectives, nouns, words, chains)


def _size(numbers: DataFrame, drops: Iterable[Dropped], settings: Settings) -> int:
    """Return the number of items of the groups of phrase and hypernym; it must not be 0."""
    by_class = {row["class"]: row["count"] for row in numbers.collect() if row["count"]}
    for kind, number in sorted(by_class.items()):
        log.info("class %s: %d items", kind, number * len(TYPES))
    if by_class:
        return int(sum(by_class.values())) * len(TYPES)
    reasons = "; ".join(f"{drop.reason}: {drop.count}" for drop in drops) or "no pairs"
    raise UserError(
        f"no item to build from the pairs of {', '.join(settings.corpus) or 'all corpora'} "
        f"({reasons}); expected more pairs (etl/extract_amod.py), min_count= less than "
        f"{settings.min_count}, or every_class=false"
    )


def _log_beside_paper(phrases: DataFrame, words: Words, size: int) -> None:
    """Log the numbers of items, nouns and inflected nouns beside the paper's.

    If all nouns are lemmas, the corpus was read with another setting.
    """
    forms = words.nouns.select(F.col("word").alias("noun"), "base")
    noun_counts = (
        phrases.select("noun")
        .distinct()
        .join(forms, "noun")
        .agg(
            F.count("*").alias("nouns"),
            F.sum((F.lower("noun") != F.col("base")).cast("long")).alias("inflected"),
        )
        .collect()[0]
    )
    nouns, inflected_nouns = noun_counts["nouns"], noun_counts["inflected"] or 0
    log.info(
        "%d items of %d nouns, %.0f %% of them inflected; the paper has %d items of about %d "
        "nouns, its release %.0f %% inflected",
        size,
        nouns,
        100 * inflected_nouns / max(1, nouns),
        PAPER_ITEMS,
        PAPER_NOUNS,
        100 * PAPER_INFLECTED,
    )
    if nouns and not inflected_nouns:
        log.warning(
            "no noun is inflected: the pairs have lemmas, the paper's pairs have nouns as in the "
            "text; etl/extract_amod.py noun_by=form (conf/plane/paper.yaml) reads them so"
        )


def _rows(
    spark: SparkSession,
    phrases: DataFrame,
    words: DataFrame,
    groups: pa.Table | None,
    size: int,
    settings: Settings,
) -> Blocks:
    """Return rows of ``plane_items``, made in tasks of similar numbers of items.

    They are sorted by noun, like the tables of pairs.
    """
    tasks = math.ceil(size / settings.task_size)
    spread = phrases.repartition(running().partitions(tasks, tasks), "noun")
    inputs = sort_rows(spread, "noun", "adjective").select(
        "adjective",
        "class",
        "noun",
        F.lit(None).cast("string").alias("hypernym"),
        F.lit(None).cast("int").alias("distance"),
        "place",  # without a reader of this column the engines would drop the sort
    )
    if settings.chains and groups is not None and "one_it" in groups["scheme"].unique().to_pylist():
        missing = missing_chains(spark, groups, phrases, words, settings)
        inputs = inputs.unionByName(missing, allowMissingColumns=True)
    # At most as many words as WordNet has.
    known = to_arrow(words.select("noun", "hypernyms").orderBy("noun")).cast(blocks.WORDS)
    options = (settings.distance, settings.intensional_distance, settings.text, settings.name)
    return Blocks(inputs, blocks.maker(lambda: blocks.Vocabulary(known, *options)))


def split_rows(groups: pa.Table, settings: Settings) -> pa.Table:
    """Return rows of ``plane_splits`` for chosen groups: all items, or the third for one_it."""
    single = pc.equal(groups["scheme"], "one_it")
    parts = [
        blocks.split_items(groups.filter(rows), settings.name, types)
        for rows, types in ((single, (3,)), (pc.invert(single), TYPES))
    ]
    return pa.concat_tables(parts)


def missing_chains(
    spark: SparkSession, groups: pa.Table, phrases: DataFrame, words: DataFrame, settings: Settings
) -> DataFrame:
    """Return groups of inference type 3 that chains of one_it have but the phrases do not make.

    The published One-IT files pair hypernyms with adjectives of the noun below them, whether or not
    the corpus has the phrase, and intensional adjectives with all three distances.
    """
    keys = ["adjective", "noun", "hypernym"]
    distances = groups.filter(pc.equal(groups["scheme"], "one_it")).select(
        [*keys, "class", "distance"]
    )
    distances = distances.group_by([*keys, "class"]).aggregate([("distance", "min")])
    distances = distances.rename_columns([*keys, "class", "distance"])
    requested = spark.createDataFrame(*rows_of(distances))
    built = items.members_of(requested, phrases, words, settings)
    missing = requested.join(F.broadcast(built), keys, "left_anti")
    return missing.select("adjective", "class", "noun", "hypernym", "distance")


def _phrase_association(
    association: DataFrame, judged_pairs: DataFrame, phrases: DataFrame, settings: Settings
) -> DataFrame:
    """Return rows of ``plane_association``: the PMI of each phrase that has items (appendix A).

    It uses the noun as in the corpus, since that is what was counted.
    """
    built_phrases = (
        judged_pairs.where(F.col("reason").isNull())
        .select("adjective", "class", F.col("noun").alias("found"), F.col("word").alias("noun"))
        .join(phrases.select("adjective", "noun"), ["adjective", "noun"], "left_semi")
        .select("adjective", "class", F.col("found").alias("noun"))
        .distinct()
    )
    return association.join(built_phrases, ["adjective", "noun"]).select(
        "corpus",
        "adjective",
        "class",
        "noun",
        "count",
        "pmi",
        F.lit(settings.name).alias("edition"),
    )
