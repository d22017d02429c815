"""The events that a reader of raw text yields: documents, rejected and skipped input."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from adnominal.etl.corpora.languages import identify

MAX_CHARACTERS = 1_000_000
"""The longest text that spaCy's pipelines accept (``nlp.max_length``)."""

MAX_SAMPLE = 200


@dataclass(frozen=True, slots=True)
class Document:
    """A text to parse.

    `id` names it (title, URL, or path and byte). `text` has one paragraph per line, is in Unicode
    normal form C and has at most `MAX_CHARACTERS` characters.
    """

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Rejected:
    """Malformed input.

    `sample` shows it (at most `MAX_SAMPLE` characters, always decodable). `line` is its line from 1
    if the file is read from its beginning, `offset` its byte in the decompressed file (in the data
    of the unit, if the unit is a range of bz2 streams).
    """

    reason: str
    sample: str
    line: int | None = None
    offset: int | None = None


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Well-formed input that is skipped on purpose.

    `sample` names it (a page title), or the first one if `count` records are skipped.
    """

    reason: str
    sample: str
    count: int = 1


Event = Document | Rejected | LeftOut


def sample_of(data: bytes | str) -> str:
    """The beginning of `data` on one line, with bytes that are not UTF-8 shown as escapes."""
    if isinstance(data, bytes):
        data = data[: MAX_SAMPLE * 4].decode("utf-8", "backslashreplace")
    return " ".join(data[:MAX_SAMPLE].replace("\0", "\\0").split())


# A text that is too long is split at a paragraph, else here; never at a space inside a sentence.
_SENTENCE_END = re.compile(r"[.!?…][\"'”’)\]]*\s+")


def pieces(
    document: Document, limit: int = MAX_CHARACTERS, offset: int | None = None
) -> Iterator[Document | Rejected]:
    """`document` itself, or its parts if it is longer than `limit` characters.

    Parts are cut at the last paragraph end before the limit, else at the last sentence end; their
    ids are ``id#part=1``, ``id#part=2`` and so on. A span of `limit` characters without either is
    not prose: the rest of the document is rejected as ``too_long``.
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
                for sentence_end in _SENTENCE_END.finditer(text, start, start + limit):
                    end = sentence_end.end()
            if end < 0:
                sample = sample_of(text[start : start + MAX_SAMPLE])
                yield Rejected("too_long", sample, offset=offset)
                return
        piece = text[start:end].strip()
        start = end
        if piece:
            part += 1
            yield Document(f"{document.id}#part={part}", piece)


@dataclass(frozen=True, slots=True)
class DocumentFilter:
    """Which documents are read: those in `language` (ISO 639-1) with `min_characters` or more."""

    language: str | None = None
    min_characters: int = 0

    def events(self, document: Document, offset: int | None = None) -> Iterator[Event]:
        """`document`, or its parts (`pieces`), or why it is left out: it is judged as a whole."""
        if len(document.text) < self.min_characters:
            yield LeftOut("too_short", document.id)
        elif self.language and identify(document.text) != self.language:
            yield LeftOut("language", document.id)
        else:
            yield from pieces(document, offset=offset)


EVERY_DOCUMENT = DocumentFilter()
