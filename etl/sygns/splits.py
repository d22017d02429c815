"""Who trains and who tests: the four tests of the paper, by a sentence's words and phenomena alone.

systematicity (section 3.1): trained on the primitive quantifier with every modifier and on the
other quantifiers without modifier; tested on the others with modifiers.
quantifier_negation (appendix D): the same with negation in the modifiers' place.
productivity (section 3.2): trained on depths 0 and 1, tested on 2 and deeper.
embedded_quantifiers (table 10): trained on all quantifiers at depth 0 and on one, two, every at
each depth; tested on a, three, all at each depth.

A tenth of what would be trained on is for validation, chosen by (seed, scheme, primitive, id).
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator
from typing import Literal, TypeAlias

__all__ = [
    "CLASSES",
    "MODIFIERS",
    "PRIMITIVES",
    "SCHEMES",
    "Part",
    "assign",
    "held_out",
    "modifier_class",
    "part",
    "quantifier_class",
    "quantifiers",
]

Part: TypeAlias = Literal["train", "val", "test"]

CLASSES = {
    "one": "EXI",
    "a": "EXI",
    "two": "NUM",
    "three": "NUM",
    "every": "UNI",
    "all": "UNI",
}
MODIFIERS = {
    "adjective": "ADJ",
    "adverb": "ADV",
    "conjunction": "CON",
    "disjunction": "CON",
}
# The quantifiers that training may show with everything; a scheme's `primitive` is one of these,
# `one,two,every` all three at once.
PRIMITIVES = ("one", "two", "every", "one,two,every")
TRAINED = frozenset(("one", "two", "every"))
SCHEMES = ("systematicity", "quantifier_negation", "productivity", "embedded_quantifiers")
VALIDATION = 0.1


def quantifiers(sentence: str) -> tuple[str, ...]:
    """The quantifier words from left to right (no other word of the grammar looks like one)."""
    return tuple([word for word in sentence.split() if word in CLASSES])


def quantifier_class(sentence: str) -> str:
    """EXI, NUM or UNI; NON without quantifier; MIX where they differ (below depth 0)."""
    found = {CLASSES[word] for word in quantifiers(sentence)}
    return found.pop() if len(found) == 1 else "MIX" if found else "NON"


def modifier_class(phenomena: Collection[str]) -> str:
    """ADJ, ADV, CON, each with +NEG under negation; NON without modifier, MIX with several."""
    found = {MODIFIERS[tag] for tag in phenomena if tag in MODIFIERS}
    name = found.pop() if len(found) == 1 else "MIX" if found else "NON"
    return f"{name}+NEG" if "negation" in phenomena else name


def held_out(seed: int, scheme: str, primitive: str, sentence_id: str) -> bool:
    """Whether this training sentence is one of the tenth kept for validation."""
    key = f"{seed}\t{scheme}\t{primitive}\t{sentence_id}".encode()
    draw = int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "big")
    return draw < VALIDATION * 2**64


def part(
    scheme: str, primitive: str, depth: int, sentence: str, phenomena: Collection[str]
) -> Literal["train", "test"] | None:
    """Where a scheme puts the sentence before validation is taken out; None: nowhere.

    Sentences without quantifier follow the second half of a criterion: "ann ran" is trained on,
    "ann ran quickly" tested on, as the published split has it.
    """
    found = set(quantifiers(sentence))
    match scheme:
        case "systematicity" | "quantifier_negation":
            if depth != 0:
                return None
            if found & set(primitive.split(",")):
                return "train"
            tags = MODIFIERS if scheme == "systematicity" else ("negation",)
            return "test" if any(tag in phenomena for tag in tags) else "train"
        case "productivity":
            return "train" if depth < 2 else "test"
        case "embedded_quantifiers":
            if depth == 0 or (found and found <= TRAINED):
                return "train"
            return "test" if found and not found & TRAINED else None
    raise ValueError(f"scheme {scheme!r}; expected one of {', '.join(SCHEMES)}")


def assign(
    schemes: Iterable[str],
    seed: int,
    sentence_id: str,
    depth: int,
    sentence: str,
    phenomena: Collection[str],
) -> Iterator[tuple[str, str, Part]]:
    """(scheme, primitive, part) for each split that holds the sentence.

    `primitive` is empty for the schemes that have none.
    """
    for scheme in schemes:
        primitives = PRIMITIVES if scheme in ("systematicity", "quantifier_negation") else ("",)
        for primitive in primitives:
            where: Part | None = part(scheme, primitive, depth, sentence, phenomena)
            if where is None:
                continue
            if where == "train" and held_out(seed, scheme, primitive, sentence_id):
                where = "val"
            yield scheme, primitive, where
