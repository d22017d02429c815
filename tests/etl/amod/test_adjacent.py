from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from adnominal.conf import UserError
from adnominal.etl.amod.adjacent import AdjacentCounter, check_words, count_words, words
from adnominal.etl.corpora.documents import Document
from adnominal.etl.corpora.text import text_events

PAIRS = [("false", "key"), ("key", "false"), ("false", "false"), ("old", "key-ring"), ("é", "ß")]


def test_words_are_marked_where_only_spaces_precede_them():
    text = "The false key-ring, a\u00a0key\u2019s end\nof non\u2010toxic x-"
    assert list(words(text)) == [
        ("the", False),
        ("false", True),
        ("key-ring", True),
        ("a", False),
        ("key", True),
        ("s", False),
        ("end", True),
        ("of", False),
        ("non-toxic", True),
        ("x", True),
    ]


@pytest.mark.parametrize("implementation", ["compiled", "reference"])
@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("False  KEY, false\tkey", 2),
        ("a false keyhole; infalse key; false-key; false, key; false\nkey; false. Key", 0),
        ("the false key's bow", 1),
        ("false\u00a0key", 1),
        ("false\u2028key", 0),
        ("false_key false \u2014 key", 0),
        ("", 0),
    ],
)
def test_neighbouring_words_are_counted_as_pairs(implementation, text, count):
    counter = AdjacentCounter(PAIRS, implementation=implementation)
    assert counter.implementation == implementation
    counter.feed(text)
    counter.feed(text)
    assert counter.counts()[0] == 2 * count


LETTERS = st.sampled_from(
    "aAzZ09 \t\n\r\f-_',.\0\u2010\u2011\u00a0\u2028éÉßİΣK𝒳\U00010400\u0301²一\x85\x1f\u00ad"
)
TEXTS = st.one_of(
    st.lists(
        st.sampled_from(
            ["false", "FALSE", "key", "Key", " ", "  ", "-", ",", "\n", "old", "key-ring", "é", "ß"]
        )
    ).map("".join),
    st.lists(st.one_of(LETTERS, st.sampled_from(["false ", "key "]))).map("".join),
    st.text(),
)


@given(st.lists(TEXTS, max_size=4), st.booleans())
@example(["false " * 400 + "key" * 200 + " false key"], True)
@example(["x" * 300 + " false key"], True)
@example(["\u212aey false"], True)
def test_the_compiled_counter_gives_the_counts_of_the_reference(texts, lowercase):
    counter = AdjacentCounter(PAIRS, lowercase)
    assert counter.implementation == "compiled"
    expected = dict.fromkeys(PAIRS, 0)
    for text in texts:
        text = text.encode("utf-8", "replace").decode()
        counter.feed(text)
        for pair, count in count_words(text, PAIRS, lowercase).items():
            expected[pair] += count
    assert counter.counts() == [expected[pair] for pair in PAIRS]


@given(st.data())
def test_every_pair_of_words_of_a_text_is_counted(data):
    text = data.draw(TEXTS).encode("utf-8", "replace").decode()
    words_of_text = list(words(text))
    pairs = {
        (left[0], right[0])
        for left, right in pairwise(words_of_text)
        if right[1] and len(left[0].encode()) < 250 and len(right[0].encode()) < 250
    }
    counter = AdjacentCounter(sorted(pairs))
    counter.feed(text)
    counts = count_words(text, sorted(pairs))
    assert counter.counts() == [counts[pair] for pair in sorted(pairs)]


@pytest.mark.parametrize("word", ["two words", "key's", "", "-key", "key-", "Key", "x" * 256])
def test_pairs_of_anything_but_single_words_are_refused(word):
    with pytest.raises(UserError, match="is not one word"):
        check_words([("false", word)], lowercase=True)
    check_words([("false", "key-ring"), ("é", "2nd")], lowercase=True)


def test_the_compiled_counter_checks_its_words():
    with pytest.raises(ValueError, match="'a b' is not one word"):
        AdjacentCounter([("a b", "c")])


WIDE = "word " * 22 + "false"
LINES = st.sampled_from(
    [
        "", " ", "false", "key-ring old", " the\tfalse  key", "old key\u00a0ring", "False\u2019s",
        "x" * 40, "word " * 9 + "false", "key " + "word " * 8, WIDE, WIDE + " much too wide here",
        "\u00a0" * 130, "e\u0301", "\u65e5\u672c", "\0", "\x85", "a\rb", "-",
    ]
)  # fmt: skip


@given(st.lists(LINES, max_size=6), st.integers(0, 2))
@example(["key " + "word " * 8 + "false", "key " + "word " * 8], 0)
@example([WIDE, "key"], 1)
def test_texts_counted_directly_give_the_counts_of_their_documents(lines, skipped):
    texts = pa.array(["x", "\n".join(lines), "\n".join(lines[::-1]), "a false key"])[skipped:]
    counter, expected = AdjacentCounter(PAIRS), AdjacentCounter(PAIRS, implementation="reference")
    uncounted_rows = counter.feed_texts(texts)
    for row, text in enumerate(texts.to_pylist()):
        events = list(text_events("name", text, text))
        if row in uncounted_rows:
            continue
        (document,) = events
        assert isinstance(document, Document)
        expected.feed(document.text)
    assert counter.counts() == expected.counts()


def test_texts_that_must_become_documents_first_are_not_counted():
    wrapped = "word " * 9 + "false\nkey " + "word " * 7
    texts = ["", " \n ", "a\0b", "e\u0301", "plain", wrapped, "short\nlines"]
    texts.append(f"{wrapped}\n{WIDE} on")
    assert AdjacentCounter(PAIRS).feed_texts(pa.array(texts)) == [0, 1, 2, 3, 5]
    reference = AdjacentCounter(PAIRS, implementation="reference")
    assert reference.feed_texts(pa.array(texts)) == list(range(len(texts)))
