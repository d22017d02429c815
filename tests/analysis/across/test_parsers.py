"""Comparing two lakes that two parsers extracted from the same text."""

from collections import Counter

import pytest

from adnominal.analysis.across import parsers
from adnominal.analysis.across.fine_tuned import Across
from adnominal.analysis.editions import Lake
from adnominal.analysis.report_numbers import Cells
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
    assert (same["f"], same["top"]) == (1, 1)
    assert (same["adjectives"], same["nouns"]) == pytest.approx((1, 1))
    figures = parsers.agreement(pairs, other)
    assert figures["f"] == pytest.approx(20 / 23)
    assert figures["top"] == pytest.approx(3 / 4)


def test_tables_compare_pairs_and_datasets_of_two_lakes(tmp_path):
    first = write_lake(tmp_path / "first", PAIRS)
    other = {("red", "dog"): 6, ("old", "cat"): 3, ("big", "car"): 1}
    second = write_lake(tmp_path / "second", other)
    figures = parsers.pair_cells(first, second, "c")
    assert figures["pairs of the first lake", "c"] == 10
    assert figures["F1 of the pairs", "c"] == pytest.approx(0.7)
    assert figures["correlation of logDice, pairs of at least 3", "c"] == pytest.approx(1.0)
    differences = parsers.difference_cells(first, second, "c")
    assert list(differences.items())[:2] == [(("new car", "first"), 3), (("new car", "second"), 0)]
    datasets = parsers.dataset_cells(first, second)
    assert datasets["ADEPT entries: nouns", "both"] == 3
    assert datasets["ADEPT entries: noun, adjective listed for it", "both"] == 2


def test_the_report_compares_with_another_lake(tmp_path):
    first, second = (write_lake(tmp_path / name, PAIRS) for name in ("first", "second"))
    findings = parsers.parser_comparison.build(Across(Lake(first, {}, other_root=second), Runs()))
    assert len([finding for finding in findings if isinstance(finding, Cells)]) == 3
    with pytest.raises(UserError, match="no other_lake="):
        list(parsers.parser_comparison.build(Across(Lake(first, {}), Runs())))
