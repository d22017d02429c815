"""The lemmas of nouns that the dictionary knows better than a parser's rules."""

import pytest

from adnominal.etl.knowledge.inflection import noun_lemma


@pytest.mark.parametrize("form", ["specimen", "lumen", "regimen", "omen", "foramen", "ramen"])
def test_singulars_in_men_keep_their_ending(form):
    assert noun_lemma(form, f"{form[:-3]}man") == form


@pytest.mark.parametrize("form", ["men", "women", "fishermen", "lobstermen", "frenchmen"])
def test_plurals_of_man_keep_their_lemma(form):
    assert noun_lemma(form, f"{form[:-3]}man") == f"{form[:-3]}man"


@pytest.mark.parametrize(
    ("form", "lemma"),
    [
        ("larvae", "larva"),
        ("algae", "alga"),
        ("stigmata", "stigma"),
        ("cacti", "cactus"),
        ("corpora", "corpus"),
        ("tableaux", "tableau"),
        ("millennia", "millennium"),
        ("oxen", "ox"),
        ("hyphae", "hypha"),
        ("chateaux", "chateau"),
        ("stomata", "stoma"),
        ("bacteria", "bacterium"),
        ("gyri", "gyrus"),
        ("leaves", "leaf"),
        ("regalia", "regalia"),
        ("wikis", "wiki"),
    ],
)
def test_plurals_of_other_languages_have_the_lemma_of_the_dictionary(form, lemma):
    assert noun_lemma(form, form) == lemma


@pytest.mark.parametrize("form", ["species", "means", "politics", "gallows", "atlas", "diabetes"])
def test_singulars_in_s_keep_their_ending(form):
    assert noun_lemma(form, form[:-1]) == form


@pytest.mark.parametrize("form", ["dogs", "glasses", "goods", "crossroads", "blorps"])
def test_plurals_in_s_keep_their_lemma(form):
    assert noun_lemma(form, form[:-1]) == form[:-1]


@pytest.mark.parametrize(
    ("form", "of_rules", "lemma"),
    [
        ("cookies", "cooky", "cookie"),
        ("hobbies", "hobby", "hobby"),
        ("smoothies", "smoothy", "smoothie"),
        ("cryptocurrencies", "cryptocurrencie", "cryptocurrency"),
        ("checkboxes", "checkboxe", "checkbox"),
        ("subprocesses", "subprocesse", "subprocess"),
        ("proteases", "protease", "protease"),
        ("meninges", "meninge", "meninx"),
        ("subspecies", "subspecie", "subspecies"),
    ],
)
def test_endings_that_the_rules_of_a_parser_take_for_others(form, of_rules, lemma):
    assert noun_lemma(form, of_rules) == lemma


@pytest.mark.parametrize("form", ["basis", "virus", "opera", "reggae", "bordeaux", "blorps"])
def test_other_nouns_keep_the_lemma_of_the_parser(form):
    assert noun_lemma(form, form) == form
    assert noun_lemma(form, "other") == "other"
