"""`parser=fast` as a parser of texts: the columns that every parser yields (`etl.parsing.tokens`).

Only adjectives that modify a noun have a head and a relation (`amod`), and only they and their
nouns have a lemma: the extractor computes no other relation. Plain counting does not use these
columns but goes directly from bytes to counts (`etl.parsing.fast.counting`); both yield the same
pairs.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from adnominal.etl.parsing.fast.extractor import new_extractor
from adnominal.etl.parsing.fast.model import TAGS
from adnominal.etl.parsing.tokens import SENTENCES, TOKENS, Parsed, batches, encode_text

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
        for batch in batches(enumerate(texts), BATCH_CHARACTERS):
            columns = [
                _columns(self._extractor, encode_text(text), ordinal) for ordinal, text in batch
            ]
            yield Parsed(
                _one_batch([tokens for tokens, _ in columns], TOKENS),
                _one_batch([sentences for _, sentences in columns], SENTENCES),
            )


def _one_batch(batches: list[pa.RecordBatch], schema: pa.Schema) -> pa.RecordBatch:
    table = pa.Table.from_batches(batches, schema).unify_dictionaries().combine_chunks()
    batch = table.to_batches()
    return batch[0] if batch else pa.RecordBatch.from_pylist([], schema=schema)


def _columns(
    extractor: Any, content: bytes, document: int
) -> tuple[pa.RecordBatch, pa.RecordBatch]:
    """The tokens and the sentences of a text in UTF-8, the `document`-th of its call."""
    extractor.parse(content)
    types = (np.int32, np.int32, np.int8, np.int32, np.bool_, np.int32)
    columns: Iterator[npt.NDArray[Any]] = map(np.frombuffer, extractor.tokens(), types)
    starts, ends, tag, head, space_after, first = columns
    count = len(starts)
    length = np.diff(first, append=count)  # of each sentence, in tokens
    modifies = head >= 0
    first_of_token = np.repeat(first, length)
    noun = first_of_token[modifies] + head[modifies]
    lemmas: list[str | None] = [None] * count
    for place in [*np.flatnonzero(modifies).tolist(), *noun.tolist()]:
        lemmas[place] = extractor.lemma(place)

    def texts(first_bytes: Any, end_bytes: Any) -> pa.StringArray:
        spans = zip(first_bytes.tolist(), end_bytes.tolist(), strict=True)
        words = [content[start:end].decode("utf-8", "replace") for start, end in spans]
        return pa.array(words, pa.string())

    tokens = {
        "document": np.full(count, document, np.int32),
        "sentence": np.repeat(np.arange(len(first), dtype=np.int32), length),
        "id": np.arange(1, count + 1, dtype=np.int32) - first_of_token,
        "form": texts(starts, ends).dictionary_encode(),
        "lemma": pa.array(lemmas, pa.string()).dictionary_encode(),
        "xpos": pa.DictionaryArray.from_arrays(tag.astype(np.int32), list(TAGS)),
        "head": np.where(modifies, head + 1, 0),
        "deprel": pa.DictionaryArray.from_arrays(modifies.astype(np.int32), RELATIONS),
        "space_after": space_after,
    }
    sentences = {
        "document": np.full(len(first), document),
        "sentence": np.arange(len(first)),
        "text": texts(starts[first], ends[first + length - 1]),
    }
    return (
        pa.RecordBatch.from_pydict(tokens, schema=TOKENS),
        pa.RecordBatch.from_pydict(sentences, schema=SENTENCES),
    )
