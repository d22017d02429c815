"""What a file contains, by its first bytes: the content decides how it is read, not its name.

Readers of text would take markup and tables for prose, so what they do not read is refused by name.
"""

import csv
import re

from adnominal.conf.texts import UTF_16_MARKS
from adnominal.etl.corpora.dialects import WHITE_SPACE, parsed_dialect
from adnominal.etl.corpora.files import open_input

HEAD_BYTES = 1 << 16
"""Enough of a file to recognise what it contains."""
JSON_LINES = "JSON lines"
EXTRACTED = "WikiExtractor"  # articles between lines <doc …> and </doc>
WARC = "WARC"
PLAIN = "plain text"

EXTRACTED_MARK = re.compile(rb"\s*(?:<doc id=[^<>]*>|</doc>)\s*")
"""A line that is the markup of an article in WikiExtractor's output."""
SOURCE_OF = {"depcc": "depcc", "depcc-flat": "depcc", "conllu": "conllu"}  # by dialect

_LEADING_SPACE = re.compile(b"(?:" + WHITE_SPACE + rb"|\n)*")
_EXTRACTED_BEGIN = re.compile(rb"^<doc id=", re.MULTILINE)
# An object with its first name in its first line, or without any.
_JSON_OBJECT = re.compile(rb"\{[ \t]*(?:\"(?:[^\"\\\n]|\\.)*\"[ \t]*:|\}[ \t\r]*\n)")
# A line of a vertical file: a word and its tag, perhaps more, without spaces.
_VERTICAL_ROW = re.compile(rb"[^\s]+(?:\t[^\s]+)+\s*")
_JSON_ARRAY = re.compile(rb"(?:\[\s*)+(?:\{\s*\"|\"(?:[^\"\\]|\\.)*\"\s*[,\]])")
_MARKUP = re.compile(rb"<(?:\?xml|!doctype|!--|html|[a-z][\w:.-]*(?:\s[^<>]*)?/?>)", re.IGNORECASE)
_CERTAIN_MARKUP = (b"<?xml", b"<!doctype", b"<html")
_BINARY = {b"%PDF-": "PDF", b"{\\rtf": "RTF", b"\xd0\xcf\x11\xe0": "a document of Word"}
_TAR_MARK = slice(257, 262)
_LINES_LOOKED_AT = 20
_COLUMN_NAME = re.compile(r"[A-Za-z_][\w-]*(?:[ ./][\w-]+){0,2}")
# Prose has commas too, so of a table with commas one of its columns must have a usual name.
_USUAL_NAMES = (
    "author body category comment content date doc doc_id document id label lang language name "
    "sentence source text title type url"
)
_USUAL_COLUMNS = frozenset(_USUAL_NAMES.split())


def head_of(path: str) -> bytes:
    """The first bytes of a file, decompressed; raises `Unreadable` if it cannot be opened."""
    with open_input(path) as stream:
        return stream.peek(HEAD_BYTES)[:HEAD_BYTES]


def _content(head: bytes) -> bytes:
    """`head` without the white space and byte order mark at its beginning."""
    return head[_LEADING_SPACE.match(head).end() :]  # type: ignore[union-attr]


def form_of(head: bytes) -> str:
    """The form of a file of texts with this `head`, of those that have a reader."""
    content = _content(head)
    if content.startswith(b"WARC/"):
        return WARC
    if _EXTRACTED_BEGIN.search(content):
        return EXTRACTED
    # Its faults are those of its lines: nobody begins prose so.
    return JSON_LINES if _JSON_OBJECT.match(content) else PLAIN


def refusal_of(head: bytes) -> str | None:
    """Why a file with this `head` is not read as text; None for text and what has a reader."""
    content = _content(head)
    is_vertical = _is_vertical(content)
    if form_of(head) != PLAIN and not is_vertical:
        return None
    if content.startswith(b"<mediawiki"):
        return "is a dump, which source=text would read as prose; write source=wikipedia"
    dialect = parsed_dialect(head)
    if dialect is not None:
        return (
            f"looks like a parsed corpus in the layout {dialect.name}, which source=text would "
            f"read as prose; write source={SOURCE_OF[dialect.name]}"
        )
    if head.startswith(UTF_16_MARKS):
        return "is UTF-16; save it as UTF-8"
    kind = next((name for mark, name in _BINARY.items() if content.startswith(mark)), None)
    if head[_TAR_MARK] == b"ustar":
        kind = "a tar archive"
    if kind is None and (_JSON_ARRAY.match(content) or re.match(rb"\{\s*\n\s*\"", content)):
        kind = "one JSON value"
    if kind is None and _is_markup(content):
        kind = "XML or HTML"
    if kind is None and is_vertical:
        kind = "a vertical file, with a word and its tags on a line"
    columns = _table_columns(content) if kind is None else None
    if columns:
        kind = f"a table with the columns {', '.join(columns)}"
    if kind is None:
        return None
    return (
        f"looks like {kind}, which source=text would read as prose; expected plain text, JSON "
        "lines (one object a line), Parquet or Arrow"
    )


def _is_vertical(content: bytes) -> bool:
    lines = [line for line in content.split(b"\n")[:-1] if line.strip()][:_LINES_LOOKED_AT]
    rows = [line for line in lines if not line.startswith(b"<")]
    return len(rows) > 1 and len(rows) < len(lines) and all(map(_VERTICAL_ROW.fullmatch, rows))


def _is_markup(content: bytes) -> bool:
    if content[:9].lower().startswith(_CERTAIN_MARKUP):
        return True
    if not _MARKUP.match(content):
        return False
    lines = [line.strip() for line in content.split(b"\n") if line.strip()][:_LINES_LOOKED_AT]
    return 2 * sum(line.startswith(b"<") for line in lines) > len(lines)


def _table_columns(content: bytes) -> list[str] | None:
    """The columns of a CSV or TSV file; None for text."""
    text = content.decode("utf-8", "replace")
    lines = [line for line in text.splitlines() if line.strip()]
    if len(content) >= HEAD_BYTES // 2:
        lines.pop()  # it may be cut
    for delimiter in "\t,;|":
        if len(lines) < 2 or delimiter not in lines[0]:
            continue
        try:
            rows = list(csv.reader(lines[:_LINES_LOOKED_AT], delimiter=delimiter))
        except csv.Error:
            continue
        header = [name.strip() for name in rows[0]]
        names = header if header[0] else header[1:]  # pandas does not name its index
        is_header = all(map(_COLUMN_NAME.fullmatch, names)) and len(set(names)) == len(names)
        is_usual = delimiter == "\t" or {name.lower() for name in header} & _USUAL_COLUMNS
        if is_header and is_usual and {len(row) for row in rows} == {len(header)}:
            return header
    return None
