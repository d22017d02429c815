"""A cache of a model's answers by content: repeated questions cost no forward pass.

The cache never needs clearing: a key is a hash of everything that an answer depends on (the model's
files, the precision, the prompt with its version, the text and the words). Each process writes its
own files and renames them into place: a kill loses the answers since the last file, never more.
"""

import hashlib
import logging
import math
import os
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from adnominal.training.files import cache_folder
from adnominal.training.prompting.prompts import Cloze

_VERSION = 1
_SCHEMA = pa.schema(
    [
        ("key", pa.binary(16)),
        ("sums", pa.list_(pa.float64())),
        ("tokens", pa.list_(pa.int32())),
        ("first", pa.string()),
        ("place", pa.int32()),
    ]
)
log = logging.getLogger("adnominal")


class Answer(NamedTuple):
    """A model's answer for a gap.

    Attributes:
        sums: natural log-probability of each word with the text after it; NaN for a word that is
            not one token if the model needs one.
        tokens: number of tokens of each of these sums.
        first: the token that a masked model predicts first, else None.
        place: the number of the word with that token, or -1.
    """

    sums: tuple[float, ...]
    tokens: tuple[int, ...]
    first: str | None = None
    place: int = -1

    @property
    def is_broken(self) -> bool:
        """Whether the model gave NaN for a word that it can write."""
        pairs = zip(self.sums, self.tokens, strict=True)
        return any(size > 0 and math.isnan(value) for value, size in pairs)


def key(prompt: str, cloze: Cloze) -> bytes:
    """Return the key of a question to a model; `prompt` is the prompt's name with its version."""
    digest = hashlib.blake2b(digest_size=16)
    for part in (prompt, cloze.prefix, cloze.suffix, *cloze.words):
        # Lengths precede the texts, so that "ab", "c" differs from "a", "bc".
        text = part.encode()
        digest.update(len(text).to_bytes(4))
        digest.update(text)
    return digest.digest()


class Cache:
    """The answers of one model below `folder`; no caching if that is None."""

    def __init__(self, folder: str | None, model: str) -> None:
        root = cache_folder(folder)
        self._folder = None if root is None else root / f"{model}-{_VERSION}"

    def lookup(self, keys: Iterable[bytes]) -> dict[bytes, Answer]:
        """Return the cached answers to these questions."""
        if self._folder is None or not self._folder.is_dir():
            return {}
        key_set = pa.array(sorted(set(keys)), pa.binary(16))
        answers: dict[bytes, Answer] = {}
        for path in sorted(self._folder.glob("*.parquet")):
            try:
                table = pq.read_table(path, schema=_SCHEMA)
            except (pa.ArrowInvalid, OSError) as error:
                log.warning("%s cannot be read (%s); its answers are computed again", path, error)
                continue
            table = table.filter(pc.is_in(table["key"], value_set=key_set))
            columns = [table[name].to_pylist() for name in _SCHEMA.names]
            for answer_key, sums, tokens, first, place in zip(*columns, strict=True):
                answers[answer_key] = Answer(tuple(sums), tuple(tokens), first, place)
        return answers

    def add(self, answers: Mapping[bytes, Answer]) -> None:
        """Store unbroken answers, so that other processes can read them when this returns."""
        answers = {key: answer for key, answer in answers.items() if not answer.is_broken}
        if self._folder is None or not answers:
            return
        columns: Sequence[Sequence[object]] = [list(answers), *zip(*answers.values(), strict=True)]
        arrays = [
            pa.array(column, field.type) for column, field in zip(columns, _SCHEMA, strict=True)
        ]
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / f"{uuid.uuid4().hex}.parquet"
        fresh = path.with_suffix(".new")
        pq.write_table(pa.Table.from_arrays(arrays, schema=_SCHEMA), fresh)
        os.replace(fresh, path)
