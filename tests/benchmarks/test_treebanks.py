"""Pairs of treebanks, and how well they are found."""

from collections import Counter

import numpy as np
import pytest

from adnominal.etl.amod.rules import CLEAN
from benchmarks import treebanks

CONLLU = """\
# text = The well-known red dog barked.
1\tThe\tthe\t_\tDT\t_\t6\tdet\t_\t_
2\twell\twell\t_\tRB\t_\t4\tadvmod\t_\tSpaceAfter=No
3\t-\t-\t_\tHYPH\t_\t4\tpunct\t_\tSpaceAfter=No
4\tknown\tknown\t_\tJJ\t_\t6\tamod\t_\t_
5-6\treddog\t_\t_\t_\t_\t_\t_\t_\t_
5\tred\tred\t_\tJJ\t_\t6\tamod\t_\t_
6\tdog\tdog\t_\tNN\t_\t7\tnsubj\t_\t_
7\tbarked\tbark\t_\tVBD\t_\t0\troot\t_\tSpaceAfter=No
8\t.\t.\t_\t.\t_\t7\tpunct\t_\t_

# text = Old cats slept.
1\tOld\told\t_\tJJ\t_\t2\tamod\t_\t_
2\tcats\tcat\t_\tNNS\t_\t3\tnsubj\t_\t_
3\tslept\tsleep\t_\tVBD\t_\t0\troot\t_\tSpaceAfter=No
4\t.\t.\t_\t.\t_\t3\tpunct\t_\t_
"""


def test_pairs_of_gold_trees_follow_the_rules_for_text_sources(tmp_path):
    path = tmp_path / "x.conllu"
    path.write_text(CONLLU)
    bank = treebanks.read_treebank(path)
    assert bank.texts == ["The well-known red dog barked.", "Old cats slept."]
    pairs = treebanks.pairs_of(bank.tokens, CLEAN, 2)
    assert pairs == [{("red", "dog"): 1}, {("old", "cat"): 1}]
    lowered = bank.in_lower_case()
    assert lowered.texts == ["the well-known red dog barked.", "old cats slept."]
    assert lowered.tokens == bank.tokens


def test_f1_and_the_interval_of_its_difference():
    gold = [Counter({("red", "dog"): 2}), Counter({("old", "cat"): 1})]
    found = [Counter({("red", "dog"): 1}), Counter({("a", "b"): 2})]
    good = treebanks.counts_by_sentence(gold, gold)
    half = treebanks.counts_by_sentence(gold, found)
    assert treebanks.f1(good) == 1
    assert treebanks.f1(half) == pytest.approx(2 / 6)
    gain, low, high = treebanks.difference(np.tile(good, (50, 1)), np.tile(half, (50, 1)))
    assert gain == pytest.approx(2 / 3)
    assert low <= gain <= high
