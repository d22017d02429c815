"""Drawing without repetition, by number: any row can be drawn by itself, on any machine."""

from __future__ import annotations

import hashlib
import math

# Steps of this share of a list spread any number of draws evenly over it.
_GOLDEN_SECTION = (math.sqrt(5) - 1) / 2


def digest(*parts: object) -> int:
    """A number of 64 bits that depends on the parts alone."""
    text = "\t".join(map(str, parts))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


class Order:
    """An order of the numbers below `size`, chosen by `key`: draw k is `order[k]`.

    The first `size` draws never repeat. They go through the numbers in steps near the golden
    section of `size`, so that even a few draws have the proportions of the lexicon.
    """

    def __init__(self, size: int, *key: object) -> None:
        self.size = size
        self._start = digest(*key) % size if size else 0
        step = max(1, round(size * _GOLDEN_SECTION))
        while math.gcd(step, size) > 1:
            step += 1
        self._step = step

    def __getitem__(self, k: int) -> int:
        return (self._start + k * self._step) % self.size
