"""`parser=fast` as a parser of texts: the columns that every parser yields (`etl.parsing.tokens`).

Only adjectives that modify a noun have a head and a relation (`amod`), and only they and their
nouns have a lemma: the extractor computes no other relation. Plain counting does not use these
columns but goes directly from bytes to counts (`etl.parsing.fast.counting`); both yield the same
pairs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from etl.parsing.fast.extractor import new_extractor
from etl.parsing.fast.model import TAGS
from etl.parsing.tokens import SENTENCES, TOKENS, Parsed

# Characters parsed before a batch of columns is yielded.
BATCH_CHARACTERS = 500_000
# The relation of tokens that modify no noun; the extractor does not compute it.
NO_RELATION = "dep"
RELATIONS = [NO_RELATION, "amod"]


class FastParser:
    """The compiled extractor as a `Parser`; `model` is a file, None for the one of the package.

    Raises `conf.UserError` if the extension was not built or the model cannot be read.
    """

    def __init__(self, model: str | None = None) -> None:
        self._extractor = new_extractor(model)

    def parse(self, texts: Iterable[str]) -> Iterator[Parsed]:
        """See `etl.parsing.tokens.Parser`; batches hold about 500,000 characters."""
        batch: list[tuple[int, str]] = []
        characters = 0
        for entry in enumerate(texts):
            batch.append(entry)
            characters += len(entry[1])
            if characters >= BATCH_CHARACTERS:
                yield self._batch(batch)
                batch, characters = [], 0
        if batch:
            yield self._batch(batch)

    def _batch(self, texts: list[tuple[int, str]]) -> Parsed:
        tokens, sentences = [], []
        for document, text in texts:
            content = encoded(text)
            self._extractor.parse(content)
            columns = _Columns(self._extractor, content)
            tokens.append(columns.tokens(document))
            sentences.append(columns.sentences(document))
        return Parsed(_one_batch(tokens, TOKENS), _one_batch(sentences, SENTENCES))


def encoded(text: str) -> bytes:
    """The text in UTF-8; lone surrogates, which cannot be encoded, become U+FFFD."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def _one_batch(batches: list[pa.RecordBatch], schema: pa.Schema) -> pa.RecordBatch:
    table = pa.Table.from_batches(batches, schema).unify_dictionaries().combine_chunks()
    batch = table.to_batches()
    return batch[0] if batch else pa.RecordBatch.from_pylist([], schema=schema)


class _Columns:
    """The tokens of one text as arrays."""

    def __init__(self, extractor: Any, content: bytes) -> None:
        starts, end, tag, head, space, sentence_starts = extractor.tokens()
        self.content = content
        self.starts = np.frombuffer(starts, dtype=np.int32)
        self.end = np.frombuffer(end, dtype=np.int32)
        self.tag = np.frombuffer(tag, dtype=np.int8)
        self.head = np.frombuffer(head, dtype=np.int32)
        self.space = np.frombuffer(space, dtype=np.bool_)
        self.sentence_starts = np.frombuffer(sentence_starts, dtype=np.int32)
        self.sentence = np.zeros(len(self.starts), dtype=np.int32)
        self.sentence[self.sentence_starts[1:]] = 1
        self.sentence = np.cumsum(self.sentence, dtype=np.int32)
        self.first = (
            self.sentence_starts[self.sentence] if len(self.starts) else self.sentence_starts
        )
        self.lemma = extractor.lemma

    def tokens(self, document: int) -> pa.RecordBatch:
        count = len(self.starts)
        number = np.arange(count, dtype=np.int32)
        modifies = self.head >= 0
        noun = self.first[modifies] + self.head[modifies]
        lemmas: list[str | None] = [None] * count
        for place in [*np.flatnonzero(modifies).tolist(), *noun.tolist()]:
            lemmas[place] = self.lemma(place)
        forms = [self._text(b, e) for b, e in zip(self.starts, self.end, strict=True)]
        head = np.where(modifies, self.head + 1, 0).astype(np.int32)
        return pa.RecordBatch.from_arrays(
            [
                pa.array(np.full(count, document, dtype=np.int32)),
                pa.array(self.sentence),
                pa.array(number - self.first + 1, type=pa.int32()),
                pa.array(forms, type=pa.string()).dictionary_encode(),
                pa.array(lemmas, type=pa.string()).dictionary_encode(),
                pa.DictionaryArray.from_arrays(pa.array(self.tag.astype(np.int32)), list(TAGS)),
                pa.array(head),
                pa.DictionaryArray.from_arrays(pa.array(modifies.astype(np.int32)), RELATIONS),
                pa.array(self.space),
            ],
            schema=TOKENS,
        )

    def sentences(self, document: int) -> pa.RecordBatch:
        count = len(self.sentence_starts)
        last = np.append(self.sentence_starts[1:], len(self.end))[:count] - 1
        starts: npt.NDArray[np.int32] = self.starts[self.sentence_starts]
        texts = [self._text(b, e) for b, e in zip(starts, self.end[last], strict=True)]
        return pa.RecordBatch.from_arrays(
            [
                pa.array(np.full(count, document, dtype=np.int32)),
                pa.array(np.arange(count, dtype=np.int32)),
                pa.array(texts, type=pa.string()),
            ],
            schema=SENTENCES,
        )

    def _text(self, starts: int, end: int) -> str:
        return self.content[starts:end].decode("utf-8", "replace")
