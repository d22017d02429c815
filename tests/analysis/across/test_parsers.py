"""Comparing two lakes that two parsers extracted from the same text."""

from collections import Counter

import pytest

from adnominal.analysis.across import parsers
from adnominal.analysis.across.fine_tuned import Across
from adnominal.analysis.editions import Lake
from adnominal.analysis.rendering.blocks import Table
from adnominal.conf import UserError
from adnominal.training.finished_runs import Runs
from tests.rows import rows, write

PAIRS = {("red", "dog"): 4, ("old", "cat"): 3, ("new", "car"): 3}


def write_lake(root, pairs):
    """Write a lake with the pairs, their association and one ADEPT entry per noun."""
    counts = [(*pair, count) for pair, count in pairs.items()]
    write(root, "amod_pairs", rows("adjective noun count", *counts, corpus="c"))
    scores = [(*row, row[2], row[2], 10.0 + row[2]) for row in counts]
    names = "adjective noun count adjective_count noun_count log_dice"
    write(root, "amod_association", rows(names, *scores, corpus="c", pmi=1.0, npmi=1.0))
    entries = [
        (noun, rows("adjective count", (adjective, count), nonsubsective=False))
        for adjective, noun, count in counts
    ]
    write(root, "adept_entries", rows("noun adjectives", *entries, edition="demo"))
    return str(root)


def test_agreement_weights_pairs_by_their_counts():
    pairs, other = Counter(PAIRS), Counter(PAIRS) + Counter({("red", "dog"): 2, ("big", "car"): 1})
    same = parsers.agreement(pairs, pairs)
    assert (same.f, same.top) == (1, 1)
    assert (same.adjectives, same.nouns) == pytest.approx((1, 1))
    figures = parsers.agreement(pairs, other)
    assert figures.f == pytest.approx(20 / 23)
    assert figures.top == pytest.approx(3 / 4)


def test_tables_compare_pairs_and_datasets_of_two_lakes(tmp_path):
    first = write_lake(tmp_path / "first", PAIRS)
    other = {("red", "dog"): 6, ("old", "cat"): 3, ("big", "car"): 1}
    second = write_lake(tmp_path / "second", other)
    figures = dict(zip(*parsers.pair_table(first, second, "c").to_pydict().values(), strict=True))
    assert figures["pairs of the first lake"] == "10"
    assert figures["F1 of the pairs"] == "0.700"
    assert figures["correlation of logDice, pairs of at least 3"] == "1.000"
    differences = parsers.difference_table(first, second, "c").to_pylist()
    assert differences[0] == {"pair": "new car", "first": 3, "second": 0}
    datasets = {row["dataset"]: row for row in parsers.dataset_table(first, second).to_pylist()}
    assert datasets["ADEPT entries: nouns"]["both"] == 3
    assert datasets["ADEPT entries: noun, adjective listed for it"]["both"] == 2


def test_the_report_compares_with_another_lake(tmp_path):
    first, second = (write_lake(tmp_path / name, PAIRS) for name in ("first", "second"))
    blocks = parsers.parser_comparison.build(Across(Lake(first, {}, other_root=second), Runs()))
    assert len([block for block in blocks if isinstance(block, Table)]) == 3
    with pytest.raises(UserError, match="no other_lake="):
        parsers.parser_comparison.build(Across(Lake(first, {}), Runs()))
