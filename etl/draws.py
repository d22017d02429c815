"""Draws that depend only on a seed and a record, and ids that depend on a record's content.

The same parts give the same number on any machine, for any partitioning and row order, so a job's
rows do not depend on how it was run. The seed is one of the parts.
"""

import hashlib
import math
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

Keys = npt.NDArray[np.uint64]

# Steps of this fraction of a list spread any number of draws evenly over it.
_GOLDEN_SECTION = (math.sqrt(5) - 1) / 2


def _digest(parts: tuple[object, ...], size: int) -> bytes:
    return hashlib.blake2b("\t".join(map(str, parts)).encode(), digest_size=size).digest()


def draw(*parts: object) -> int:
    """Return a number below 2**64, uniformly distributed over different parts."""
    return int.from_bytes(_digest(parts, 8), "big")


def rank(*parts: object) -> int:
    """Return a number below 2**63, in the order of `draw`; it fits a table's signed integers."""
    return draw(*parts) >> 1


def fraction(*parts: object) -> float:
    """Return a number from 0 to 1, uniformly distributed over different parts."""
    return rank(*parts) / 2**63


def content_hash(*parts: object, size: int = 16, occurrence: int = 0) -> str:
    """Return the id of a record with these parts: two hexadecimal digits per byte of `size`.

    `occurrence` counts from 0 and distinguishes equal records.
    """
    return _digest((*parts, occurrence) if occurrence else parts, size).hex()


def choose(seed: int, size: int, count: int, *key: object) -> list[int]:
    """Return `count` distinct numbers below `size`, or all if there are fewer, chosen by the key.

    The time does not grow with `size`, which may be tens of thousands of adjectives.
    """
    exchanged: dict[int, int] = {}
    choices = []
    for place in range(min(size, count)):
        # A Fisher–Yates shuffle that stores only the swapped positions.
        other = place + rank(seed, *key, place) % (size - place)
        choices.append(exchanged.get(other, other))
        exchanged[other] = exchanged.get(place, place)
    return choices


class Order:
    """An order of the numbers below `size`, chosen by `key`: draw k is `order[k]`.

    The first `size` draws never repeat, and any draw can be computed by itself. The draws step
    through the numbers by about the golden section of `size`, so that even a few draws have the
    proportions of the whole list.
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
    """Return a 64-bit hash of each text."""
    digests = (hashlib.blake2b(text.encode(), digest_size=8).digest() for text in texts)
    return np.frombuffer(b"".join(digests), np.dtype("<u8")).astype(np.uint64)


def salt_of(*parts: object) -> np.uint64:
    """Return a hash of the parts, to be mixed with keys."""
    return np.uint64(keys_of(["\t".join(map(str, parts))])[0])


def mix(*keys: Keys | np.uint64) -> Keys:
    """Combine several hashes into one, in their order."""
    mixed: Keys = np.zeros(1, np.uint64)
    with np.errstate(over="ignore"):
        for key in keys:
            mixed = finalised_keys((mixed + np.uint64(0x9E3779B97F4A7C15)) ^ key)
    return mixed


def finalised_keys(values: Keys) -> Keys:
    """Mix each value's bits bijectively (the finaliser of SplitMix64, Steele et al. 2014)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
