"""Variable-free formulas: ``ALL AND CAT SMALL NOT DANCE``, prefix notation without brackets.

EXIST, ALL, TWO and THREE take a restrictor and a scope, AND and OR two arguments, NOT one. INV
takes a relation and gives its inverse (``INV FOLLOW``: to be followed by). Every other word is a
content word.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from adnominal.etl.sygns.fol import ParseError, check_depth

QUANTIFIERS = ("EXIST", "ALL", "TWO", "THREE")
ARITY = {**dict.fromkeys(QUANTIFIERS, 2), "AND": 2, "OR": 2, "NOT": 1, "INV": 1}


@dataclass(frozen=True, slots=True)
class Word:
    """A content word, in capitals."""

    name: str


@dataclass(frozen=True, slots=True)
class Operation:
    """An operator with as many arguments as `ARITY` says."""

    operator: str
    arguments: tuple[Term, ...]


Term: TypeAlias = Word | Operation


def text(term: Term) -> str:
    """The term in prefix notation."""
    return " ".join(words(term))


def words(term: Term) -> Iterator[str]:
    """Operators and content words from left to right."""
    stack = [term]
    while stack:
        part = stack.pop()
        if isinstance(part, Word):
            yield part.name
        else:
            yield part.operator
            stack.extend(reversed(part.arguments))


def parse(string: str) -> Term:
    """The term that `string` denotes.

    Raises:
        ParseError: an argument is missing, words are left over, a word is not in capitals, or the
            term is nested deeper than `etl.sygns.fol.DEEPEST`.
    """
    symbols = string.split()
    # Read from the right, an operator finds its arguments on a stack: no recursion at any length.
    stack: list[Term] = []
    depths: list[int] = []
    for position, symbol in reversed(list(enumerate(symbols, 1))):
        arity = ARITY.get(symbol)
        if arity is None:
            if not symbol.isidentifier() or symbol != symbol.upper():
                raise ParseError(f"word {position}: got {symbol!r}, expected a word in capitals")
            stack.append(Word(symbol))
            depths.append(1)
        else:
            if len(stack) < arity:
                raise ParseError(
                    f"word {position}: {symbol} has {len(stack)} arguments, expected {arity}"
                )
            arguments = tuple([stack.pop() for _ in range(arity)])
            depths.append(1 + max([depths.pop() for _ in range(arity)]))
            check_depth(depths[-1])
            stack.append(Operation(symbol, arguments))
    if len(stack) != 1:
        raise ParseError(f"{len(stack)} terms, expected one: {string!r}")
    return stack[0]
