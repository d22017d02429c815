r"""The lambda terms of ``conf/sygns/grammar.yaml``, read once and run as Python functions.

A term is a formula of `etl.sygns.fol`'s notation enlarged by lambda (``\x. body``) and application
of a meaning (``NP(\y. tv(x,y))``). `compile_fol` and `compile_vf` turn its text into a function
from the meanings of its names to a meaning: a formula, a term, a variable name, or a Python
function of one argument. Several arguments are given one after the other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from etl.sygns import fol, vf
from etl.sygns.fol import ParseError

__all__ = ["Environment", "Meaning", "compile_fol", "compile_vf"]

# What a meaning is depends on its type in the grammar, which the rules themselves fix.
Meaning: TypeAlias = Any
Environment: TypeAlias = Mapping[str, Meaning]
Compiled: TypeAlias = Callable[[dict[str, Meaning]], Meaning]

_SCANNER = re.compile(r"\s*(->|[\\&|()\-.,]|[A-Za-z_]\w*)")


class Fresh:
    """Names for variables: one for each quantifier, whatever the order of evaluation."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> str:
        self.count += 1
        return f"v{self.count}"


class _Compiler:
    def __init__(self, string: str, atom: Callable[[str, list[Meaning]], Meaning]) -> None:
        self.string = string
        self.items = _SCANNER.findall(string)
        if "".join(self.items) != re.sub(r"\s", "", string):
            raise ParseError(f"{string!r}: characters that no term has")
        self.at = 0
        self.atom = atom
        self.bound: list[str] = []

    def peek(self) -> str:
        return self.items[self.at] if self.at < len(self.items) else ""

    def take(self, expected: str = "") -> str:
        item = self.peek()
        if not item or (expected and item != expected):
            raise ParseError(f"{self.string!r}: got {item!r}, expected {expected or 'more'!r}")
        self.at += 1
        return item

    def whole(self, names: Sequence[str]) -> Compiled:
        self.bound = list(names)
        term = self.implication()
        if self.peek():
            raise ParseError(f"{self.string!r}: {self.peek()!r} is left over")
        return term

    def implication(self) -> Compiled:
        left = self.junction("|")
        if self.peek() != "->":
            return left
        self.take()
        right = self.implication()
        return lambda env: fol.Implies(left(env), right(env))

    def junction(self, operator: str) -> Compiled:
        def inner() -> Compiled:
            return self.junction("&") if operator == "|" else self.unit()

        parts = [inner()]
        while self.peek() == operator:
            self.take()
            parts.append(inner())
        if len(parts) == 1:
            return parts[0]
        join = fol.disjunction if operator == "|" else fol.conjunction
        return lambda env: join([part(env) for part in parts])

    def binder(self) -> tuple[str, Compiled]:
        name = self.take()
        self.take(".")
        self.bound.append(name)
        body = self.unit()
        self.bound.pop()
        return name, body

    def unit(self) -> Compiled:
        item = self.take()
        if item == "-":
            inner = self.unit()
            return lambda env: fol.Not(inner(env))
        if item == "(":
            inner = self.implication()
            self.take(")")
            return inner
        if item == "\\":
            name, body = self.binder()
            return lambda env: lambda value: body({**env, name: value})
        if item in ("all", "exists"):
            name, body = self.binder()
            make = fol.All if item == "all" else fol.Exists

            def quantified(env: dict[str, Meaning]) -> Meaning:
                variable = env[""]()
                return make(variable, body({**env, name: variable}))

            return quantified
        if not item[0].isalpha():
            raise ParseError(f"{self.string!r}: got {item!r}, expected a term")
        arguments: list[Compiled] = []
        if self.peek() == "(":
            self.take()
            arguments.append(self.implication())
            while self.peek() == ",":
                self.take()
                arguments.append(self.implication())
            self.take(")")
        if item in self.bound:
            return _application(item, arguments)
        return lambda env: self.atom(item, [a(env) for a in arguments])


def _application(name: str, arguments: list[Compiled]) -> Compiled:
    if not arguments:
        return lambda env: env[name]
    if len(arguments) == 1:
        only = arguments[0]
        return lambda env: env[name](only(env))

    def apply(env: dict[str, Meaning]) -> Meaning:
        value = env[name]
        for argument in arguments:
            value = value(argument(env))
        return value

    return apply


def compile_fol(string: str, names: Sequence[str]) -> Callable[[Environment, Fresh], Meaning]:
    """The FOL meaning of a rule or word, from the meanings of `names`.

    A name that is neither bound nor among `names` is a predicate.
    """
    compiled = _Compiler(string, lambda name, args: fol.Atom(name, tuple(args))).whole(names)
    return lambda environment, fresh: compiled({**environment, "": fresh})


def compile_vf(string: str, names: Sequence[str]) -> Callable[[Environment], Meaning]:
    """The VF meaning of a rule or word, from the meanings of `names`.

    Raises `ParseError` for a name that is neither bound, nor among `names`, nor an operator.
    """

    def build(name: str, arguments: list[Meaning]) -> Meaning:
        arity = vf.ARITY.get(name, 0)
        if len(arguments) != arity:
            raise ParseError(f"{string!r}: {name} has {len(arguments)} arguments, not {arity}")
        return vf.Operation(name, tuple(arguments)) if arity else vf.Word(name)

    compiled = _Compiler(string, build).whole(names)
    return lambda environment: compiled({**environment})
