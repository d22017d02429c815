"""Millions of pairs and ConceptNet edges over WordNet's words, for the datasets' builds.

Nothing is random: words and counts are hashes of the row number; frequencies follow Zipf's law.
"""

import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from adnominal.etl import draws
from adnominal.etl.adept.predicates import DEFAULT_RELATIONS

# Rows per commit: what an append sorts then fits in memory at any size.
ROWS_AT_ONCE = 20_000_000
ZIPF_OFFSET = 50  # the first word of 60,000 then has 0.3 % of the occurrences


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
    for rows in numbered_rows(spark, size):
        rows = with_words(rows, words, noun=("n", 1), first=("a", 2), second=("a", 3))
        tables.append("amod_pairs", pairs(rows), job="benchmark")
    for rows in numbered_rows(spark, size // 5):
        rows = with_words(rows, words, noun=("n", 5), verb=("v", 6), object=("n", 7))
        tables.append("conceptnet_edges", edges(rows), job="benchmark")
    engine.stop()


def numbered_rows(spark: Any, size: int) -> Iterator[Any]:
    """Rows with the numbers below `size`, those of a commit at a time."""
    for start in range(0, size, ROWS_AT_ONCE):
        yield spark.range(start, min(start + ROWS_AT_ONCE, size))


def words_by_part(lemmas: Any) -> dict[str, list[str]]:
    """WordNet's nouns, adjectives and verbs, ordered by hash."""
    words: dict[str, set[str]] = {"n": set(), "a": set(), "v": set()}
    for row in lemmas.to_pylist():
        if row["pos"] in words and re.fullmatch(r"[a-z]{3,}", row["lemma"]):
            words[row["pos"]].add(row["lemma"])
    return {part: sorted(words[part], key=partial(draws.rank, 0)) for part in words}


def with_words(rows: Any, words: Mapping[str, list[str]], **columns: tuple[str, int]) -> Any:
    """The rows with columns of words, each given as a part of speech and the salt of its draws."""
    from pyspark.sql import functions as F

    for name, (part, salt) in columns.items():
        numbered = list(enumerate(words[part]))
        listed = rows.sparkSession.createDataFrame(numbered, f"rank long, {name} string")
        even = draw_below("id", salt, 1 << 40) / float(1 << 40)
        # Zipf and Mandelbrot's law.
        span = (len(numbered) + ZIPF_OFFSET) / ZIPF_OFFSET
        rank = F.floor(ZIPF_OFFSET * F.pow(F.lit(span), even) - ZIPF_OFFSET)
        rows = rows.withColumn("rank", rank.cast("long"))
        rows = rows.join(F.broadcast(listed), "rank").drop("rank")
    return rows


def pairs(rows: Any) -> Any:
    """Pairs of ``amod_pairs`` from rows with a noun and two adjectives, half of them compounds."""
    from pyspark.sql import functions as F

    is_compound = draw_below("id", 8, 2) == 0
    compound = F.concat_ws("-", "first", "second")
    adjective = F.when(is_compound, compound).otherwise(F.col("first"))
    tail = draw_below("id", 9, 1_000_000) / 1e6
    count = F.floor(3 / (1 - tail)).cast("long")
    corpus = F.lit("generated").alias("corpus")
    return rows.select(corpus, adjective.alias("adjective"), "noun", count.alias("count"))


def edges(rows: Any) -> Any:
    """Edges of ``conceptnet_edges`` from rows with a noun, a verb and its object: as in ConceptNet,
    a fifth has one of the five relations; half of these have a surface text."""
    from pyspark.sql import functions as F

    names = F.array(*[F.lit(name) for name in DEFAULT_RELATIONS])
    place = draw_below("id", 4, 5 * len(DEFAULT_RELATIONS)).cast("int")
    relation = F.coalesce(F.get(names, place), F.lit("RelatedTo"))
    is_action = relation.isin("CapableOf", "UsedFor")
    action = F.concat_ws(" ", "verb", "object")
    rows = rows.withColumn("end", F.when(is_action, action).otherwise(F.col("object")))
    sentence = F.concat(F.lit("[["), "noun", F.lit("]] can [["), "end", F.lit("]]"))
    columns = {
        "relation": relation,
        "start": F.col("noun"),
        "end": F.col("end"),
        "start_label": F.col("noun"),
        "end_label": F.col("end"),
        "surface_text": F.when(F.col("id") % 2 == 0, sentence),
        "weight": F.lit(1.0),
        "dataset": F.lit("generated"),
        "release": F.lit("5"),
        "license": F.lit("none"),
        "uri": F.col("id").cast("string"),
    }
    return rows.select(*[column.alias(name) for name, column in columns.items()])


def draw_below(column: str, salt: int, size: int) -> Any:
    """A number below `size` for each value of a column."""
    from pyspark.sql import functions as F

    return F.pmod(F.xxhash64(column, F.lit(salt)), F.lit(size))
