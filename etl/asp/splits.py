"""Rounds of fine-tuning: what is trained on, and what is held out ("Fine-tuning on the ASP").

``adjectives`` (entailment inference): in each of four rounds half of the adjectives are held out.
Training takes rows of ordering, dimension and argument all of whose adjectives are in the other
half, testing rows of all tests all of whose adjectives are held out; scales stay whole, so no
tested word stood in a training row. ``dimension`` (degree estimation): one physical dimension is
held out, and training leaves out the middle of the scale, 80 < z < 120.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from etl.asp import DISCARD, TRAINED
from etl.asp.lexicon import DIMENSIONS, Lexicon
from etl.asp.sampling import digest

__all__ = ["ROUNDS", "SCHEMES", "assign_degree", "assign_entailment", "held_out"]

SCHEMES = ("adjectives", "dimension")
ROUNDS = 4
# 1,200 training and 300 validation rows a round: a fifth for validation.
_VALIDATION = 5


def held_out(words: Lexicon, seed: int) -> list[frozenset[str]]:
    """The adjectives held out in each round: half of them, whole scales at a time."""
    own, groups = words.words, _joined(words)
    rounds = []
    for number in range(ROUNDS):
        chosen: set[str] = set()
        for group in sorted(groups, key=lambda g: digest(seed, "adjectives", number, min(g))):
            if len(chosen) + len(group) <= len(own) / 2 + 1:
                chosen |= group
        rounds.append(frozenset(chosen))
    return rounds


def _joined(words: Lexicon) -> list[frozenset[str]]:
    """The adjectives of each scale, with those of scales that share a word with it."""
    groups: list[set[str]] = []
    scales: dict[str, set[str]] = {}
    for adjective in words.adjectives:
        scales.setdefault(adjective.scale, set()).add(adjective.word)
    for own in scales.values():
        merged = set(own)
        apart = []
        for group in groups:
            if group & merged:
                merged |= group
            else:
                apart.append(group)
        groups = [*apart, merged]
    return [frozenset(group) for group in groups]


def _train_or_val(seed: int, number: object, key: object) -> str:
    return "val" if digest(seed, "val", number, key) % _VALIDATION == 0 else "train"


def assign_entailment(
    outs: Sequence[frozenset[str]], seed: int, test: str, adjectives: Iterable[str], pair: str
) -> list[tuple[str, str, str]]:
    """(scheme, round, part) of a row of entailment inference.

    `outs` is `held_out`; `pair` is the same for both rows of an item, which are never parted.
    """
    own = set(adjectives)
    found = []
    for number, out in enumerate(outs):
        if own <= out:
            found.append(("adjectives", str(number), "test"))
        elif own.isdisjoint(out) and test in TRAINED:
            found.append(("adjectives", str(number), _train_or_val(seed, number, pair)))
    return found


def assign_degree(
    seed: int, test: str, dimension: str, z: float, label: str, item: str
) -> list[tuple[str, str, str]]:
    """(scheme, round, part) of a row of degree estimation; the round is the dimension held out."""
    if label == DISCARD:
        return []
    found = []
    for out in DIMENSIONS:
        if dimension == out:
            found.append(("dimension", out, "test"))
        elif test in TRAINED and (z <= 80 or z >= 120):
            found.append(("dimension", out, _train_or_val(seed, out, item)))
    return found
