"""Pairs as sums over waves, and the measures on a table small enough to do by hand."""

from __future__ import annotations

import math

import pytest
from pyspark.sql import DataFrame, SparkSession

from etl.amod.association import association_of, pairs_of

COUNTS = "corpus string, wave int, adjective string, noun string, count long"


@pytest.fixture(scope="module")
def pairs(spark: SparkSession) -> DataFrame:
    counts = spark.createDataFrame(
        [
            ("a", 0, "false", "key", 3),
            ("a", 1, "false", "key", 1),
            ("a", 1, "small", "key", 2),
            ("a", 0, "small", "coin", 2),
            ("b", 0, "false", "key", 5),
        ],
        COUNTS,
    )
    return pairs_of(counts).cache()


def test_pairs_are_the_sum_over_waves_of_each_corpus(pairs: DataFrame) -> None:
    assert sorted(tuple(row) for row in pairs.collect()) == [
        ("a", "false", "key", 4),
        ("a", "small", "coin", 2),
        ("a", "small", "key", 2),
        ("b", "false", "key", 5),
    ]


def test_measures_by_hand(pairs: DataFrame) -> None:
    rows = {(r.corpus, r.adjective, r.noun): r for r in association_of(pairs).collect()}
    key = rows["a", "false", "key"]
    assert (key["count"], key.adjective_count, key.noun_count) == (4, 4, 6)
    assert key.pmi == pytest.approx(math.log2(4 * 8 / (4 * 6)))
    assert key.npmi == pytest.approx(math.log2(4 / 3) / math.log2(8 / 4))
    assert key.log_dice == pytest.approx(14 + math.log2(2 * 4 / (4 + 6)))
    assert rows["a", "small", "key"].pmi == pytest.approx(math.log2(2 * 8 / (4 * 6)))
    assert len(rows) == 4


def test_a_pair_that_is_the_whole_corpus_is_bound_as_firmly_as_can_be(pairs: DataFrame) -> None:
    only = next(r for r in association_of(pairs).collect() if r.corpus == "b")
    assert (only.pmi, only.npmi, only.log_dice) == (0.0, 1.0, 14.0)


def test_broadcast_marginals_give_the_same_rows(pairs: DataFrame) -> None:
    shuffled, sent = association_of(pairs), association_of(pairs, broadcast=True)
    assert sorted(map(tuple, sent.collect())) == sorted(map(tuple, shuffled.collect()))
