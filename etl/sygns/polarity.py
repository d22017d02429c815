"""Polarity of content words by monotonicity: ``all dogs↓ ran↑`` (paper, section 3.3).

A word in an upward position may be replaced by a more general one. A position is upward where an
even number of operators reverses the direction: negation, the restrictor of a universal, the left
side of an implication.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from etl.sygns import fol, vf

Direction: TypeAlias = Literal["up", "down"]
Polarities: TypeAlias = list[tuple[str, Direction]]


def from_fol(formula: fol.Formula) -> Polarities:
    """Every predicate of `formula` from left to right with its direction.

    The numerals two and three are predicates and are included, as in the published data.
    """
    result: Polarities = []

    def walk(part: fol.Formula, up: bool) -> None:
        match part:
            case fol.Atom(predicate, _):
                result.append((predicate, "up" if up else "down"))
            case fol.Not(body):
                walk(body, not up)
            case fol.And(parts) | fol.Or(parts):
                for inner in parts:
                    walk(inner, up)
            case fol.Implies(left, right):
                walk(left, not up)
                walk(right, up)
            case fol.Exists(_, body) | fol.All(_, body):
                walk(body, up)

    walk(formula, True)
    return result


def from_vf(term: vf.Term) -> Polarities:
    """Every content word of `term` from left to right, in lower case, with its direction.

    TWO and THREE are quantifiers and have no direction, as in the published data.
    """
    result: Polarities = []

    def walk(part: vf.Term, up: bool) -> None:
        match part:
            case vf.Word(name):
                result.append((name.lower(), "up" if up else "down"))
            case vf.Operation("NOT", (inner,)):
                walk(inner, not up)
            case vf.Operation("ALL", (restrictor, scope)):
                walk(restrictor, not up)
                walk(scope, up)
            case vf.Operation(_, arguments):
                for inner in arguments:
                    walk(inner, up)

    walk(term, True)
    return result
