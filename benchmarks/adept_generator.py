"""Millions of pairs and ConceptNet edges over WordNet's words, for the datasets' builds.

Nothing is random: words and counts are hashes of the row number; frequencies follow Zipf's law.
"""

import re
from collections.abc import Mapping
from typing import Any

from adnominal.etl import draws
from adnominal.etl.adept.predicates import DEFAULT_RELATIONS

# Rows per commit: what an append sorts then fits in memory at any size.
ROWS = 20_000_000


def words_by_part(lemmas: Any) -> dict[str, list[str]]:
    """WordNet's nouns, adjectives and verbs, ordered by hash."""
    rows = [row for row in lemmas.to_pylist() if re.fullmatch(r"[a-z]{3,}", row["lemma"])]
    return {
        part: sorted({r["lemma"] for r in rows if r["pos"] == part}, key=lambda w: draws.rank(0, w))
        for part in "nav"
    }


def with_words(rows: Any, words: Mapping[str, list[str]], **columns: tuple[str, int]) -> Any:
    """The rows with columns of words, each given as part of speech and salt of its draws."""
    from pyspark.sql import functions as F

    for name, (part, salt) in columns.items():
        numbered = list(enumerate(words[part]))
        listed = rows.sparkSession.createDataFrame(numbered, f"rank long, {name} string")
        # Zipf and Mandelbrot's law with an offset of 50: the first word of 60,000 has 0.3 %.
        most = len(numbered)
        even = F.pmod(F.xxhash64("id", F.lit(salt)), F.lit(1 << 40)) / float(1 << 40)
        rank = F.floor(50 * F.pow(F.lit((most + 50) / 50), even) - 50).cast("long")
        rows = rows.withColumn("rank", rank).join(F.broadcast(listed), "rank").drop("rank")
    return rows


def pairs(rows: Any) -> Any:
    """Pairs of ``amod_pairs`` from rows with a noun and two adjectives."""
    from pyspark.sql import functions as F

    tail = F.pmod(F.xxhash64("id", F.lit(9)), F.lit(1_000_000)) / 1e6
    is_compound = F.pmod(F.xxhash64("id", F.lit(8)), F.lit(2)) == 0
    compound = F.concat_ws("-", "first", "second")
    return rows.select(
        F.lit("generated").alias("corpus"),
        F.when(is_compound, compound).otherwise(F.col("first")).alias("adjective"),
        "noun",
        F.floor(3 / (1 - tail)).cast("long").alias("count"),
    )


def edges(rows: Any) -> Any:
    """Edges of ``conceptnet_edges`` from rows with a noun, a verb and its object: as in ConceptNet,
    a fifth has one of the five relations; half of these have a surface text."""
    from pyspark.sql import functions as F

    number = 5 * len(DEFAULT_RELATIONS)
    relations = F.array(*[F.lit(name) for name in DEFAULT_RELATIONS])
    at = F.pmod(F.xxhash64("id", F.lit(4)), F.lit(number)).cast("int")
    rows = rows.withColumn("relation", F.coalesce(F.get(relations, at), F.lit("RelatedTo")))
    is_action = F.col("relation").isin("CapableOf", "UsedFor")
    action = F.concat_ws(" ", "verb", "object")
    rows = rows.withColumn("end", F.when(is_action, action).otherwise(F.col("object")))
    sentence = F.concat(F.lit("[["), "noun", F.lit("]] can [["), "end", F.lit("]]"))
    return rows.select(
        "relation",
        F.col("noun").alias("start"),
        "end",
        F.col("noun").alias("start_label"),
        F.col("end").alias("end_label"),
        F.when(F.col("id") % 2 == 0, sentence).alias("surface_text"),
        F.lit(1.0).alias("weight"),
        F.lit("generated").alias("dataset"),
        F.lit("5").alias("release"),
        F.lit("none").alias("license"),
        F.col("id").cast("string").alias("uri"),
    )


def generate(size: int, lake: str) -> None:
    """Write `size` pairs and a fifth as many edges to a lake."""
    from adnominal.etl import engine
    from adnominal.etl.knowledge import wordnet
    from adnominal.etl.lake.spark import Lake

    spark = engine.start("adept-generate").spark
    tables = Lake(spark, lake)
    lemmas = wordnet.lemmas(wordnet.find())
    if not tables.exists("wordnet_lemmas"):
        tables.replace("wordnet_lemmas", lemmas, {}, job="benchmark")
    words = words_by_part(lemmas)
    for start in range(0, size, ROWS):
        rows = spark.range(start, min(start + ROWS, size))
        triples = with_words(rows, words, noun=("n", 1), first=("a", 2), second=("a", 3))
        tables.append("amod_pairs", pairs(triples), job="benchmark")
    for start in range(0, size // 5, ROWS):
        rows = spark.range(start, min(start + ROWS, size // 5))
        triples = with_words(rows, words, noun=("n", 5), verb=("v", 6), object=("n", 7))
        tables.append("conceptnet_edges", edges(triples), job="benchmark")
    engine.stop()
