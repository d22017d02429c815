"""Answers that a model has given, kept by content: what is asked again costs no forward pass.

Nothing has to be cleared: a key is a hash of everything that an answer depends on (the model's
files, the precision, the prompt with its version, the text and the words), so that another of any
of these is another answer. Processes write files of their own, each put in place by renaming: a
kill loses what was computed since the last, and never leaves half a file.
"""

from __future__ import annotations

import hashlib
import logging
import math
import os
import uuid
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from training.prompting.prompts import Cloze

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
    """What a model says of a gap.

    Attributes:
        sums: log-probability (natural) of each word with what follows it; not a number for a word
            that the model cannot write in one token where it has to.
        tokens: how many tokens each of them is over.
        first: the token that a masked model predicts first, else None.
        place: the number of the word that it is, or -1.
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
    """What stands for a question to one model; `prompt` is the prompt's name with its version."""
    digest = hashlib.blake2b(digest_size=16)
    for part in (prompt, cloze.prefix, cloze.suffix, *cloze.words):
        # Lengths before the texts: "ab", "c" is not "a", "bc".
        text = part.encode()
        digest.update(len(text).to_bytes(4))
        digest.update(text)
    return digest.digest()


class Cache:
    """The answers of one model below `folder`, or none where that is None."""

    def __init__(self, folder: str | None, model: str) -> None:
        self._folder = None
        if folder is not None:
            self._folder = Path(folder).expanduser() / f"{model}-{_VERSION}"

    def lookup(self, keys: Iterable[bytes]) -> dict[bytes, Answer]:
        """The answers to those of the questions that have been computed."""
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
        """Keep answers that are not broken; they are there for others when this returns."""
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
