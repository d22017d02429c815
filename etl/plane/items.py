"""From pairs to the phrases of items: DataFrames to DataFrames, nothing is read or written.

Only distinct nouns pass through Python, once each. Lexicon and WordNet are broadcast to every
worker and the pairs are not shuffled, so a noun with thousands of adjectives does not slow a task
down. `etl.plane.blocks` turns phrases into items.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from adnominal.etl.engine import map_arrow
from adnominal.etl.engine.versions import rows_of
from adnominal.etl.knowledge.english import is_plural
from adnominal.etl.knowledge.wordnet import base_forms
from adnominal.etl.lake.frames import spark_schema
from adnominal.etl.lake.schema import batch_of
from adnominal.etl.plane import CLASSES
from adnominal.etl.plane.blocks import WORDS as BLOCK_WORDS
from adnominal.etl.plane.settings import Settings

NO_CLASS = "adjective without a class"
TAGGED = "adjective with a tag of drop_tags"
NO_SYNSET = "noun not in WordNet"
PLURAL = "plural noun"
NO_HYPERNYM = "no one-word hypernym within reach"

_FORMS = pa.schema([("noun", pa.string()), ("rank", pa.int32()), ("base", pa.string())])
_WORDS = pa.schema(
    [
        ("noun", pa.string()),
        ("base", pa.string()),
        ("word", pa.string()),
        ("plural", pa.bool_()),
        BLOCK_WORDS.field("hypernyms"),
        ("reached", pa.int32()),  # number of hypernyms within reach of classes I and S
        ("direct", pa.int32()),  # and of class O
    ]
)


def lexicon(
    spark: SparkSession, classes: Sequence[tuple[str, str]], tagged: Collection[str] = ()
) -> DataFrame:
    """Return (adjective, class, number, tagged) of adjectives with a class.

    `number` is the position; `tagged` says that a word is one of those that are dropped by a tag.
    """
    columns = {
        "adjective": pa.array([word for word, _ in classes], pa.string()),
        "class": pa.array([kind for _, kind in classes], pa.string()),
        "number": pa.array(range(len(classes)), pa.int32()),
        "tagged": pa.array([word in tagged for word, _ in classes], pa.bool_()),
    }
    return spark.createDataFrame(*rows_of(pa.table(columns)))


def hypernyms_of(hypernyms: DataFrame, distance: int) -> DataFrame:
    """Return (base, hypernyms): one-word hypernyms of a noun's first sense, nearest first.

    From ``wordnet_hypernyms``, it takes the first lemma of each hypernym synset, at its smallest
    distance if several paths lead to it.
    """
    return (
        hypernyms.where((F.col("sense") == 1) & F.col("first_lemma"))
        .where((F.col("distance") <= distance) & _one_word("hypernym"))
        .select("noun", "hypernym", "distance")
        .groupBy(F.col("noun").alias("base"), "hypernym")
        .agg(F.min("distance").alias("distance"))
        .groupBy("base")
        .agg(F.sort_array(F.collect_list(F.struct("distance", "hypernym"))).alias("hypernyms"))
    )


def _one_word(name: str) -> Column:
    return ~F.col(name).contains(" ")


def chains_of(hypernyms: DataFrame) -> DataFrame:
    """Return (base, chain): for each noun three one-word hypernyms, each the next one's hyponym.

    Of several paths, the first by spelling is taken. The words of a chain are all different.
    """
    steps = (
        hypernyms.where((F.col("distance") == 1) & F.col("first_lemma") & _one_word("hypernym"))
        .select("noun_synset", "hypernym_synset", "hypernym")
        .distinct()
    )
    senses = hypernyms.where((F.col("sense") == 1) & _one_word("noun")).select(
        F.col("noun").alias("base"), "noun_synset"
    )
    chains = senses.distinct()
    for step in (1, 2, 3):
        chains = chains.join(steps, "noun_synset").select(
            "base",
            F.col("hypernym_synset").alias("noun_synset"),
            *[f"h{earlier}" for earlier in range(1, step)],
            F.col("hypernym").alias(f"h{step}"),
        )
    chain = F.array("h1", "h2", "h3")
    return (
        chains.withColumn("chain", chain)
        .where(F.size(F.array_distinct(F.concat(F.array("base"), "chain"))) == 4)
        .groupBy("base")
        .agg(F.min("chain").alias("chain"))
    )


def nouns_of(
    nouns: DataFrame,
    lemmas: DataFrame,
    exceptions: Mapping[str, Sequence[str]],
    hypernyms: DataFrame,
    settings: Settings,
) -> DataFrame:
    """Return the columns of `_WORDS` for each noun that WordNet has.

    `nouns` has distinct nouns in the column noun; `lemmas` is ``wordnet_lemmas``, `hypernyms` comes
    from `hypernyms_of`. The synset is that of the first of morphy's forms that is a lemma. `word`
    is the form used in sentences: the noun as found for ``paper`` text, its base form for
    ``clean``, which also drops plural hypernyms. A word is not its own hypernym.
    """

    def forms(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            forms_of_nouns = [
                (noun, rank, base)
                for noun in batch.column(0).to_pylist()
                for rank, base in enumerate(base_forms(noun, "n", exceptions))
            ]
            yield batch_of(forms_of_nouns, _FORMS)

    known = lemmas.where(F.col("pos") == "n").select(F.col("lemma").alias("base")).distinct()
    nouns_with_base = (
        map_arrow(nouns.select("noun"), forms, spark_schema(_FORMS))
        .join(F.broadcast(known), "base")
        .groupBy("noun")
        .agg(F.min_by("base", "rank").alias("base"))
    )
    clean, distances = settings.text == "clean", (settings.distance, settings.intensional_distance)

    def describe_words(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        @cache
        def counts_as_plural(word: str) -> bool:
            return clean and is_plural(word)

        for batch in batches:
            rows = []
            for row in batch.to_pylist():
                word = row["base"] if clean else row["noun"]
                hypernyms = [
                    hypernym
                    for hypernym in row["hypernyms"] or []
                    if hypernym["hypernym"] != word and not counts_as_plural(hypernym["hypernym"])
                ]
                reached, direct = (
                    sum(hypernym["distance"] <= distance for hypernym in hypernyms)
                    for distance in distances
                )
                known_of_noun = row["noun"], row["base"], word, counts_as_plural(word)
                rows.append((*known_of_noun, hypernyms, reached, direct))
            yield batch_of(rows, _WORDS)

    hypernyms_of_nouns = nouns_with_base.join(hypernyms, "base", "left")
    return map_arrow(hypernyms_of_nouns, describe_words, spark_schema(_WORDS))


def _hypernyms_in_reach(settings: Settings) -> Column:
    """The hypernyms within reach of the row's class (section 3.2: direct ones for O)."""
    most = F.when(F.col("class") == "O", settings.intensional_distance).otherwise(settings.distance)
    return F.filter("hypernyms", lambda h: h["distance"] <= most)


def _number_within() -> Column:
    """Their number, which is joined to every pair; the words themselves would be too large."""
    return F.when(F.col("class") == "O", F.col("direct")).otherwise(F.col("reached"))


def judged_pairs(pairs: DataFrame, adjectives: DataFrame, nouns: DataFrame) -> DataFrame:
    """Return pairs (adjective, class, noun, word, count) with the reason to drop each, or null."""
    known_adjectives = adjectives.select("adjective", "class", "tagged")
    known_nouns = nouns.select("noun", "word", "plural", "reached", "direct")
    reason = (
        F.when(F.col("class").isNull(), NO_CLASS)
        .when(F.col("tagged"), TAGGED)
        .when(F.col("word").isNull(), NO_SYNSET)
        .when(F.col("plural"), PLURAL)
        .when(_number_within() < 1, NO_HYPERNYM)
    )
    return (
        pairs.join(F.broadcast(known_adjectives), "adjective", "left")
        .join(F.broadcast(known_nouns), "noun", "left")
        .withColumn("reason", reason)
        .select("adjective", "class", "noun", "word", "count", "reason")
    )


def phrases_of(pairs: DataFrame, settings: Settings) -> DataFrame:
    """Return phrases (adjective, class, noun, count, reason): pairs without a reason, by word.

    `reason` says why a phrase is dropped: it is too rare, or its noun does not occur with every
    class (section 3.2).
    """
    words = pairs.where(F.col("reason").isNull()).select(
        "adjective", "class", F.col("word").alias("noun"), "count"
    )
    phrases = words.groupBy("adjective", "class", "noun").agg(F.sum("count").alias("count"))
    rare = F.when(
        F.col("count") < settings.min_count, f"fewer than {settings.min_count} occurrences"
    )
    if not settings.every_class:
        return phrases.withColumn("reason", rare)
    frequent = phrases.where(F.col("count") >= settings.min_count)
    complete = (
        frequent.groupBy("noun")
        .agg(F.count_distinct("class").alias("classes"))
        .where(F.col("classes") == len(CLASSES))
        .select("noun", F.lit(True).alias("complete"))
    )
    incomplete = F.when(F.col("complete").isNull(), "noun not with every class")
    return (
        phrases.join(F.broadcast(complete), "noun", "left")
        .withColumn("reason", F.coalesce(rare, incomplete))
        .select("adjective", "class", "noun", "count", "reason")
    )


def numbers_of(phrases: DataFrame, words: DataFrame) -> DataFrame:
    """Return (class, count): the number of groups of phrase and hypernym.

    `words` has one row per word: noun, reached, direct.
    """
    known_words = words.select("noun", "reached", "direct")
    number = F.sum(_number_within().cast("long")).alias("count")
    return phrases.join(F.broadcast(known_words), "noun").groupBy("class").agg(number)


def members_of(
    groups: DataFrame, phrases: DataFrame, words: DataFrame, settings: Settings
) -> DataFrame:
    """Return those of the few `groups` (adjective, noun, hypernym) that the phrases make."""
    return (
        phrases.select("adjective", "class", "noun")
        .join(F.broadcast(groups.select("adjective", "noun", "hypernym")), ["adjective", "noun"])
        .join(F.broadcast(words), "noun")
        .where(
            F.exists(_hypernyms_in_reach(settings), lambda up: up["hypernym"] == F.col("hypernym"))
        )
        .select("adjective", "noun", "hypernym")
    )
