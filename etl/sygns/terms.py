r"""The lambda terms of ``conf/sygns/grammar.yaml``, compiled to Python functions.

A term is a formula in the notation of `etl.sygns.fol`, extended by lambda (``\x. body``) and
by the application of a meaning (``NP(\y. tv(x,y))``). `compile_fol` and `compile_vf` turn the text
of a term into a function from the meanings of its names to a meaning: a formula, a term, a variable
name, or a Python function of one argument. Several arguments are applied one after the other.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from adnominal.etl.sygns import fol, vf
from adnominal.etl.sygns.fol import ParseError, TokenReader

# What a meaning is depends on its type in the grammar, which the rules themselves fix.
Meaning: TypeAlias = Any
Environment: TypeAlias = Mapping[str, Meaning]
Compiled: TypeAlias = Callable[[dict[str, Meaning]], Meaning]
# The entry of an environment that holds the `FreshVariables`; no name of a term is empty.
FRESH = ""

_TOKEN = re.compile(r"\s*(->|[\\&|()\-.,]|[A-Za-z_]\w*)")


class FreshVariables:
    """A new variable name for each quantifier, whatever the order of evaluation."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> str:
        self.count += 1
        return f"v{self.count}"


class _Compiler(TokenReader):
    """Recursive descent; `make_atom` builds the meaning of a name that is not bound."""

    def __init__(
        self,
        string: str,
        names: Sequence[str],
        make_atom: Callable[[str, list[Meaning]], Meaning],
    ) -> None:
        super().__init__(string, _TOKEN)
        self.bound = list(names)
        self.make_atom = make_atom

    def implication(self) -> Compiled:
        left = self.disjunction()
        if self.peek() != "->":
            return left
        self.take()
        right = self.implication()
        return lambda env: fol.Implies(left(env), right(env))

    def disjunction(self) -> Compiled:
        return _joined_meaning(fol.disjunction, self.read_list("|", self.conjunction))

    def conjunction(self) -> Compiled:
        return _joined_meaning(fol.conjunction, self.read_list("&", self.unary_term))

    def binder(self) -> tuple[str, Compiled]:
        """The variable and body after a lambda or a quantifier."""
        name = self.take()
        self.take(".")
        self.bound.append(name)
        body = self.unary_term()
        self.bound.pop()
        return name, body

    def unary_term(self) -> Compiled:
        """Compile what binds closest: a negation, lambda, quantifier, parentheses or an atom."""
        token = self.take()
        if token == "-":
            negated = self.unary_term()
            return lambda env: fol.Not(negated(env))
        if token == "(":
            inner = self.implication()
            self.take(")")
            return inner
        if token == "\\":
            name, body = self.binder()
            return lambda env: lambda value: body({**env, name: value})
        if token in ("all", "exists"):
            name, body = self.binder()
            quantifier = fol.All if token == "all" else fol.Exists

            def quantified_formula(env: dict[str, Meaning]) -> Meaning:
                variable = env[FRESH]()
                return quantifier(variable, body({**env, name: variable}))

            return quantified_formula
        if not token[0].isalpha():
            raise ParseError(f"token {self.position}: got {token!r}, expected a term")
        arguments: list[Compiled] = []
        if self.peek() == "(":
            self.take()
            arguments = self.read_list(",", self.implication)
            self.take(")")
        if token in self.bound:
            return _application(token, arguments)
        return lambda env: self.make_atom(token, [argument(env) for argument in arguments])


def _joined_meaning(join: Callable[[list[Meaning]], Meaning], parts: list[Compiled]) -> Compiled:
    return parts[0] if len(parts) == 1 else lambda env: join([part(env) for part in parts])


def _application(name: str, arguments: list[Compiled]) -> Compiled:
    def apply(env: dict[str, Meaning]) -> Meaning:
        meaning = env[name]
        for argument in arguments:
            meaning = meaning(argument(env))
        return meaning

    return apply


def _compiled_term(
    string: str, names: Sequence[str], make_atom: Callable[[str, list[Meaning]], Meaning]
) -> Compiled:
    try:
        compiler = _Compiler(string, names, make_atom)
        term = compiler.implication()
        compiler.check_end()
    except ParseError as error:
        raise ParseError(f"{string!r}: {error}") from None
    return term


def compile_fol(
    string: str, names: Sequence[str]
) -> Callable[[Environment, FreshVariables], Meaning]:
    """The FOL meaning of a rule or word, as a function of the meanings of `names`.

    A name that is neither bound nor among `names` is a predicate.
    """
    term = _compiled_term(string, names, lambda name, arguments: fol.Atom(name, tuple(arguments)))
    return lambda environment, fresh: term({**environment, FRESH: fresh})


def compile_vf(string: str, names: Sequence[str]) -> Callable[[Environment], Meaning]:
    """The VF meaning of a rule or word, as a function of the meanings of `names`.

    The function raises `ParseError` for an operator with a wrong number of arguments, and for
    arguments of a word.
    """

    def make_atom(name: str, arguments: list[Meaning]) -> Meaning:
        arity = vf.ARITY.get(name, 0)
        if len(arguments) != arity:
            raise ParseError(f"{string!r}: {name} has {len(arguments)} arguments, not {arity}")
        return vf.Operation(name, tuple(arguments)) if arity else vf.Word(name)

    term = _compiled_term(string, names, make_atom)
    return lambda environment: term({**environment})
