import pytest
from hypothesis import given

from adnominal.etl.sygns import vf
from adnominal.etl.sygns.fol import ParseError
from tests.etl.sygns.formulas import terms


@given(terms())
def test_parse_inverts_text(term):
    assert vf.parse(vf.text(term)) == term


@pytest.mark.parametrize(
    ("string", "message"),
    [
        ("", "0 terms"),
        ("ALL DOG", "ALL has 1 arguments, expected 2"),
        ("ALL DOG RUN CAT", "2 terms"),
        ("ALL dog RUN", "capitals"),
        ("ALL DOG (RUN)", "capitals"),
    ],
)
def test_errors_name_the_fault(string, message):
    with pytest.raises(ParseError, match=message):
        vf.parse(string)
