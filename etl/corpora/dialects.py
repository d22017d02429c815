"""Detection of the layout of a pre-parsed corpus by its first rows."""

from __future__ import annotations

import re

from etl.corpora.conllu import COLUMNS, CONLLU, FEATS, HEAD, ID, Dialect
from etl.corpora.depcc import DEPCC, DEPCC_FLAT, SENTENCE_MARK

DIALECTS: dict[str, Dialect] = {d.name: d for d in (DEPCC, DEPCC_FLAT, CONLLU)}

_CONLLU_ID = re.compile(rb"[1-9][0-9]*(-[1-9][0-9]*)?|[0-9]+\.[1-9][0-9]*")
_NUMBER = re.compile(rb"[0-9]+")


class UnknownDialect(ValueError):
    """The bytes are in none of the known layouts."""


def detect(head: bytes) -> Dialect:
    """The dialect of a file that begins with `head` (some 64 KB; the last line may be cut).

    The majority of rows decides: a row with the id 0, an empty FEATS column or itself as its head
    counts for DepCC, any other row with a valid id for CoNLL-U; damaged rows do not count. Raises
    `UnknownDialect` if no row can be read.
    """
    lines = head.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    if len(lines) > 1:
        lines.pop()  # cut by the end of `head`, or empty after the last newline
    row_count = depcc = conllu = 0
    flat = False
    first = b""
    for line in lines:
        line = line.removesuffix(b"\r")
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
        if not _CONLLU_ID.fullmatch(identifier) and identifier != b"0":
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
