import pytest

from adnominal.etl.sygns import fol, polarity, vf


@pytest.mark.parametrize(
    ("formula", "term", "directions"),
    [
        # The examples in table 3 of the paper.
        ("exists x1.(dog(x1) & run(x1))", "EXIST DOG RUN", "dog+ run+"),
        ("all x1.(dog(x1) -> run(x1))", "ALL DOG RUN", "dog- run+"),
        ("all x1.(dog(x1) -> -run(x1))", "ALL DOG NOT RUN", "dog- run-"),
        (
            "all x1.((dog(x1) & -all x2.(cat(x2) -> see(x1,x2))) -> (run(x1) | swim(x1)))",
            "ALL AND DOG NOT ALL CAT SEE OR RUN SWIM",
            "dog- cat- see+ run+ swim+",
        ),
    ],
)
def test_formulas_and_terms_have_the_same_polarity(formula, term, directions):
    polarities = [(w[:-1], "up" if w[-1] == "+" else "down") for w in directions.split()]
    assert polarity.from_fol(fol.parse(formula)) == polarities
    assert polarity.from_vf(vf.parse(term)) == polarities


def test_numerals_are_counted_in_formulas_only():
    formula = fol.parse("exists x1.(two(x1) & dog(x1) & run(x1))")
    assert polarity.from_fol(formula)[0] == ("two", "up")
    assert polarity.from_vf(vf.parse("TWO DOG RUN")) == [("dog", "up"), ("run", "up")]
