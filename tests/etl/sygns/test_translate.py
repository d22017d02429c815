import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from adnominal.etl.sygns import drs, fol, vf
from adnominal.etl.sygns.fol import ParseError
from adnominal.etl.sygns.generate import Sampler
from adnominal.etl.sygns.grammar import grammar
from adnominal.etl.sygns.translate import drs_to_fol, fol_to_drs, vf_to_fol
from tests.etl.sygns.formulas import NAMES, boxes, formulas

SENTENCES = [
    ("exists x1.(dog(x1) & run(x1))", "b1 REF x1 [SEP] b1 dog x1 [SEP] b1 run x1"),
    (
        "all x1.(fox(x1) -> -(run(x1) | swim(x1)))",
        "b1 IMP b2 b3 [SEP] b2 REF x1 [SEP] b2 fox x1 [SEP] b3 NOT b4 [SEP] b4 DIS b5 b6 [SEP] "
        "b5 run x1 [SEP] b6 swim x1",
    ),
]


@pytest.mark.parametrize(("formula", "clauses"), SENTENCES)
def test_a_formula_becomes_a_structure_and_back(formula, clauses):
    assert drs.text(fol_to_drs(fol.parse(formula))) == clauses
    assert fol.text(drs_to_fol(drs.parse(clauses))) == formula


def test_referents_come_before_conditions():
    formula = "exists x1.(dog(x1) & exists x2.(cat(x2) & see(x1,x2)))"
    assert drs.text(fol_to_drs(fol.parse(formula))).startswith("b1 REF x1 [SEP] b1 REF x2")


Model = frozenset[tuple[str, tuple[int, ...]]]
ENTITIES = (0, 1)
MODELS = st.frozensets(
    st.tuples(NAMES, st.lists(st.sampled_from(ENTITIES), min_size=1, max_size=2).map(tuple))
)


def is_true(formula: fol.Formula, model: Model, values: dict[str, int]) -> bool:
    """Whether the formula is true in a model, which is a set of facts."""
    match formula:
        case fol.Atom(predicate, arguments):
            return (predicate, tuple(values[name] for name in arguments)) in model
        case fol.Not(body):
            return not is_true(body, model, values)
        case fol.And(parts):
            return all(is_true(part, model, values) for part in parts)
        case fol.Or(parts):
            return any(is_true(part, model, values) for part in parts)
        case fol.Implies(left, right):
            return not is_true(left, model, values) or is_true(right, model, values)
        case fol.Exists(name, body):
            return any(is_true(body, model, {**values, name: entity}) for entity in ENTITIES)
        case fol.All(name, body):
            return all(is_true(body, model, {**values, name: entity}) for entity in ENTITIES)


@given(formulas(), st.lists(MODELS, min_size=3, max_size=3))
def test_a_structure_is_true_in_the_models_of_its_formula(formula, models):
    try:
        box = fol_to_drs(formula)
    except ValueError:
        assume(False)
    assert drs.parse(drs.text(box)) == box
    for model in models:
        assert is_true(drs_to_fol(box), model, {}) == is_true(formula, model, {})


@pytest.mark.parametrize(
    ("formula", "clauses"),
    [
        (
            "exists x1.dog(x1) & exists x1.cat(x1)",
            "b1 REF x1 [SEP] b1 REF x2 [SEP] b1 dog x1 [SEP] b1 cat x2",
        ),
        (
            "exists x3.(dog(x3) & exists x3.cat(x3))",
            "b1 REF x1 [SEP] b1 REF x2 [SEP] b1 dog x1 [SEP] b1 cat x2",
        ),
    ],
)
def test_a_variable_used_twice_becomes_two_referents(formula, clauses):
    assert drs.text(fol_to_drs(fol.parse(formula))) == clauses


@given(boxes())
def test_formulas_of_closed_structures_are_closed(box):
    formula = drs_to_fol(box)
    assert fol.free_variables(formula) == frozenset()


@pytest.mark.parametrize("depth", range(4))
def test_terms_of_the_grammar_translate_into_its_formulas(depth):
    clean = grammar("clean", 5, 5)
    sampler = Sampler(clean, depth, seed=3)
    for number in range(150):
        meanings = clean.meanings(sampler.tree(number))
        assert vf_to_fol(meanings.vf) == meanings.fol


@pytest.mark.parametrize(
    ("term", "message"),
    [
        ("DOG", "DOG: expected a sentence"),
        ("NOT ALL DOG RUN", "NOT: expected a sentence"),
        ("ALL DOG INV RUN", "INV: a relation where"),
        ("ALL DOG EXIST CAT ALL DOG SEE", "ALL: a property where"),
    ],
)
def test_terms_that_do_not_fit_their_position_are_refused(term, message):
    with pytest.raises(ParseError, match=message):
        vf_to_fol(vf.parse(term))


def test_a_universal_without_implication_has_no_structure():
    with pytest.raises(ValueError, match="without an implication"):
        fol_to_drs(fol.parse("all x1.dog(x1)"))


def test_an_empty_box_has_no_formula():
    with pytest.raises(ValueError, match="without conditions"):
        drs_to_fol(drs.parse("b1 REF x1"))
