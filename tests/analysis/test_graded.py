"""Correlation of ratings with counts, measures and scores of models."""

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from adnominal import conf
from adnominal.analysis import graded
from adnominal.analysis.graded import Settings, correlation, correlations, expected_score, report
from adnominal.etl.lake import arrow
from adnominal.etl.lake.tables import table
from tests.rows import rows, write

VALUES = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=4, max_size=30).filter(
    lambda rows: len({a for a, _ in rows}) > 1 and len({b for _, b in rows}) > 1
)


@given(VALUES)
def test_coefficients_equal_scipys_with_ties(rows):
    ratings, values = [float(a) for a, _ in rows], [float(b) for _, b in rows]
    result = correlation("count", ratings, values)
    assert result.spearman.estimate == pytest.approx(stats.spearmanr(ratings, values).statistic)
    assert result.kendall == pytest.approx(stats.kendalltau(ratings, values).statistic)
    assert result.spearman.low <= result.spearman.high


def test_the_bootstrap_of_many_pairs_is_computed_in_blocks(monkeypatch):
    ratings, values = [float(n % 7) for n in range(500)], [float(n % 11) for n in range(500)]
    whole = correlation("pmi", ratings, values)
    ranked: list[int] = []
    spearman = graded._spearman
    monkeypatch.setattr(graded, "BLOCK", 1200)

    def record(one, two, axis=-1):
        ranked.append(one.size)
        return spearman(one, two, axis)

    monkeypatch.setattr(graded, "_spearman", record)
    assert correlation("pmi", ratings, values) == whole
    assert max(ranked) <= 1200 and sum(ranked) == 2001 * 500


def test_pairs_without_a_value_are_ignored_and_bounds_follow_the_seed():
    random = np.random.default_rng(1)
    ratings = random.normal(size=200)
    values: list[float | None] = [*(ratings[:199] + random.normal(size=199)), None]
    result = correlation("pmi", list(ratings), values, seed=3)
    assert result.spearman.n == 199
    assert result.spearman.low < result.spearman.estimate < result.spearman.high
    assert result == correlation("pmi", list(ratings), values, seed=3)
    assert result != correlation("pmi", list(ratings), values, seed=4)


@pytest.mark.parametrize("values", [[], [None, None, None], [1.0, 1.0, 1.0], [1.0, 2.0]])
def test_too_few_or_equal_values_have_no_correlation(values):
    result = correlation("pmi", [float(i) for i in range(len(values))], values)
    assert math.isnan(result.spearman.estimate)
    assert math.isnan(result.kendall)


@pytest.mark.parametrize(
    ("scores", "expected"),
    [([1.0, 0.0, 0.0], 0.0), ([0.0, 0.5, 0.5], 1.5), ([0.0, 0.0], None), (None, None), ([], None)],
)
def test_a_models_score_is_the_expected_label_number(scores, expected):
    assert expected_score(scores) == expected


RATED = [("a", "old", "key", 5.0), ("b", "red", "key", 3.0), ("c", "odd", "key", 1.0)]


def ratings() -> pa.Table:
    rated = rows("pair_id adjective noun score", *RATED, source="s", split="test")
    return pa.Table.from_pylist(rated, schema=table("graded_pairs").schema.remove_metadata())


def test_a_pair_that_is_not_in_the_corpus_has_count_zero():
    association = pa.table(
        {
            "adjective": ["old", "red"],
            "noun": ["key", "key"],
            "count": [9, 4],
            **{name: [2.0, 1.0] for name in ("pmi", "npmi", "log_dice")},
        }
    )
    results = correlations(ratings(), association, {"m": {"a": 2.0, "b": 1.0, "c": 0.0}})
    assert [(each.measure, each.spearman.n) for each in results] == [
        ("count", 3), ("pmi", 2), ("npmi", 2), ("log_dice", 2), ("m", 3),
    ]  # fmt: skip
    first, *_, last = (result.spearman.estimate for result in results)
    assert (first, last) == pytest.approx((1.0, 1.0))


def test_the_command_prints_every_measure_and_reports_missing_data(tmp_path, capsys):
    lake = str(tmp_path)
    arrow.append(lake, "graded_pairs", ratings(), job="test")
    schema = table("amod_association").schema.remove_metadata()
    row = {
        name: 1.0 if pa.types.is_floating(schema.field(name).type) else 1 for name in schema.names
    }
    pairs = [{**row, "corpus": "c", "adjective": a, "noun": n} for _, a, n, _ in RATED]
    write(lake, "amod_association", pairs)
    arguments = [f"lake={lake}", "source=s"]
    assert conf.run(Settings, report, [*arguments, "corpus=c"]) == 0
    assert "log_dice" in capsys.readouterr().out
    for wrong, message in (
        ([*arguments, "corpus=other"], "corpus=other"),
        ([f"lake={lake}", "source=none", "corpus=c"], "source=none"),
        ([*arguments, "corpus=c", "runs=[x]"], "predictions"),
    ):
        assert conf.run(Settings, report, wrong) == 2
        assert message in capsys.readouterr().err
