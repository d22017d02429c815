"""Which relations are pairs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conf import UserError
from etl.amod.rules import CLEAN, PAPER, ReadingRules, Token, is_adjective, is_noun

BIG = Token("Big", "big", "ADJ", "JJ")
DOGS = Token("Dogs", "dog", "NOUN", "NNS")


@pytest.mark.parametrize("tag", ["JJ", "JJR", "JJS"])
def test_penn_adjectives(tag):
    assert is_adjective(tag, "X")


def test_the_penn_tag_decides_where_there_is_one():
    assert not is_adjective("VBN", "ADJ")
    assert not is_noun("NNP", "NOUN")
    assert is_adjective("JJ", "VERB")


@pytest.mark.parametrize("xpos", ["_", "", "ADJA", "-RRB", "jj"])
def test_the_universal_tag_decides_elsewhere(xpos):
    assert is_adjective(xpos, "ADJ")
    assert is_noun(xpos, "NOUN")
    assert not is_noun(xpos, "ADJ")


def test_nouns():
    assert is_noun("NN", "_") and is_noun("NNS", "_")
    assert not is_noun("NNS", "_", plural=False)
    assert not is_noun("NNP", "_") and not is_noun("_", "PROPN")
    assert is_noun("NNP", "_", proper=True) and is_noun("NNPS", "_", proper=True)
    assert is_noun("_", "PROPN", proper=True)
    assert not is_noun("NNPS", "_", plural=False, proper=True)


def test_clean_reads_form_and_lemma_in_lower_case():
    assert CLEAN.read(BIG, DOGS) == ("big", "dog")


def test_words_can_be_chosen():
    rules = ReadingRules(adjective_by="lemma", noun_by="form", lowercase=False)
    assert rules.read(Token("Bigger", "Big", "ADJ", "JJR"), DOGS) == ("Big", "Dogs")


@pytest.mark.parametrize("lemma", ["_", ""])
def test_a_missing_lemma_is_the_form(lemma):
    assert CLEAN.read(BIG, DOGS._replace(lemma=lemma)) == ("big", "dogs")


def test_paper_takes_any_dependent_and_singular_heads():
    used = Token("used", "use", "VERB", "VBN")
    dog = Token("dog", "dog", "NOUN", "NN")
    assert PAPER.read(used, dog) == ("used", "dog")
    dogs = Token("dogs", "dog", "NNS", "NNS")
    assert PAPER.read(BIG, dogs) == "head_not_noun"
    # In CoNLL-U the fourth column has the universal tag, which does not tell number.
    assert PAPER.read(BIG, DOGS) == ("big", "dog")
    assert replace(PAPER, tag_column="fifth").read(BIG, DOGS) == "head_not_noun"
    assert CLEAN.read(used, dog) == "dependent_not_adjective"


def test_an_adjective_needs_a_letter_or_digit_and_a_noun_something():
    assert CLEAN.read(BIG._replace(form="--"), DOGS) == "no_letter_or_digit"
    assert CLEAN.read(BIG._replace(form="3"), DOGS) == ("3", "dog")
    assert CLEAN.read(BIG._replace(form="Élan"), DOGS) == ("élan", "dog")
    assert CLEAN.read(BIG, DOGS._replace(form="", lemma="")) == "no_letter_or_digit"


def test_an_unknown_choice_is_refused():
    with pytest.raises(UserError, match=r"heads=plural: expected common or singular"):
        ReadingRules(heads="plural")
