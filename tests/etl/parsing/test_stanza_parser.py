"""Documents of Stanza become columns; running its pipeline would need its models."""

from typing import Any

import pytest

from adnominal.conf import UserError
from adnominal.etl.amod.columns import occurrences, pairs
from adnominal.etl.amod.rules import CLEAN
from adnominal.etl.parsing import check_parser, stanza_parser
from adnominal.etl.parsing.tokens import SENTENCES, TOKENS

pytest.importorskip("stanza")

WEB: list[list[dict[str, Any]]] = [
    [
        {"id": 1, "text": "Anti", "lemma": "anti", "xpos": "JJ", "head": 4, "deprel": "amod"},
        {"id": 2, "text": "-", "lemma": "-", "xpos": "HYPH", "head": 4, "deprel": "punct"},
        {"id": 3, "text": "war", "lemma": "war", "xpos": "NN", "head": 4, "deprel": "compound"},
        {"id": 4, "text": "men", "lemma": "man", "xpos": "NNS", "head": 7, "deprel": "nsubj"},
        {"id": (5, 6), "text": "don't"},
        {"id": 5, "text": "do", "lemma": "do", "xpos": "VBP", "head": 7, "deprel": "aux"},
        {"id": 6, "text": "n't", "lemma": "not", "xpos": "RB", "head": 7, "deprel": "advmod"},
        {"id": 7, "text": "want", "lemma": "want", "xpos": "VB", "head": 0, "deprel": "root"},
        {"id": 8, "text": "big", "lemma": "big", "xpos": "JJ", "head": 9, "deprel": "amod"},
        {"id": 9, "text": "guns", "lemma": "gun", "xpos": "NNS", "head": 7, "deprel": "obj"},
        {"id": 10, "text": ".", "xpos": ".", "head": 7, "deprel": "punct"},
    ],
    [
        {"id": 1, "text": "Old", "lemma": "old", "xpos": "JJ", "head": 2, "deprel": "amod"},
        {"id": 2, "text": "mice", "lemma": "mouse", "xpos": "NNS", "head": 0, "deprel": "root"},
    ],
]
for touching in (0, 1, 9):
    WEB[0][touching]["misc"] = "SpaceAfter=No"


def document(sentences):
    from stanza.models.common.doc import Document

    return Document([[dict(word) for word in sentence] for sentence in sentences])


def test_a_document_becomes_columns():
    parsed = stanza_parser.columns([(3, document(WEB))])
    assert parsed.tokens.schema == TOKENS and parsed.sentences.schema == SENTENCES
    rows = [tuple(token.values()) for token in parsed.tokens.to_pylist()]
    assert rows[0] == (3, 0, 1, "Anti", "anti", "JJ", 4, "amod", False)
    assert rows[4:6] == [
        (3, 0, 5, "do", "do", "VBP", 7, "aux", False),
        (3, 0, 6, "n't", "not", "RB", 7, "advmod", True),
    ]
    assert rows[8] == (3, 0, 9, "guns", "gun", "NNS", 7, "obj", False)
    assert rows[9] == (3, 0, 10, ".", None, ".", 7, "punct", True)
    assert rows[11] == (3, 1, 2, "mice", "mouse", "NNS", 0, "root", True)
    assert [tuple(row.values()) for row in parsed.sentences.to_pylist()] == [
        (3, 0, "Anti-war men don't want big guns."),
        (3, 1, "Old mice"),
    ]


def test_pairs_are_found_in_the_columns():
    rows = pairs(occurrences(stanza_parser.columns([(0, document(WEB))]).tokens, CLEAN))
    assert [tuple(row.values()) for row in rows.to_pylist()] == [
        (0, 0, "big", "gun"),
        (0, 1, "old", "mouse"),
    ]


def test_sentence_numbers_continue_over_paragraphs():
    parsed = stanza_parser.columns(
        [(1, document(WEB[1:])), (1, document([])), (1, document(WEB)), (2, document(WEB[1:]))],
        last_position=(1, 5),
    )
    numbers = [(s["document"], s["sentence"]) for s in parsed.sentences.to_pylist()]
    assert numbers == [(1, 5), (1, 6), (1, 7), (2, 0)]
    assert stanza_parser.columns([]).tokens.num_rows == 0


def test_missing_models_are_reported_with_a_command(tmp_path):
    with pytest.raises(UserError, match=r"stanza\.download\('en', model_dir="):
        check_parser("stanza", str(tmp_path))
    (tmp_path / "resources.json").touch()
    for processor in stanza_parser.PROCESSORS:
        (tmp_path / "en" / processor).mkdir(parents=True)
    assert stanza_parser.find_model(str(tmp_path)) == str(tmp_path)


def test_the_tags_of_other_languages_are_the_universal_ones():
    words = [
        {
            "id": 1,
            "text": "Vieux",
            "lemma": "vieux",
            "upos": "ADJ",
            "xpos": "a",
            "head": 2,
            "deprel": "amod",
        },
        {
            "id": 2,
            "text": "chiens",
            "lemma": "chien",
            "upos": "NOUN",
            "xpos": "n",
            "head": 0,
            "deprel": "root",
        },
    ]
    parsed = stanza_parser.columns([(0, document([words]))], has_penn_tags=False)
    (pair,) = pairs(occurrences(parsed.tokens, CLEAN)).to_pylist()
    assert (pair["adjective"], pair["noun"]) == ("vieux", "chien")


def test_the_models_of_another_language_are_checked_before_any_work(tmp_path):
    with pytest.raises(UserError, match=r"parser_language=xx-none: not a language of Stanza"):
        check_parser("stanza", str(tmp_path), "xx-none")
    with pytest.raises(UserError, match=r"has no .*fr/pos.*stanza\.download\('fr'"):
        check_parser("stanza", str(tmp_path), "fr")
