"""What a reader of raw text yields: documents, and whatever it could not or did not read."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

MAX_CHARACTERS = 1_000_000
"""The longest text that spaCy's pipelines take (its ``nlp.max_length``)."""

MAX_SAMPLE = 200


@dataclass(frozen=True, slots=True)
class Document:
    """A text to parse: `id` names it (title, URL, or path and byte), `text` has one paragraph a
    line, is in Unicode normal form C and holds at most `MAX_CHARACTERS` characters."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Rejected:
    """Malformed input. `sample` shows it (at most `MAX_SAMPLE` characters, never undecodable);
    `line` is its line from 1 where the file is read from its beginning, `offset` the byte of the
    decompressed file (of the unit's own data, where a unit is a range of bz2 streams)."""

    reason: str
    sample: str
    line: int | None = None
    offset: int | None = None

    def place(self, path: str) -> str:
        """``path, line 12`` or ``path, byte 345``: what a message shows."""
        if self.line is not None:
            return f"{path}, line {self.line}"
        return path if self.offset is None else f"{path}, byte {self.offset}"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Well-formed input that is left out on purpose; `sample` names it (a page title)."""

    reason: str
    sample: str


Event = Document | Rejected | LeftOut


def sample_of(data: bytes | str) -> str:
    """The beginning of `data` on one line, with bytes that are not UTF-8 shown as escapes."""
    if isinstance(data, bytes):
        data = data[: MAX_SAMPLE * 4].decode("utf-8", "backslashreplace")
    return " ".join(data[:MAX_SAMPLE].replace("\0", "\\0").split())


def normal_form(text: str) -> str:
    """`text` in Unicode normal form C.

    NFC changes no word: it only joins a letter and its combining marks into the one code point that
    MediaWiki, most keyboards and the parsers' training data use, so that one word is not counted
    under two encodings. NFKC is not applied: it would change what stands there (``m²`` -> ``m2``).
    """
    return text if text.isascii() else unicodedata.normalize("NFC", text)


# An overlong text is cut at a paragraph, else here; never at a mere space, inside a sentence.
_SENTENCE_END = re.compile(r"[.!?…][\"'”’)\]]*\s+")


def pieces(
    document: Document, limit: int = MAX_CHARACTERS, offset: int | None = None
) -> Iterator[Document | Rejected]:
    """`document` itself, or where it is longer than `limit` characters, its parts.

    Parts are cut at the last paragraph end before the limit, else at the last sentence end; their
    ids are ``id#part=1``, ``id#part=2`` and so on. A stretch of `limit` characters without either
    is no prose: the rest of the document is rejected as ``too_long``.
    """
    if len(document.text) <= limit:
        yield document
        return
    text, start, part = document.text, 0, 0
    while start < len(text):
        end = len(text)
        if end - start > limit:
            end = text.rfind("\n", start + 1, start + limit + 1)
            if end < 0:
                for found in _SENTENCE_END.finditer(text, start, start + limit):
                    end = found.end()
            if end < 0:
                sample = sample_of(text[start : start + MAX_SAMPLE])
                yield Rejected("too_long", sample, offset=offset)
                return
        piece = text[start:end].strip()
        start = end
        if piece:
            part += 1
            yield Document(f"{document.id}#part={part}", piece)
