"""Discourse representation structures and their clause form.

``b1 IMP b2 b3 [SEP] b2 REF x1 [SEP] b2 cat x1 [SEP] b3 run x1``: each clause names its box first.
`clauses` and `from_clauses` convert between the two; `text` and `parse` print and read clauses.

Boxes are numbered uniquely, in the order in which they are opened. The published data number them
by nesting instead (a box inside box n is n + 1), so that siblings share a number and conditions
after an embedded box seem to belong to the wrong one. ``numbering="nesting"`` reproduces this; its
text cannot be parsed if two boxes share a number. The release's scripts, and table 18 of the paper,
name a clause by a running counter of the boxes opened so far: numbers are unique, but conditions
after an embedded box belong to the last one opened (``numbering="counter"``).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from adnominal.etl.sygns.fol import ParseError, check_depth

SEPARATOR = " [SEP] "
# The kinds of the arguments of each operator: x an entity, b a box.
OPERATORS = {"REF": "x", "NOT": "b", "IMP": "bb", "DIS": "bb"}

Numbering: TypeAlias = Literal["unique", "nesting", "counter"]


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
    """The clause form; the outermost box is b1.

    By `numbering`, a box inside another has a number of its own (``unique``), the number of its
    depth (``nesting``), or that which a counter of opened boxes happens to have (``counter``).
    """
    if numbering == "counter":
        return _counted_clauses(box)
    result: list[Clause] = []
    open_boxes = 1

    def add_clauses(part: Box, number: int) -> None:
        nonlocal open_boxes
        name = f"b{number}"
        result.extend([Clause(name, "REF", (referent,)) for referent in part.referents])
        for condition in part.conditions:
            if isinstance(condition, Predication):
                result.append(Clause(name, condition.predicate, condition.arguments))
                continue
            symbol, children = _embedded_boxes(condition)
            first = open_boxes + 1 if numbering == "unique" else number + 1
            open_boxes += len(children)
            numbers = range(first, first + len(children))
            result.append(Clause(name, symbol, tuple([f"b{n}" for n in numbers])))
            for child, n in zip(children, numbers, strict=True):
                add_clauses(child, n)

    add_clauses(box, 1)
    return result


def _embedded_boxes(condition: Negation | Implication | Disjunction) -> tuple[str, list[Box]]:
    """The operator of a condition, and its boxes."""
    match condition:
        case Negation(inner):
            return "NOT", [inner]
        case Implication(left, right):
            return "IMP", [left, right]
        case Disjunction(left, right):
            return "DIS", [left, right]


def _counted_clauses(box: Box) -> list[Clause]:
    """The clause form in which every clause names the box that was opened last."""
    result: list[Clause] = []
    counter = 1

    def add_clauses(part: Box) -> None:
        nonlocal counter
        result.extend([Clause(f"b{counter}", "REF", (referent,)) for referent in part.referents])
        for condition in part.conditions:
            name = f"b{counter}"
            if isinstance(condition, Predication):
                result.append(Clause(name, condition.predicate, condition.arguments))
                continue
            symbol, children = _embedded_boxes(condition)
            place = len(result)
            numbers = []
            for child in children:
                counter += 1
                numbers.append(f"b{counter}")
                add_clauses(child)
            result.insert(place, Clause(name, symbol, tuple(numbers)))

    add_clauses(box)
    return result


def text(box: Box, numbering: Numbering = "unique") -> str:
    """The clauses, joined by ``[SEP]``."""
    return SEPARATOR.join([str(clause) for clause in clauses(box, numbering)])


_BOX = re.compile(r"b\d+")
_ENTITY = re.compile(r"x\d+")
_PREDICATE = re.compile(r"[a-z][\w~.\"'-]*")


def parse_clauses(string: str) -> list[Clause]:
    """The clauses of `string`; each is checked by itself.

    Raises:
        ParseError: a clause that is neither ``bN REF xN``, ``bN NOT bN``, ``bN IMP bN bN``,
            ``bN DIS bN bN`` nor a lower-case predicate over one or two entities; or no clause.
    """
    result = []
    for number, part in enumerate(string.split(SEPARATOR.strip()), 1):
        symbols = part.split()
        place = f"clause {number}, {' '.join(symbols)!r}"
        if len(symbols) < 3:
            raise ParseError(f"{place}: expected a box, a symbol and its arguments")
        box, symbol, *arguments = symbols
        if not _BOX.fullmatch(box):
            raise ParseError(f"{place}: got {box!r}, expected a box like b1")
        if symbol in OPERATORS:
            kinds = OPERATORS[symbol]
        elif _PREDICATE.fullmatch(symbol):
            kinds = "x" * min(len(arguments), 2)
        else:
            raise ParseError(f"{place}: {symbol!r} is neither an operator nor a predicate")
        if len(arguments) != len(kinds):
            raise ParseError(f"{place}: {symbol} takes {len(kinds)} arguments")
        for kind, argument in zip(kinds, arguments, strict=True):
            if not (_BOX if kind == "b" else _ENTITY).fullmatch(argument):
                raise ParseError(f"{place}: got {argument!r}, expected a {kind}N")
        result.append(Clause(box, symbol, tuple(arguments)))
    return result


def _boxes(items: Sequence[Clause]) -> tuple[dict[str, list[Clause]], str]:
    """The clauses by their box, and the name of the outermost box."""
    by_box: dict[str, list[Clause]] = {}
    embeddings: Counter[str] = Counter()
    for clause in items:
        by_box.setdefault(clause.box, []).append(clause)
        if clause.symbol in ("NOT", "IMP", "DIS"):
            embeddings.update(clause.arguments)
    reopened = sorted(name for name, count in embeddings.items() if count > 1)
    if reopened:
        raise ParseError(f"{', '.join(reopened)}: opened more than once")
    roots = [name for name in by_box if name not in embeddings]
    if len(roots) != 1:
        raise ParseError(f"outermost boxes: {', '.join(roots) or 'none'}; expected one")
    return by_box, roots[0]


def from_clauses(items: Sequence[Clause]) -> Box:
    """The structure that the clauses describe.

    Raises:
        ParseError: a box is opened twice, is opened and empty, is not inside the outermost box, or
            is nested deeper than `etl.sygns.fol.DEEPEST`; there is more than one outermost box; a
            referent is introduced twice in a box; or a variable has no referent in its own box or
            in one that is accessible from it.
    """
    by_box, outermost = _boxes(items)
    visited_boxes: set[str] = set()

    def build(name: str, outer_referents: frozenset[str], depth: int) -> Box:
        check_depth(depth)
        visited_boxes.add(name)
        if name not in by_box:
            raise ParseError(f"{name}: opened but empty")
        referents = tuple([c.arguments[0] for c in by_box[name] if c.symbol == "REF"])
        if len(set(referents)) != len(referents):
            raise ParseError(f"{name}: a referent introduced twice")
        accessible = outer_referents | frozenset(referents)
        conditions: list[Condition] = []
        for clause in by_box[name]:
            match clause.symbol, clause.arguments:
                case "REF", _:
                    pass
                case "NOT", (inner,):
                    conditions.append(Negation(build(inner, accessible, depth + 1)))
                case "IMP", (antecedent, consequent):
                    left = build(antecedent, accessible, depth + 1)
                    accessible_right = accessible | frozenset(left.referents)
                    right = build(consequent, accessible_right, depth + 1)
                    conditions.append(Implication(left, right))
                case "DIS", disjuncts:
                    left, right = [build(disjunct, accessible, depth + 1) for disjunct in disjuncts]
                    conditions.append(Disjunction(left, right))
                case predicate, arguments:
                    unbound = [a for a in arguments if a not in accessible]
                    if unbound:
                        raise ParseError(
                            f"{clause}: {unbound[0]} has no referent that {name} can see"
                        )
                    conditions.append(Predication(predicate, arguments))
        return Box(referents, tuple(conditions))

    box = build(outermost, frozenset(), 1)
    if len(visited_boxes) != len(by_box):
        raise ParseError(
            f"{', '.join(sorted(set(by_box) - visited_boxes))}: not inside {outermost}"
        )
    return box


def parse(string: str) -> Box:
    """The structure that `string` denotes.

    Raises:
        ParseError: as `parse_clauses` and `from_clauses` raise it.
    """
    return from_clauses(parse_clauses(string))


def rename(items: Sequence[Clause]) -> list[Clause]:
    """The same clauses with boxes and entities numbered by first mention."""
    names: dict[str, str] = {}
    counts = {"b": 0, "x": 0}

    def new_name(name: str) -> str:
        if name not in names:
            counts[name[0]] += 1
            names[name] = f"{name[0]}{counts[name[0]]}"
        return names[name]

    return [
        Clause(new_name(c.box), c.symbol, tuple([new_name(a) for a in c.arguments])) for c in items
    ]
