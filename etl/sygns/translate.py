"""Translations between the three forms.

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

from etl.sygns.drs import Box, Condition, Disjunction, Implication, Negation, Predication
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

NUMERALS = ("two", "three")


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
                return Not(existential(inner))
            case Disjunction(left, right):
                return disjunction([existential(left), existential(right)])
            case Implication(left, right):
                # A referent of the left box is bound in both boxes.
                body: Formula = Implies(conjoined(left), existential(right))
                for referent in reversed(left.referents):
                    body = All(referent, body)
                return body

    def conjoined(part: Box) -> Formula:
        if not part.conditions:
            raise ValueError("a box without conditions; expected at least one")
        return conjunction([condition_formula(item) for item in part.conditions])

    def existential(part: Box) -> Formula:
        body = conjoined(part)
        for referent in reversed(part.referents):
            body = Exists(referent, body)
        return body

    return rename(existential(box))


def vf_to_fol(term: Term) -> Formula:
    """The formula that `term` stands for, variables numbered by appearance.

    Raises:
        ParseError: a term does not fit its position (a sentence without a quantifier, INV over a
            property, a quantifier as a relation).
    """
    numbers = count(1)

    def quantified(part: Operation, scope: Callable[[str], Formula]) -> Formula:
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
                return quantified(part, lambda y: relation_formula(relation, x, y))
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
            return rename(quantified(term, lambda x: property_formula(scope, x)))
    raise ParseError(f"{_head(term)}: expected a sentence, which starts with a quantifier")


def _boolean_formula(term: Operation, translate: Callable[[Term], Formula]) -> Formula:
    """The formula of a negation, conjunction or disjunction of what `translate` translates."""
    arguments = [translate(argument) for argument in term.arguments]
    if term.operator == "NOT":
        return Not(arguments[0])
    return (conjunction if term.operator == "AND" else disjunction)(arguments)


def _head(term: Term) -> str:
    return term.name if isinstance(term, Word) else term.operator


def fol_to_vf(formula: Formula) -> Term:
    """A variable-free term with the same truth conditions as the closed `formula`.

    The formula is interpreted as a sentence of the fragment: each quantifier below the first
    relates its variable to the one variable above it. A conjunction does not show where the
    restrictor ends and the scope begins (``exists x.(dog(x) & run(x) & slowly(x))``). In the first
    quantifier, the first conjunct that is not a numeral is the restrictor and the others are the
    scope; in the quantifiers below it, the conjuncts about only the inner variable are the
    restrictor. The term is equivalent to the formula, and it is the grammar's own term if nothing
    is between the noun and the verb.

    Raises:
        ValueError: the formula is outside the fragment, such as an atom of three variables.
    """
    operator, x, restrictor, scope = _quantifier(rename(formula))
    if scope is None:
        restrictor, scope = restrictor[:1], restrictor[1:]
    if not scope:
        raise ValueError(f"{operator} {x}: no scope")
    return Operation(
        operator,
        (
            _nested("AND", [_property_term(part, x) for part in restrictor]),
            _nested("AND", [_property_term(part, x) for part in scope]),
        ),
    )


def _quantifier(formula: Formula) -> tuple[str, str, list[Formula], list[Formula] | None]:
    """Operator, variable, restrictor and scope; of an existential all conjuncts and None."""
    match formula:
        case All(variable, Implies(left, right)):
            return "ALL", variable, [left], [right]
        case Exists(variable, body):
            parts: list[Formula] = [*body.parts] if isinstance(body, And) else [body]
            for numeral in NUMERALS:
                atom = Atom(numeral, (variable,))
                if atom in parts and len(parts) > 2:
                    parts.remove(atom)
                    return numeral.upper(), variable, parts, None
            return "EXIST", variable, parts, None
    raise ValueError(f"{type(formula).__name__}: expected a quantifier with restrictor and scope")


def _property_term(formula: Formula, x: str) -> Term:
    match formula:
        case Atom(predicate, (argument,)) if argument == x:
            return Word(predicate.upper())
        case Not() | And() | Or():
            return _boolean_term(formula, lambda part: _property_term(part, x))
        case All() | Exists():
            operator, y, restrictor, scope = _quantifier(formula)
            if scope is None:
                scope = [part for part in restrictor if x in free_variables(part)]
                restrictor = [part for part in restrictor if x not in free_variables(part)]
            if not restrictor or not scope:
                raise ValueError(f"{operator} {y}: no restrictor, or no relation to {x}")
            return Operation(
                operator,
                (
                    _nested("AND", [_property_term(part, y) for part in restrictor]),
                    _nested("AND", [_relation_term(part, x, y) for part in scope]),
                ),
            )
    raise ValueError(f"{type(formula).__name__}: not a property of only {x}")


def _relation_term(formula: Formula, x: str, y: str) -> Term:
    match formula:
        case Atom(predicate, arguments) if arguments == (x, y):
            return Word(predicate.upper())
        case Atom(predicate, arguments) if arguments == (y, x):
            return Operation("INV", (Word(predicate.upper()),))
        case Not() | And() | Or():
            return _boolean_term(formula, lambda part: _relation_term(part, x, y))
    raise ValueError(f"{type(formula).__name__}: not a relation of {x} and {y}")


def _boolean_term(formula: Not | And | Or, translate: Callable[[Formula], Term]) -> Term:
    """The term of a negation, conjunction or disjunction of what `translate` translates."""
    if isinstance(formula, Not):
        return Operation("NOT", (translate(formula.body),))
    operator = "AND" if isinstance(formula, And) else "OR"
    return _nested(operator, [translate(part) for part in formula.parts])


def _nested(operator: str, terms: list[Term]) -> Term:
    """The terms joined by a binary operator, nested to the right."""
    *preceding, joined = terms
    for term in reversed(preceding):
        joined = Operation(operator, (term, joined))
    return joined
