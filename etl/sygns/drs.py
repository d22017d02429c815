"""Discourse representation structures and their clause form.

``b1 IMP b2 b3 [SEP] b2 REF x1 [SEP] b2 cat x1 [SEP] b3 run x1``: each clause names its box first.
`clauses` and `boxes` go between the two; `text` and `parse` print and read clauses.

Boxes are numbered uniquely, in the order in which they are opened. The published data number by
nesting instead (a box inside box n is n + 1), so that siblings share a number and conditions after
an embedded box seem to lie in the wrong one: ``numbering="nesting"`` reproduces that, and its text
cannot be read back where two boxes share a number.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from etl.sygns.fol import ParseError, check_depth

__all__ = [
    "SEPARATOR",
    "Box",
    "Clause",
    "Condition",
    "Disjunction",
    "Implication",
    "Negation",
    "Numbering",
    "Predication",
    "boxes",
    "clauses",
    "parse",
    "parse_clauses",
    "rename",
    "text",
]

SEPARATOR = " [SEP] "
OPERATORS = {"REF": "x", "NOT": "b", "IMP": "bb", "DIS": "bb"}

Numbering: TypeAlias = Literal["unique", "nesting"]


class Clause(NamedTuple):
    """One clause: `box`, then an operator (REF, NOT, IMP, DIS) or a predicate, then variables."""

    box: str
    symbol: str
    arguments: tuple[str, ...]

    def __str__(self) -> str:
        return " ".join((self.box, self.symbol, *self.arguments))


@dataclass(frozen=True, slots=True)
class Predication:
    predicate: str
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Negation:
    box: Box


@dataclass(frozen=True, slots=True)
class Implication:
    left: Box
    right: Box


@dataclass(frozen=True, slots=True)
class Disjunction:
    left: Box
    right: Box


Condition: TypeAlias = Predication | Negation | Implication | Disjunction


@dataclass(frozen=True, slots=True)
class Box:
    """Discourse referents, then conditions in order (Kamp and Reyle 1993)."""

    referents: tuple[str, ...]
    conditions: tuple[Condition, ...]


def clauses(box: Box, numbering: Numbering = "unique") -> list[Clause]:
    """The clause form; the outermost box is b1."""
    result: list[Clause] = []
    opened = 1

    def emit(part: Box, number: int) -> None:
        nonlocal opened
        name = f"b{number}"
        result.extend([Clause(name, "REF", (referent,)) for referent in part.referents])
        for condition in part.conditions:
            match condition:
                case Predication(predicate, arguments):
                    result.append(Clause(name, predicate, arguments))
                    continue
                case Negation(inner):
                    symbol, children = "NOT", [inner]
                case Implication(left, right):
                    symbol, children = "IMP", [left, right]
                case Disjunction(left, right):
                    symbol, children = "DIS", [left, right]
            first = opened + 1 if numbering == "unique" else number + 1
            opened += len(children)
            numbers = range(first, first + len(children))
            result.append(Clause(name, symbol, tuple([f"b{n}" for n in numbers])))
            for child, n in zip(children, numbers, strict=True):
                emit(child, n)

    emit(box, 1)
    return result


def text(box: Box, numbering: Numbering = "unique") -> str:
    """The clauses, joined by ``[SEP]``."""
    return SEPARATOR.join([str(clause) for clause in clauses(box, numbering)])


_BOX = re.compile(r"b\d+")
_ENTITY = re.compile(r"x\d+")
_PREDICATE = re.compile(r"[a-z][\w~.\"'-]*")


def parse_clauses(string: str) -> list[Clause]:
    """The clauses of `string`, each well-formed by itself.

    Raises:
        ParseError: a clause that is neither ``bN REF xN``, ``bN NOT bN``, ``bN IMP bN bN``,
            ``bN DIS bN bN`` nor a lower-case predicate over one or two entities; or no clause.
    """
    result = []
    for number, part in enumerate(string.split(SEPARATOR.strip()), 1):
        words = part.split()
        where = f"clause {number}, {' '.join(words)!r}"
        if len(words) < 3:
            raise ParseError(f"{where}: expected a box, a symbol and its arguments")
        box, symbol, *arguments = words
        if not _BOX.fullmatch(box):
            raise ParseError(f"{where}: got {box!r}, expected a box like b1")
        if symbol in OPERATORS:
            kinds = OPERATORS[symbol]
        elif _PREDICATE.fullmatch(symbol):
            kinds = "x" * min(len(arguments), 2)
        else:
            raise ParseError(f"{where}: {symbol!r} is neither an operator nor a predicate")
        if len(arguments) != len(kinds):
            raise ParseError(f"{where}: {symbol} takes {len(kinds)} arguments")
        for kind, argument in zip(kinds, arguments, strict=True):
            if not (_BOX if kind == "b" else _ENTITY).fullmatch(argument):
                raise ParseError(f"{where}: got {argument!r}, expected a {kind}N")
        result.append(Clause(box, symbol, tuple(arguments)))
    return result


def boxes(items: Sequence[Clause]) -> Box:
    """The structure that the clauses describe.

    Raises:
        ParseError: a box opened twice or never, boxes inside each other in a circle or deeper than
            `etl.sygns.fol.DEEPEST`, more than one outermost box, a referent introduced twice in a
            box, or a variable without a referent in its own box or one that it can see.
    """
    by_box: dict[str, list[Clause]] = {}
    children: list[str] = []
    for clause in items:
        by_box.setdefault(clause.box, []).append(clause)
        if clause.symbol in ("NOT", "IMP", "DIS"):
            children.extend(clause.arguments)
    twice = sorted({name for name in children if children.count(name) > 1})
    if twice:
        raise ParseError(f"{', '.join(twice)}: opened more than once")
    roots = [name for name in by_box if name not in children]
    if len(roots) != 1:
        raise ParseError(f"outermost boxes: {', '.join(roots) or 'none'}; expected one")
    used: set[str] = set()

    def build(name: str, visible: frozenset[str], depth: int) -> Box:
        check_depth(depth)
        used.add(name)
        own = by_box.get(name)
        if own is None:
            raise ParseError(f"{name}: opened but empty")
        referents = tuple([c.arguments[0] for c in own if c.symbol == "REF"])
        if len(set(referents)) != len(referents):
            raise ParseError(f"{name}: a referent introduced twice")
        seen = visible | frozenset(referents)
        conditions: list[Condition] = []
        for clause in own:
            arguments = clause.arguments
            if clause.symbol == "NOT":
                conditions.append(Negation(build(arguments[0], seen, depth + 1)))
            elif clause.symbol == "IMP":
                left = build(arguments[0], seen, depth + 1)
                seen_right = seen | frozenset(left.referents)
                conditions.append(Implication(left, build(arguments[1], seen_right, depth + 1)))
            elif clause.symbol == "DIS":
                parts = [build(argument, seen, depth + 1) for argument in arguments]
                conditions.append(Disjunction(parts[0], parts[1]))
            elif clause.symbol != "REF":
                unbound = [a for a in arguments if a not in seen]
                if unbound:
                    raise ParseError(f"{clause}: {unbound[0]} has no referent that {name} can see")
                conditions.append(Predication(clause.symbol, arguments))
        return Box(referents, tuple(conditions))

    box = build(roots[0], frozenset(), 1)
    if len(used) != len(by_box):
        raise ParseError(f"{', '.join(sorted(set(by_box) - used))}: not inside {roots[0]}")
    return box


def parse(string: str) -> Box:
    """The structure that `string` writes; `ParseError` as `parse_clauses` and `boxes` raise."""
    return boxes(parse_clauses(string))


def rename(items: Sequence[Clause]) -> list[Clause]:
    """The same clauses with boxes and entities numbered by first mention."""
    names: dict[str, str] = {}
    counts = {"b": 0, "x": 0}

    def new(name: str) -> str:
        if name not in names:
            counts[name[0]] += 1
            names[name] = f"{name[0]}{counts[name[0]]}"
        return names[name]

    return [Clause(new(c.box), c.symbol, tuple([new(a) for a in c.arguments])) for c in items]
