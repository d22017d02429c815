"""The columns that every parser yields, and the pieces of text that parsers get.

A document is parsed paragraph by paragraph: a blank line ends a sentence. A parser that gets the
whole document builds relations across headings and list items ("See also", "Solar radiation"); on
encyclopedic text 0.5 % of spaCy's amod relations were of this kind. Short pieces are also faster,
because parsers process the pieces of a batch together.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

_WORD = pa.dictionary(pa.int32(), pa.string())

TOKENS = pa.schema(
    [
        pa.field("document", pa.int32(), nullable=False),
        pa.field("sentence", pa.int32(), nullable=False),
        pa.field("id", pa.int32(), nullable=False),
        pa.field("form", _WORD, nullable=False),
        pa.field("lemma", _WORD),
        pa.field("xpos", _WORD, nullable=False),
        pa.field("head", pa.int32(), nullable=False),
        pa.field("deprel", _WORD, nullable=False),
        pa.field("space_after", pa.bool_(), nullable=False),
    ]
)
"""One row per token, in the order of the text; white space is not a token.

document     ordinal of the text within the call, from 0
sentence     ordinal of the sentence within the document, from 0
id, head     from 1 within the sentence, head 0 for its root; ids ascend and may have gaps, so a
             head is found by its id, never by its position
lemma        null if it was not computed; `amod` tokens and their heads always have one
xpos         Penn Treebank tag; of a parser of another language than English, the universal tag
space_after  whether white space, or the end of the paragraph, follows
"""

SENTENCES = pa.schema(
    [
        pa.field("document", pa.int32(), nullable=False),
        pa.field("sentence", pa.int32(), nullable=False),
        pa.field("text", pa.string(), nullable=False),
    ]
)
"""One row per sentence with tokens, in the order of the text; ordinals as in `TOKENS`."""


@dataclass(frozen=True)
class Parsed:
    """A batch of whole sentences: `tokens` (`TOKENS`) and `sentences` (`SENTENCES`).

    A long document may continue in the next batch, and so do its sentence ordinals.
    """

    tokens: pa.RecordBatch
    sentences: pa.RecordBatch


class Parser(Protocol):
    """A parser of plain text. An instance is used by one thread at a time."""

    def parse(self, texts: Iterable[str]) -> Iterator[Parsed]:
        """Parsed batches of bounded size, in the order of `texts`, which is read as needed.

        The result for a text depends only on that text, not on its neighbours.
        """
        ...


PARAGRAPH_CHARACTERS = 10_000
WORD_CHARACTERS = 500

_BLANK_LINE = re.compile(r"\n[^\S\n]*\n\s*")
_UNBROKEN = re.compile(rf"(\S{{{WORD_CHARACTERS}}})(?=\S)")
_SENTENCE_END = re.compile(r"[.!?]['\")\]’”]*\s")


def paragraphs(text: str) -> list[str]:
    """The non-empty paragraphs of `text`, stripped: pieces of at most 10,000 characters.

    A paragraph ends at a blank line. A longer one is cut at the end of a sentence if there is one
    in its second half, else at a line break, else at white space. A string of more than 500
    characters without white space (encoded data, rows of punctuation) is cut too, because
    tokenizers that strip punctuation take time quadratic in its length. Lone surrogates become
    U+FFFD (`encode_text`).
    """
    pieces = []
    for part in _BLANK_LINE.split(_UNBROKEN.sub("\\1\n\n", encode_text(text).decode())):
        rest = part.strip()
        while len(rest) > PARAGRAPH_CHARACTERS:
            cut = _cut_position(rest)
            pieces.append(rest[:cut].rstrip())
            rest = rest[cut:].lstrip()
        if rest:
            pieces.append(rest)
    return pieces


def encode_text(text: str) -> bytes:
    """The text in UTF-8; lone surrogates, which cannot be encoded, become U+FFFD."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def paragraph_batches(texts: Iterable[str], characters: int) -> Iterator[list[tuple[int, str]]]:
    """The paragraphs of texts, each with the ordinal of its text, in batches (`batches`)."""
    pieces = (
        (document, paragraph)
        for document, text in enumerate(texts)
        for paragraph in paragraphs(text)
    )
    return batches(pieces, characters)


def batches(pieces: Iterable[tuple[int, str]], characters: int) -> Iterator[list[tuple[int, str]]]:
    """Pieces of text with their ordinals, in batches.

    A batch ends with the piece that brings it to `characters` characters.
    """
    batch: list[tuple[int, str]] = []
    size = 0
    for ordinal, text in pieces:
        batch.append((ordinal, text))
        size += len(text)
        if size >= characters:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _cut_position(text: str) -> int:
    """Where to cut a paragraph of more than `PARAGRAPH_CHARACTERS`: an index into it."""
    half, limit = PARAGRAPH_CHARACTERS // 2, PARAGRAPH_CHARACTERS
    ends = [match.end() for match in _SENTENCE_END.finditer(text, half, limit)]
    if ends:
        return ends[-1]
    line = text.rfind("\n", half, limit)
    if line >= 0:
        return line + 1
    # There is white space, because `_UNBROKEN` was replaced before.
    return max(i for i in range(half, limit) if text[i].isspace()) + 1
