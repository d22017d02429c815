"""The definition of the extraction kernel: what each line of a parsed block means.

The compiled kernel gives exactly these results. `sentences` is also the reader for jobs that need
more of a sentence than its counts (deduplication, example sentences, kept text).

Lines end at ``\\n``; a ``\\r`` before it is dropped and noted (`crlf`). A line of white space and
lines that begin with ``#`` or ``>>>>>`` end the sentence before them; every other line is a row of
the sentence. Comments and sentence marks are never malformed: nothing is counted from them. Rows
are checked in three steps, each on the remaining rows:

1. each row by itself: `nul` (it has a NUL byte), `utf8` (invalid UTF-8), `columns` (not ten), then,
   unless it is a CoNLL-U range or empty node, which is not a token: `id` (not an id of the
   dialect), `head` (HEAD is not a number). Ids and heads are decimal numbers of at most eight
   digits without leading zeros.
2. the ids of the sentence: if one occurs twice, heads are ambiguous, and all remaining rows are
   rejected (`duplicate_id`, with the first row that repeats an id).
3. each `amod` row: `self_head` (it is its own head), `head_missing` (no row has the id of its head
   after step 2). Other relations are not checked, because DepCC omits rows and heads without a row
   are usual there. A row rejected here can still be another row's head: its own columns are valid.

The remaining rows are the tokens. An `amod` token makes a pair or is dropped with the reason of
`etl.amod.rules.ReadingRules.read`.
"""

import re
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from adnominal.etl.amod.rules import ReadingRules, Token
from adnominal.etl.corpora.dialects import (
    COLUMNS,
    DEPREL,
    FORM,
    HEAD,
    ID,
    SENTENCE_MARK,
    Dialect,
    is_blank,
)

SAMPLE_BYTES = 200
CONTRADICTING_TAGS = "contradicting_tags"
COLUMN_HEADERS = "column_headers"
NOTES = ("crlf", CONTRADICTING_TAGS, COLUMN_HEADERS)
"""Oddities of a file that reject nothing (`Stats.notes`)."""

_NUMBER = re.compile(r"0|[1-9][0-9]{0,7}")
_RANGE = re.compile(r"[1-9][0-9]{0,7}-[1-9][0-9]{0,7}")
_EMPTY_NODE = re.compile(r"(0|[1-9][0-9]{0,7})\.[1-9][0-9]{0,7}")


class Tally(NamedTuple):
    """The number of lines, and of the first one its number (from 1) and its first 200 bytes."""

    lines: int
    line: int
    sample: str


@dataclass
class Stats:
    """Counts of what was read, which add up over files.

    lines      lines of any kind
    bytes      bytes of the blocks
    sentences  sentences with at least one token
    tokens     rows accepted as tokens
    amod       tokens with the relation amod (= pairs + all that is left out)
    pairs      adjective–noun pairs
    rejected   malformed rows by reason (`etl.amod.reference`)
    left_out   amod tokens that make no pair, by reason (`etl.amod.rules`)
    notes      oddities that reject nothing (crlf: lines that end in CRLF; contradicting_tags: amod
               tokens that have, or whose head has, two tags that contradict each other;
               column_headers: comments that name columns, ``# global.columns = …``)
    """

    lines: int = 0
    bytes: int = 0
    sentences: int = 0
    tokens: int = 0
    amod: int = 0
    pairs: int = 0
    rejected: dict[str, Tally] = field(default_factory=dict)
    left_out: dict[str, Tally] = field(default_factory=dict)
    notes: dict[str, int] = field(default_factory=dict)

    @property
    def rejected_lines(self) -> int:
        """Malformed rows of all reasons."""
        return sum(tally.lines for tally in self.rejected.values())


def tally(tallies: dict[str, Tally], reason: str, line: int, row: bytes, count: int = 1) -> None:
    """Count `count` lines, the first of which is `row`; keep the sample of the first line."""
    earlier = tallies.get(reason)
    if earlier is not None and earlier.line <= line:
        tallies[reason] = earlier._replace(lines=earlier.lines + count)
        return
    sample = row[:SAMPLE_BYTES].decode("utf-8", "replace")
    tallies[reason] = Tally(count + (earlier.lines if earlier else 0), line, sample)


class Row(NamedTuple):
    """A row of a sentence: its line number, and the line without its ending."""

    line: int
    content: bytes


def judge(
    rows: list[Row], dialect: Dialect, rules: ReadingRules, stats: Stats
) -> tuple[list[Row], list[tuple[str, str]]]:
    """The tokens of a sentence in row order, and its pairs in the order of the adjectives.

    Updates `stats` except its lines and bytes.
    """
    accepted_rows: list[tuple[Row, list[str]]] = []
    for row in rows:
        reason, columns = _judge_row(row.content, dialect)
        if reason:
            tally(stats.rejected, reason, row.line, row.content)
        elif columns:
            accepted_rows.append((row, columns))

    by_id: dict[str, list[str]] = {}
    for row, columns in accepted_rows:
        if by_id.setdefault(columns[ID], columns) is not columns:
            tally(stats.rejected, "duplicate_id", row.line, row.content, len(accepted_rows))
            return [], []

    tokens: list[Row] = []
    pairs: list[tuple[str, str]] = []
    for row, columns in accepted_rows:
        if columns[DEPREL] == "amod":
            head = by_id.get(columns[HEAD])
            if head is None or head is columns:
                reason = "head_missing" if head is None else "self_head"
                tally(stats.rejected, reason, row.line, row.content)
                continue
            stats.amod += 1
            dependent_token, head_token = Token.of(columns), Token.of(head)
            if any(map(rules.is_contradiction, (dependent_token, head_token))):
                stats.notes[CONTRADICTING_TAGS] = stats.notes.get(CONTRADICTING_TAGS, 0) + 1
            read = rules.read(dependent_token, head_token)
            if isinstance(read, str):
                tally(stats.left_out, read, row.line, row.content)
            else:
                pairs.append(read)
        tokens.append(row)
    stats.tokens += len(tokens)
    stats.sentences += bool(tokens)
    stats.pairs += len(pairs)
    return tokens, pairs


def _judge_row(content: bytes, dialect: Dialect) -> tuple[str, list[str]]:
    """The reason to reject a row, or its columns; neither for a row that is not a token."""
    if b"\0" in content:
        return "nul", []
    try:
        columns = content.decode("utf-8").split("\t")
    except UnicodeDecodeError:
        return "utf8", []
    if len(columns) != COLUMNS:
        return "columns", []
    identifier = columns[ID]
    if dialect.ranges and (_RANGE.fullmatch(identifier) or _EMPTY_NODE.fullmatch(identifier)):
        return "", []
    if not _NUMBER.fullmatch(identifier) or int(identifier) < dialect.first_id:
        return "id", []
    if not _NUMBER.fullmatch(columns[HEAD]):
        return "head", []
    return "", columns


@dataclass(frozen=True)
class Sentence:
    """A sentence with at least one token.

    document  URL or id of its document, from the last ``# newdoc``; empty if none was named
    newdocs   how many ``# newdoc`` were before it: documents that follow each other may share an id
    text      from ``# text =`` or the ``>>>>>`` line; else the forms joined by spaces
    rows      the unchanged lines of its tokens, joined by newlines
    pairs     its (adjective, noun) pairs, in the order of the adjectives
    """

    document: str
    text: str
    rows: bytes
    pairs: list[tuple[str, str]]
    newdocs: int = 0

    @property
    def content_key(self) -> bytes:
        """What is equal in copies: its text, and its pairs by the columns that decide them.

        These are the first eight of its rows, up to DEPREL.
        """
        rows = (row.split(b"\t", 8)[:8] for row in self.rows.split(b"\n"))
        return b"\n".join((self.text.encode(), *map(b"\t".join, rows)))


def sentences(
    blocks: Iterable[bytes | memoryview], dialect: Dialect, rules: ReadingRules, stats: Stats
) -> Iterator[Sentence]:
    """The sentences of blocks of whole sentences (`etl.corpora.blocks`), in order.

    The current document carries over from block to block. `stats` is updated while the sentences
    are consumed; it is complete when the iterator is exhausted.
    """
    document = ""
    newdocs = 0
    text = ""
    rows: list[Row] = []

    def finish() -> Iterator[Sentence]:
        tokens, pairs = judge(rows, dialect, rules, stats)
        if tokens:
            contents = [token.content for token in tokens]
            sentence_text = text or _forms(contents)
            yield Sentence(document, sentence_text, b"\n".join(contents), pairs, newdocs)
        rows.clear()

    for block in blocks:
        for content in _lines(bytes(block), stats):
            is_line_blank = is_blank(content)
            if not is_line_blank and not content.startswith((b"#", SENTENCE_MARK)):
                rows.append(Row(stats.lines, content))
                continue
            if rows:
                yield from finish()
                text = ""
            if is_line_blank:
                text = ""
            elif content.startswith(SENTENCE_MARK):
                text = content.removeprefix(SENTENCE_MARK).decode("utf-8", "replace").strip()
            elif content[1:].lstrip(b" \t").lower().startswith(b"global.columns"):
                stats.notes[COLUMN_HEADERS] = stats.notes.get(COLUMN_HEADERS, 0) + 1
            else:
                key, _, value = content[1:].decode("utf-8", "replace").strip().partition("=")
                key = key.strip()
                if key == "text":
                    text = value.strip()
                elif key == "newdoc" or key.startswith(("newdoc ", "newdoc\t")):
                    document = value.strip().split("\t")[0].strip()
                    newdocs += 1
        if rows:
            yield from finish()
            text = ""


def _lines(block: bytes, stats: Stats) -> Iterator[bytes]:
    """The lines of a block; counts lines, bytes and CRLF endings.

    They lack their endings, and the byte order mark of a file that was appended to another.
    """
    stats.bytes += len(block)
    lines = block.split(b"\n")
    if not lines[-1]:
        lines.pop()  # the empty rest after the last newline
    for line in lines:
        stats.lines += 1
        if line.endswith(b"\r"):
            stats.notes["crlf"] = stats.notes.get("crlf", 0) + 1
            line = line[:-1]
        yield line.removeprefix(BOM_UTF8)


def _forms(rows: list[bytes]) -> str:
    return " ".join(row.split(b"\t", FORM + 1)[FORM].decode("utf-8", "replace") for row in rows)
