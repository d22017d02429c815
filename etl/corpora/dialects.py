"""Detect the layout of a pre-parsed corpus by its first rows."""

from __future__ import annotations

import re
from codecs import BOM_UTF8

from etl.corpora.conllu import COLUMNS, CONLLU, FEATS, HEAD, ID, Dialect
from etl.corpora.depcc import DEPCC, DEPCC_FLAT, SENTENCE_MARK

DIALECTS: dict[str, Dialect] = {d.name: d for d in (DEPCC, DEPCC_FLAT, CONLLU)}

_CONLLU_ID = re.compile(rb"[1-9][0-9]*(-[1-9][0-9]*)?|[0-9]+\.[1-9][0-9]*")
_ROWS_LOOKED_AT = 20  # a damaged row after these does not make the file prose
_NUMBER = re.compile(rb"[0-9]+")


class UnknownDialect(ValueError):
    """The bytes are in none of the known layouts."""


def parsed_dialect(head: bytes) -> Dialect | None:
    """The dialect of a file whose `head` is clearly parsed; None for any other text.

    Each of the first rows must have ten columns and an id, which prose and other tables hardly
    have.
    """
    rows = [line for line in _lines(head) if line and not line.startswith((b"#", SENTENCE_MARK))]
    table = [line.split(b"\t") for line in rows[:_ROWS_LOOKED_AT]]
    if len(table) < 2 or not all(len(row) == COLUMNS and _is_id(row[ID]) for row in table):
        return None
    try:
        return detect(head)
    except UnknownDialect:
        return None


def _is_id(text: bytes) -> bool:
    return text == b"0" or _CONLLU_ID.fullmatch(text) is not None


def _lines(head: bytes) -> list[bytes]:
    """The complete lines of `head`, without line ends and byte order mark."""
    lines = head.removeprefix(BOM_UTF8).split(b"\n")
    if len(lines) > 1:
        lines.pop()  # cut by the end of `head`, or empty after the last newline
    return [line.removesuffix(b"\r") for line in lines]


def detect(head: bytes) -> Dialect:
    """The dialect of a file that begins with `head` (about 64 KB; the last line may be truncated).

    The majority of rows decides: a row with the id 0, an empty FEATS column or itself as its head
    counts for DepCC, any other row with a valid id for CoNLL-U; damaged rows do not count. Raises
    `UnknownDialect` if no row can be read.
    """
    row_count = depcc = conllu = 0
    flat = False
    first = b""
    for line in _lines(head):
        if line.startswith(SENTENCE_MARK):
            flat = True
        if not line or line.startswith((b"#", SENTENCE_MARK)):
            continue
        row_count += 1
        first = first or line
        columns = line.split(b"\t")
        if len(columns) != COLUMNS:
            continue
        identifier, head_id = columns[ID], columns[HEAD]
        if not _is_id(identifier):
            continue
        if identifier == b"0" or not columns[FEATS] or identifier == head_id:
            depcc += 1
        elif _NUMBER.fullmatch(head_id) or not _NUMBER.fullmatch(identifier):
            conllu += 1
    if not depcc and not conllu:
        description = (
            f"the first row is {first[:80].decode('utf-8', 'replace')!r}"
            if row_count
            else f"no row of tokens in the first {len(head)} bytes"
        )
        raise UnknownDialect(
            f"not a layout that can be read: {description}; expected {COLUMNS} tab-separated "
            f"columns in one of the layouts {', '.join(DIALECTS)}"
        )
    if depcc <= conllu:
        return CONLLU
    return DEPCC_FLAT if flat else DEPCC
