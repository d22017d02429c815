"""Converting Spark NLP's annotation columns, in their documented schema, to tokens."""

import importlib.util
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adnominal.conf import UserError
from adnominal.etl.amod.columns import occurrences, pairs
from adnominal.etl.amod.rules import CLEAN
from adnominal.etl.parsing import check_parser, load_parser, sparknlp_parser
from adnominal.etl.parsing.tokens import SENTENCES, TOKENS

ANNOTATION = (
    "array<struct<annotatorType:string,begin:int,end:int,result:string,"
    "metadata:map<string,string>,embeddings:array<float>>>"
)
SCHEMA = ", ".join(
    ["name string", *(f"`{column}` {ANNOTATION}" for column in sparknlp_parser.ANNOTATIONS)]
)

# (form, lemma, tag, head counted from 1, relation, whether white space follows)
Word = tuple[str, str, str, int, str, bool]
DOCUMENT: list[list[Word]] = [
    [
        ("Old", "old", "JJ", 3, "amod", True),
        ("anti", "anti", "JJ", 3, "amod", False),
        ("-war", "-war", "NNS", 0, "root", True),
        ("old", "old", "JJ", 5, "amod", True),
        ("mice", "mouse", "NNS", 3, "obj", False),
        (".", ".", ".", 3, "punct", True),
    ],
    [
        ("Nice", "nice", "JJ", 2, "amod", True),
        ("Dogs", "dog", "NNS", 3, "nsubj", True),
        ("see", "see", "VB", 0, "root", True),
        ("low", "low", "JJ", 6, "amod", False),
        ("-", "-", ":", 6, "punct", False),
        ("end", "end", "NN", 3, "obj", False),
    ],
]


def annotation_columns(name: str, sentences: list[list[Word]]) -> tuple[Any, ...]:
    """The row that Spark NLP would give for these trees."""

    def annotation(kind, begin, end, result, **metadata):
        return (kind, begin, end, result, {k: str(v) for k, v in metadata.items()}, [])

    texts, tokens, tags, heads, labels = [], [], [], [], []
    offset = 0
    for number, words in enumerate(sentences):
        begins = []
        first = offset
        for form, *_, space in words:
            begins.append(offset)
            offset += len(form) + space
        text = "".join(form + " " * space for form, *_, space in words).rstrip()
        texts.append(annotation("document", first, first + len(text) - 1, text, sentence=number))
        for begin, (form, _, tag, head, relation, _) in zip(begins, words, strict=True):
            span = (begin, begin + len(form) - 1)
            tokens.append(annotation("token", *span, form, sentence=number))
            tags.append(annotation("pos", *span, tag, word=form, sentence=number))
            word, start = (words[head - 1][0], begins[head - 1]) if head else ("ROOT", -1)
            where = {"head": head, "head.begin": start, "head.end": start + len(word) - 1}
            heads.append(annotation("dependency", *span, word, sentence=number, **where))
            labels.append(annotation("labeled_dependency", *span, relation, sentence=number))
    return (name, texts, tokens, tags, heads, labels)


def convert(spark, rows: list[tuple[Any, ...]]) -> pa.RecordBatch:
    frame = sparknlp_parser.with_tokens(spark.createDataFrame(rows, SCHEMA))
    assert frame.columns == ["name", "tokens", "sentences"]
    assert frame.schema["tokens"].dataType.simpleString() == sparknlp_parser.TOKENS_TYPE
    return frame.toArrow().combine_chunks().to_batches()[0]


def token_rule(sentences: list[list[Word]]) -> list[tuple[Any, ...]]:
    """The pairs of the trees by the rule on tokens, with the ids and lemmas of the trees."""
    rows = [
        (0, number, i, form, lemma, tag, head, relation, space)
        for number, words in enumerate(sentences)
        for i, (form, lemma, tag, head, relation, space) in enumerate(words, 1)
    ]
    named = [dict(zip(TOKENS.names, row, strict=True)) for row in rows]
    batch = pa.RecordBatch.from_pylist(named, schema=TOKENS)
    return [tuple(row.values()) for row in pairs(occurrences(batch, CLEAN)).to_pylist()]


def test_pairs_equal_those_of_the_token_rule(spark):
    batch = convert(spark, [annotation_columns("a", []), annotation_columns("b", DOCUMENT)])
    parsed = sparknlp_parser.to_parsed(batch)
    assert parsed.tokens.schema == TOKENS and parsed.sentences.schema == SENTENCES
    rows = [tuple(row.values()) for row in parsed.tokens.to_pylist()]
    assert rows[:3] == [
        (1, 0, 1, "Old", None, "JJ", 9, "amod", True),
        (1, 0, 5, "anti", None, "JJ", 9, "amod", False),
        (1, 0, 9, "-war", "-war", "NNS", 0, "root", True),
    ]
    assert [tuple(row.values()) for row in parsed.sentences.to_pylist()] == [
        (1, 0, "Old anti-war old mice."),
        (1, 1, "Nice Dogs see low-end"),
    ]
    parsed_pairs = [
        tuple(row.values()) for row in pairs(occurrences(parsed.tokens, CLEAN)).to_pylist()
    ]
    expected = token_rule(DOCUMENT)
    assert [(s, a, n) for _, s, a, n in parsed_pairs] == [(s, a, n) for _, s, a, n in expected]
    assert ("old", "mouse") in {row[2:] for row in parsed_pairs}


WORDS = st.tuples(
    st.sampled_from([("old", "old"), ("mice", "mouse"), ("-", "-"), ("Dogs", "dog"), ("3", "3")]),
    st.sampled_from(["JJ", "NNS", "VB", ":"]),
    st.integers(0, 5),
    st.sampled_from(["amod", "amod", "obj"]),
    st.booleans(),
)


@settings(max_examples=5)
@given(st.lists(st.lists(st.lists(WORDS, min_size=1, max_size=6), max_size=3), max_size=20))
def test_pairs_of_any_trees_equal_those_of_the_token_rule(spark, documents_of_words):
    documents = [
        [
            [
                (*word, tag, min(head, len(words)), rel, space)
                for word, tag, head, rel, space in words
            ]
            for words in sentences
        ]
        for sentences in documents_of_words
    ]
    if not documents:
        return
    rows = [annotation_columns(str(i), sentences) for i, sentences in enumerate(documents)]
    parsed = sparknlp_parser.to_parsed(convert(spark, rows))
    parsed_pairs = [
        tuple(row.values()) for row in pairs(occurrences(parsed.tokens, CLEAN)).to_pylist()
    ]
    expected = [
        (i, *row[1:]) for i, document in enumerate(documents) for row in token_rule(document)
    ]
    assert parsed_pairs == expected


def test_annotations_that_are_not_parallel_are_dropped(spark):
    name, texts, tokens, tags, heads, labels = annotation_columns("b", DOCUMENT)
    rows = [
        (name, texts, tokens, tags, heads, labels[1:]),
        annotation_columns("c", DOCUMENT[1:]),
        (name, texts, tokens, tags[1:], heads, labels),
    ]
    batch = convert(spark, rows)
    assert [t is None for t in batch.column("tokens").to_pylist()] == [True, False, True]
    assert set(sparknlp_parser.to_parsed(batch).tokens.column("document").to_pylist()) == {1}


def test_annotations_can_be_converted_in_workers(spark):
    def pairs_in_worker(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield pairs(occurrences(sparknlp_parser.to_parsed(batch).tokens, CLEAN)).select(
                ["adjective", "noun"]
            )

    frame = spark.createDataFrame([annotation_columns("b", DOCUMENT)], SCHEMA)
    rows = sparknlp_parser.with_tokens(frame).mapInArrow(
        pairs_in_worker, "adjective string, noun string"
    )
    assert sorted(map(tuple, rows.collect())) == [
        ("anti", "-war"),
        ("nice", "dog"),
        ("old", "-war"),
        ("old", "mouse"),
    ]


def test_a_missing_jar_is_reported_with_its_option(spark):
    pytest.importorskip("sparknlp")
    with pytest.raises(UserError, match=r"--packages com\.johnsnowlabs\.nlp:spark-nlp_2\.12:"):
        check_parser("sparknlp")


def test_pipelines_of_other_tags_or_columns_are_refused(spark):
    def transform(tag: str, *columns: str) -> Any:
        words = [[("Old", "old", tag, 2, "amod", True), ("dog", "dog", tag, 0, "root", False)]]
        row = annotation_columns("a", words)
        frame = spark.createDataFrame([row], SCHEMA)
        return lambda _: frame.drop(*columns)

    sparknlp_parser.check_pipeline(transform("JJ"), spark, "m")
    with pytest.raises(UserError, match=r"gives the tags ADJ for .*; expected Penn tags"):
        sparknlp_parser.check_pipeline(transform("ADJ"), spark, "m")
    with pytest.raises(UserError, match="makes no column pos, but name, sentence"):
        sparknlp_parser.check_pipeline(transform("JJ", "pos"), spark, "m")


def test_a_missing_package_is_reported_with_its_command(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UserError, match="pip install spark-nlp=="):
        check_parser("sparknlp")


def test_spark_nlp_cannot_be_loaded_as_a_parser_of_texts():
    with pytest.raises(UserError, match="expected one of spacy, fast, stanza"):
        load_parser("sparknlp")
