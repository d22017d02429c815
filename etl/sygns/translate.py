"""Translations between the three forms of a meaning: formula (FOL), box (DRS), variable-free (VF).

FOL to DRS and back is the standard mapping (Kamp and Reyle 1993): ``exists`` introduces a referent
into the current box, conjunction adds conditions to it, ``all x.(A -> B)`` is an implication whose
left box introduces x.

VF to FOL interprets a term by its position: a sentence is a quantifier over two properties; a
property is a word, a negation, a conjunction, a disjunction, or a quantifier over a property and a
relation. No lexicon is needed. TWO and THREE are existentials with a numeral as predicate, as in
SyGNS.
"""

from collections.abc import Callable
from itertools import count

from adnominal.etl.sygns.drs import Box, Condition, Disjunction, Implication, Negation, Predication
from adnominal.etl.sygns.fol import (
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
    rename,
)
from adnominal.etl.sygns.vf import QUANTIFIERS, Operation, Term, Word


def fol_to_drs(formula: Formula) -> Box:
    """The structure with the same truth conditions as the closed `formula`.

    Referents are numbered by appearance, one for each quantifier, since a box would list a variable
    that is used twice only once. An implication outside a universal becomes an implication between
    boxes that introduces no further referent.

    Raises:
        ValueError: the body of a universal is no implication; no structure expresses it.
    """
    return _box(rename(formula))


def _box(formula: Formula) -> Box:
    """The box of a formula: quantified variables are referents, conjuncts are conditions."""
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
                conditions.append(Negation(_box(body)))
            case Or(parts):
                left, *rest = parts
                conditions.append(Disjunction(_box(left), _box(disjunction(rest))))
            case Implies(left, right):
                conditions.append(Implication(_box(left), _box(right)))
            case All(variable, Implies(left, right)):
                box = _box(left)
                conditions.append(
                    Implication(Box((variable, *box.referents), box.conditions), _box(right))
                )
            case All(variable, body):
                raise ValueError(f"all {variable} without an implication has no box of its own")

    add(formula)
    return Box(tuple(referents), tuple(conditions))


def drs_to_fol(box: Box) -> Formula:
    """The formula with the same truth conditions, variables numbered by appearance.

    Raises:
        ValueError: a box has no conditions; no formula expresses it.
    """

    def condition_formula(item: Condition) -> Formula:
        match item:
            case Predication(predicate, arguments):
                return Atom(predicate, arguments)
            case Negation(inner):
                return Not(box_formula(inner))
            case Disjunction(left, right):
                return disjunction([box_formula(left), box_formula(right)])
            case Implication(left, right):
                # A referent of the left box is bound in both boxes.
                body: Formula = Implies(conditions_formula(left), box_formula(right))
                for referent in reversed(left.referents):
                    body = All(referent, body)
                return body

    def conditions_formula(part: Box) -> Formula:
        if not part.conditions:
            raise ValueError("a box without conditions; expected at least one")
        return conjunction([condition_formula(item) for item in part.conditions])

    def box_formula(part: Box) -> Formula:
        body = conditions_formula(part)
        for referent in reversed(part.referents):
            body = Exists(referent, body)
        return body

    return rename(box_formula(box))


def vf_to_fol(term: Term) -> Formula:
    """The formula that `term` stands for, variables numbered by appearance.

    Raises:
        ParseError: a term does not fit its position (a sentence without a quantifier, INV over a
            property, a quantifier as a relation).
    """
    numbers = count(1)

    def quantifier_formula(part: Operation, scope: Callable[[str], Formula]) -> Formula:
        variable = f"v{next(numbers)}"
        restrictor = property_formula(part.arguments[0], variable)
        if part.operator == "ALL":
            return All(variable, Implies(restrictor, scope(variable)))
        parts = [restrictor, scope(variable)]
        if part.operator != "EXIST":
            parts.insert(0, Atom(part.operator.lower(), (variable,)))
        return Exists(variable, conjunction(parts))

    def property_formula(part: Term, x: str) -> Formula:
        match part:
            case Word(name):
                return Atom(name.lower(), (x,))
            case Operation("NOT" | "AND" | "OR"):
                return _boolean_formula(part, lambda argument: property_formula(argument, x))
            case Operation(operator, (_, relation)) if operator in QUANTIFIERS:
                return quantifier_formula(part, lambda y: relation_formula(relation, x, y))
        raise ParseError(f"{_head(part)}: a relation where a property is needed")

    def relation_formula(part: Term, x: str, y: str) -> Formula:
        match part:
            case Word(name):
                return Atom(name.lower(), (x, y))
            case Operation("NOT" | "AND" | "OR"):
                return _boolean_formula(part, lambda argument: relation_formula(argument, x, y))
            case Operation("INV", (inverted,)):
                return relation_formula(inverted, y, x)
        raise ParseError(f"{_head(part)}: a property where a relation is needed")

    match term:
        case Operation(operator, (_, scope)) if operator in QUANTIFIERS:
            return rename(quantifier_formula(term, lambda x: property_formula(scope, x)))
    raise ParseError(f"{_head(term)}: expected a sentence, which starts with a quantifier")


def _boolean_formula(term: Operation, translate: Callable[[Term], Formula]) -> Formula:
    """The formula of a negation, conjunction or disjunction of what `translate` translates."""
    arguments = [translate(argument) for argument in term.arguments]
    if term.operator == "NOT":
        return Not(arguments[0])
    return (conjunction if term.operator == "AND" else disjunction)(arguments)


def _head(term: Term) -> str:
    return term.name if isinstance(term, Word) else term.operator
