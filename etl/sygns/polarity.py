"""Polarity of content words by monotonicity: ``all dogs↓ ran↑`` (paper, section 3.3).

A word in an upward position may be replaced by a more general one. A position is upward if an even
number of operators reverses it: negation, the restrictor of a universal, the left side of an
implication.
"""

from typing import Literal, TypeAlias

from adnominal.etl.sygns import fol, vf

Direction: TypeAlias = Literal["up", "down"]
Polarities: TypeAlias = list[tuple[str, Direction]]


def from_fol(formula: fol.Formula, up: bool = True) -> Polarities:
    """Every predicate of `formula` from left to right with its direction.

    The numerals two and three are predicates and are included, as in the published data.
    """
    match formula:
        case fol.Atom(predicate, _):
            return [(predicate, "up" if up else "down")]
        case fol.Not(body):
            return from_fol(body, not up)
        case fol.And(parts) | fol.Or(parts):
            return [found for part in parts for found in from_fol(part, up)]
        case fol.Implies(left, right):
            return from_fol(left, not up) + from_fol(right, up)
        case fol.Exists(_, body) | fol.All(_, body):
            return from_fol(body, up)


def from_vf(term: vf.Term, up: bool = True) -> Polarities:
    """Every content word of `term` from left to right, in lower case, with its direction.

    TWO and THREE are quantifiers and have no direction, as in the published data.
    """
    match term:
        case vf.Word(name):
            return [(name.lower(), "up" if up else "down")]
        case vf.Operation("NOT", (inner,)):
            return from_vf(inner, not up)
        case vf.Operation("ALL", (restrictor, scope)):
            return from_vf(restrictor, not up) + from_vf(scope, up)
        case vf.Operation(_, arguments):
            return [found for inner in arguments for found in from_vf(inner, up)]
