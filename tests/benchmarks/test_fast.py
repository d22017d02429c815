"""Comparing parser=fast with spaCy and with gold trees."""

import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from adnominal.conf import UserError
from adnominal.etl.amod.rules import CLEAN
from benchmarks import fast, fast_mutations, parse_quality
from benchmarks.harness import page

CONLLU = """\
# text = The well-known red dog barked.
1\tThe\tthe\t_\tDT\t_\t6\tdet\t_\t_
2\twell\twell\t_\tRB\t_\t4\tadvmod\t_\tSpaceAfter=No
3\t-\t-\t_\tHYPH\t_\t4\tpunct\t_\tSpaceAfter=No
4\tknown\tknown\t_\tJJ\t_\t6\tamod\t_\t_
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
    bank = parse_quality.read_treebank(path)
    assert bank.texts == ["The well-known red dog barked.", "Old cats slept."]
    pairs = parse_quality.pairs_of(bank.tokens, CLEAN, 2)
    assert pairs == [{("red", "dog"): 1}, {("old", "cat"): 1}]


def test_a_treebank_that_cannot_be_read_is_a_mistake(tmp_path):
    (tmp_path / "empty.conllu").write_text("")
    (tmp_path / "plain.gz").write_text(CONLLU)
    for name in ("missing.conllu", "empty.conllu", "plain.gz", "."):
        with pytest.raises(UserError, match="CoNLL-U"):
            parse_quality.read_treebank(tmp_path / name)


def test_f1_and_the_interval_of_its_difference():
    gold = [Counter({("red", "dog"): 2}), Counter({("old", "cat"): 1})]
    good = parse_quality.counts(gold, gold)
    half = parse_quality.counts(gold, [Counter({("red", "dog"): 1}), Counter({("a", "b"): 2})])
    assert parse_quality.f1(good) == 1
    assert parse_quality.f1(half) == pytest.approx(2 / 6)
    gain, low, high = parse_quality.difference(np.tile(good, (50, 1)), np.tile(half, (50, 1)))
    assert gain == pytest.approx(2 / 3)
    assert low <= gain <= high


def test_mutations_follow_the_seed():
    line = b"The old house at the end of the street was sold."
    draws = [fast_mutations.mutate(random.Random(seed), line) for seed in (1, 1, 2)]
    assert draws[0] == draws[1] != draws[2]


def test_only_parts_whose_input_is_given_are_measured():
    treebanks = fast.Settings(dev="a/dev.conllu", check=["b/test.conllu.gz"], silver_model="m")
    parts = ("quality", "trees", "silver_only")
    names = [f"{part}/{name}" for name in ("dev", "test") for part in parts]
    assert list(fast.measurements(treebanks)) == names
    text = fast.Settings(text="prose.txt")
    assert list(fast.measurements(text)) == ["speed", "cores"]
    assert list(fast.measurements(replace(text, parts=["mutations"]))) == ["mutations"]
    with pytest.raises(UserError, match=r"wikipedia: expected wikipedia="):
        fast.measurements(replace(text, parts=["wikipedia"]))
    with pytest.raises(UserError, match="nothing to measure"):
        fast.measurements(fast.Settings())


def test_the_page_shows_the_measured_figures():
    score = {"gold": 9, "fast": 0.5, "spacy": 0.4, "gain": 0.1, "low": -0.1, "high": 0.3}
    sides = {"f": 0.9, "top": 0.8, "adjectives": 0.7, "nouns": 0.6}
    figures = {
        "quality": {"dev": {"form": score}},
        "trees": {"dev": {"fast_gold": sides}},
        "speed": {
            "bytes": 3e7,
            "words_per_second": 1e6,
            "portable_words_per_second": 2e5,
            "memory_mb": 99.0,
        },
        "mutations": {"inputs": 1000},
    }
    lines = page(fast.CASE, figures).splitlines()
    assert "| dev | form | 9 | 0.500 | 0.400 | +0.100 (-0.100 to +0.300) |" in lines
    assert "| dev | fast, gold | 0.900 | 0.800 | 0.700 | 0.600 |" in lines
    assert "| the same without AVX2 | 200,000 | >= 300,000 | missed |" in lines
    assert "| a trillion words, counting alone | 278 core-hours |  |  |" in lines
    assert lines[-1].startswith("1,000 mutated inputs")
