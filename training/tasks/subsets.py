"""Nested subsets of training rows, for learning curves (SyGNS, figure 2)."""

from __future__ import annotations

import hashlib

import numpy as np
import pyarrow as pa

from conf import UserError
from training.tasks.dataset import Ids


def nested_subset(item_ids: pa.StringArray, size: int, seed: int) -> Ids:
    """The row numbers, ascending, of `size` rows.

    Rows are ranked by a hash of (seed, item id), so a smaller subset of the same seed lies in a
    greater one whatever the order of the rows; rows with one id stand together.

    Raises:
        UserError: `size` is not between 1 and the number of rows.
    """
    if not 1 <= size <= len(item_ids):
        raise UserError(
            f"train_size={size}: expected 1 to {len(item_ids)}, the training rows that there are"
        )
    ranks = np.array(
        [
            int.from_bytes(hashlib.blake2b(f"{seed}\t{item}".encode(), digest_size=8).digest())
            for item in item_ids.to_pylist()
        ],
        dtype=np.uint64,
    )
    # Equal ids rank equally; a stable sort keeps them in the order of the rows.
    return np.sort(np.argsort(ranks, kind="stable")[:size]).astype(np.int64)
