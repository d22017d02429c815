"""Texts as token ids."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from adnominal.training.batching import Ids, layout

_CHUNK = 16_384


@dataclass(frozen=True)
class Tokens:
    """Encoded rows end to end: row i is ids[offsets[i]:offsets[i + 1]].

    `types` distinguishes first and second text if the model needs it, else None. `truncated` is the
    number of truncated rows.
    """

    ids: npt.NDArray[np.int32]
    offsets: Ids
    types: npt.NDArray[np.uint8] | None
    truncated: int

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]]) -> Tokens:
        """Return rows of ids as `Tokens`."""
        ids = np.fromiter(chain.from_iterable(rows), dtype=np.int32)
        return cls(ids, _offsets([len(row) for row in rows]), None, 0)

    @property
    def lengths(self) -> Ids:
        """The number of tokens of each row, including special ones."""
        return np.diff(self.offsets)

    def padded_matrix(self, rows: Ids, value: int) -> Ids:
        """Return these rows as a matrix, padded with `value`."""
        return layout(self.offsets, rows).fill(self.ids, value)


def _offsets(lengths: Sequence[int]) -> Ids:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def chunks(column: pa.StringArray) -> Iterator[list[str]]:
    """Yield the texts of a column by thousands, never all of them as Python strings."""
    for at in range(0, len(column), _CHUNK):
        yield column.slice(at, _CHUNK).to_pylist()


def encode(
    tokenizer: Any, first: pa.StringArray, second: pa.StringArray | None, limit: int
) -> Tokens:
    """Encode rows with special tokens, cut to `limit`; in a pair, the longer text is cut."""
    with_types = "token_type_ids" in tokenizer.model_input_names
    ids: list[npt.NDArray[np.int32]] = []
    types: list[npt.NDArray[np.uint8]] = []
    lengths: list[int] = []
    truncated = 0
    seconds = chunks(second) if second is not None else None
    for texts in chunks(first):
        encoded = tokenizer(
            texts,
            next(seconds) if seconds is not None else None,
            truncation=True,
            max_length=limit,
            return_attention_mask=False,
            return_token_type_ids=with_types,
        )
        rows = encoded["input_ids"]
        lengths += [len(row) for row in rows]
        ids.append(np.fromiter(chain.from_iterable(rows), dtype=np.int32))
        if with_types:
            flat = chain.from_iterable(encoded["token_type_ids"])
            types.append(np.fromiter(flat, dtype=np.uint8))
        truncated += sum(bool(encoding.overflowing) for encoding in encoded.encodings)
    return Tokens(
        np.concatenate(ids),
        _offsets(lengths),
        np.concatenate(types) if with_types else None,
        truncated,
    )
