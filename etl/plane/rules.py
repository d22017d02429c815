"""What an adjective–noun phrase entails (table 1 of the paper), and how an item is written.

One item at a time; `etl.plane.blocks` has the same rules over columns, and the tests hold the two
together.
"""

from __future__ import annotations

import hashlib

from etl.knowledge.english import article
from etl.plane import CLASSES, TYPES

TEXTS = ("clean", "paper")

HOLDS = {
    "I": (True, True, True),
    "S": (True, True, False),
    "O": (False, False, True),
}
"""For each class whether inference types 1, 2 and 3 hold."""

_PROPER = """
    african american arab asian australian austrian brazilian british canadian catholic chinese
    christian danish dutch egyptian english european french german greek hungarian indian irish
    islamic israeli italian japanese jewish korean latin mexican muslim norwegian olympic polish
    portuguese roman russian scottish soviet spanish swedish swiss turkish welsh
"""
PROPER = frozenset(_PROPER.split())
"""Adjectives that English writes with a capital; tables hold every adjective lower-cased."""

_HALF = 16  # bytes


def label(kind: str, inference: int) -> int:
    """1 where inference type `inference` holds for adjectives of class `kind`, else 0.

    Raises:
        KeyError: a class other than I, S and O, or a type other than 1, 2 and 3.
    """
    if kind not in CLASSES or inference not in TYPES:
        raise KeyError(f"class {kind!r}, inference type {inference!r}")
    return int(HOLDS[kind][inference - 1])


def conclusion(inference: int, adjective: str, noun: str, hypernym: str) -> str:
    """What the phrase is said to be: N, h(N) or A h(N)."""
    return (noun, hypernym, f"{adjective} {hypernym}")[inference - 1]


def spelling(adjective: str) -> str:
    """The adjective as English writes it: *Russian*, *red*."""
    return adjective.capitalize() if adjective in PROPER else adjective


def article_before(word: str, text: str) -> str:
    """``a`` or ``an`` before the word, in lower case."""
    return article(word) if text == "clean" else "a"


def sentence(text: str, inference: int, adjective: str, noun: str, hypernym: str) -> str:
    """The item as one sentence.

    `text` is ``paper`` (as published: always *A*, lower case, no full stop) or ``clean`` (article
    by sound, capitals of proper adjectives, full stop).
    """
    if text == "paper":
        return f"A {adjective} {noun} is a {conclusion(inference, adjective, noun, hypernym)}"
    written = spelling(adjective)
    predicate = conclusion(inference, written, noun, hypernym)
    first = article(written).capitalize()
    return f"{first} {written} {noun} is {article(predicate)} {predicate}."


def inference_type(text: str, adjective: str, noun: str, hypernym: str) -> int | None:
    """The inference type whose published sentence is `text`; None where there is none."""
    for inference in TYPES:
        if text == sentence("paper", inference, adjective, noun, hypernym):
            return inference
    return None


def group_id(adjective: str, noun: str, hypernym: str) -> str:
    """32 hex digits that stand for the three words, whatever the edition."""
    return digest(adjective, noun, hypernym)[:_HALF].hex()


def item_id(edition: str, inference: int, adjective: str, noun: str, hypernym: str) -> str:
    """31 hex digits that stand for edition and words, then the inference type.

    The other half of the group's hash and the edition's hash, added bit by bit: one hash serves a
    group and its three items in every edition. Hashing is what building them costs most.
    """
    number = int.from_bytes(digest(adjective, noun, hypernym)[_HALF:])
    mixed = number ^ int.from_bytes(edition_key(edition))
    return f"{mixed:032x}"[:-1] + str(inference)


def digest(*words: str) -> bytes:
    """The 32 bytes that ids of words are made of."""
    return hashlib.sha256("\t".join(words).encode()).digest()


def edition_key(edition: str) -> bytes:
    """The 16 bytes that set an edition's item ids apart from those of others."""
    return digest(edition)[:_HALF]
