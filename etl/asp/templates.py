"""Sentences of the eight tests, written and read back.

Published rows lack some full stops, so reading does not ask for them; writing always sets them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from etl.asp import TESTS
from etl.asp.lexicon import Lexicon

__all__ = ["Pair", "article", "item_id", "number", "parse", "write"]

WORLD = "in the world"
SEEN = "I have ever seen"
_PLAIN = re.compile(r"The (?P<noun>.+?) is (?P<rest>.+?)\.?")
_THAN = re.compile(r"The (?P<noun>.+?) is (?P<form>.+?) than the (?P<other>.+?)\.?")
_TOP = re.compile(rf"The (?P<noun>.+?) is the (?P<form>.+) (?P<scope>{WORLD}|{SEEN})\.?")


@dataclass(frozen=True, slots=True)
class Pair:
    """Premise and hypothesis of entailment inference, as words.

    `adjective` and `noun` are the premise's, `other_adjective` and `other_noun` those that the
    hypothesis has instead (or the comparative premise beside); both null where nothing differs.
    `premise_mark` and `hypothesis_mark` are what is set before (or, for scopes, after) the
    adjective: ``not``, a modifier, ``in the world``; empty where there is none.
    """

    test: str
    noun: str
    adjective: str
    other_noun: str | None = None
    other_adjective: str | None = None
    premise_mark: str = ""
    hypothesis_mark: str = ""


def item_id(test: str, premise: str, hypothesis: str, occurrence: int = 0) -> str:
    """16 hex digits that stand for the row; repetitions in a release have their own."""
    text = f"asp\t{test}\t{premise}\t{hypothesis}" + (f"\t{occurrence}" if occurrence else "")
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _is(noun: str, adjective: str, mark: str = "") -> str:
    return f"The {noun} is {mark} {adjective}." if mark else f"The {noun} is {adjective}."


def write(pair: Pair, words: Lexicon) -> tuple[str, str]:
    """Premise and hypothesis of the pair (tables 1 and appendix 3 of the paper)."""
    noun, adjective = pair.noun, pair.adjective
    if pair.test == "comparative":
        premise = f"The {noun} is {words.compared(adjective)} than the {pair.other_noun}."
        about = pair.other_noun if pair.hypothesis_mark else noun
        return premise, _is(str(about), adjective, pair.hypothesis_mark)
    if pair.test == "superlative":
        top = f"The {noun} is the {words.topmost(adjective)} {noun}"
        return f"{top} {pair.premise_mark}.", f"{top} {pair.hypothesis_mark}."
    return (
        _is(noun, adjective, pair.premise_mark),
        _is(pair.other_noun or noun, pair.other_adjective or adjective, pair.hypothesis_mark),
    )


def parse(test: str, premise: str, hypothesis: str, words: Lexicon) -> Pair:
    """The words of a row of `test`, published or our own.

    Raises:
        ValueError: the row is not of the test's templates; the message is a reason to drop it.
    """
    if test not in TESTS:
        raise ValueError(f"no test {test}")
    if test == "comparative":
        return _comparative(premise, hypothesis, words)
    if test == "superlative":
        return _superlative(premise, hypothesis, words)
    one, two = (_PLAIN.fullmatch(text) for text in (premise, hypothesis))
    if one is None or two is None:
        raise ValueError(f"not of the form of {test}")
    known: Sequence[str] = {
        "negation": ("not",),
        "booster": words.boosters,
        "diminisher": words.diminishers,
    }.get(test, ())
    (mark, adjective), (other_mark, other) = (_marked(m["rest"], known) for m in (one, two))
    noun, other_noun = one["noun"], two["noun"]
    # Twenty-four published rows of argument drew one noun twice; they are of the test all the same.
    changes = (
        noun != other_noun or (test == "argument" and adjective == other),
        adjective != other,
        bool(mark) != bool(other_mark),
    )
    if changes != {
        "ordering": (False, True, False),
        "dimension": (False, True, False),
        "argument": (True, False, False),
        "negation": (False, True, True),
    }.get(test, (False, False, True)):
        raise ValueError(f"not of the form of {test}")
    return Pair(
        test,
        noun,
        adjective,
        other_noun if changes[0] else None,
        other if changes[1] else None,
        mark,
        other_mark,
    )


def _marked(text: str, known: Sequence[str]) -> tuple[str, str]:
    mark, _, rest = text.partition(" ")
    return (mark, rest) if rest and mark in known else ("", text)


def _comparative(premise: str, hypothesis: str, words: Lexicon) -> Pair:
    one, two = _THAN.fullmatch(premise), _PLAIN.fullmatch(hypothesis)
    if one is None or two is None:
        raise ValueError("not of the form of comparative")
    mark, adjective = _marked(two["rest"], ("not",))
    if words.comparative.get(one["form"]) != adjective and one["form"] not in _compared(adjective):
        raise ValueError("unknown comparative")
    if two["noun"] != (one["other"] if mark else one["noun"]):
        raise ValueError("not of the form of comparative")
    return Pair(
        "comparative", one["noun"], adjective, one["other"], premise_mark="", hypothesis_mark=mark
    )


def _compared(adjective: str) -> set[str]:
    """The comparatives that English spelling allows for an adjective that no lexicon has."""
    return {
        f"more {adjective}",
        f"{adjective}er",
        f"{adjective}r",
        f"{adjective}{adjective[-1:]}er",
        f"{adjective[:-1]}ier",
    }


def _superlative(premise: str, hypothesis: str, words: Lexicon) -> Pair:
    one, two = _TOP.fullmatch(premise), _TOP.fullmatch(hypothesis)
    if one is None or two is None or one["noun"] != two["noun"] or one["form"] != two["form"]:
        raise ValueError("not of the form of superlative")
    form = one["form"].removesuffix(f" {one['noun']}")
    if form == one["form"] or one["scope"] == two["scope"]:
        raise ValueError("not of the form of superlative")
    adjective = words.superlative.get(form, form.removeprefix("most "))
    return Pair("superlative", one["noun"], adjective, None, None, one["scope"], two["scope"])


def article(figure: str) -> str:
    """``A`` or ``An`` before a number as it is spoken: an 80, an 11, an 18, a 110, an 8500."""
    whole = figure.partition(".")[0]
    head = whole[: len(whole) % 3 or 3]
    return "An" if whole.startswith("8") or head in ("11", "18") else "A"


def number(value: float) -> str:
    """A number without needless digits: 120, 61.5."""
    return str(int(value)) if value == int(value) else f"{value:.3f}".rstrip("0")
