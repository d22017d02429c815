"""Draws that depend on a seed and a record alone, and ids that depend on a record's content.

The same parts give the same number on any machine, for any partitioning and in any order of the
rows, so that a job's rows do not depend on how it was run. The seed is one of the parts.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

Keys = npt.NDArray[np.uint64]

# Steps of this share of a list spread any number of draws evenly over it.
_GOLDEN_SECTION = (math.sqrt(5) - 1) / 2


def _digest(parts: tuple[object, ...], size: int) -> bytes:
    return hashlib.blake2b("\t".join(map(str, parts)).encode(), digest_size=size).digest()


def draw(*parts: object) -> int:
    """A number below 2**64 that is evenly distributed over different parts."""
    return int.from_bytes(_digest(parts, 8), "big")


def rank(*parts: object) -> int:
    """A number below 2**63, in the order of `draw`: it fits the signed integers of tables."""
    return draw(*parts) >> 1


def fraction(*parts: object) -> float:
    """A number from 0 to 1, evenly distributed over different parts."""
    return rank(*parts) / 2**63


def content_hash(*parts: object, size: int = 16, occurrence: int = 0) -> str:
    """The id of a record that consists of the parts: two hexadecimal digits for each of `size`.

    `occurrence` counts from 0 and tells equal records apart.
    """
    return _digest((*parts, occurrence) if occurrence else parts, size).hex()


def choose(seed: int, size: int, count: int, *key: object) -> list[int]:
    """`count` different numbers below `size` (all of them where there are fewer), by the key.

    The time does not grow with `size`, which may be tens of thousands of adjectives.
    """
    exchanged: dict[int, int] = {}
    choices = []
    for place in range(min(size, count)):
        # Fisher and Yates's shuffle, of which only the exchanged places are kept.
        other = place + rank(seed, *key, place) % (size - place)
        choices.append(exchanged.get(other, other))
        exchanged[other] = exchanged.get(place, place)
    return choices


class Order:
    """An order of the numbers below `size`, chosen by `key`: draw k is `order[k]`.

    The first `size` draws never repeat, and any draw can be made by itself. The draws go through
    the numbers in steps near the golden section of `size`, so that even a few draws have the
    proportions of the list that they are taken from.
    """

    def __init__(self, size: int, *key: object) -> None:
        self.size = size
        self._start = draw(*key) % size if size else 0
        step = max(1, round(size * _GOLDEN_SECTION))
        while math.gcd(step, size) > 1:
            step += 1
        self._step = step

    def __getitem__(self, number: int) -> int:
        return (self._start + number * self._step) % self.size


def keys_of(texts: Iterable[str]) -> Keys:
    """A hash of each text, 64 bits."""
    digests = (hashlib.blake2b(text.encode(), digest_size=8).digest() for text in texts)
    return np.frombuffer(b"".join(digests), np.dtype("<u8")).astype(np.uint64)


def salt_of(*parts: object) -> np.uint64:
    """A hash of the parts, to be mixed with keys."""
    return np.uint64(keys_of(["\t".join(map(str, parts))])[0])


def mix(*keys: Keys | np.uint64) -> Keys:
    """One hash of several, in their order."""
    mixed: Keys = np.zeros(1, np.uint64)
    with np.errstate(over="ignore"):
        for key in keys:
            mixed = finalised_keys((mixed + np.uint64(0x9E3779B97F4A7C15)) ^ key)
    return mixed


def finalised_keys(values: Keys) -> Keys:
    """Each value's bits mixed, one to one (the finaliser of SplitMix64, Steele et al. 2014)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
