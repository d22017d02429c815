import pytest

from adnominal.etl.sygns import fol, vf
from adnominal.etl.sygns.fol import ParseError
from adnominal.etl.sygns.terms import FreshVariables, compile_fol, compile_vf


def test_lambda_terms_are_applied():
    every = compile_fol(r"\F. \G. all x.(F(x) -> G(x))", [])({}, FreshVariables())
    dog = compile_fol(r"\x. dog(x)", [])({}, FreshVariables())
    sentence = compile_fol(r"NP(\x. -VP(x))", ["NP", "VP"])(
        {"NP": every(dog), "VP": dog}, FreshVariables()
    )
    assert fol.text(sentence) == "all v1.(dog(v1) -> -dog(v1))"


def test_variable_free_terms_are_applied():
    two = compile_vf(r"\F. TWO(F, NOT(VP))", ["VP"])({"VP": vf.Word("RUN")})
    assert vf.text(two(vf.Word("DOG"))) == "TWO DOG NOT RUN"


@pytest.mark.parametrize("string", ["NP(", "NP(x))", r"\x dog(x)", "NP # VP", "-> NP"])
def test_broken_terms_are_refused(string):
    with pytest.raises(ParseError):
        compile_fol(string, ["NP", "VP"])


def test_a_wrong_number_of_arguments_is_refused():
    with pytest.raises(ParseError, match="AND has 1 arguments, not 2"):
        compile_vf("AND(VP)", ["VP"])({"VP": vf.Word("RUN")})
