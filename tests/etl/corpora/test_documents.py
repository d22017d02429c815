"""Documents: samples, the normal form, filters, and the parts of long texts."""

import json
import pickle

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adnominal.etl.corpora import columnar, text, wikipedia
from adnominal.etl.corpora.documents import (
    MAX_CHARACTERS,
    Document,
    DocumentFilter,
    LeftOut,
    Rejected,
    pieces,
    sample_of,
)
from adnominal.etl.corpora.files import Unit


def test_short_texts_stay_whole():
    document = Document("a", "One. Two.")
    assert list(pieces(document, 9)) == [document]


def test_long_texts_are_split_at_paragraphs_before_sentences():
    parts = list(pieces(Document("a", "One. Two.\nThree. Four.\nFive."), 16))
    assert parts == [
        Document("a#part=1", "One. Two."),
        Document("a#part=2", "Three. Four."),
        Document("a#part=3", "Five."),
    ]


def test_filters_judge_the_whole_of_a_long_document():
    english = "A red apple fell from the old tree. " * 30_000
    german = "Der alte Baum ist rot. " * 99
    document_filter = DocumentFilter("en", 1_050_000)
    document = Document("a", f"{english}\n{german}")
    assert list(document_filter.events(document)) == list(pieces(document))
    assert list(document_filter.events(Document("a", english[:99]))) == [LeftOut("too_short", "a")]
    assert list(document_filter.events(Document("a", german * 800))) == [LeftOut("language", "a")]


def test_every_reader_filters_whole_documents(tmp_path):
    long_text, tail = "A red apple fell. " * (MAX_CHARACTERS // 18), "The thief had a false key."
    document_filter = DocumentFilter(min_characters=500)

    def unit(name, data):
        (tmp_path / name).write_text(data)
        return Unit(str(tmp_path / name), len(data), 0, len(data))

    line = json.dumps({"id": "a", "text": f"{long_text}\n{tail}"})
    row = columnar.Texts("x", *(pa.array([cell]) for cell in ("a", f"{long_text}\n{tail}", 0)))
    page = (
        "<page><title>a</title><ns>0</ns><revision><text>"
        f"{long_text}\n\n{tail}</text></revision></page>"
    )
    events_of_readers = [
        text.read_unit(unit("a.jsonl", line), document_filter=document_filter),
        text.read_unit(unit("a.txt", f"{long_text}{tail}"), document_filter=document_filter),
        columnar.documents_of(row, document_filter),
        wikipedia.read_unit(unit("a.xml", page), document_filter),
    ]
    for events in events_of_readers:
        *_, last = events
        assert isinstance(last, Document) and last.text.endswith(tail) and "#part=2" in last.id


def test_text_without_sentence_ends_is_rejected():
    parts = list(pieces(Document("a", "One. " + "x" * 30), 10, offset=3))
    assert parts == [Document("a#part=1", "One."), Rejected("too_long", "x" * 30, None, 3)]


@given(st.text(st.sampled_from("ab .\n!"), max_size=80), st.integers(1, 30))
def test_no_word_is_lost_before_a_rejection(words, limit):
    events = list(pieces(Document("a", words), limit))
    documents = [e for e in events if isinstance(e, Document)]
    assert all(len(e.text) <= limit for e in documents)
    document_letters = "".join("".join(e.text for e in documents).split())
    letters = "".join(words.split())
    assert letters.startswith(document_letters)
    assert letters == document_letters or len(documents) < len(events)


@pytest.mark.parametrize(
    ("data", "sample"),
    [
        (b"caf\xe9\n\tx", "caf\\xe9 x"),
        ("a\0b", "a\\0b"),
        ("word " * 100, ("word " * 40).strip()),
        (b"", ""),
    ],
)
def test_samples_are_short_and_printable(data, sample):
    assert sample_of(data) == sample


def test_events_can_be_pickled():
    events = [Document("a", "b"), Rejected("nul", "x", 1, 2), LeftOut("empty", "T")]
    assert pickle.loads(pickle.dumps(events)) == events  # noqa: S301
