"""First-order formulas in the notation of SyGNS: ``all x1.((cat(x1) & small(x1)) -> run(x1))``.

Conjunctions and disjunctions are n-ary and flat, since the notation prints ``(a & b & c)`` without
inner parentheses: the printed form of a formula and the formula are one to one, and
``parse(text(f)) == f`` holds for every formula of this module.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

__all__ = [
    "All",
    "And",
    "Atom",
    "Exists",
    "Formula",
    "Implies",
    "Not",
    "Or",
    "ParseError",
    "atoms",
    "canonical",
    "conjunction",
    "disjunction",
    "free_variables",
    "parse",
    "rename",
    "text",
    "tokens",
]


class ParseError(ValueError):
    """The text is not a formula of the form asked for; says where and what was expected."""


DEEPEST = 100
"""Levels of a formula, term or structure that is read; those of SyGNS have up to thirty.

What takes meanings apart goes down level by level: without a bound, a text of a few kilobytes would
exhaust the stack of whatever comes after the parser.
"""


def check_depth(depth: int) -> None:
    """Raise `ParseError` for a level below `DEEPEST`."""
    if depth > DEEPEST:
        raise ParseError(f"nested more than {DEEPEST} levels deep")


@dataclass(frozen=True, slots=True)
class Atom:
    """A predicate over variables or constants: ``chase(x1,x2)``."""

    predicate: str
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Not:
    body: Formula


@dataclass(frozen=True, slots=True)
class And:
    """At least two parts, none of them an `And` (build it with `conjunction`)."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """At least two parts, none of them an `Or` (build it with `disjunction`)."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Implies:
    left: Formula
    right: Formula


@dataclass(frozen=True, slots=True)
class Exists:
    variable: str
    body: Formula


@dataclass(frozen=True, slots=True)
class All:
    variable: str
    body: Formula


Formula: TypeAlias = Atom | Not | And | Or | Implies | Exists | All

_VARIABLE = re.compile(r"[a-z]\d+")


def conjunction(parts: Iterable[Formula]) -> Formula:
    """The flat conjunction of `parts`; of a single part, the part itself."""
    flat: list[Formula] = []
    for part in parts:
        if isinstance(part, And):
            flat.extend(part.parts)
        else:
            flat.append(part)
    if not flat:
        raise ValueError("a conjunction of nothing; expected at least one formula")
    return flat[0] if len(flat) == 1 else And(tuple(flat))


def disjunction(parts: Iterable[Formula]) -> Formula:
    """The flat disjunction of `parts`; of a single part, the part itself."""
    flat: list[Formula] = []
    for part in parts:
        if isinstance(part, Or):
            flat.extend(part.parts)
        else:
            flat.append(part)
    if not flat:
        raise ValueError("a disjunction of nothing; expected at least one formula")
    return flat[0] if len(flat) == 1 else Or(tuple(flat))


def text(formula: Formula) -> str:
    """The formula in SyGNS's notation."""
    match formula:
        case Atom(predicate, arguments):
            return f"{predicate}({','.join(arguments)})"
        case Not(body):
            return "-" + text(body)
        case And(parts):
            return "(" + " & ".join([text(part) for part in parts]) + ")"
        case Or(parts):
            return "(" + " | ".join([text(part) for part in parts]) + ")"
        case Implies(left, right):
            return f"({text(left)} -> {text(right)})"
        case Exists(variable, body):
            return f"exists {variable}.{text(body)}"
        case All(variable, body):
            return f"all {variable}.{text(body)}"


_SCANNER = re.compile(r"\s*(->|[&|()\-.,]|[A-Za-z_]\w*)")
_MODEL_TOKENS = re.compile(r"all |exists | & | \| | -> |\w+|.", re.DOTALL)


def tokens(string: str) -> list[str]:
    """Tokens for a sequence model; joined without separator they are `string` again.

    Operators keep their spaces (``'all '``, ``' & '``, ``' -> '``); every other mark and every name
    is a token. Any string has tokens, a formula or not.
    """
    return _MODEL_TOKENS.findall(string)


class _Parser:
    """Recursive descent; binding strength from tight to loose: - all exists, &, |, ->."""

    def __init__(self, string: str) -> None:
        self.items: list[str] = []
        position = 0
        string = string.rstrip()
        while position < len(string):
            found = _SCANNER.match(string, position)
            if found is None:
                raise ParseError(f"{string[position : position + 12]!r} at {position}: not a token")
            self.items.append(found.group(1))
            position = found.end()
        self.at = 0
        self.depth = 0

    def peek(self) -> str:
        return self.items[self.at] if self.at < len(self.items) else ""

    def take(self, expected: str = "") -> str:
        item = self.peek()
        if not item or (expected and item != expected):
            got = repr(item) if item else "the end"
            raise ParseError(f"token {self.at + 1}: got {got}, expected {expected or 'a token'!r}")
        self.at += 1
        return item

    def formula(self) -> Formula:
        self.depth += 1
        check_depth(self.depth)
        result = self.either()
        if self.peek() == "->":
            self.take()
            result = Implies(result, self.formula())
        self.depth -= 1
        return result

    def either(self) -> Formula:
        parts = [self.both()]
        while self.peek() == "|":
            self.take()
            parts.append(self.both())
        return disjunction(parts)

    def both(self) -> Formula:
        parts = [self.unit()]
        while self.peek() == "&":
            self.take()
            parts.append(self.unit())
        return conjunction(parts)

    def unit(self) -> Formula:
        self.depth += 1
        check_depth(self.depth)
        result = self.part()
        self.depth -= 1
        return result

    def part(self) -> Formula:
        item = self.take()
        if item == "-":
            return Not(self.unit())
        if item == "(":
            inner = self.formula()
            self.take(")")
            return inner
        if item in ("all", "exists"):
            variable = self.take()
            if not _VARIABLE.fullmatch(variable):
                raise ParseError(f"token {self.at}: got {variable!r}, expected a variable")
            self.take(".")
            body = self.unit()
            return All(variable, body) if item == "all" else Exists(variable, body)
        if not item[0].isalpha() and item[0] != "_":
            raise ParseError(f"token {self.at}: got {item!r}, expected a formula")
        self.take("(")
        arguments = [self.term()]
        while self.peek() == ",":
            self.take()
            arguments.append(self.term())
        self.take(")")
        return Atom(item, tuple(arguments))

    def term(self) -> str:
        item = self.take()
        if not item[0].isalpha() or item in ("all", "exists"):
            raise ParseError(f"token {self.at}: got {item!r}, expected a variable or a constant")
        return item


def parse(string: str) -> Formula:
    """The formula that `string` writes.

    Raises:
        ParseError: no formula, one nested deeper than `DEEPEST`, or a formula with a variable (a
            letter and digits) that no quantifier binds: what has free variables is no meaning of a
            sentence.
    """
    parser = _Parser(string)
    formula = parser.formula()
    if parser.peek():
        raise ParseError(f"token {parser.at + 1}: got {parser.peek()!r}, expected the end")
    free = free_variables(formula)
    if free:
        raise ParseError(f"{', '.join(sorted(free))}: not bound by a quantifier")
    return formula


def free_variables(formula: Formula) -> frozenset[str]:
    """The variables that occur unbound (constants are not variables)."""
    match formula:
        case Atom(_, arguments):
            return frozenset(a for a in arguments if _VARIABLE.fullmatch(a))
        case Not(body):
            return free_variables(body)
        case And(parts) | Or(parts):
            return frozenset().union(*(free_variables(part) for part in parts))
        case Implies(left, right):
            return free_variables(left) | free_variables(right)
        case Exists(variable, body) | All(variable, body):
            return free_variables(body) - {variable}


def atoms(formula: Formula) -> Iterator[Atom]:
    """Every atom from left to right."""
    match formula:
        case Atom():
            yield formula
        case Not(body) | Exists(_, body) | All(_, body):
            yield from atoms(body)
        case And(parts) | Or(parts):
            for part in parts:
                yield from atoms(part)
        case Implies(left, right):
            yield from atoms(left)
            yield from atoms(right)


def rename(formula: Formula, prefix: str = "x") -> Formula:
    """The same formula with its variables numbered by appearance: x1, x2, …

    Every quantifier gets a variable of its own, also where the formula reuses one.
    """
    count = 0

    def walk(part: Formula, names: dict[str, str]) -> Formula:
        nonlocal count
        match part:
            case Atom(predicate, arguments):
                return Atom(predicate, tuple([names.get(a, a) for a in arguments]))
            case Not(body):
                return Not(walk(body, names))
            case And(parts):
                return And(tuple([walk(p, names) for p in parts]))
            case Or(parts):
                return Or(tuple([walk(p, names) for p in parts]))
            case Implies(left, right):
                first = walk(left, names)
                return Implies(first, walk(right, names))
            case Exists(variable, body):
                count += 1
                name = f"{prefix}{count}"
                return Exists(name, walk(body, {**names, variable: name}))
            case All(variable, body):
                count += 1
                name = f"{prefix}{count}"
                return All(name, walk(body, {**names, variable: name}))

    return walk(formula, {})


def canonical(formula: Formula) -> str:
    """One text for all formulas that differ only in variable names and order of conjuncts.

    Variables become the depth of their quantifier, then the parts of a conjunction or disjunction
    are sorted and repeated ones dropped. Equal canonical forms are equivalent; the converse does
    not hold (that is the provers' work).
    """

    def walk(part: Formula, level: dict[str, int], depth: int) -> str:
        match part:
            case Atom(predicate, arguments):
                return f"{predicate}({','.join([str(level.get(a, a)) for a in arguments])})"
            case Not(body):
                return "-" + walk(body, level, depth)
            case And(parts):
                return "(" + "&".join(sorted({walk(p, level, depth) for p in parts})) + ")"
            case Or(parts):
                return "(" + "|".join(sorted({walk(p, level, depth) for p in parts})) + ")"
            case Implies(left, right):
                return f"({walk(left, level, depth)}>{walk(right, level, depth)})"
            case Exists(variable, body):
                return "E" + walk(body, {**level, variable: depth}, depth + 1)
            case All(variable, body):
                return "A" + walk(body, {**level, variable: depth}, depth + 1)

    return walk(formula, {}, 0)
