"""Batches: seeds, the rows that each process answers, and padding."""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Ids: TypeAlias = npt.NDArray[np.int64]


def seed_of(*parts: object) -> int:
    """Return a 63-bit seed that depends on all parts and their order."""
    text = "\x1f".join(map(str, parts)).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big") >> 1


def rng(*parts: object) -> np.random.Generator:
    """Return a generator seeded by `seed_of`."""
    return np.random.Generator(np.random.Philox(seed_of(*parts)))


def _pieces(order: Ids, size: int) -> list[Ids]:
    return [order[start : start + size] for start in range(0, len(order), size)]


def evaluation_batches(lengths: Ids, batch_size: int, rank: int, world_size: int) -> list[Ids]:
    """Return the batches that process `rank` evaluates: every world-th, longest first.

    Every process gets the same number, and the last ones may be empty: under ZeRO 3 a forward pass
    is a collective operation.
    """
    order = np.argsort(-lengths, kind="stable")
    batches = _pieces(order, batch_size)
    rounds = -(-len(batches) // world_size)
    empty = np.zeros(0, dtype=np.int64)
    return [
        batches[number] if number < len(batches) else empty
        for number in range(rank, rounds * world_size, world_size)
    ]


def even_batch_size(rows: int, batch_size: int, world_size: int) -> int:
    """Return the size, at most `batch_size`, with which batches fill all processes evenly.

    accelerate fills the last round of batches up by repeating rows: 33 rows in batches of 64 would
    be 128 rows of work for two processes, and in batches of 17 they are 34.
    """
    rounds = -(-rows // (batch_size * world_size))
    return max(1, -(-rows // (max(1, rounds) * world_size)))


def pad_rows(rows: Iterable[Sequence[int]], value: int, side: str = "right") -> Any:
    """Return rows of ids as a matrix on the CPU, as wide as the longest, padded with `value`."""
    import torch
    from torch.nn.utils.rnn import pad_sequence

    tensors = [torch.tensor(row, dtype=torch.long) for row in rows]
    return pad_sequence(tensors, batch_first=True, padding_value=value, padding_side=side)
