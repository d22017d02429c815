"""Sentences of the eight tests: written from words, and parsed into words.

Some published rows lack full stops, so `parse` does not require them; `write` always sets them.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from adnominal.etl.asp import TESTS
from adnominal.etl.asp.lexicon import Lexicon
from adnominal.etl.draws import content_hash

TEXTS = ("clean", "paper")
WORLD = "in the world"
EVER_SEEN = "I have ever seen"
_PLAIN = re.compile(r"The (?P<noun>.+?) is (?P<predicate>.+?)\.?")
_THAN = re.compile(r"The (?P<noun>.+?) is (?P<form>.+?) than the (?P<other>.+?)\.?")
_TOP = re.compile(rf"The (?P<noun>.+?) is the (?P<form>.+) (?P<scope>{WORLD}|{EVER_SEEN})\.?")


@dataclass(frozen=True)
class Style:
    """How sentences are worded.

    Attributes:
        boosters: to use instead of the lexicon's.
        diminishers: likewise.
        text: one of `TEXTS`.
    """

    boosters: tuple[str, ...] = ()
    diminishers: tuple[str, ...] = ()
    text: str = "clean"


CLEAN = Style()


@dataclass(frozen=True, slots=True)
class Pair:
    """Premise and hypothesis of entailment inference, as words.

    `adjective` and `noun` are those of the premise. `other_adjective` and `other_noun` are those
    that the hypothesis has instead, or null if it has the same; a comparative premise has both
    nouns. `premise_mark` and `hypothesis_mark` come before the adjective (``not``, a modifier) or
    after it (the scope of a superlative, ``in the world``); empty if there is none.
    """

    test: str
    noun: str
    adjective: str
    other_noun: str | None = None
    other_adjective: str | None = None
    premise_mark: str = ""
    hypothesis_mark: str = ""


def item_id(test: str, premise: str, hypothesis: str, occurrence: int = 0) -> str:
    """16 hex digits that identify the row; `occurrence` counts its repetitions in a release."""
    return content_hash("asp", test, premise, hypothesis, size=8, occurrence=occurrence)


def _copula_sentence(noun: str, adjective: str, mark: str = "") -> str:
    return f"The {noun} is {mark} {adjective}." if mark else f"The {noun} is {adjective}."


def write(pair: Pair, lexicon: Lexicon) -> tuple[str, str]:
    """Premise and hypothesis of the pair (tables 1 and appendix 3 of the paper)."""
    noun, adjective = pair.noun, pair.adjective
    if pair.test == "comparative":
        premise = f"The {noun} is {lexicon.comparative_of(adjective)} than the {pair.other_noun}."
        subject = pair.other_noun if pair.hypothesis_mark else noun
        return premise, _copula_sentence(str(subject), adjective, pair.hypothesis_mark)
    if pair.test == "superlative":
        top = f"The {noun} is the {lexicon.superlative_of(adjective)} {noun}"
        return f"{top} {pair.premise_mark}.", f"{top} {pair.hypothesis_mark}."
    return (
        _copula_sentence(noun, adjective, pair.premise_mark),
        _copula_sentence(
            pair.other_noun or noun, pair.other_adjective or adjective, pair.hypothesis_mark
        ),
    )


def parse(test: str, premise: str, hypothesis: str, lexicon: Lexicon) -> Pair:
    """The words of a row of `test`, published or generated.

    Raises:
        ValueError: the row does not fit the templates of the test; the message says why.
    """
    if test not in TESTS:
        raise ValueError(f"no test {test}")
    if test == "comparative":
        return _comparative(premise, hypothesis, lexicon)
    if test == "superlative":
        return _superlative(premise, hypothesis, lexicon)
    first, second = (_PLAIN.fullmatch(text) for text in (premise, hypothesis))
    if first is None or second is None:
        raise ValueError(f"not of the form of {test}")
    marks: Sequence[str] = {
        "negation": ("not",),
        "booster": lexicon.boosters,
        "diminisher": lexicon.diminishers,
    }.get(test, ())
    mark, adjective = _split_mark(first["predicate"], marks)
    other_mark, other_adjective = _split_mark(second["predicate"], marks)
    noun, other_noun = first["noun"], second["noun"]
    # Twenty-four published rows of argument have one noun twice; they belong to the test as well.
    differences = (
        noun != other_noun or (test == "argument" and adjective == other_adjective),
        adjective != other_adjective,
        bool(mark) != bool(other_mark),
    )
    if differences != {
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
        other_noun if differences[0] else None,
        other_adjective if differences[1] else None,
        mark,
        other_mark,
    )


def _split_mark(predicate: str, marks: Sequence[str]) -> tuple[str, str]:
    """The mark (empty without one) and the adjective of a predicate."""
    mark, _, adjective = predicate.partition(" ")
    return (mark, adjective) if adjective and mark in marks else ("", predicate)


def _comparative(premise: str, hypothesis: str, lexicon: Lexicon) -> Pair:
    """The pair of ``The A is older than the B``; `ValueError` for sentences of another form."""
    first, second = _THAN.fullmatch(premise), _PLAIN.fullmatch(hypothesis)
    if first is None or second is None:
        raise ValueError("not of the form of comparative")
    mark, adjective = _split_mark(second["predicate"], ("not",))
    form, noun, other_noun = first["form"], first["noun"], first["other"]
    if lexicon.comparative_bases.get(form) != adjective and form not in _comparatives(adjective):
        raise ValueError("unknown comparative")
    if second["noun"] != (other_noun if mark else noun):
        raise ValueError("not of the form of comparative")
    return Pair("comparative", noun, adjective, other_noun, hypothesis_mark=mark)


def _comparatives(adjective: str) -> set[str]:
    """The comparatives that English spelling allows for an adjective outside the lexicon."""
    return {
        f"more {adjective}",
        f"{adjective}er",
        f"{adjective}r",
        f"{adjective}{adjective[-1:]}er",
        f"{adjective[:-1]}ier",
    }


def _superlative(premise: str, hypothesis: str, lexicon: Lexicon) -> Pair:
    """The pair of ``The A is the oldest A``; `ValueError` for sentences of another form."""
    first, second = _TOP.fullmatch(premise), _TOP.fullmatch(hypothesis)
    if first is None or second is None:
        raise ValueError("not of the form of superlative")
    noun, form = first["noun"], first["form"].removesuffix(f" {first['noun']}")
    same = (noun, first["form"]) == (second["noun"], second["form"])
    if not same or form == first["form"] or first["scope"] == second["scope"]:
        raise ValueError("not of the form of superlative")
    adjective = lexicon.superlative_bases.get(form, form.removeprefix("most "))
    return Pair("superlative", noun, adjective, None, None, first["scope"], second["scope"])


def article(figure: str) -> str:
    """``A`` or ``An`` before a number as it is spoken: an 80, an 11, an 18, a 110, an 8500."""
    digits = figure.partition(".")[0]
    first_group = digits[: len(digits) % 3 or 3]
    return "An" if digits.startswith("8") or first_group in ("11", "18") else "A"


def number(value: float) -> str:
    """The number without trailing zeros: 120, 61.5."""
    return f"{value:.3f}".rstrip("0").rstrip(".")
