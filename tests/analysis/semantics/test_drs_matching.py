import random
from itertools import pairwise, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adnominal.analysis.semantics.drs_matching import (
    Score,
    hill_climbing,
    match,
    matching,
    without_redundant_referents,
)
from adnominal.etl.sygns import drs
from adnominal.etl.sygns.drs import Clause
from adnominal.etl.sygns.fol import ParseError
from adnominal.etl.sygns.generate import Sampler
from adnominal.etl.sygns.grammar import grammar
from tests.etl.sygns.formulas import boxes

GOLD = "b1 IMP b2 b3 [SEP] b2 REF x1 [SEP] b2 lion x1 [SEP] b3 NOT b4 [SEP] b4 cry x1"


def small_clauses() -> st.SearchStrategy[list[Clause]]:
    box = st.sampled_from(["b1", "b2", "b3"])
    entity = st.sampled_from(["x1", "x2"])
    clause = st.one_of(
        st.builds(lambda b, p, x: Clause(b, p, (x,)), box, st.sampled_from(["dog", "run"]), entity),
        st.builds(lambda b, x, y: Clause(b, "see", (x, y)), box, entity, entity),
        st.builds(lambda b, c: Clause(b, "NOT", (c,)), box, box),
    )
    return st.lists(clause, min_size=1, max_size=7)


def by_enumeration(predicted: list[Clause], gold: list[Clause]) -> int:
    """The result of `matching`, found by trying every mapping."""
    best = 0
    names = {
        k: sorted({v for c in predicted for v in (c.box, *c.arguments) if v[0] == k}) for k in "bx"
    }
    gold_names = {
        k: sorted({v for c in gold for v in (c.box, *c.arguments) if v[0] == k}) for k in "bx"
    }
    for b in permutations([*gold_names["b"], *[""] * len(names["b"])], len(names["b"])):
        for x in permutations([*gold_names["x"], *[""] * len(names["x"])], len(names["x"])):
            to = dict(zip([*names["b"], *names["x"]], [*b, *x], strict=True))
            left = list(gold)
            count = 0
            for c in predicted:
                image = Clause(to[c.box], c.symbol, tuple(to[a] for a in c.arguments))
                if image in left:
                    left.remove(image)
                    count += 1
            best = max(best, count)
    return best


@given(small_clauses(), small_clauses())
def test_matching_finds_the_best_mapping(predicted, gold):
    best = matching(predicted, gold)
    assert best.proven
    assert best.clauses == by_enumeration(predicted, gold)
    assert best.clauses == matching(gold, predicted).clauses
    assert hill_climbing(predicted, gold, restarts=3) <= best.clauses


@given(boxes(), st.randoms(use_true_random=False))
def test_renaming_variables_and_shuffling_clauses_changes_nothing(box, rng):
    gold = drs.clauses(box)
    names = sorted({v for c in gold for v in (c.box, *c.arguments)})
    numbers = list(range(1, len(names) + 1))
    rng.shuffle(numbers)
    new = {v: f"{v[0]}{n}" for v, n in zip(names, numbers, strict=True)}
    renamed = [Clause(new[c.box], c.symbol, tuple(new[a] for a in c.arguments)) for c in gold]
    rng.shuffle(renamed)
    score = match(drs.text(box), drs.SEPARATOR.join(map(str, renamed)))
    assert score.f == 1.0


@pytest.mark.parametrize("depth", [0, 2, 4])
def test_sentences_match_themselves_and_hill_climbing_is_never_better(depth):
    rows = [
        without_redundant_referents(drs.parse_clauses(r.drs))
        for r in Sampler(grammar("clean", 5, 5), depth, seed=0).records(range(40))
    ]
    rng = random.Random(0)
    for gold, predicted in pairwise(rows):
        shuffled = drs.rename(rng.sample(gold, len(gold)))
        assert matching(shuffled, gold).clauses == len(gold)
        assert hill_climbing(predicted, gold, restarts=2) <= matching(predicted, gold).clauses


def test_hill_climbing_matches_equal_structures():
    rows = Sampler(grammar("clean", 5, 5), 0, seed=0).records(range(10))
    for row in rows:
        assert match(row.drs, row.drs, search="hill_climbing").f == 1.0


def test_redundant_referents_are_ignored_on_both_sides():
    score = match(GOLD, "b1 IMP b2 b3 [SEP] b2 lion x1 [SEP] b3 NOT b4 [SEP] b4 cry x1")
    assert (score.matched, score.predicted, score.gold) == (4, 4, 4)
    clauses = without_redundant_referents(drs.parse_clauses("b1 REF x1 [SEP] b2 dog x1"))
    assert [str(c) for c in clauses] == ["b1 REF x1", "b2 dog x1"]


def test_partial_agreement_has_precision_and_recall():
    score = match(GOLD, "b1 IMP b2 b3 [SEP] b2 REF x1 [SEP] b2 lion x1 [SEP] b3 sing x1")
    assert (score.matched, score.predicted, score.gold) == (2, 3, 4)
    assert (score.precision, score.recall) == (2 / 3, 0.5)
    assert score.f == pytest.approx(4 / 7)


def test_repeated_clauses_match_as_often_as_both_sides_have_them():
    score = match("b1 two x1 [SEP] b1 two x1", "b1 two x1 [SEP] b1 two x1 [SEP] b1 two x1")
    assert score.matched == 2


def test_one_variable_does_not_match_two():
    assert match("b1 see x1 x2", "b1 see x1 x1").matched == 0


def test_ill_formed_output_counts_as_one_unmatched_clause():
    score = match(GOLD, "b1 IMP b2 [SEP] b2 lion x1")
    assert score == Score(0, 1, 4, 1)
    assert (score.precision, score.recall, score.f) == (0.0, 0.0, 0.0)


def test_ill_formed_gold_is_an_error():
    with pytest.raises(ParseError, match="IMP takes 2"):
        match("b1 IMP b2", GOLD)


def test_an_unknown_search_is_refused():
    with pytest.raises(ValueError, match="expected exact or hill_climbing"):
        match(GOLD, GOLD, search="guess")


def test_scores_add_up_to_micro_averages():
    total = Score(1, 2, 4) + Score(3, 3, 4)
    assert (total.precision, total.recall) == (4 / 5, 4 / 8)
    assert Score().f == 0.0


def test_an_incomplete_search_is_not_proven():
    rows = [
        drs.parse_clauses(r.drs)
        for r in Sampler(grammar("clean", 5, 5), 4, seed=0).records(range(2))
    ]
    incomplete = matching(rows[0], rows[1], steps=1)
    assert not incomplete.proven
    assert incomplete.clauses <= matching(rows[0], rows[1]).clauses


def test_the_clauses_that_table_18_prints():
    both = "b2 REF x1; b2 lion x1; b2 NOT b3; b3 REF x2; b3 REF x3; b3 two x2; "
    gold = (
        f"b1 IMP b2 b4; {both}b3 bear x2; b3 three x3; b3 monkey x3; b3 chase x3 x2; "
        "b3 follow x2 x1; b4 NOT b5; b5 cry x1"
    )
    wrong = f"b1 IMP b2 b3; {both}b3 REF x2; "
    gru = "b3 bear x2; b3 follow x2 x2; b3 three x3; b4 monkey x3; b4 like x3 x2; b4 like x1 x2"
    transformer = "b3 two x2; b3 monkey x2; b3 follow x2 x1; b3 john x3; b3 chase x1 x3"
    gold, *answers = (
        text.replace("; ", " [SEP] ") for text in (gold, wrong + gru, wrong + transformer)
    )
    scores = [match(gold, answer, variant="sygns") for answer in answers]
    assert [(s.matched, s.predicted, s.gold) for s in scores] == [(5, 10, 11), (4, 8, 11)]
    # The paper prints 0.45 and 0.42.
    assert [round(score.f, 2) for score in scores] == [0.48, 0.42]


def test_variant_sygns_matches_first_arguments_by_name():
    gold = "b1 ann x1 [SEP] b1 dog x2 [SEP] b1 lick x1 x2"
    renamed = "b1 ann x5 [SEP] b1 dog x2 [SEP] b1 lick x5 x2"
    swapped = "b1 ann x1 [SEP] b1 dog x2 [SEP] b1 lick x2 x1"
    assert (match(gold, renamed).matched, match(gold, renamed, variant="sygns").matched) == (3, 2)
    # With arguments swapped, only two clauses match.
    assert match(gold, gold, variant="sygns").f == 1.0
    assert match(gold, swapped, variant="sygns").matched == 2
    twice = f"{gold} [SEP] b1 dog x2"
    assert match(gold, twice).predicted == 4
    assert match(gold, twice, variant="sygns").f == 1.0
    with pytest.raises(ValueError, match="expected one of exact, sygns"):
        match(gold, gold, variant="counter")
