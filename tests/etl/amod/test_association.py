"""The measures on a table small enough for computing them by hand."""

import math
from typing import Any

import pyarrow as pa
import pytest

from adnominal.etl.amod.association import ADJECTIVES, Adjectives, adjectives_of, association_of
from adnominal.etl.amod.kernel import PAIRS
from adnominal.etl.lake.tables import table


def pairs(*rows: tuple[str, str, int]) -> pa.Table:
    columns = zip(*rows, strict=True)
    return pa.table([list(column) for column in columns], schema=PAIRS)


def measure(rows: pa.Table, adjectives: dict[str, int]) -> dict[tuple[str, str], dict[str, Any]]:
    counts = pa.table(
        [list(adjectives), list(adjectives.values()), [1] * len(adjectives)], schema=ADJECTIVES
    )
    association = association_of(rows, Adjectives.of(counts), "a")
    association = association.cast(table("amod_association").schema)
    return {(row["adjective"], row["noun"]): row for row in association.to_pylist()}


def test_measures_equal_those_computed_by_hand():
    rows = pairs(("false", "key", 4), ("small", "key", 2), ("small", "coin", 2))
    measures = measure(rows, {"small": 4, "false": 4})
    key = measures["false", "key"]
    assert (key["count"], key["adjective_count"], key["noun_count"]) == (4, 4, 6)
    assert key["pmi"] == pytest.approx(math.log2(4 * 8 / (4 * 6)))
    assert key["npmi"] == pytest.approx(math.log2(4 / 3) / math.log2(8 / 4))
    assert key["log_dice"] == pytest.approx(14 + math.log2(2 * 4 / (4 + 6)))
    assert measures["small", "key"]["pmi"] == pytest.approx(math.log2(2 * 8 / (4 * 6)))
    assert len(measures) == 3


def test_the_count_of_an_adjective_includes_all_its_nouns():
    rows = pairs(("old", "key", 1), ("red", "key", 3))
    measures = measure(rows, {"blue": 7, "red": 10, "old": 2, "new": 1})
    assert measures["red", "key"]["adjective_count"] == 10
    assert measures["old", "key"]["adjective_count"] == 2
    assert measures["old", "key"]["pmi"] == pytest.approx(math.log2(1 * 20 / (2 * 4)))


def test_a_pair_that_is_the_whole_corpus_has_the_strongest_association():
    only = measure(pairs(("false", "key", 5)), {"false": 5})["false", "key"]
    assert (only["pmi"], only["npmi"], only["log_dice"]) == (0.0, 1.0, 14.0)


def test_words_that_occur_only_together_have_exactly_the_largest_npmi():
    for one, two in ((399, 372), (1, 2), (3, 10**9)):
        measures = measure(
            pairs(("red", "car", one), ("blue", "sky", two)), {"red": one, "blue": two}
        )
        assert [pair["npmi"] for pair in measures.values()] == [1.0, 1.0]


def test_no_pairs_give_no_rows():
    none = Adjectives.of(ADJECTIVES.empty_table())
    assert association_of(PAIRS.empty_table(), none, "a").num_rows == 0


def test_adjectives_are_counted_over_their_nouns(spark):
    rows = pairs(("old", "key", 1), ("red", "key", 3), ("old", "coin", 5))
    adjective_counts = adjectives_of(spark.createDataFrame(rows)).toArrow()
    rows_by_word = {
        row["adjective"]: (row["count"], row["nouns"]) for row in adjective_counts.to_pylist()
    }
    assert rows_by_word == {"old": (6, 2), "red": (3, 1)}
