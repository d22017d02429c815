"""The layouts of pre-parsed corpora, and which of them a file has.

CoNLL-U (universaldependencies.org/format.html) has the columns ID FORM LEMMA UPOS XPOS FEATS HEAD
DEPREL DEPS MISC, tab-separated; an empty field is ``_``. Ids count from 1 and the root's head is 0.
Multi-word ranges (``3-4``) and empty nodes (``3.1``) are rows but not tokens. Sentences end at a
blank line (one of white space, too); ``# newdoc id = …`` begins a document and ``# text = …``
contains the sentence. CoNLL-U Plus names its columns in ``# global.columns = …`` (`column_order`).

DepCC (Panchenko et al., LREC 2018), the parsed Common Crawl, is not quite CoNLL-U. Its columns are
ID FORM LEMMA XPOS XPOS FEATS HEAD DEPREL DEPS NER. Ids count from 0, the root's head is the root
itself, FEATS is the empty string, both tag columns have the Penn tag, and the relations are
Stanford's basic ones. A token without a dependency has no row, so ids have gaps: a head is found by
its id within the sentence, never by its position. A part begins with ``# parser = …``; a document
with a blank line and ``# newdoc<TAB>url = URL<TAB>s3 = PATH``; a sentence with a blank line,
``# sent_id = URL#n`` and ``# text = …``. The older, flat layout has none of these: a line
``>>>>><TAB>TEXT`` begins each sentence, and no line ends it.
"""

import itertools
import re
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from adnominal.conf.texts import UTF_16_MARKS

COLUMN_NAMES = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
COLUMNS = len(COLUMN_NAMES)
ID, FORM, LEMMA, UPOS, XPOS, FEATS, HEAD, DEPREL, DEPS, MISC = range(COLUMNS)
SENTENCE_MARK = b">>>>>"


@dataclass(frozen=True)
class Dialect:
    """A layout of ten tab-separated columns.

    Attributes:
        name: name of the dialect in settings and tables.
        first_id: the smallest id of a token (0 or 1).
        ranges: whether rows with ids ``3-4`` and ``3.1`` are allowed (they are not tokens).
    """

    name: str
    first_id: int
    ranges: bool


CONLLU = Dialect("conllu", first_id=1, ranges=True)
DEPCC = Dialect("depcc", first_id=0, ranges=False)
DEPCC_FLAT = Dialect("depcc-flat", first_id=0, ranges=False)
DIALECTS = {dialect.name: dialect for dialect in (DEPCC, DEPCC_FLAT, CONLLU)}

# Of these, a file needs one: the lemma replaces a missing form, and either tag decides.
_ONE_OF = (("FORM", "LEMMA"), ("UPOS", "XPOS"))
_GLOBAL_COLUMNS = re.compile(rb"#\s*global\.columns\s*=(.*)", re.IGNORECASE)
_FURTHER_HEADER = re.compile(rb"^#\s*global\.columns\s*=(.*)$", re.IGNORECASE | re.MULTILINE)
_CONLLU_ID = re.compile(rb"[1-9][0-9]*(-[1-9][0-9]*)?|[0-9]+\.[1-9][0-9]*")
_ROWS_LOOKED_AT = 20  # a damaged row after these does not make the file prose
_NUMBER = re.compile(rb"[0-9]+")


class UnknownDialect(ValueError):
    """The bytes are in none of the known layouts."""


# White space of Unicode (as of `str.isspace`), and byte order marks of files that were joined.
_SPACES = (
    "\t\v\f\r \x1c\x1d\x1e\x1f\x85\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007"
    "\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
)
WHITE_SPACE = b"(?:" + b"|".join(space.encode() for space in _SPACES) + b")"
"""The pattern of a character of white space, apart from the newline."""
_BLANK_STARTS = frozenset([b"", *(space.encode()[:1] for space in _SPACES)])
_match_blank = re.compile(WHITE_SPACE + b"*").fullmatch


def is_blank(line: bytes) -> bool:
    """Whether a line has only white space: it ends a sentence or a document."""
    # The first byte decides for nearly all lines.
    return line[:1] in _BLANK_STARTS and _match_blank(line) is not None


def parsed_dialect(head: bytes) -> Dialect | None:
    """The dialect of a file whose `head` is clearly parsed; None for any other text.

    Each of the first rows must have ten columns and an id, which prose and other tables hardly
    have.
    """
    try:
        if column_order(head) is not None:
            return CONLLU
    except UnknownDialect:
        return CONLLU
    rows = _rows(_lines(head))
    table = [line.split(b"\t") for line in rows[:_ROWS_LOOKED_AT]]
    if len(table) < 2 or not all(len(row) == COLUMNS and _is_id(row[ID]) for row in table):
        return None
    try:
        return detect(head)
    except UnknownDialect:
        return None


def _is_id(text: bytes) -> bool:
    return text == b"0" or _CONLLU_ID.fullmatch(text) is not None


def _rows(lines: Iterable[bytes]) -> list[bytes]:
    """The lines that are neither blank, comments nor sentence marks."""
    return [
        line for line in lines if not is_blank(line) and not line.startswith((b"#", SENTENCE_MARK))
    ]


def _lines(head: bytes) -> list[bytes]:
    """The complete lines of `head`, without line ends and byte order mark."""
    lines = head.removeprefix(BOM_UTF8).split(b"\n")
    if len(lines) > 1:
        lines.pop()  # cut by the end of `head`, or empty after the last newline
    return [line.removesuffix(b"\r") for line in lines]


class ColumnOrder(NamedTuple):
    """Where each of the ten columns is in rows of `width` columns; None for one that they lack."""

    places: list[int | None]
    width: int


def column_order(head: bytes) -> ColumnOrder | None:
    """The order of the columns of a file in CoNLL-U Plus.

    The layout (universaldependencies.org/ext-format.html) names its columns in a comment before
    the first row, ``# global.columns = ID FORM …``. The result is None
    for a file whose rows have the ten columns in their usual order.

    Raises:
        UnknownDialect: no ids, heads, relations, words or tags, or a name that occurs twice.
    """
    comments = itertools.takewhile(
        lambda line: is_blank(line) or line.startswith(b"#"), _lines(head)
    )
    headers = [match for line in comments if (match := _GLOBAL_COLUMNS.fullmatch(line))]
    return _order_of(headers[0][1]) if headers else None


def _order_of(header: bytes) -> ColumnOrder | None:
    """The order that the names in a header give; raises as `column_order`."""
    names = header.decode("utf-8", "replace").split()
    if names == list(COLUMN_NAMES):
        return None
    repeated = {name for name in names if names.count(name) > 1}
    missing = [name for name in ("ID", "HEAD", "DEPREL") if name not in names]
    missing += [" or ".join(either) for either in _ONE_OF if not set(either) & set(names)]
    if repeated or missing:
        fault = f"{min(repeated)} twice" if repeated else f"no {', '.join(missing)}"
        raise UnknownDialect(
            f"# global.columns = {' '.join(names)}: {fault}; expected each column once, among them "
            "ID, HEAD, DEPREL, FORM or LEMMA, and UPOS or XPOS"
        )
    places = [names.index(name) if name in names else None for name in COLUMN_NAMES]
    if places[FORM] is None:
        places[FORM] = places[LEMMA]
    return ColumnOrder(places, len(names))


def blocks_in_usual_order(
    blocks: Iterable[memoryview], order: ColumnOrder | None
) -> Iterator[memoryview]:
    """The blocks of a file in CoNLL-U (Plus) with their columns as the ten of CoNLL-U.

    Raises:
        UnknownDialect: a later ``# global.columns``, as of a file that another was appended to,
            names other columns than those of `order`.
    """
    for block in blocks:
        content = bytes(block)
        if b"global.columns" in content.lower():  # faster than the search of the lines
            for header in _FURTHER_HEADER.finditer(content):
                if _order_of(header[1]) != order:
                    raise UnknownDialect(
                        f"{header[0].decode('utf-8', 'replace').strip()}: other columns than those "
                        "at the beginning of the file; put the sentences after it into another file"
                    )
        yield block if order is None else memoryview(in_usual_order(content, order))


def in_usual_order(block: bytes | memoryview, order: ColumnOrder) -> bytes:
    """The lines of a block with their columns as the ten of CoNLL-U.

    A row with another number of columns is cut to fewer than ten, so that it is rejected.
    """
    lines = []
    for line in bytes(block).split(b"\n"):
        if not line.startswith(b"#") and not is_blank(line):
            cells = line.removesuffix(b"\r").split(b"\t")
            if len(cells) == order.width:
                cells = [b"_" if place is None else cells[place] for place in order.places]
            else:
                cells = cells[: COLUMNS - 1]
            line = b"\t".join(cells)
        lines.append(line)
    return b"\n".join(lines)


def detect(head: bytes) -> Dialect:
    """The dialect of a file that begins with `head` (about 64 KB; the last line may be truncated).

    The majority of rows decides: a row with the id 0, an empty FEATS column or itself as its head
    counts for DepCC, any other row with a valid id for CoNLL-U; damaged rows do not count. Raises
    `UnknownDialect` if no row can be read.
    """
    if head.startswith(UTF_16_MARKS):
        raise UnknownDialect("UTF-16; save it as UTF-8")
    lines = _lines(head)
    rows = _rows(lines)
    depcc = conllu = 0
    for row in rows:
        columns = row.split(b"\t")
        if len(columns) != COLUMNS or not _is_id(columns[ID]):
            continue
        identifier, head_id = columns[ID], columns[HEAD]
        if identifier == b"0" or not columns[FEATS] or identifier == head_id:
            depcc += 1
        elif _NUMBER.fullmatch(head_id) or not _NUMBER.fullmatch(identifier):
            conllu += 1
    if not depcc and not conllu:
        description = (
            f"the first row is {rows[0][:80].decode('utf-8', 'replace')!r}"
            if rows
            else f"no row of tokens in the first {len(head)} bytes"
        )
        raise UnknownDialect(
            f"not a layout that can be read: {description}; expected {COLUMNS} tab-separated "
            f"columns in one of the layouts {', '.join(DIALECTS)}"
        )
    if depcc <= conllu:
        return CONLLU
    is_flat = any(line.startswith(SENTENCE_MARK) for line in lines)
    return DEPCC_FLAT if is_flat else DEPCC
