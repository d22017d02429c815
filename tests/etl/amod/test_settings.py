"""Settings of the extraction: those that define a corpus, and those that are refused."""

import pytest

from adnominal.conf import UserError, load, settings_hash
from adnominal.etl.amod.settings import Settings, decisive_settings, earlier_identities


def test_the_automatic_parser_is_spacy_for_unknown_files():
    settings = load(Settings, ["source=text", "input=x"])
    assert settings.parser == "auto"
    with_spacy = load(Settings, ["source=text", "input=x", "parser=spacy"])
    assert decisive_settings(settings) == decisive_settings(with_spacy)
    with pytest.raises(UserError, match="parser=fast with dependent=any"):
        load(Settings, ["source=text", "input=x", "parser=fast", "preset=paper"])


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["source=depcc"], "9b80ba4cba0b5836"),
        (["source=conllu", "preset=paper"], "e575920f16390619"),
        (["source=wikipedia", "examples=3", "keep_text=true"], "4626cad7332cd96c"),
        (["source=depcc", "deduplicate=sentence"], "c07fff52cd31441d"),
    ],
)
def test_the_hash_of_a_corpus_stays_so_that_it_continues(words, expected):
    assert settings_hash(decisive_settings(load(Settings, [*words, "input=x"]))) == expected


def test_a_corpus_of_the_first_version_of_text_is_recognised():
    words = ["source=wikipedia", "examples=3", "keep_text=true", "input=x"]
    (earlier,) = earlier_identities(load(Settings, words))
    assert settings_hash(earlier) == "ee07573c67f77324"


@pytest.mark.parametrize(
    ("words", "is_stated"),
    [
        (["preset=paper", "relations=amod,advmod"], True),
        (["preset=paper", "relations=amod,obj"], False),
        (["relations=amod,advmod"], False),
    ],
)
def test_relations_whose_dependents_were_any_words_are_not_continued(words, is_stated):
    settings = load(Settings, ["source=conllu", "input=x", *words])
    assert ("dependent of further relations" in decisive_settings(settings)) is is_stated


@pytest.mark.parametrize(
    ("source", "word"),
    [
        *(
            (source, word)
            for source in ("conllu", "depcc")
            for word in ("language=de", "min_characters=5", "parser=fast", "parser_model=x")
        ),
        *(
            (source, word)
            for source in ("conllu", "wikipedia")
            for word in ("text_field=body", "id_field=key", "where=a = 1")
        ),
        *(
            (source, word)
            for source in ("wikipedia", "text")
            for word in ("tag_column=fourth", "kernel=reference")
        ),
    ],
)
def test_settings_without_effect_on_a_source_are_refused(source, word):
    with pytest.raises(UserError, match=f"^{word.partition('=')[0]}= is for"):
        load(Settings, [f"source={source}", "input=x", word])
    other = "conllu" if word in ("tag_column=fourth", "kernel=reference") else "text"
    load(Settings, [f"source={other}", "input=x", word])


def test_an_empty_name_of_a_corpus_is_refused():
    with pytest.raises(UserError, match=r"^corpus= is empty; give a name or leave it out"):
        load(Settings, ["source=conllu", "input=x", "corpus= "])


def test_an_empty_condition_is_refused():
    with pytest.raises(UserError, match=r"^where= is empty; give a condition"):
        load(Settings, ["source=text", "input=x", "where= "])


@pytest.mark.parametrize("name", ["é" * 40, "x" * 200])
def test_a_name_too_long_for_a_folder_is_refused(name):
    with pytest.raises(UserError, match=r"^corpus=.*more than 180; give a shorter name"):
        load(Settings, ["source=conllu", "input=x", f"corpus={name}"])
    load(Settings, ["source=conllu", "input=x", f"corpus={name[:20]}"])
