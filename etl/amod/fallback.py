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
from collections.abc import Callable
from itertools import islice
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from etl.amod.reference import Row, Stats, judge, tally
from etl.amod.rules import (
    DEPENDENT_NOT_ADJECTIVE,
    HEAD_NOT_NOUN,
    NO_LETTER_OR_DIGIT,
    ReadingRules,
    Token,
)
from etl.corpora.conllu import COLUMNS, DEPREL, FORM, HEAD, ID, XPOS, Dialect
from etl.corpora.depcc import SENTENCE_MARK

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

# The arrays of a chunk stay in the processor's caches, and numpy's calls are few for its rows.
CHUNK = 1 << 20
CACHED_WORDS = 400_000

HIGH_BITS = np.uint64(0x8080808080808080)

_BOUNDARY = re.compile(rb"\n(?=\n|\r\n|#|>>>>>)")
_NUMBER = re.compile(rb"0|[1-9][0-9]{0,7}")
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
        self._adjectives = _Words(rules.adjective)
        self._nouns = _Words(rules.noun)

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the pairs hold."""
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
            self._feed_chunk(bytes(view[start:stop]))
            start = stop
        self._stats.bytes += len(view)

    def drain(self) -> pa.RecordBatch:
        """The pairs and their counts; empties them."""
        words = pc.split_pattern(pa.array(self._pairs, pa.string()), "\t")
        counts = pa.array(self._pairs.values(), pa.int64())
        self._pairs = Counter()
        self._measured = self._measured_bytes = 0
        return pa.RecordBatch.from_arrays(
            [pc.list_element(words, 0), pc.list_element(words, 1), counts],
            names=["adjective", "noun", "count"],
        )

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
            self._pairs.update(map("\t".join, judged.pairs))
        stats.lines += len(lines.stop)
        crlf = int(np.count_nonzero(lines.crlf))
        if crlf:
            stats.notes["crlf"] = stats.notes.get("crlf", 0) + crlf

    def _read(self, lines: _Lines, rows: _Rows, amod: Ints, head: Ints) -> int:
        """Count the pairs of `amod` rows and their heads; returns how many make none."""
        adjectives = list(map(self._adjectives.__getitem__, _words(lines, rows, amod)))
        nouns = list(map(self._nouns.__getitem__, _words(lines, rows, head)))
        pairs = [
            f"{adjective}\t{noun}"
            for adjective, noun in zip(adjectives, nouns, strict=True)
            if adjective and noun
        ]
        self._pairs.update(pairs)
        left_out = len(amod) - len(pairs)
        if left_out:
            self._leave_out(left_out, lines, rows.line[amod], adjectives, nouns)
        if len(self._adjectives) + len(self._nouns) > CACHED_WORDS:
            self._adjectives.clear()
            self._nouns.clear()
        return left_out

    def _leave_out(
        self,
        left_out: int,
        lines: _Lines,
        line: Ints,
        adjectives: list[str | None],
        nouns: list[str | None],
    ) -> None:
        """Tally why some of the relations make no pair, the order of reasons as in the rules."""
        not_adjective = adjectives.count(None)
        heads = [
            noun for adjective, noun in zip(adjectives, nouns, strict=True) if adjective is not None
        ]
        not_noun = heads.count(None)
        counts = {
            DEPENDENT_NOT_ADJECTIVE: not_adjective,
            HEAD_NOT_NOUN: not_noun,
            NO_LETTER_OR_DIGIT: left_out - not_adjective - not_noun,
        }
        for reason, count in counts.items():
            if count and (first := self._stats.left_out.get(reason)):
                self._stats.left_out[reason] = first._replace(lines=first.lines + count)
            elif count:
                i = next(
                    i
                    for i, words in enumerate(zip(adjectives, nouns, strict=True))
                    if _why_left_out(*words) == reason
                )
                row = lines.row_of(int(line[i]), self._stats.lines)
                tally(self._stats.left_out, reason, row.line, row.content, count)


def _why_left_out(adjective: str | None, noun: str | None) -> str:
    if adjective is None:
        return DEPENDENT_NOT_ADJECTIVE
    if noun is None:
        return HEAD_NOT_NOUN
    return "" if adjective and noun else NO_LETTER_OR_DIGIT


class _Words(dict[bytes, str | None]):
    """What the columns FORM to XPOS of a row, as they stand, give to a pair."""

    def __init__(self, read: Callable[[Token], str | None]) -> None:
        super().__init__()
        self._read = read

    def __missing__(self, row: bytes) -> str | None:
        form, lemma, upos, xpos = row.decode("utf-8").split("\t")
        word = self[row] = self._read(Token(form, lemma, upos, xpos))
        return word


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
        self.marks: Ints = np.flatnonzero(self.bytes <= 10)
        marked = self.bytes[self.marks]
        if marked.min() < 9:  # other control characters: rare enough to look for them afterwards
            self.marks, marked = self.marks[marked >= 9], marked[marked >= 9]
        newlines = np.flatnonzero(marked == 10)
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

    def row_of(self, line: int, lines_before: int) -> Row:
        """A row as the reference takes it."""
        return Row(lines_before + line + 1, self.data[self.start[line] : self.stop[line]])

    def rows_of(self, sentence: int, lines_before: int) -> list[Row]:
        """The rows of a sentence as the reference takes them."""
        first, stop = np.searchsorted(self.sentence, (sentence, sentence + 1)).tolist()
        return [self.row_of(line, lines_before) for line in range(first, stop) if self.row[line]]

    def not_text(self) -> list[int]:
        """The rows that hold a NUL or invalid UTF-8."""
        found: list[int] = []
        if 0 in self.data:
            found += np.searchsorted(self.stop, np.flatnonzero(self.bytes == 0), "right").tolist()
        if not self.data.isascii():
            # Eight bytes at a time. Of lines that they touch, those in between are no regular rows.
            whole = len(self.bytes) // 8 * 8
            high = (self.bytes[:whole].view(np.uint64) & HIGH_BITS) != 0
            first = 8 * np.flatnonzero(high)
            touched = np.concatenate((first, first + 7, [len(self.bytes) - 1]))
            line = np.unique(np.searchsorted(self.stop, touched, "right"))
            line = line[line < len(self.stop)]
            line = line[self.row[line]]
            bounds = zip(self.start[line].tolist(), self.stop[line].tolist(), strict=True)
            contents = [self.data[start:stop] for start, stop in bounds]
            if not _is_utf8(b"\n".join(contents)):
                pairs = zip(line.tolist(), contents, strict=True)
                found += [number for number, content in pairs if not _is_utf8(content)]
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
    most = digits.max(initial=0)
    zero = np.uint8(ord("0"))
    # Digits from the right. What precedes the first byte of the chunk is its last, a newline.
    digit = lines.bytes[stop - 1] - zero
    valid = (digit <= 9) & (digits >= 1)
    values = digit.astype(np.int64)
    for place in range(2, min(most, 3) + 1):
        digit = (lines.bytes[stop - place] - zero) * (digits >= place)  # 0 if there is none
        valid &= (digit <= 9) & ((digit > 0) | (digits != place))  # no leading zero
        values += digit * np.int64(10 ** (place - 1))
    if most > 3:
        for i in np.flatnonzero(digits > 3).tolist():
            number = lines.data[start[i] : stop[i]]
            valid[i] = bool(_NUMBER.fullmatch(number))
            values[i] = int(number) if valid[i] else 0
    return values, valid


def _relations(lines: _Lines, rows: _Rows) -> tuple[Ints, Ints]:
    """The `amod` rows, and for each the row of its head (-1: there is none)."""
    before = lines.marks[rows.mark + DEPREL - 1]
    amod = np.flatnonzero(lines.marks[rows.mark + DEPREL] - before == len("amod") + 1)
    before = before[amod]
    is_amod = np.ones(len(amod), np.bool_)
    for i, letter in enumerate(b"amod", start=1):
        is_amod &= lines.bytes[before + i] == letter
    amod = amod[is_amod]
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
