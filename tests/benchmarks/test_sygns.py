"""The measurements of SyGNS, on tiny sizes."""

import random

import pytest

from adnominal.analysis.semantics.prover import provers
from adnominal.conf import UserError
from adnominal.etl.sygns import fol
from benchmarks import sygns
from benchmarks.harness import page
from benchmarks.sygns import Settings


@pytest.fixture(scope="module")
def figures():
    try:
        provers(["eprover"])
    except UserError as error:
        pytest.skip(str(error))
    measured = {
        "provers": sygns.proofs(Settings(problems=4, formulas=1)),
        "matching": sygns.matched(Settings(pairs=20)),
        "equivalence": sygns.equivalence(Settings(translated=4)),
        "splits": sygns.split_sizes(Settings(seeds=1, sentences=30)),
    }
    return {
        name: part_figures | {"load": 0.5, "date": "2026-01-02"}
        for name, part_figures in measured.items()
    }


def test_every_outcome_is_counted(figures):
    assert figures["equivalence"]["outcomes"] == {"theorem": 16}
    assert figures["provers"]["self_equivalence"] == {"theorem": 10}
    assert figures["matching"]["below"] == figures["matching"]["unproven"] == 0
    assert sum(figures["splits"]["sizes"]["5+5, seed 0"]["one"]) == 30


def test_the_page_shows_only_the_measured_parts(figures):
    text = page(sygns.CASE, figures)
    assert text.startswith("## SyGNS\n")
    assert "16 of 16 entailments" in text
    assert "Generation" not in text


def test_scrambled_formulas_are_equal_in_canonical_form():
    formula = fol.parse("all x1.((cat(x1) & small(x1) & wild(x1)) -> (run(x1) | swim(x1)))")
    texts = {fol.text(sygns.scrambled(formula, random.Random(seed))) for seed in range(8)}
    assert len(texts) > 1
    assert {fol.canonical(fol.parse(text)) for text in texts} == {fol.canonical(formula)}


def test_an_unknown_part_is_refused():
    with pytest.raises(UserError, match=r"parts=\['speed'\]: expected some of generation"):
        sygns.CASE.measurements(Settings(parts=["speed"]))
