"""The pool that splits are drawn from: words collected from phrases, bounded in size.

A noun can be drawn if it occurs with an adjective of each class. If there are more than `NOUNS` of
them, those with enough adjectives for a whole unit come first, and chance decides among them. At
most `ADJECTIVES` adjectives of each class are kept per noun, so the driver's memory is bounded.
"""

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from adnominal.etl.engine.versions import to_arrow
from adnominal.etl.plane import CLASSES
from adnominal.etl.plane.candidates import Pool

NOUNS = 20_000
ADJECTIVES = 256


def pool_of(
    phrases: DataFrame,
    words: DataFrame,
    chains: DataFrame | None,
    classes: Sequence[tuple[str, str]],
    adjectives: DataFrame,
    seed: int,
) -> Pool:
    """Collect the pool of phrases (adjective, class, noun) whose noun has a direct hypernym.

    `words` has noun and hypernyms, `chains` noun and chain, `adjectives` is the frame of `classes`.

    The pool is held in memory, so it is bounded: at most `NOUNS` nouns with an adjective of each
    class, and of each noun at most `ADJECTIVES` adjectives of a class, both selected by hash. Nouns
    with enough adjectives for a unit of every recipe (I, S, O: 1, 2, 4) come first.
    """
    counts = [F.count_if(F.col("class") == kind).alias(kind) for kind in CLASSES]
    has_unit = (F.col("I") >= 1) & (F.col("S") >= 2) & (F.col("O") >= 4)
    reached = words.where(F.exists("hypernyms", lambda up: up["distance"] == 1))
    nouns = (
        phrases.groupBy("noun")
        .agg(*counts)
        .where((F.col("I") >= 1) & (F.col("S") >= 1) & (F.col("O") >= 1))
        .join(F.broadcast(reached.select("noun", "hypernyms")), "noun")
        .orderBy(~has_unit, F.xxhash64(F.lit(str(seed)), "noun"), "noun")
        .limit(NOUNS)
        .select("noun", "hypernyms")
    )
    if chains is None:
        nouns = nouns.withColumn("chain", F.lit(None).cast("array<string>"))
    else:
        nouns = nouns.join(F.broadcast(chains), "noun", "left")
    phrases_by_number = phrases.join(
        F.broadcast(adjectives.select("adjective", "number")), "adjective"
    )
    # Of each class, the adjectives of a noun in the order of their hashes, cut to `ADJECTIVES`.
    members = []
    for kind in CLASSES:
        keyed_number = F.struct(F.xxhash64("adjective", "noun").alias("key"), "number")
        of_class = F.collect_list(F.when(F.col("class") == kind, keyed_number))
        members.append(F.slice(F.sort_array(of_class), 1, ADJECTIVES))
    met = (
        phrases_by_number.join(F.broadcast(nouns.select("noun")), "noun", "left_semi")
        .groupBy("noun")
        .agg(F.transform(F.concat(*members), lambda member: member["number"]).alias("adjectives"))
    )
    rows = nouns.join(met, "noun").select(
        "noun",
        "adjectives",
        F.transform("hypernyms", lambda up: up["hypernym"]).alias("hypernyms"),
        F.transform("hypernyms", lambda up: up["distance"]).alias("distances"),
        "chain",
    )
    return Pool.of(classes, to_arrow(rows))
