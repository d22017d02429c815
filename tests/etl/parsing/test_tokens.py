import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adnominal.conf import UserError
from adnominal.etl.parsing import check_parser, load_parser
from adnominal.etl.parsing.tokens import PARAGRAPH_CHARACTERS, WORD_CHARACTERS, paragraphs


def test_blank_lines_separate_paragraphs():
    text = "  See also\n\nCool roof\n \t\nthe end\nof it\r\n\r\nnext \n"
    assert paragraphs(text) == ["See also", "Cool roof", "the end\nof it", "next"]


@pytest.mark.parametrize("text", ["", " \n\n \t\n"])
def test_blank_texts_have_no_paragraphs(text):
    assert paragraphs(text) == []


def test_lone_surrogates_are_replaced():
    assert paragraphs("a \ud83d b \U0001f600") == ["a � b \U0001f600"]


@pytest.mark.parametrize(
    ("unit", "end"),
    [("One two. Three four\n", "two."), ("one two\n", "one two"), ("one two ", "two")],
)
def test_long_paragraphs_are_split_at_sentences_lines_or_words(unit, end):
    text = unit * (3 * PARAGRAPH_CHARACTERS // len(unit))
    pieces = paragraphs(text)
    assert len(pieces) > 2
    assert all(piece.endswith(end) for piece in pieces[:-1])
    assert "".join("".join(pieces).split()) == "".join(text.split())


@given(st.text(alphabet=st.sampled_from("ab.! \n\r\t\ud800"), max_size=300), st.integers(1, 400))
def test_pieces_are_short_and_lose_nothing(text, times):
    pieces = paragraphs(text * times)
    assert all(piece == piece.strip() and piece for piece in pieces)
    assert all(len(piece) <= PARAGRAPH_CHARACTERS for piece in pieces)
    assert all(len(word) <= WORD_CHARACTERS for piece in pieces for word in piece.split())
    expected = "".join((text * times).replace("\ud800", "�").split())
    assert "".join("".join(pieces).split()) == expected


def test_long_unbroken_strings_are_fast():
    start = time.perf_counter()
    assert len(paragraphs("(" * 1_000_000)) == 2000
    assert time.perf_counter() - start < 2


@pytest.mark.parametrize("function", [check_parser, load_parser])
def test_an_unknown_parser_is_refused(function):
    with pytest.raises(UserError, match="parser=corenlp: expected one of spacy, fast, stanza"):
        function("corenlp")
