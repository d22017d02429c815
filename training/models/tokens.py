"""Texts as token ids, cached by content: the same texts, tokenizer and limit are encoded once.

The cache never needs clearing: its files are named by a hash of all that decides their content.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from adnominal.training.batching import Ids, layout

_CHUNK = 16_384
_VERSION = 3
# The key of the number of truncated rows in the metadata of a cache entry.
_TRUNCATED = b"truncated"
log = logging.getLogger("adnominal")


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


def fingerprint(tokenizer: Any) -> str:
    """Return a hash of a tokenizer's behaviour: its serialised form and transformers' settings."""
    backend = tokenizer.backend_tokenizer
    # The limit of an earlier call is part of its state, not of its identity.
    backend.no_truncation()
    backend.no_padding()
    beside = [type(tokenizer).__name__, tokenizer.model_input_names, tokenizer.truncation_side]
    text = json.dumps([_VERSION, *beside, backend.to_str()])
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def key(
    tokenizer_hash: str, first: pa.StringArray, second: pa.StringArray | None, limit: int
) -> str:
    """Return the cache key of encoded texts; `tokenizer_hash` is the tokenizer's `fingerprint`."""
    digest = hashlib.blake2b(f"{tokenizer_hash} {limit} {len(first)}".encode(), digest_size=16)
    for column in (first, second):
        if column is None:
            digest.update(b"none")
            continue
        for texts in chunks(column):
            # Lengths precede the texts, so that "ab", "c" differs from "a", "bc".
            digest.update(np.array([len(text) for text in texts], dtype=np.int64).tobytes())
            digest.update("".join(texts).encode())
    return digest.hexdigest()


def chunks(column: pa.StringArray) -> Iterator[list[str]]:
    """Yield the texts of a column by thousands, never all of them as Python strings."""
    for at in range(0, len(column), _CHUNK):
        yield column.slice(at, _CHUNK).to_pylist()


def encode(
    tokenizer: Any,
    first: pa.StringArray,
    second: pa.StringArray | None,
    limit: int,
    cache: Path | None = None,
) -> Tokens:
    """Encode rows with special tokens, cut to `limit`, or read them from the cache.

    In a pair that is too long, the longer text is cut. A damaged cache entry is written again.
    """
    if cache is None:
        return _encode(tokenizer, first, second, limit)
    path = cache / f"{key(fingerprint(tokenizer), first, second, limit)}.arrow"
    if path.exists():
        try:
            return _read(path)
        except (OSError, ValueError, KeyError) as error:
            log.warning("%s cannot be read (%s); its texts are encoded again", path, error)
    tokens = _encode(tokenizer, first, second, limit)
    _write(tokens, path)
    return tokens


def _has_types(tokenizer: Any) -> bool:
    return "token_type_ids" in tokenizer.model_input_names


def _encode(
    tokenizer: Any, first: pa.StringArray, second: pa.StringArray | None, limit: int
) -> Tokens:
    """The tokens of texts or of pairs of texts, at most `limit` for each."""
    with_types = _has_types(tokenizer)
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


def _write(tokens: Tokens, path: Path) -> None:
    """Write an entry under a temporary name, so that no process ever reads a part of it."""
    columns = {"ids": pa.LargeListArray.from_arrays(tokens.offsets, tokens.ids)}
    if tokens.types is not None:
        columns["types"] = pa.LargeListArray.from_arrays(tokens.offsets, tokens.types)
    rows = pa.record_batch(columns, metadata={_TRUNCATED: str(tokens.truncated)})
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".new", delete=False) as file:
        with pa.ipc.new_file(file, rows.schema) as writer:
            writer.write_batch(rows)
        file.flush()
        os.fsync(file.fileno())
    os.replace(file.name, path)


def _read(path: Path) -> Tokens:
    """Map an entry into memory, which the processes of a machine then share."""
    rows = pa.ipc.open_file(pa.memory_map(os.fspath(path))).get_batch(0)
    ids = rows.column("ids")
    types = rows.column("types").values.to_numpy() if "types" in rows.schema.names else None
    truncated = int(rows.schema.metadata[_TRUNCATED])
    return Tokens(ids.values.to_numpy(), ids.offsets.to_numpy(), types, truncated)
