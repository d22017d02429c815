"""Telling the layouts of pre-parsed corpora apart by their first rows."""

from __future__ import annotations

import re

from etl.corpora.conllu import COLUMNS, CONLLU, FEATS, HEAD, ID, Dialect
from etl.corpora.depcc import DEPCC, DEPCC_FLAT, SENTENCE_MARK

DIALECTS: dict[str, Dialect] = {d.name: d for d in (DEPCC, DEPCC_FLAT, CONLLU)}

_CONLLU_ID = re.compile(rb"[1-9][0-9]*(-[1-9][0-9]*)?|[0-9]+\.[1-9][0-9]*")
_NUMBER = re.compile(rb"[0-9]+")


class UnknownDialect(ValueError):
    """The bytes are in none of the layouts that can be read."""


def detect(head: bytes) -> Dialect:
    """The dialect of a file that begins with `head` (some 64 KB; the last line may be cut).

    Rows vote: an id of 0, an empty FEATS column or a row that heads itself speak for DepCC, any
    other row with a lawful id for CoNLL-U; damaged rows have no vote. Raises `UnknownDialect`
    where no row can be read.
    """
    lines = head.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    if len(lines) > 1:
        lines.pop()  # cut by the end of `head`, or empty after the last newline
    rows = depcc = conllu = 0
    flat = False
    first = b""
    for line in lines:
        line = line.removesuffix(b"\r")
        if line.startswith(SENTENCE_MARK):
            flat = True
        if not line or line.startswith((b"#", SENTENCE_MARK)):
            continue
        rows += 1
        first = first or line
        columns = line.split(b"\t")
        if len(columns) != COLUMNS:
            continue
        identifier, head_id = columns[ID], columns[HEAD]
        if not _CONLLU_ID.fullmatch(identifier) and identifier != b"0":
            continue
        if identifier == b"0" or not columns[FEATS] or identifier == head_id:
            depcc += 1
        elif _NUMBER.fullmatch(head_id) or not _NUMBER.fullmatch(identifier):
            conllu += 1
    if not depcc and not conllu:
        seen = (
            f"the first row is {first[:80].decode('utf-8', 'replace')!r}"
            if rows
            else f"no row of tokens in the first {len(head)} bytes"
        )
        raise UnknownDialect(
            f"not a layout that can be read: {seen}; expected {COLUMNS} tab-separated columns "
            f"in one of the layouts {', '.join(DIALECTS)}"
        )
    if depcc <= conllu:
        return CONLLU
    return DEPCC_FLAT if flat else DEPCC
