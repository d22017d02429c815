"""Documents: samples, normal form, and the parts of long texts."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from etl.corpora.documents import Document, LeftOut, Rejected, normal_form, pieces, sample_of


def test_short_texts_stay_as_they_are():
    document = Document("a", "One. Two.")
    assert list(pieces(document, 9)) == [document]


def test_paragraphs_before_sentences():
    parts = list(pieces(Document("a", "One. Two.\nThree. Four.\nFive."), 16))
    assert parts == [
        Document("a#part=1", "One. Two."),
        Document("a#part=2", "Three. Four."),
        Document("a#part=3", "Five."),
    ]


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
    assert (
        letters == document_letters
        if len(documents) == len(events)
        else letters.startswith(document_letters)
    )


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


def test_normal_form_joins_marks_and_changes_nothing_else():
    assert normal_form("cafe\u0301 m² ﬁ ½") == "café m² ﬁ ½"


def test_place():
    assert Rejected("nul", "x", line=3, offset=9).place("a") == "a, line 3"
    assert Rejected("nul", "x", offset=9).place("a") == "a, byte 9"
    assert Rejected("nul", "x").place("a") == "a"


def test_events_travel_between_processes():
    events = [Document("a", "b"), Rejected("nul", "x", 1, 2), LeftOut("empty", "T")]
    assert pickle.loads(pickle.dumps(events)) == events  # noqa: S301
