"""Blocks and ranges end between sentences, and neither lose nor repeat bytes."""

import io
import re
import zlib
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adnominal.etl.amod.reference import Stats, sentences
from adnominal.etl.amod.rules import CLEAN
from adnominal.etl.corpora.blocks import NoBoundary, blocks
from adnominal.etl.corpora.dialects import DEPCC
from tests.etl.amod import parsed


def read(data, **options):
    return [bytes(block) for block in blocks(io.BytesIO(data), **options)]


def whole_sentences(data):
    """Each sentence with its text and document, as the reference reads them in one block."""
    return [(s.rows, s.text) for s in sentences([data], DEPCC, CLEAN, Stats())]


def test_cuts_after_blank_lines():
    assert read(b"a\n\nbb\n\nccc\n\nd", size=8) == [b"a\n\nbb\n\n", b"ccc\n\nd"]


def test_cuts_after_blank_lines_that_end_in_crlf():
    assert read(b"aa\r\n\r\nbb\r\n\r\nc", size=7) == [b"aa\r\n\r\n", b"bb\r\n\r\n", b"c"]


@pytest.mark.parametrize("blank", ["\u3000", "\u2003 ", "\x1d", "\u0085"])
def test_cuts_after_lines_of_any_white_space(blank):
    line = f"{blank}\n".encode()
    data = b"a\n" + line + b"b\n" + line + b"c\n"
    sentence = 2 + len(line)
    assert read(data, size=sentence + 1) == [data[:sentence], data[sentence:-2], b"c\n"]
    assert read(data, start=1, end=sentence + 1) == [data[sentence:-2]]


def test_cuts_before_sentence_marks():
    assert read(b">>>>>\ta\n1\n>>>>>\tb\n2\n", size=16) == [b">>>>>\ta\n1\n", b">>>>>\tb\n2\n"]


def test_cuts_before_comments_after_rows_only():
    data = b"# a\n# b\n1\n# c\n# d\n2\n"
    assert read(data, size=18) == [b"# a\n# b\n1\n", b"# c\n# d\n2\n"]


def test_a_sentence_longer_than_the_buffer_stays_whole():
    data = b"a\n\n" + b"b\n" * 50 + b"\nc\n" + b"\nd\n" * 50
    parts = read(data, size=8)
    assert b"".join(parts) == data
    assert parts[0] == b"a\n\n"
    assert parts[1].startswith(b"b\n" * 50 + b"\n")


def test_no_boundary_within_the_limit_is_an_error():
    with pytest.raises(NoBoundary, match="64 bytes without the end of a sentence"):
        read(b"x" * 100, size=16, limit=64)
    assert read(b"x" * 63, size=16, limit=64) == [b"x" * 63]


def test_an_empty_file_has_no_blocks():
    assert read(b"") == []


def test_a_byte_order_mark_is_skipped_only_at_the_beginning_of_the_file():
    data = b"\xef\xbb\xbfa\n\n\xef\xbb\xbfb\n\nc\n\n"
    assert read(data, size=8) == [b"a\n\n", b"\xef\xbb\xbfb\n\n", b"c\n\n"]
    assert read(data, end=2) == [b"a\n\n"]
    assert read(data, start=6) == [b"\xef\xbb\xbfb\n\nc\n\n"]
    assert read(b"\xef\xbb\xbf") == []


def test_short_reads_are_joined_into_blocks():
    class Dripping(io.BytesIO):
        def readinto(self, buffer):
            return super().readinto(memoryview(buffer)[:3])

    assert [bytes(b) for b in blocks(Dripping(b"a\n\nb\n\nc\n\n"), size=9)] == [b"a\n\nb\n\nc\n\n"]


def test_errors_of_the_stream_are_raised():
    class Broken(io.BytesIO):
        def readinto(self, buffer):
            raise zlib.error("invalid stored block lengths")

    with pytest.raises(zlib.error):
        list(blocks(Broken()))


@settings(max_examples=100)
@given(parsed.cases(), st.integers(1, 200))
def test_blocks_are_the_file_in_order_and_split_no_sentence(case, size):
    data = case[1]
    parts = read(data, size=size)
    assert b"".join(parts) == data
    assert [s for part in parts for s in whole_sentences(part)] == whole_sentences(data)


@settings(max_examples=120)
@given(parsed.cases(), st.lists(st.integers(0, 600), max_size=5), st.integers(1, 100))
def test_adjacent_ranges_read_each_byte_once(case, cuts, size):
    data = case[1]
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), None]
    ranges = [
        b"".join(read(data, size=size, start=start, end=end)) for start, end in pairwise(edges)
    ]
    assert b"".join(ranges) == data
    assert [s for part in ranges for s in whole_sentences(part)] == whole_sentences(data)


def test_a_range_begins_and_ends_at_the_next_boundary():
    data = b"# 1\na\n\n# 2\nb\n\n# 3\nc\n"
    second, third = data.index(b"# 2"), data.index(b"# 3")
    assert read(data, start=1, end=second) == []
    assert read(data, start=0, end=1) == [data[:second]]
    assert read(data, start=1, end=second + 1) == [data[second:third]]
    assert read(data, start=second + 1) == [data[third:]]
    assert read(data, start=third + 1) == []
    assert read(data, start=1000, end=2000) == []


def test_boundaries_far_away_and_across_windows_are_found():
    # The boundary is at every place around the end of a search window.
    for n in range((1 << 16) - 12, (1 << 16) + 4):
        for mark in (b"\n\n", b"\n\r\n", b"\n>>>>>"):
            data = b"x" * n + mark + b"y\n\n"
            parts = [b"".join(read(data, start=s, end=e)) for s, e in ((0, 5), (5, None))]
            assert b"".join(parts) == data
            assert re.fullmatch(rb"x+\n(\r?\n)?", parts[0])


def test_blocks_have_every_row_once():
    data = b"".join(b"%d\tw\tw\tNN\tNN\t\t%d\tx\t_\tO\n\n" % (i, i) for i in range(200))
    rows = Counter(row for part in read(data, size=64) for row in part.split(b"\n") if row)
    assert len(rows) == 200 and set(rows.values()) == {1}
