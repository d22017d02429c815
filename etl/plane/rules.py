"""What an adjective–noun phrase entails (table 1 of the paper), and how an item is written.

One item at a time; `etl.plane.blocks` has the same rules over columns, and tests compare both.
"""

import hashlib

from adnominal.etl.knowledge.english import article
from adnominal.etl.plane import CLASSES, TYPES

TEXTS = ("clean", "paper")

HOLDS = {
    "I": (True, True, True),
    "S": (True, True, False),
    "O": (False, False, True),
}
"""For each class, whether inference types 1, 2 and 3 hold."""

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
    """Return 1 if inference type `inference` holds for adjectives of class `kind`, else 0.

    Raises:
        KeyError: the class is not I, S or O, or the type is not 1, 2 or 3.
    """
    if kind not in CLASSES or inference not in TYPES:
        raise KeyError(f"class {kind!r}, inference type {inference!r}")
    return int(HOLDS[kind][inference - 1])


def conclusion(inference: int, adjective: str, noun: str, hypernym: str) -> str:
    """Return the conclusion about the phrase: N, h(N) or A h(N)."""
    return (noun, hypernym, f"{adjective} {hypernym}")[inference - 1]


def spelling(adjective: str) -> str:
    """Return the adjective in its English spelling: *Russian*, *red*."""
    return adjective.capitalize() if adjective in PROPER else adjective


def article_before(word: str, text: str) -> str:
    """Return ``a`` or ``an`` for the word, in lower case."""
    return article(word) if text == "clean" else "a"


def sentence(text: str, inference: int, adjective: str, noun: str, hypernym: str) -> str:
    """Return the item as one sentence.

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
    """Return the inference type whose published sentence is `text`; None if there is none."""
    for inference in TYPES:
        if text == sentence("paper", inference, adjective, noun, hypernym):
            return inference
    return None


def group_id(adjective: str, noun: str, hypernym: str) -> str:
    """Return 32 hex digits that identify the three words in any edition."""
    return digest(adjective, noun, hypernym)[:_HALF].hex()


def item_id(edition: str, inference: int, adjective: str, noun: str, hypernym: str) -> str:
    """Return 31 hex digits for edition and words, followed by the inference type.

    They are the other half of the group's hash XORed with the edition's hash, so one hash serves a
    group and its three items in every edition. Hashing is the most expensive part of building them.
    """
    number = int.from_bytes(digest(adjective, noun, hypernym)[_HALF:])
    mixed = number ^ int.from_bytes(edition_key(edition))
    return f"{mixed:032x}"[:-1] + str(inference)


def digest(*words: str) -> bytes:
    """Return the 32 bytes from which ids of words are made."""
    return hashlib.sha256("\t".join(words).encode()).digest()


def edition_key(edition: str) -> bytes:
    """Return the 16 bytes that distinguish an edition's item ids from those of others."""
    return digest(edition)[:_HALF]
