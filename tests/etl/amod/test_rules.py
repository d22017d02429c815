"""Which amod relations are pairs, and of which words."""

from dataclasses import replace

import pytest

from adnominal.etl.amod.rules import CLEAN, PAPER, ReadingRules, Token

BIG = Token("Big", "big", "ADJ", "JJ")
DOGS = Token("Dogs", "dog", "NOUN", "NNS")


@pytest.mark.parametrize("tag", ["JJ", "JJR", "JJS"])
def test_penn_tags_of_adjectives_are_accepted(tag):
    assert CLEAN.accepts_dependent(tag, "X")


def test_a_penn_tag_takes_precedence():
    assert not CLEAN.accepts_dependent("VBN", "ADJ")
    assert not CLEAN.accepts_head("NNP", "NOUN")
    assert CLEAN.accepts_dependent("JJ", "VERB")


@pytest.mark.parametrize("xpos", ["POS", "NN", "VBZ", "IN", "CC", "SYM", "CD", "DT", "UH"])
def test_a_tag_that_contradicts_the_universal_tag_is_none_of_penns(xpos):
    assert CLEAN.accepts_dependent(xpos, "ADJ")
    assert not CLEAN.accepts_head(xpos, "ADJ")
    assert CLEAN.is_contradiction(Token("old", "old", "ADJ", xpos))


@pytest.mark.parametrize("upos", ["_", "", "X", "CONJ", "NN"])
def test_penns_tag_decides_where_no_universal_tag_contradicts(upos):
    assert CLEAN.accepts_head("NN", upos)
    assert not CLEAN.is_contradiction(Token("dog", "dog", upos, "NN"))


def test_names_keep_penns_tag_whatever_their_part_of_speech():
    assert not CLEAN.accepts_dependent("NNP", "ADJ")
    assert ReadingRules(proper_nouns=True).accepts_head("NNP", "ADJ")


def test_the_fourth_column_alone_contradicts_nothing():
    assert PAPER.accepts_head("POS", "NOUN")
    assert not PAPER.is_contradiction(Token("dog", "dog", "NOUN", "POS"))


@pytest.mark.parametrize("xpos", ["_", "", "ADJA", "-RRB", "jj"])
def test_the_universal_tag_decides_without_a_penn_tag(xpos):
    assert CLEAN.accepts_dependent(xpos, "ADJ")
    assert CLEAN.accepts_head(xpos, "NOUN")
    assert not CLEAN.accepts_head(xpos, "ADJ")


def test_heads_are_common_nouns_and_on_request_singular_or_proper():
    proper = ReadingRules(proper_nouns=True)
    assert CLEAN.accepts_head("NN", "_") and CLEAN.accepts_head("NNS", "_")
    assert not ReadingRules(heads="singular").accepts_head("NNS", "_")
    assert not CLEAN.accepts_head("NNP", "_") and not CLEAN.accepts_head("_", "PROPN")
    assert proper.accepts_head("NNP", "_") and proper.accepts_head("NNPS", "_")
    assert proper.accepts_head("_", "PROPN")
    assert not replace(proper, heads="singular").accepts_head("NNPS", "_")


def test_clean_reads_form_and_lemma_in_lower_case():
    assert CLEAN.read(BIG, DOGS) == ("big", "dog")


def test_rules_select_form_or_lemma_and_case():
    rules = ReadingRules(adjective_by="lemma", noun_by="form", lowercase=False)
    assert rules.read(Token("Bigger", "Big", "ADJ", "JJR"), DOGS) == ("Big", "Dogs")


@pytest.mark.parametrize("lemma", ["_", ""])
def test_a_missing_lemma_is_the_form(lemma):
    assert CLEAN.read(BIG, DOGS._replace(lemma=lemma)) == ("big", "dogs")


def test_withheld_words_make_no_pair():
    withheld = Token("_", "_", "NOUN", "NN")
    assert CLEAN.read(BIG, withheld) == "no_letter_or_digit"
    assert CLEAN.read(withheld._replace(upos="ADJ", xpos="JJ"), DOGS) == "no_letter_or_digit"


def test_paper_takes_any_dependent_and_singular_heads():
    used = Token("used", "use", "VERB", "VBN")
    dog = Token("dog", "dog", "NOUN", "NN")
    assert PAPER.read(used, dog) == ("used", "dog")
    dogs = Token("dogs", "dog", "NNS", "NNS")
    assert PAPER.read(BIG, dogs) == "head_not_noun"
    # In CoNLL-U the fourth column has the universal tag, which does not mark number.
    assert PAPER.read(BIG, DOGS) == ("big", "dog")
    assert replace(PAPER, tag_column="fifth").read(BIG, DOGS) == "head_not_noun"
    assert CLEAN.read(used, dog) == "dependent_not_adjective"


def test_an_adjective_needs_a_letter_or_digit_and_a_noun_any_character():
    assert CLEAN.read(BIG._replace(form="--"), DOGS) == "no_letter_or_digit"
    assert CLEAN.read(BIG._replace(form="3"), DOGS) == ("3", "dog")
    assert CLEAN.read(BIG._replace(form="Élan"), DOGS) == ("élan", "dog")
    assert CLEAN.read(BIG, DOGS._replace(form="", lemma="")) == "no_letter_or_digit"
