"""Random numbers that depend on the seed and the record alone, on any machine and partitioning."""

from __future__ import annotations

import hashlib


def draw(seed: int, *key: object) -> int:
    """A number below 2**63, evenly spread over keys; it fits the tables' signed integers."""
    text = "\t".join((str(seed), *map(str, key)))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") >> 1


def content_hash(*parts: object) -> str:
    """32 hexadecimal digits for the parts: the id of a record that consists of them."""
    text = "\t".join(map(str, parts))
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def choose(seed: int, size: int, wanted: int, *key: object) -> list[int]:
    """`wanted` different numbers below `size` (all of them where there are fewer), by the key.

    The time it takes does not grow with `size`, which may be tens of thousands of adjectives.
    """
    taken: dict[int, int] = {}
    chosen = []
    for place in range(min(size, wanted)):
        # Fisher and Yates's shuffle, of which only the exchanged places are kept.
        other = place + draw(seed, *key, place) % (size - place)
        chosen.append(taken.get(other, other))
        taken[other] = taken.get(place, place)
    return chosen
