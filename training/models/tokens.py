"""Texts as token ids: Arrow columns with a list for each row."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from adnominal.training.batching import Ids

IDS = pa.list_(pa.int32())
_CHUNK = 16_384


def chunks(column: pa.StringArray) -> Iterator[list[str]]:
    """Yield the texts of a column by thousands, never all of them as Python strings."""
    for at in range(0, len(column), _CHUNK):
        yield column.slice(at, _CHUNK).to_pylist()


def encode(
    tokenizer: Any, first: pa.StringArray, second: pa.StringArray | None, limit: int
) -> tuple[pa.Table, int]:
    """Encode rows with special tokens, cut to `limit`; in a pair, the longer text is cut.

    Returns:
        The columns input_ids and, if the model needs them, token_type_ids, and the number of rows
        that were cut.
    """
    names = ["input_ids"]
    with_types = "token_type_ids" in tokenizer.model_input_names
    if with_types:
        names.append("token_type_ids")
    pieces = []
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
        pieces.append(pa.table({name: pa.array(encoded[name], IDS) for name in names}))
        truncated += sum(bool(encoding.overflowing) for encoding in encoded.encodings)
    return pa.concat_tables(pieces).combine_chunks(), truncated


def lengths(tokens: pa.Array | pa.ChunkedArray) -> Ids:
    """Return the number of tokens of each row, including special ones."""
    return np.asarray(pc.list_value_length(tokens).to_numpy(), dtype=np.int64)
