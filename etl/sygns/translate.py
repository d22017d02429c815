"""Translations between the three forms.

FOL to DRS and back is the standard mapping (Kamp and Reyle 1993): ``exists`` introduces a referent
into the box at hand, conjunction adds conditions to it, ``all x.(A -> B)`` is an implication whose
left box introduces x.

VF to FOL reads a term by its place: a sentence is a quantifier over two properties, a property is a
word, a negation, a conjunction, a disjunction or a quantifier over a property and a relation. No
lexicon is needed. TWO and THREE are existentials with a numeral as predicate, as in SyGNS.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from etl.sygns.drs import (
    Box,
    Condition,
    Disjunction,
    Implication,
    Negation,
    Predication,
)
from etl.sygns.fol import (
    All,
    And,
    Atom,
    Exists,
    Formula,
    Implies,
    Not,
    Or,
    ParseError,
    conjunction,
    disjunction,
    free_variables,
    rename,
)
from etl.sygns.vf import QUANTIFIERS, Operation, Term, Word

__all__ = ["drs_to_fol", "fol_to_drs", "fol_to_vf", "vf_to_fol"]

NUMERALS = ("two", "three")


def fol_to_drs(formula: Formula) -> Box:
    """The structure with the same truth conditions as `formula`.

    A universal whose body is no implication, and an implication outside a universal, become
    implications with the referents that they have. Raises `ValueError` for a universal without
    implication or an atom over a constant, which the clause form cannot say.
    """
    referents: list[str] = []
    conditions: list[Condition] = []

    def add(part: Formula) -> None:
        match part:
            case Atom(predicate, arguments):
                conditions.append(Predication(predicate, arguments))
            case And(parts):
                for inner in parts:
                    add(inner)
            case Exists(variable, body):
                referents.append(variable)
                add(body)
            case Not(body):
                conditions.append(Negation(fol_to_drs(body)))
            case Or(parts):
                left, *rest = parts
                conditions.append(Disjunction(fol_to_drs(left), fol_to_drs(disjunction(rest))))
            case Implies(left, right):
                conditions.append(Implication(fol_to_drs(left), fol_to_drs(right)))
            case All(variable, Implies(left, right)):
                box = fol_to_drs(left)
                conditions.append(
                    Implication(Box((variable, *box.referents), box.conditions), fol_to_drs(right))
                )
            case All(variable, body):
                raise ValueError(f"all {variable} without an implication has no box of its own")

    add(formula)
    return Box(tuple(referents), tuple(conditions))


def drs_to_fol(box: Box) -> Formula:
    """The formula with the same truth conditions, variables numbered by appearance.

    Raises `ValueError` for a box without conditions: nothing is said there.
    """

    def condition(item: Condition) -> Formula:
        match item:
            case Predication(predicate, arguments):
                return Atom(predicate, arguments)
            case Negation(inner):
                return Not(existential(inner))
            case Disjunction(left, right):
                return disjunction([existential(left), existential(right)])
            case Implication(left, right):
                # Every referent of the left box is bound above both sides.
                body: Formula = Implies(conditions(left), existential(right))
                for referent in reversed(left.referents):
                    body = All(referent, body)
                return body

    def conditions(part: Box) -> Formula:
        if not part.conditions:
            raise ValueError("a box without conditions; expected at least one")
        return conjunction([condition(item) for item in part.conditions])

    def existential(part: Box) -> Formula:
        body = conditions(part)
        for referent in reversed(part.referents):
            body = Exists(referent, body)
        return body

    return rename(existential(box))


def vf_to_fol(term: Term) -> Formula:
    """The formula that `term` stands for, variables numbered by appearance.

    Raises `ParseError` where a term does not fit its place (a sentence that is no quantifier, INV
    over a property, a quantifier as relation).
    """
    fresh = count(1)

    def quantified(part: Operation, scope: Callable[[str], Formula]) -> Formula:
        variable = f"v{next(fresh)}"
        restrictor = property_of(part.arguments[0], variable)
        if part.operator == "ALL":
            return All(variable, Implies(restrictor, scope(variable)))
        parts = [restrictor, scope(variable)]
        if part.operator != "EXIST":
            parts.insert(0, Atom(part.operator.lower(), (variable,)))
        return Exists(variable, conjunction(parts))

    def property_of(part: Term, x: str) -> Formula:
        match part:
            case Word(name):
                return Atom(name.lower(), (x,))
            case Operation("NOT", (inner,)):
                return Not(property_of(inner, x))
            case Operation("AND", (left, right)):
                return conjunction([property_of(left, x), property_of(right, x)])
            case Operation("OR", (left, right)):
                return disjunction([property_of(left, x), property_of(right, x)])
            case Operation(operator, (_, relation)) if operator in QUANTIFIERS:
                return quantified(part, lambda y: relation_of(relation, x, y))
        raise ParseError(f"{_head(part)}: a relation where a property is needed")

    def relation_of(part: Term, x: str, y: str) -> Formula:
        match part:
            case Word(name):
                return Atom(name.lower(), (x, y))
            case Operation("NOT", (inner,)):
                return Not(relation_of(inner, x, y))
            case Operation("INV", (inner,)):
                return relation_of(inner, y, x)
            case Operation("AND", (left, right)):
                return conjunction([relation_of(left, x, y), relation_of(right, x, y)])
            case Operation("OR", (left, right)):
                return disjunction([relation_of(left, x, y), relation_of(right, x, y)])
        raise ParseError(f"{_head(part)}: a property where a relation is needed")

    match term:
        case Operation(operator, (_, scope)) if operator in QUANTIFIERS:
            return rename(quantified(term, lambda x: property_of(scope, x)))
    raise ParseError(f"{_head(term)}: expected a sentence, which starts with a quantifier")


def _head(term: Term) -> str:
    return term.name if isinstance(term, Word) else term.operator


def fol_to_vf(formula: Formula) -> Term:
    """A variable-free term with the same truth conditions.

    The formula is read as a sentence of the fragment: each quantifier below the first relates its
    variable to the one variable above it. Conjunction loses the border between restrictor and
    scope (``exists x.(dog(x) & run(x) & slowly(x))``): at the top the first conjunct that is no
    numeral restricts and the others are the scope; below it, what speaks of the inner variable
    alone restricts. The term is equivalent to the formula, and the same as the grammar's where
    nothing stands between the noun and the verb.

    Raises `ValueError` for a formula outside the fragment, as one with three variables in an atom.
    """

    def joined(parts: list[Term]) -> Term:
        term = parts[-1]
        for part in reversed(parts[:-1]):
            term = Operation("AND", (part, term))
        return term

    def quantifier(part: Formula) -> tuple[str, str, list[Formula], list[Formula] | None]:
        """Operator, variable, and restrictor with scope, or (for existentials) all conjuncts."""
        match part:
            case All(variable, Implies(left, right)):
                return "ALL", variable, [left], [right]
            case Exists(variable, body):
                parts: list[Formula] = [*body.parts] if isinstance(body, And) else [body]
                for numeral in NUMERALS:
                    mark = Atom(numeral, (variable,))
                    if mark in parts and len(parts) > 2:
                        parts.remove(mark)
                        return numeral.upper(), variable, parts, None
                return "EXIST", variable, parts, None
        raise ValueError(f"{type(part).__name__}: expected a quantifier with restrictor and scope")

    def property_of(part: Formula, x: str) -> Term:
        match part:
            case Atom(predicate, (argument,)) if argument == x:
                return Word(predicate.upper())
            case Not(body):
                return Operation("NOT", (property_of(body, x),))
            case And(parts):
                return joined([property_of(p, x) for p in parts])
            case Or(parts):
                left, *rest = parts
                return Operation("OR", (property_of(left, x), property_of(disjunction(rest), x)))
            case All() | Exists():
                operator, y, restrictor, scope = quantifier(part)
                if scope is None:
                    scope = [p for p in restrictor if x in free_variables(p)]
                    restrictor = [p for p in restrictor if x not in free_variables(p)]
                if not restrictor or not scope:
                    raise ValueError(f"{operator} {y}: no restrictor, or no relation to {x}")
                return Operation(
                    operator,
                    (
                        joined([property_of(p, y) for p in restrictor]),
                        joined([relation_of(p, x, y) for p in scope]),
                    ),
                )
        raise ValueError(f"{type(part).__name__}: no property of {x} alone")

    def relation_of(part: Formula, x: str, y: str) -> Term:
        match part:
            case Atom(predicate, arguments) if arguments == (x, y):
                return Word(predicate.upper())
            case Atom(predicate, arguments) if arguments == (y, x):
                return Operation("INV", (Word(predicate.upper()),))
            case Not(body):
                return Operation("NOT", (relation_of(body, x, y),))
            case And(parts):
                return joined([relation_of(p, x, y) for p in parts])
            case Or(parts):
                left, *rest = parts
                return Operation(
                    "OR", (relation_of(left, x, y), relation_of(disjunction(rest), x, y))
                )
        raise ValueError(f"{type(part).__name__}: no relation of {x} and {y}")

    operator, x, restrictor, scope = quantifier(formula)
    if scope is None:
        restrictor, scope = restrictor[:1], restrictor[1:]
    if not scope:
        raise ValueError(f"{operator} {x}: no scope")
    return Operation(
        operator,
        (
            joined([property_of(p, x) for p in restrictor]),
            joined([property_of(p, x) for p in scope]),
        ),
    )
