"""First-order formulas in the notation of SyGNS: ``all x1.((cat(x1) & small(x1)) -> run(x1))``.

Conjunctions and disjunctions are n-ary and flat, since the notation prints ``(a & b & c)`` without
inner parentheses. Each formula therefore has exactly one printed form, and
``parse(text(f)) == f`` holds for every closed formula.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import count
from typing import TypeAlias, TypeVar


class ParseError(ValueError):
    """The text does not have the expected form; the message says where, and what was expected."""


DEEPEST = 100
"""The greatest depth of a formula, term or structure that is parsed; those of SyGNS have up to 30.

Functions over meanings recurse level by level. Without a bound, a text of a few kilobytes would
exhaust the stack of whatever function comes after the parser.
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
Result = TypeVar("Result")


def conjunction(parts: Iterable[Formula]) -> Formula:
    """The flat conjunction of `parts`; a single part is returned as it is."""
    return _flat_connective(parts, And, "conjunction")


def disjunction(parts: Iterable[Formula]) -> Formula:
    """The flat disjunction of `parts`; a single part is returned as it is."""
    return _flat_connective(parts, Or, "disjunction")


def _flat_connective(
    parts: Iterable[Formula], connective: type[And] | type[Or], name: str
) -> Formula:
    flat: list[Formula] = []
    for part in parts:
        flat.extend(part.parts if isinstance(part, connective) else [part])
    if not flat:
        raise ValueError(f"a {name} of nothing; expected at least one formula")
    return flat[0] if len(flat) == 1 else connective(tuple(flat))


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


_TOKEN = re.compile(r"\s*(->|[&|()\-.,]|[A-Za-z_]\w*)")
_MODEL_TOKEN = re.compile(r"all |exists | & | \| | -> |\w+|.", re.DOTALL)


def tokens(string: str) -> list[str]:
    """Tokens for a sequence model; joined without a separator they give `string` again.

    Operators keep their spaces (``'all '``, ``' & '``, ``' -> '``); every other mark and every name
    is a token of its own. Any string can be split, whether it is a formula or not.
    """
    return _MODEL_TOKEN.findall(string)


class TokenReader:
    """Reads the tokens of a string one by one, for a recursive-descent parser.

    Raises `ParseError` if `pattern`, whose group 1 is a token, does not match.
    """

    def __init__(self, string: str, pattern: re.Pattern[str]) -> None:
        self.tokens: list[str] = []
        self.position = 0
        offset = 0
        string = string.rstrip()
        while offset < len(string):
            match = pattern.match(string, offset)
            if match is None:
                raise ParseError(f"{string[offset : offset + 12]!r} at {offset}: not a token")
            self.tokens.append(match.group(1))
            offset = match.end()

    def peek(self) -> str:
        """The next token; empty at the end."""
        return self.tokens[self.position] if self.position < len(self.tokens) else ""

    def take(self, expected: str = "") -> str:
        """The next token, which is read; it has to be `expected`, if that is given."""
        token = self.peek()
        if not token or (expected and token != expected):
            got = repr(token) if token else "the end"
            raise ParseError(
                f"token {self.position + 1}: got {got}, expected {expected or 'a token'!r}"
            )
        self.position += 1
        return token

    def read_list(self, separator: str, read: Callable[[], Result]) -> list[Result]:
        """Return the results of `read`, called once and again after each `separator`."""
        results = [read()]
        while self.peek() == separator:
            self.take()
            results.append(read())
        return results

    def check_end(self) -> None:
        """Raise `ParseError` unless every token has been read."""
        if self.peek():
            raise ParseError(f"token {self.position + 1}: got {self.peek()!r}, expected the end")


class _Parser(TokenReader):
    """Recursive descent; binding strength from tight to loose: - all exists, &, |, ->."""

    depth = 0

    def read_one_deeper(self, read: Callable[[], Formula]) -> Formula:
        """What `read` returns, one level deeper."""
        self.depth += 1
        check_depth(self.depth)
        formula = read()
        self.depth -= 1
        return formula

    def implication(self) -> Formula:
        return self.read_one_deeper(self.read_implication)

    def read_implication(self) -> Formula:
        left = disjunction(self.read_list("|", self.conjunction))
        if self.peek() == "->":
            self.take()
            return Implies(left, self.implication())
        return left

    def conjunction(self) -> Formula:
        return conjunction(self.read_list("&", self.unary_formula))

    def unary_formula(self) -> Formula:
        return self.read_one_deeper(self.read_unary)

    def read_unary(self) -> Formula:
        """An atom, a negated or quantified formula, or a formula in parentheses."""
        token = self.take()
        if token == "-":
            return Not(self.unary_formula())
        if token == "(":
            formula = self.implication()
            self.take(")")
            return formula
        if token in ("all", "exists"):
            variable = self.take()
            if not _VARIABLE.fullmatch(variable):
                raise ParseError(f"token {self.position}: got {variable!r}, expected a variable")
            self.take(".")
            body = self.unary_formula()
            return All(variable, body) if token == "all" else Exists(variable, body)
        if not token[0].isalpha() and token[0] != "_":
            raise ParseError(f"token {self.position}: got {token!r}, expected a formula")
        self.take("(")
        arguments = self.read_list(",", self.argument)
        self.take(")")
        return Atom(token, tuple(arguments))

    def argument(self) -> str:
        token = self.take()
        if not token[0].isalpha() or token in ("all", "exists"):
            raise ParseError(
                f"token {self.position}: got {token!r}, expected a variable or a constant"
            )
        return token


def parse(string: str) -> Formula:
    """The formula that `string` denotes.

    Raises:
        ParseError: the string is not a formula, is nested deeper than `DEEPEST`, or has a variable
            (a letter and digits) that no quantifier binds: an open formula is not the meaning of a
            sentence.
    """
    parser = _Parser(string, _TOKEN)
    formula = parser.implication()
    parser.check_end()
    free = free_variables(formula)
    if free:
        raise ParseError(f"{', '.join(sorted(free))}: not bound by a quantifier")
    return formula


def free_variables(formula: Formula) -> frozenset[str]:
    """The variables that occur free (constants are not variables)."""
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


def rename(formula: Formula, prefix: str = "x") -> Formula:
    """The same formula with its variables numbered by appearance: x1, x2, …

    Every quantifier gets its own variable, even if the formula uses one variable twice.
    """
    numbers = count(1)

    def rename_part(part: Formula, names: dict[str, str]) -> Formula:
        match part:
            case Atom(predicate, arguments):
                return Atom(predicate, tuple([names.get(a, a) for a in arguments]))
            case Not(body):
                return Not(rename_part(body, names))
            case And(parts) | Or(parts):
                return type(part)(tuple([rename_part(p, names) for p in parts]))
            case Implies(left, right):
                return Implies(rename_part(left, names), rename_part(right, names))
            case Exists(variable, body) | All(variable, body):
                name = f"{prefix}{next(numbers)}"
                return type(part)(name, rename_part(body, {**names, variable: name}))

    return rename_part(formula, {})


def canonical(formula: Formula) -> str:
    """One text for all formulas that differ only in variable names and order of conjuncts.

    Each variable is replaced by the depth of its quantifier; then the parts of a conjunction or
    disjunction are sorted and repeated parts are dropped. Formulas with equal canonical forms are
    equivalent, but not all equivalent formulas have equal forms (equivalence takes a prover).
    """

    def walk(part: Formula, depths: dict[str, int], depth: int) -> str:
        match part:
            case Atom(predicate, arguments):
                return f"{predicate}({','.join([str(depths.get(a, a)) for a in arguments])})"
            case Not(body):
                return "-" + walk(body, depths, depth)
            case And(parts):
                return "(" + "&".join(sorted({walk(p, depths, depth) for p in parts})) + ")"
            case Or(parts):
                return "(" + "|".join(sorted({walk(p, depths, depth) for p in parts})) + ")"
            case Implies(left, right):
                return f"({walk(left, depths, depth)}>{walk(right, depths, depth)})"
            case Exists(variable, body):
                return "E." + walk(body, {**depths, variable: depth}, depth + 1)
            case All(variable, body):
                return "A." + walk(body, {**depths, variable: depth}, depth + 1)

    return walk(formula, {}, 0)
