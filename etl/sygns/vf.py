"""Variable-free formulas: ``ALL AND CAT SMALL NOT DANCE``, prefix notation without brackets.

EXIST, ALL, TWO and THREE take a restrictor and a scope, AND and OR two arguments, NOT one; INV
turns a relation round (``INV FOLLOW``: to be followed by). Every other word is content.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from etl.sygns.fol import ParseError, check_depth

__all__ = ["ARITY", "QUANTIFIERS", "Operation", "Term", "Word", "parse", "text", "words"]

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
        item = stack.pop()
        if isinstance(item, Word):
            yield item.name
        else:
            yield item.operator
            stack.extend(reversed(item.arguments))


def parse(string: str) -> Term:
    """The term that `string` writes.

    Raises:
        ParseError: an argument missing, words left over, a word not in capitals, or a term nested
            deeper than `etl.sygns.fol.DEEPEST`.
    """
    items = string.split()
    # From the right, an operator finds its arguments on a stack: no recursion, whatever the length.
    stack: list[Term] = []
    depths: list[int] = []
    for position in range(len(items) - 1, -1, -1):
        item = items[position]
        arity = ARITY.get(item)
        if arity is None:
            if not item.isidentifier() or item != item.upper():
                raise ParseError(f"word {position + 1}: got {item!r}, expected a word in capitals")
            stack.append(Word(item))
            depths.append(1)
        else:
            if len(stack) < arity:
                raise ParseError(
                    f"word {position + 1}: {item} has {len(stack)} arguments, expected {arity}"
                )
            arguments = tuple([stack.pop() for _ in range(arity)])
            depths.append(1 + max([depths.pop() for _ in range(arity)]))
            check_depth(depths[-1])
            stack.append(Operation(item, arguments))
    if len(stack) != 1:
        raise ParseError(f"{len(stack)} terms, expected one: {string!r}")
    return stack[0]
