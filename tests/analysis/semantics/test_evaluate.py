import pytest

from adnominal.analysis.semantics.evaluate import Item, evaluate, summarise
from adnominal.analysis.semantics.prover import Entailment, Outcome, Proving, provers
from adnominal.conf import UserError

ITEMS = [
    Item(
        "all x1.((cat(x1) & wild(x1)) -> run(x1))",
        "all x1.(cat(x1) -> run(x1))",
        "1",
        "every wild cat ran",
        0,
        ("sbj_quant", "adjective"),
    ),
    Item(
        "exists x1.(two(x1) & dog(x1) & -run(x1))",
        "exists x2.(dog(x2) & two(x2) & -run(x2))",
        "2",
        "two dogs did not run",
        0,
        ("sbj_quant", "negation"),
    ),
    Item(
        "exists x1.(dog(x1) & exists x2.(cat(x2) & see(x1,x2)) & run(x1))",
        "exists x1.(dog(x1) & ",
        "3",
        "a dog that saw a cat ran",
        1,
        ("sbj_quant", "peripheral"),
    ),
]


@pytest.fixture(scope="module")
def proving():
    try:
        return Proving(provers(["eprover"]), workers=2)
    except UserError as error:
        pytest.skip(str(error))


def test_formulas_are_scored_by_entailment_and_polarity(proving):
    scores = evaluate(ITEMS, "fol", proving=proving)
    theorem, no, broken = Outcome.THEOREM, Outcome.NOT_A_THEOREM, Outcome.UNPARSEABLE
    assert [s.exact for s in scores] == [False, False, False]
    assert [s.entailment for s in scores] == [
        Entailment(no, theorem),
        Entailment(theorem, theorem),
        Entailment(broken, broken),
    ]
    assert scores[0].down == pytest.approx((1.0, 0.5, 2 / 3))
    assert scores[1].up == (1.0, 1.0, 1.0)


def test_scores_are_summarised_by_class(proving):
    summaries = {
        (s.group, s.name): s for s in summarise(ITEMS, evaluate(ITEMS, "fol", proving=proving))
    }
    assert set(summaries) == {
        ("all", "all"),
        ("quantifier", "EXI"),
        ("quantifier", "NUM"),
        ("quantifier", "UNI"),
        ("modifier", "ADJ"),
        ("modifier", "NON"),
        ("modifier", "NON+NEG"),
        ("depth", "0"),
        ("depth", "1"),
    }
    overall = summaries["all", "all"]
    assert overall.items == 3
    assert overall.entailment["gold_entails_predicted"] == {
        "theorem": 1,
        "not_a_theorem": 1,
        "timeout": 0,
        "unparseable": 1,
    }
    assert overall.entailment["equivalent"] == {"theorem": 1}
    assert overall.polarity["down"]["items"] == 2
    assert summaries["depth", "1"].record()["up"]["items"] == 1


def test_clauses_are_averaged_over_clauses_and_over_items():
    gold = "b1 REF x1 [SEP] b1 dog x1 [SEP] b1 run x1"
    items = [Item(gold, gold), Item(gold, "b1 REF x1 [SEP] b1 dog x1"), Item(gold, "b1 dog")]
    scores = evaluate(items, "drs")
    assert [s.exact for s in scores] == [True, False, False]
    (overall,) = summarise(items, scores)
    assert overall.clauses is not None
    assert (overall.clauses.matched, overall.clauses.predicted, overall.clauses.gold) == (3, 4, 6)
    assert overall.clauses.ill_formed == 1
    assert overall.clauses_f == pytest.approx((1 + 2 / 3 + 0) / 3)
    assert overall.record()["clauses"]["recall"] == 0.5
    assert scores[2].record() == {
        "exact": False,
        "clauses_matched": 0,
        "clauses_predicted": 1,
        "clauses_gold": 2,
        "clauses_f": 0.0,
        "ill_formed": True,
    }


def test_an_unknown_form_is_refused():
    with pytest.raises(ValueError, match="expected one of fol, drs, vf"):
        evaluate(ITEMS, "amr")
