"""Batches: the examples of each step, and their distribution over processes.

A *step* is one update of the weights. Its `batch_size` examples are the same for any number of
processes and any amount of memory: they are cut into micro-batches, one for each process and round
of gradient accumulation. Everything follows from (seed, epoch), so the order can be resumed by
counting, with any number of processes.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

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


def epoch_steps(
    lengths: Ids, batch_size: int, *, seed: int, epoch: int, bucket: int | None = 100
) -> list[Ids]:
    """Return the steps of an epoch as indices into `lengths`: each example once, shuffled.

    The examples are shuffled and cut into buckets of `bucket` steps; inside a bucket they are
    sorted by length and cut into steps, and all steps of the epoch are shuffled. Examples of one
    step thus have similar lengths, and steps still differ between epochs. With bucket=None nothing
    is sorted. The last step has the remainder.
    """
    draw = rng("epoch", seed, epoch)
    order = draw.permutation(len(lengths))
    if bucket is None:
        return _pieces(order, batch_size)
    steps: list[Ids] = []
    for part in _pieces(order, bucket * batch_size):
        # A stable sort: examples of the same length stay shuffled.
        steps += _pieces(part[np.argsort(lengths[part], kind="stable")], batch_size)
    return [steps[number] for number in draw.permutation(len(steps))]


def _pieces(order: Ids, size: int) -> list[Ids]:
    return [order[start : start + size] for start in range(0, len(order), size)]


def shares(step: Ids, lengths: Ids, rank: int, world_size: int, rounds: int) -> list[Ids]:
    """Return the micro-batches of process `rank` for one step, one per round of accumulation.

    The step is sorted by length and cut into world x rounds pieces of similar size; the pieces of
    one round are neighbours, so that processes wait little for each other. If there are more pieces
    than examples, some are empty.
    """
    order = step[np.argsort(-lengths[step], kind="stable")]
    pieces = np.array_split(order, world_size * rounds)
    return [pieces[number * world_size + rank] for number in range(rounds)]


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


@dataclass(frozen=True)
class Layout:
    """Positions of a batch's tokens in flat storage, valid where `mask` is true."""

    positions: Ids
    mask: npt.NDArray[np.bool_]

    def fill(self, tokens: npt.NDArray[np.integer], value: int) -> Ids:
        """Return the batch's rows of `tokens` as a matrix, padded with `value`."""
        return np.where(self.mask, tokens[self.positions], value).astype(np.int64)


def layout(offsets: Ids, rows: Ids, *, pad_left: bool = False, multiple: int = 1) -> Layout:
    """Lay out the sequences of `rows` as a matrix as wide as the longest of them.

    Sequence i is in flat storage from offsets[i] to offsets[i + 1]. The width is rounded up to a
    `multiple` (GPU matrix units use multiples of eight); with `pad_left` the padding is first.
    """
    starts, lengths = offsets[rows], offsets[rows + 1] - offsets[rows]
    width = -(-max(1, int(lengths.max())) // multiple) * multiple
    columns = np.arange(width)[None, :] - ((width - lengths)[:, None] if pad_left else 0)
    mask = (columns >= 0) & (columns < lengths[:, None])
    return Layout(np.where(mask, starts[:, None] + columns, 0), mask)


def padding_efficiency(lengths: Ids, steps: Sequence[Ids]) -> float:
    """Return the share of tokens, as opposed to padding, that a process computes (0 to 1)."""
    slots = sum(int(lengths[step].max()) * len(step) for step in steps)
    return sum(int(lengths[step].sum()) for step in steps) / slots
