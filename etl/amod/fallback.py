"""The extraction kernel without a compiler: a chunk of lines at a time, in numpy.

Everything regular is done on arrays: where columns lie, numbers, sentences, heads. A sentence
with anything irregular in it (a malformed row, ids that do not ascend, a dangling `amod` head) is
handed to `etl.amod.reference.judge`, it alone, so that damage costs what the damaged sentences
cost and the counts are the reference's by construction.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from itertools import islice
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from etl.amod.reference import Row, Stats, judge, tally
from etl.amod.rules import (
    DEPENDENT_NOT_ADJECTIVE,
    HEAD_NOT_NOUN,
    NO_LETTER_OR_DIGIT,
    PENN_TAGS,
    UNIVERSAL_TAGS,
    ReadingRules,
)
from etl.corpora.conllu import COLUMNS, DEPREL, FORM, HEAD, ID, LEMMA, UPOS, XPOS, Dialect
from etl.corpora.depcc import SENTENCE_MARK

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

# The arrays of a chunk stay in the processor's caches, and numpy's calls are few for its rows.
CHUNK = 1 << 20

# What a tag makes of its token.
DEPENDENT, HEAD_OF_PAIR = 1, 2

MOST_DIGITS = 8


def _short_numbers() -> Ints:
    """By two bytes as one number: the one or two digits that they end with, else -1."""
    values = np.full(1 << 16, -1, np.int64)
    for number in range(100):
        before = b"" if number > 9 else b"\t"
        values[int.from_bytes(before + b"%d" % number, "big")] = number
        if number <= 9:
            values[int.from_bytes(b"\n%d" % number, "big")] = number
    return values


SHORT_NUMBERS = _short_numbers()
ALNUM = np.array([chr(c).isalnum() and c < 128 for c in range(256)])

_BOUNDARY = re.compile(rb"\n(?=\n|\r\n|#|>>>>>)")
_RANGE = re.compile(rb"[1-9][0-9]{0,7}-[1-9][0-9]{0,7}|(0|[1-9][0-9]{0,7})\.[1-9][0-9]{0,7}")


class Fallback:
    """The same counts as the compiled kernel (`etl.amod.kernel.PairCounter` is the face)."""

    def __init__(self, dialect: Dialect, rules: ReadingRules) -> None:
        self._dialect = dialect
        self._rules = rules
        self._stats = Stats()
        # Keys are adjective, tab, noun: strings, unlike tuples, cost the garbage collector nothing.
        self._pairs: Counter[str] = Counter()
        self._measured = self._measured_bytes = 0
        self._penn = _TagFlags({tag: _flags(rules, tag, "_") for tag in PENN_TAGS})
        self._universal = _TagFlags({tag: _flags(rules, "_", tag) for tag in UNIVERSAL_TAGS})
        self._unknown_tag = _flags(rules, "_", "_")

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the pairs hold."""
        # Only keys added since the last look are measured: dictionaries keep their order.
        new = islice(reversed(self._pairs), len(self._pairs) - self._measured)
        self._measured_bytes += sum(map(sys.getsizeof, new))
        self._measured = len(self._pairs)
        return sys.getsizeof(self._pairs) + self._measured_bytes

    def feed(self, block: bytes | memoryview) -> None:
        """Count the pairs of a block of whole sentences."""
        view = memoryview(block)
        start = 0
        while start < len(view):
            boundary = _BOUNDARY.search(view, start + CHUNK)
            stop = boundary.end() if boundary else len(view)
            self._feed_chunk(view[start:stop])
            start = stop
        self._stats.bytes += len(view)

    def drain(self) -> pa.RecordBatch:
        """The pairs and their counts; empties them."""
        pairs, self._pairs = self._pairs, Counter()
        self._measured = self._measured_bytes = 0
        # Out of buffers: pa.array on lists is slower, and would import pandas for its first call.
        text = "\t".join(pairs).encode("utf-8")
        tabs = np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\t"))
        words = text.replace(b"\t", b"")
        if len(words) > np.iinfo(np.int32).max:
            raise OverflowError("words fill more than 2 GB; drain them sooner")
        offsets = np.concatenate(([0], tabs - np.arange(len(tabs)), [len(words)])).astype(np.int32)
        n = len(pairs)
        both = pa.Array.from_buffers(
            pa.string(), 2 * n, [None, pa.py_buffer(offsets), pa.py_buffer(words)]
        )
        return pa.RecordBatch.from_arrays(
            [
                both.take(_int64(np.arange(0, 2 * n, 2))),
                both.take(_int64(np.arange(1, 2 * n, 2))),
                _int64(np.fromiter(pairs.values(), np.int64, n)),
            ],
            names=["adjective", "noun", "count"],
        )

    def stats(self) -> Stats:
        """A copy of the counts so far."""
        copy = Stats()
        copy.merge(self._stats)
        return copy

    def _feed_chunk(self, data: memoryview) -> None:
        lines = _Lines(data if data[-1] == ord("\n") else memoryview(bytes(data) + b"\n"))
        rows, irregular = _regular_rows(lines, self._dialect)
        amod, head = _relations(lines, rows)
        dangling = (head < 0) | (head == amod)
        if dangling.any():
            rows, more = rows.without_sentences(rows.sentence[amod[dangling]])
            irregular = np.concatenate((irregular, more))
            amod, head = _relations(lines, rows)

        stats = self._stats
        stats.tokens += len(rows.line)
        stats.sentences += len(rows.line) and 1 + int(np.count_nonzero(np.diff(rows.sentence)))
        stats.amod += len(amod)
        stats.pairs += len(amod) - self._read(lines, rows, amod, head)
        for sentence in irregular.tolist():
            judged = judge(lines.rows_of(sentence, stats.lines), self._dialect, self._rules, stats)
            self._pairs.update(map("\t".join, judged.pairs))
        stats.lines += len(lines.stop)
        crlf = int(np.count_nonzero(lines.crlf))
        if crlf:
            stats.notes["crlf"] = stats.notes.get("crlf", 0) + crlf

    def _read(self, lines: _Lines, rows: _Rows, amod: Ints, head: Ints) -> int:
        """Count the pairs of `amod` rows and their heads; returns how many make none."""
        rules = self._rules
        dependents, heads = rows.mark[amod], rows.mark[head]
        adjective = (self._tag_flags(lines, dependents) & DEPENDENT) != 0
        noun = (self._tag_flags(lines, heads) & HEAD_OF_PAIR) != 0
        left_out = {
            DEPENDENT_NOT_ADJECTIVE: np.flatnonzero(~adjective),
            HEAD_NOT_NOUN: np.flatnonzero(adjective & ~noun),
        }
        pairs = np.flatnonzero(adjective & noun)
        first = _word(lines, dependents[pairs], rules.adjective_by)
        second = _word(lines, heads[pairs], rules.noun_by)
        # Mostly the first byte shows that there is a letter or digit.
        worded = ALNUM[lines.bytes[first.start]] & (first.stop > first.start)
        for i in np.flatnonzero(~worded).tolist():
            word = lines.text(first.start[i], first.stop[i]).decode("utf-8")
            worded[i] = rules.adjective_word(word) != ""
        worded &= second.stop > second.start
        if not worded.all():
            left_out[NO_LETTER_OR_DIGIT] = pairs[~worded]
            first, second = first.keep(worded), second.keep(worded)

        if len(first.start):
            # Words hold neither tabs nor newlines, and str.lower looks at no letter beyond them, so
            # that lower-casing all at once is the same as one by one.
            text = _joined(lines, first, second).decode("utf-8")
            self._pairs.update((text.lower() if rules.lowercase else text).split("\n"))
        for reason, which in left_out.items():
            if len(which):
                row = lines.row_of(int(rows.line[amod[which[0]]]), self._stats.lines)
                tally(self._stats.left_out, reason, row.line, row.content, len(which))
        return len(amod) - len(first.start)

    def _tag_flags(self, lines: _Lines, mark: Ints) -> npt.NDArray[np.uint8]:
        """DEPENDENT and HEAD_OF_PAIR for rows, by their Penn tags, else their universal ones."""
        flags, known = self._penn.look_up(lines, mark, XPOS)
        if not known.all():
            unknown = np.flatnonzero(~known)
            others, known = self._universal.look_up(lines, mark[unknown], UPOS)
            flags[unknown] = np.where(known, others, np.uint8(self._unknown_tag))
        return flags


def _flags(rules: ReadingRules, xpos: str, upos: str) -> int:
    dependent, head = rules.accepts_dependent(xpos, upos), rules.accepts_head(xpos, upos)
    return dependent * DEPENDENT | head * HEAD_OF_PAIR


def _int64(numbers: Ints) -> pa.Array:
    return pa.Array.from_buffers(pa.int64(), len(numbers), [None, pa.py_buffer(numbers)])


class _TagFlags:
    """Flags by tag, looked up for many rows at once. A tag has at most `BYTES` bytes, none NUL."""

    BYTES = 6

    def __init__(self, flags: dict[str, int]) -> None:
        by_code = {int.from_bytes(tag.encode(), "little"): flag for tag, flag in flags.items()}
        self.codes = np.array(sorted(by_code), np.int64)
        self.flags = np.array([by_code[code] for code in sorted(by_code)], np.uint8)

    def look_up(
        self, lines: _Lines, mark: Ints, column: int
    ) -> tuple[npt.NDArray[np.uint8], Bools]:
        """The flags of the tags in a column, and which tags are known at all."""
        start, stop = lines.marks[mark + column - 1] + 1, lines.marks[mark + column]
        size = stop - start
        codes = np.zeros(len(mark), np.int64)
        for i in range(min(self.BYTES, int(size.max(initial=0)))):
            here = lines.bytes[start + i] * (size > i)  # a row goes on for more bytes than these
            codes |= here.astype(np.int64) << (8 * i)
        codes[size > self.BYTES] = -1
        places = np.minimum(np.searchsorted(self.codes, codes), len(self.codes) - 1)
        return self.flags[places], self.codes[places] == codes


class _Spans(NamedTuple):
    """Stretches of bytes."""

    start: Ints
    stop: Ints

    def keep(self, which: Bools) -> _Spans:
        return _Spans(self.start[which], self.stop[which])


def _joined(lines: _Lines, first: _Spans, second: _Spans) -> bytes:
    """The words of both side by side: a tab between the two, a newline between the pairs."""
    starts = np.column_stack((first.start, second.start)).ravel()
    sizes = np.column_stack((first.stop, second.stop)).ravel() - starts + 1  # with what separates
    ends = np.cumsum(sizes)
    places = np.arange(ends[-1]) + np.repeat(starts - ends + sizes, sizes)
    text = lines.bytes.take(places)  # some byte follows every word
    text[ends[0::2] - 1] = ord("\t")
    text[ends[1::2] - 1] = ord("\n")
    joined: bytes = text[:-1].tobytes()
    return joined


def _word(lines: _Lines, mark: Ints, by: str) -> _Spans:
    """Where the words of rows stand: the form, or the lemma unless it is missing."""
    marks = lines.marks
    start, stop = marks[mark + FORM - 1] + 1, marks[mark + FORM]
    if by == "form":
        return _Spans(start, stop)
    lemma, lemma_stop = stop + 1, marks[mark + LEMMA]
    size = lemma_stop - lemma
    missing = (size == 0) | ((size == 1) & (lines.bytes[lemma] == ord("_")))
    return _Spans(np.where(missing, start, lemma), np.where(missing, stop, lemma_stop))


class _Lines:
    """Where the lines of a chunk lie, which ends with a newline.

    least     the least byte of the chunk
    marks     places of tabs and newlines
    mark      of each line: the index in `marks` of its first tab or newline
    tabs      of each line: how many it has
    start     of each line: its first byte
    stop      of each line: the byte after its last, line ending not counted
    row       of each line: whether it is a row
    sentence  of each row: the number of its sentence
    """

    def __init__(self, data: memoryview) -> None:
        self.data = data
        self.bytes = np.frombuffer(data, np.uint8)
        self.marks: Ints = np.flatnonzero(self.bytes <= 10)
        marked = self.bytes.take(self.marks)
        self.least = int(marked.min())
        if self.least < 9:  # other control characters: rare enough to look for them afterwards
            self.marks, marked = self.marks[marked >= 9], marked[marked >= 9]
        newlines = np.flatnonzero(marked == 10)
        newline = self.marks.take(newlines)
        self.mark: Ints = np.concatenate(([0], newlines[:-1] + 1))
        self.tabs: Ints = newlines - self.mark
        self.start: Ints = np.concatenate(([0], newline[:-1] + 1))
        self.crlf: Bools = (self.bytes.take(newline - 1) == 13) & (newline > self.start)
        self.stop: Ints = newline - self.crlf
        first = self.bytes.take(self.start)
        between = (self.stop == self.start) | (first == ord("#"))
        for line in np.flatnonzero(first == ord(">")).tolist():
            start = self.start[line]
            between[line] = self.text(start, start + len(SENTENCE_MARK)) == SENTENCE_MARK
        self.row: Bools = ~between
        self.sentence: Ints = np.cumsum(between)

    def text(self, start: int, stop: int) -> bytes:
        """A stretch of the chunk."""
        return bytes(self.data[start:stop])

    def row_of(self, line: int, lines_before: int) -> Row:
        """A row as the reference takes it."""
        return Row(lines_before + line + 1, self.text(self.start[line], self.stop[line]))

    def rows_of(self, sentence: int, lines_before: int) -> list[Row]:
        """The rows of a sentence as the reference takes them."""
        first, stop = np.searchsorted(self.sentence, (sentence, sentence + 1)).tolist()
        return [self.row_of(line, lines_before) for line in range(first, stop) if self.row[line]]

    def not_text(self) -> list[int]:
        """The rows that hold a NUL or invalid UTF-8."""
        found: list[int] = []
        if not self.least:
            found += np.searchsorted(self.stop, np.flatnonzero(self.bytes == 0), "right").tolist()
        if not _all_utf8(self.data):
            rows = np.flatnonzero(self.row)
            bounds = zip(self.start[rows].tolist(), self.stop[rows].tolist(), strict=True)
            contents = zip(rows.tolist(), bounds, strict=True)
            found += [row for row, (i, j) in contents if not _is_utf8(self.text(i, j))]
        return found


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _all_utf8(chunk: memoryview) -> bool:
    """The same for a whole chunk: Arrow looks at the bytes without making a string of them."""
    bounds = np.array((0, len(chunk)), np.int32)
    buffers = [None, pa.py_buffer(bounds), pa.py_buffer(chunk)]
    try:
        pa.Array.from_buffers(pa.string(), 1, buffers).validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


class _Rows(NamedTuple):
    """Rows of tokens: line in the chunk, sentence, first mark (`_Lines`), key and head.

    The key stands for sentence and id: it ascends over the rows of sentences in which ids do.
    """

    line: Ints
    sentence: Ints
    mark: Ints
    key: Ints
    head: Ints

    def keep(self, which: Bools) -> _Rows:
        return _Rows(*(column[which] for column in self))

    def without_sentences(self, sentences: Ints) -> tuple[_Rows, Ints]:
        """The rows of all other sentences, and the sentences, each once."""
        sentences = np.unique(sentences)
        return self.keep(~np.isin(self.sentence, sentences)), sentences


def _regular_rows(lines: _Lines, dialect: Dialect) -> tuple[_Rows, Ints]:
    """The tokens of the sentences in which all is as it should be; the other sentences."""
    line: Ints = np.flatnonzero(lines.row)
    sentence: Ints = lines.sentence.take(line)
    mark: Ints = lines.mark.take(line)
    start: Ints = lines.start.take(line)
    irregular: Bools = np.zeros(len(line), np.bool_)
    columns_wrong = lines.row & (lines.tabs != COLUMNS - 1)
    if columns_wrong.any():
        irregular = columns_wrong[line]
    not_text = lines.not_text()
    if not_text:
        irregular |= np.isin(line, not_text)
    if irregular.any():
        # Where columns are missing there is nothing to look up: look at any whole row instead.
        whole = np.flatnonzero(~irregular)
        if not len(whole):
            nothing: Ints = np.empty(0, np.int64)
            return _Rows(*[nothing] * len(_Rows._fields)), np.unique(sentence)
        mark[irregular] = mark[whole[0]]

    marks = lines.marks
    ids, is_id = _numbers(lines, start, marks.take(mark + ID))
    heads, is_head = _numbers(lines, marks.take(mark + (HEAD - 1)) + 1, marks.take(mark + HEAD))
    is_id &= ids >= dialect.first_id
    wrong = ~(is_id & is_head)
    rows = _Rows(line, sentence, mark, _key(sentence, ids), heads)
    if dialect.ranges and wrong.any():
        token = np.ones(len(line), np.bool_)
        for i in np.flatnonzero(~is_id & ~irregular).tolist():
            identifier = lines.text(lines.start[line[i]], marks[mark[i]])
            token[i] = not _RANGE.fullmatch(identifier)
        rows = rows.keep(token)
        wrong, irregular = wrong[token], irregular[token]
    irregular |= wrong
    irregular[1:] |= rows.key[1:] <= rows.key[:-1]
    if irregular.any():
        return rows.without_sentences(rows.sentence[irregular])
    return rows, np.empty(0, np.int64)


def _key(sentence: Ints, number: Ints) -> Ints:
    return sentence * np.int64(10**MOST_DIGITS) + number


def _numbers(lines: _Lines, start: Ints, stop: Ints) -> tuple[Ints, Bools]:
    """The decimal numbers in bytes start to stop, and where there is one (see the reference)."""
    # What precedes a number is a tab or newline; what precedes the chunk is its last byte, one too.
    last_two = lines.bytes.take(stop - 2).astype(np.int64)
    last_two <<= 8
    last_two |= lines.bytes.take(stop - 1)
    values = SHORT_NUMBERS.take(last_two)
    valid = values >= 0
    more = np.flatnonzero(stop - start > 2)
    if len(more):
        values[more], valid[more] = _long_numbers(lines, start[more], stop[more])
    return values, valid


def _long_numbers(lines: _Lines, start: Ints, stop: Ints) -> tuple[Ints, Bools]:
    """The same of numbers of more than two digits."""
    digits = stop - start
    values = np.zeros(len(start), np.int64)
    valid = (digits <= MOST_DIGITS) & (lines.bytes[start] != ord("0"))
    for place in range(min(MOST_DIGITS, int(digits.max()))):
        digit = lines.bytes[stop - 1 - place] - np.uint8(ord("0"))
        there = digits > place
        valid &= (digit <= 9) | ~there
        values += np.where(there, digit, 0) * np.int64(10**place)
    return values, valid


def _relations(lines: _Lines, rows: _Rows) -> tuple[Ints, Ints]:
    """The `amod` rows, and for each the row of its head (-1: there is none)."""
    before = lines.marks.take(rows.mark + (DEPREL - 1))
    amod = np.flatnonzero(lines.marks.take(rows.mark + DEPREL) - before == len("amod") + 1)
    before = before[amod]
    is_amod = np.ones(len(amod), np.bool_)
    for i, letter in enumerate(b"amod", start=1):
        is_amod &= lines.bytes[before + i] == letter
    amod = amod[is_amod]
    if not len(amod):
        return amod, amod
    wanted = _key(rows.sentence[amod], rows.head[amod])
    head = np.searchsorted(rows.key, wanted)
    head[head == len(rows.key)] = 0
    head[rows.key[head] != wanted] = -1
    return amod, head
