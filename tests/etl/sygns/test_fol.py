import pytest
from hypothesis import given
from hypothesis import strategies as st

from adnominal.etl.sygns import fol
from adnominal.etl.sygns.fol import All, And, Atom, Exists, Implies, Not, ParseError
from tests.etl.sygns.formulas import formulas

CAT = "all x1.((cat(x1) & small(x1)) -> -dance(x1))"


def test_a_published_formula_is_written_and_parsed():
    restrictor = And((Atom("cat", ("x1",)), Atom("small", ("x1",))))
    formula = All("x1", Implies(restrictor, Not(Atom("dance", ("x1",)))))
    assert fol.text(formula) == CAT
    assert fol.parse(CAT) == formula


@given(formulas())
def test_parse_inverts_text(formula):
    assert fol.parse(fol.text(formula)) == formula


@pytest.mark.parametrize(
    ("string", "message"),
    [
        ("", "got the end"),
        ("exists x1.(dog(x1) & run(x1)", "got the end"),
        ("exists x1.(dog(x1) & run(x1)))", "expected the end"),
        ("exists x1.(dog(x1) & run(x2))", "x2: not bound"),
        ("exists ann.dog(ann)", "expected a variable"),
        ("exists x1.dog x1", "expected"),
        ("exists x1.dog(x1) # run(x1)", "not a token"),
        ("(" * 100_000, "nested more than 100 levels deep"),
        ("all x1.(cat(x1) -> )", "expected a formula"),
    ],
)
def test_errors_name_the_fault(string, message):
    with pytest.raises(ParseError, match=message):
        fol.parse(string)


def test_conjunctions_are_flat():
    left = fol.parse("exists x1.((a(x1) & b(x1)) & c(x1))")
    assert left == fol.parse("exists x1.(a(x1) & (b(x1) & c(x1)))")


def test_quantifiers_bind_tighter_than_conjunction():
    formula = fol.parse("exists x1.a(x1) & exists x1.b(x1)")
    assert isinstance(formula, And)


def test_rename_numbers_by_appearance_and_separates_reused_variables():
    formula = fol.parse("exists x7.(a(x7) & exists x7.b(x7))")
    assert fol.text(fol.rename(formula)) == "exists x1.(a(x1) & exists x2.b(x2))"


def test_canonical_ignores_names_order_and_repetition():
    left = fol.parse("exists x1.(dog(x1) & run(x1) & -all x2.(cat(x2) -> see(x1,x2)))")
    right = fol.parse("exists x5.(run(x5) & -all x1.(cat(x1) -> see(x5,x1)) & dog(x5) & run(x5))")
    assert fol.canonical(left) == fol.canonical(right)


@pytest.mark.parametrize(
    "different",
    [
        "exists x1.(dog(x1) & exists x2.(cat(x2) & see(x2,x1)))",
        "exists x1.(dog(x1) & exists x1.(cat(x1) & exists x2.see(x1,x2)))",
        "exists x1.(dog(x1) & -exists x2.(cat(x2) & see(x1,x2)))",
    ],
)
def test_canonical_forms_of_different_formulas_differ(different):
    formula = "exists x1.(dog(x1) & exists x2.(cat(x2) & see(x1,x2)))"
    assert fol.canonical(fol.parse(formula)) != fol.canonical(fol.parse(different))


def test_canonical_distinguishes_a_quantifier_from_a_letter_of_a_predicate():
    for left, right in (("exists x2.b(x1)", "Eb(x1)"), ("all x2.b(x1)", "Ab(x1)")):
        formulas = (fol.parse(f"all x1.{body}") for body in (left, right))
        assert len(set(map(fol.canonical, formulas))) == 2


def test_canonical_distinguishes_shadowed_variables():
    left = fol.parse("exists x1.(p(x1) & exists x1.(q(x1) & exists x2.r(x1,x2)))")
    right = fol.parse("exists x1.(p(x1) & exists x1.(q(x1) & exists x2.r(x2,x2)))")
    assert fol.canonical(left) != fol.canonical(right)


@given(st.text(max_size=40))
def test_tokens_restore_the_string(string):
    assert "".join(fol.tokens(string)) == string


def test_tokens_include_their_spaces():
    assert fol.tokens("all x1.(cat(x1) -> -run(x1))") == [
        "all ", "x1", ".", "(", "cat", "(", "x1", ")", " -> ", "-", "run", "(", "x1", ")", ")",
    ]  # fmt: skip


def test_the_longest_published_formula_of_depth_0_has_32_tokens():
    formula = "exists x1.(three(x1) & horse(x1) & large(x1) & -(swim(x1) | escape(x1)))"
    assert len(fol.tokens(formula)) == 32


def test_free_variables_are_those_without_a_quantifier():
    formula = Exists("x1", And((Atom("dog", ("x1",)), Atom("see", ("x1", "x2")))))
    assert fol.free_variables(formula) == {"x2"}


def test_an_empty_conjunction_is_refused():
    with pytest.raises(ValueError, match="at least one"):
        fol.conjunction([])
    with pytest.raises(ValueError, match="at least one"):
        fol.disjunction([])
