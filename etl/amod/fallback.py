"""The extraction kernel without a compiler: a chunk of lines at a time, in numpy.

Everything regular is done on arrays: where columns lie, numbers, sentences, heads. A sentence
with anything irregular in it (a malformed row, ids that do not ascend, a dangling `amod` head) is
handed to `etl.amod.reference.judge`, it alone, so that damage costs what the damaged sentences
cost and the counts are the reference's by construction.
"""

from __future__ import annotations

import re
import sys
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from etl.amod.reference import Row, Stats, judge, tally
from etl.amod.rules import (
    DEPENDENT_NOT_ADJECTIVE,
    HEAD_NOT_NOUN,
    NO_LETTER_OR_DIGIT,
    ReadingRules,
    Token,
)
from etl.corpora.conllu import COLUMNS, DEPREL, FORM, HEAD, ID, LEMMA, UPOS, XPOS, Dialect
from etl.corpora.depcc import SENTENCE_MARK

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

# The arrays of a chunk stay in the processor's caches, and numpy's calls are few for its rows.
CHUNK = 1 << 19
CACHED_WORDS = 200_000
PAIR_OVERHEAD = 150  # bytes that a pair takes beside its two words: tuple, count, table

_BOUNDARY = re.compile(rb"\n(?=\n|\r\n|#|>>>>>)")
_RANGE = re.compile(rb"[1-9][0-9]{0,7}-[1-9][0-9]{0,7}|(0|[1-9][0-9]{0,7})\.[1-9][0-9]{0,7}")


class Fallback:
    """The same counts as the compiled kernel (`etl.amod.kernel.PairCounter` is the face)."""

    def __init__(self, dialect: Dialect, rules: ReadingRules) -> None:
        self._dialect = dialect
        self._rules = rules
        self._stats = Stats()
        self._pairs: dict[tuple[str, str], int] = {}
        self._pair_bytes = 0
        # What the columns FORM to XPOS of a row, as they stand, give as a dependent and as a head.
        self._adjectives: dict[bytes, str | None] = {}
        self._nouns: dict[bytes, str | None] = {}

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the pairs hold, about."""
        return self._pair_bytes

    def feed(self, block: bytes | memoryview) -> None:
        """Count the pairs of a block of whole sentences."""
        data = bytes(block)
        start = 0
        while start < len(data):
            boundary = _BOUNDARY.search(data, start + CHUNK)
            stop = boundary.end() if boundary else len(data)
            self._feed_chunk(data[start:stop])
            start = stop
        self._stats.bytes += len(data)

    def drain(self) -> pa.RecordBatch:
        """The pairs and their counts; empties them."""
        batch = pa.RecordBatch.from_arrays(
            [
                pa.array([adjective for adjective, _ in self._pairs], pa.string()),
                pa.array([noun for _, noun in self._pairs], pa.string()),
                pa.array(self._pairs.values(), pa.int64()),
            ],
            names=["adjective", "noun", "count"],
        )
        self._pairs = {}
        self._pair_bytes = 0
        return batch

    def stats(self) -> Stats:
        """A copy of the counts so far."""
        copy = Stats()
        copy.merge(self._stats)
        return copy

    def _feed_chunk(self, data: bytes) -> None:
        lines = _Lines(data if data.endswith(b"\n") else data + b"\n")
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
            for pair in judged.pairs:
                self._count(pair)
        stats.lines += len(lines.stop)
        crlf = int(np.count_nonzero(lines.crlf))
        if crlf:
            stats.notes["crlf"] = stats.notes.get("crlf", 0) + crlf

    def _count(self, pair: tuple[str, str]) -> None:
        count = self._pairs.get(pair)
        if count is None:
            self._pair_bytes += PAIR_OVERHEAD + sys.getsizeof(pair[0]) + sys.getsizeof(pair[1])
            count = 0
        self._pairs[pair] = count + 1

    def _read(self, lines: _Lines, rows: _Rows, amod: Ints, head: Ints) -> int:
        """Count the pairs of `amod` rows and their heads; returns how many make none."""
        if max(len(self._adjectives), len(self._nouns)) > CACHED_WORDS:
            self._adjectives.clear()
            self._nouns.clear()
        adjectives, nouns, stats = self._adjectives, self._nouns, self._stats
        left_out = 0
        for i, dependent, governor in zip(
            amod.tolist(), _words(lines, rows, amod), _words(lines, rows, head), strict=True
        ):
            try:
                adjective = adjectives[dependent]
            except KeyError:
                adjective = adjectives[dependent] = self._rules.adjective(_token(dependent))
            try:
                noun = nouns[governor]
            except KeyError:
                noun = nouns[governor] = self._rules.noun(_token(governor))
            if adjective and noun:
                self._count((adjective, noun))
                continue
            if adjective is None:
                reason = DEPENDENT_NOT_ADJECTIVE
            else:
                reason = HEAD_NOT_NOUN if noun is None else NO_LETTER_OR_DIGIT
            line = int(rows.line[i])
            tally(stats.left_out, reason, stats.lines + line + 1, lines.content(line))
            left_out += 1
        return left_out


class _Lines:
    """Where the lines of a chunk lie, which ends with a newline.

    marks     places of tabs and newlines
    mark      of each line: the index in `marks` of its first tab or newline
    tabs      of each line: how many it has
    start     of each line: its first byte
    stop      of each line: the byte after its last, line ending not counted
    row       of each line: whether it is a row
    sentence  of each row: the number of its sentence
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.bytes = np.frombuffer(data, np.uint8)
        self.marks: Ints = np.flatnonzero((self.bytes - np.uint8(9)) < 2)
        newlines = np.flatnonzero(self.bytes[self.marks] == 10)
        newline = self.marks[newlines]
        self.mark: Ints = np.concatenate(([0], newlines[:-1] + 1))
        self.tabs: Ints = newlines - self.mark
        self.start: Ints = np.concatenate(([0], newline[:-1] + 1))
        self.crlf: Bools = (self.bytes[newline - 1] == 13) & (newline > self.start)
        self.stop: Ints = newline - self.crlf
        first = self.bytes[self.start]
        between = (self.stop == self.start) | (first == ord("#"))
        for line in np.flatnonzero(first == ord(">")).tolist():
            between[line] = data.startswith(SENTENCE_MARK, self.start[line])
        self.row: Bools = ~between
        self.sentence: Ints = np.cumsum(between)

    def content(self, line: int) -> bytes:
        """A line without its ending."""
        return self.data[self.start[line] : self.stop[line]]

    def rows_of(self, sentence: int, lines_before: int) -> list[Row]:
        """The rows of a sentence as the reference takes them."""
        first, stop = np.searchsorted(self.sentence, (sentence, sentence + 1)).tolist()
        return [
            Row(lines_before + line + 1, self.content(line))
            for line in range(first, stop)
            if self.row[line]
        ]

    def not_text(self) -> list[int]:
        """The rows that hold a NUL or invalid UTF-8."""
        found: list[int] = []
        if 0 in self.data:
            nul = np.flatnonzero(self.bytes == 0)
            found.extend(np.unique(np.searchsorted(self.stop, nul, "right")).tolist())
        if not self.data.isascii():
            high = np.flatnonzero(self.bytes > 127)
            if len(high) < len(self.stop):
                suspects = np.unique(np.searchsorted(self.stop, high, "right"))
            else:
                counts = np.searchsorted(high, self.stop) - np.searchsorted(high, self.start)
                suspects = np.flatnonzero(counts)
            suspects = suspects[self.row[suspects]]
            contents = [self.content(line) for line in suspects.tolist()]
            if not _is_utf8(b"\n".join(contents)):
                found.extend(
                    line
                    for line, content in zip(suspects.tolist(), contents, strict=True)
                    if not _is_utf8(content)
                )
        return found


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


class _Rows(NamedTuple):
    """Rows of tokens: line in the chunk, sentence, first mark (`_Lines`), id and head."""

    line: Ints
    sentence: Ints
    mark: Ints
    id: Ints
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
    sentence: Ints = lines.sentence[line]
    mark: Ints = lines.mark[line]
    irregular: Bools = lines.tabs[line] != COLUMNS - 1
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
    ids, is_id = _numbers(lines, lines.start[line], marks[mark + ID])
    heads, is_head = _numbers(lines, marks[mark + HEAD - 1] + 1, marks[mark + HEAD])
    is_id &= ids >= dialect.first_id
    wrong = ~(is_id & is_head)
    rows = _Rows(line, sentence, mark, ids, heads)
    if dialect.ranges and wrong.any():
        token = np.ones(len(line), np.bool_)
        for i in np.flatnonzero(~is_id & ~irregular).tolist():
            identifier = lines.data[lines.start[line[i]] : marks[mark[i]]]
            token[i] = not _RANGE.fullmatch(identifier)
        rows = rows.keep(token)
        wrong, irregular = wrong[token], irregular[token]
    irregular |= wrong
    irregular[1:] |= (np.diff(rows.id) <= 0) & (np.diff(rows.sentence) == 0)
    if irregular.any():
        return rows.without_sentences(rows.sentence[irregular])
    return rows, np.empty(0, np.int64)


def _numbers(lines: _Lines, start: Ints, stop: Ints) -> tuple[Ints, Bools]:
    """The decimal numbers in bytes start to stop, and where there is one (see the reference)."""
    digits = stop - start
    valid = (digits >= 1) & (digits <= 8)
    values: Ints = np.zeros(len(start), np.int64)
    at = np.arange(len(start))  # those that have another digit, from the right
    place = 1
    for position in range(8):
        if position:
            at = at[digits[at] > position]
            place *= 10
        if not len(at):
            break
        digit = lines.bytes[stop[at] - 1 - position] - np.uint8(ord("0"))
        wrong = digit > 9
        if position:
            wrong |= (digit == 0) & (digits[at] == position + 1)  # a leading zero
        if wrong.any():
            valid[at[wrong]] = False
        values[at] += digit.astype(np.int64) * place
    return values, valid


def _relations(lines: _Lines, rows: _Rows) -> tuple[Ints, Ints]:
    """The `amod` rows, and for each the row of its head (-1: there is none)."""
    marks, data = lines.marks, lines.bytes
    before = marks[rows.mark + DEPREL - 1]
    amod = np.flatnonzero(marks[rows.mark + DEPREL] - before == len("amod") + 1)
    for i, letter in enumerate(b"amod", start=1):
        amod = amod[data[before[amod] + i] == letter]
    if not len(amod):
        return amod, amod
    # Ids ascend within a sentence, so (sentence, id) ascends over all rows. Ids have 8 digits.
    keys = rows.sentence * 10**8 + rows.id
    wanted = rows.sentence[amod] * 10**8 + rows.head[amod]
    head = np.searchsorted(keys, wanted)
    head[head == len(keys)] = 0
    head[keys[head] != wanted] = -1
    return amod, head


def _words(lines: _Lines, rows: _Rows, which: Ints) -> list[bytes]:
    """The columns FORM to XPOS of some rows, as they stand."""
    data = lines.data
    first = (lines.marks[rows.mark[which] + FORM - 1] + 1).tolist()
    stop = lines.marks[rows.mark[which] + XPOS].tolist()
    return [data[i:j] for i, j in zip(first, stop, strict=True)]


def _token(words: bytes) -> Token:
    columns = words.decode("utf-8").split("\t")
    return Token(
        form=columns[FORM - FORM],
        lemma=columns[LEMMA - FORM],
        upos=columns[UPOS - FORM],
        xpos=columns[XPOS - FORM],
    )
