"""From the counts of waves to pairs, and from pairs to measures of association.

Marginals are those of the relation itself: ``adjective_count`` is the number of amod pairs with
the adjective, ``noun_count`` with the noun, both before any floor on the count of a pair. PMI is
in bits (the PLANE paper's appendix A leaves the base open; its cut-off of 15 fits base 2), NPMI is
Bouma's (2009) normalisation, logDice Rychlý's (2008).
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def pairs_of(counts: DataFrame) -> DataFrame:
    """``amod_pairs`` from ``amod_counts``: the sum over waves (and over rows within one)."""
    return counts.groupBy("corpus", "adjective", "noun").agg(F.sum("count").alias("count"))


def association_of(pairs: DataFrame, *, broadcast: bool = False) -> DataFrame:
    """``amod_association`` from the ``amod_pairs`` of any number of corpora.

    With N the corpus's pairs, c the pair's count and a, n the marginals: PMI = log2(c N / (a n)),
    NPMI = PMI / -log2(c / N) (1 where the pair is the whole corpus, its limit there),
    logDice = 14 + log2(2 c / (a + n)).

    `broadcast` sends the marginals, a row for each word, to every worker, so that the pairs need
    not be shuffled to meet them: for corpora whose words fit a worker's memory.
    """
    adjectives = pairs.groupBy("corpus", "adjective").agg(F.sum("count").alias("adjective_count"))
    nouns = pairs.groupBy("corpus", "noun").agg(F.sum("count").alias("noun_count"))
    totals = adjectives.groupBy("corpus").agg(F.sum("adjective_count").alias("total"))
    if broadcast:
        adjectives, nouns = F.broadcast(adjectives), F.broadcast(nouns)
    count, total = F.col("count").cast("double"), F.col("total").cast("double")
    marginals = F.col("adjective_count").cast("double") * F.col("noun_count").cast("double")
    pmi = F.log2(count / marginals * total)
    npmi = F.when(F.col("count") == F.col("total"), F.lit(1.0)).otherwise(
        F.col("pmi") / -F.log2(count / total)
    )
    dice = 2 * count / (F.col("adjective_count") + F.col("noun_count")).cast("double")
    return (
        pairs.join(adjectives, ["corpus", "adjective"])
        .join(nouns, ["corpus", "noun"])
        # one row a corpus: small enough to send to every worker
        .join(F.broadcast(totals), ["corpus"])
        .withColumn("pmi", pmi)
        .withColumn("npmi", npmi)
        .withColumn("log_dice", 14 + F.log2(dice))
        .drop("total")
    )
