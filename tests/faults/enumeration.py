"""All cases of one fault at one operation of a command, after which the command is repeated."""

import os
import random
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any, Self

from tests.faults import interposer, judge
from tests.faults.interposer import Control, Operation
from tests.faults.processes import Child, answer, problems_of
from tests.faults.scenarios import Place, Scenario, fresh_folder

FAULTS = ("kill", "error", "full", "torn", "lie", "short")


def with_library() -> None:
    """Restart this process with the library preloaded, unless it is."""
    if not interposer.is_loaded():
        environment = {**os.environ, "LD_PRELOAD": str(interposer.library())}
        os.execve(sys.executable, sys.orig_argv, environment)


@dataclass(frozen=True, order=True)
class Case:
    """A fault at operation number `place` (from 1) of a scenario; its text is for ``replay=``."""

    scenario: str
    fault: str
    place: int

    def __str__(self) -> str:
        return f"{self.scenario}:{self.fault}:{self.place}"

    @classmethod
    def of(cls, text: str) -> Self:
        """The case that has `text` as its ``str``."""
        scenario, fault, place = text.rsplit(":", 2)
        return cls(scenario, fault, int(place))


@dataclass(frozen=True)
class Outcome:
    """The outcome of a case, without `problems` if all is well.

    `fired`: whether the run reached the operation; the number of operations of concurrent tasks
    varies.
    """

    case: str
    operation: str
    code: int | None
    problems: list[str] = field(default_factory=list)
    fired: bool = True


class Recorded:
    """A scenario on lakes below a folder, whose storage operations can be recorded."""

    scenario: Any
    undisturbed: Any

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.seed = seed
        self._control = folder / "control"

    def place(self, name: str) -> Place:
        return Place(self.folder / name, self.folder / "input", self.seed)

    def operations(self, command: Callable[[Place], int], place: Place) -> list[Operation]:
        """The storage operations of a command on a lake.

        Raises:
            RuntimeError: the command fails.
        """
        control = Control(self._control, place.root)
        output = self.folder / "whole.txt"
        code = Child(lambda: command(place), output, control).wait()
        if code:
            raise RuntimeError(f"{self.folder.name} undisturbed: {code}\n{output.read_text()}")
        operations = control.operations()
        control.end()
        return operations

    def numbered_operations(self) -> list[tuple[int, Operation]]:
        """The operations of the undisturbed command with their numbers.

        If cases take seconds, only the first and last of consecutive equal operations.
        """
        operations = enumerate(self.undisturbed["operations"], 1)
        return list(ends_of_runs(operations) if self.scenario.engine else operations)


class Enumeration(Recorded):
    """The cases of one scenario, in a folder of its own."""

    def __init__(self, scenario: Scenario, folder: Path, seed: int) -> None:
        super().__init__(folder / scenario.name.replace(" ", "-").replace(",", ""), seed)
        self.scenario = scenario

    @cached_property
    def undisturbed(self) -> dict[str, Any]:
        """The operations of the undisturbed command, the states of its tables, and their final one.

        Raises:
            RuntimeError: the command fails.
        """
        fresh_folder(self.folder).mkdir(parents=True)
        base, finished = self.place("base"), self.place("whole")

        def prepare() -> dict[str, str]:
            self.scenario.prepare(base)
            return judge.contents(base)

        prepared = answer(prepare, self.folder)
        shutil.copytree(base.root, finished.root)
        operations = self.operations(self.scenario.command, finished)
        states = answer(lambda: judge.states(finished, prepared), self.folder)
        final = answer(lambda: judge.contents(finished), self.folder)
        return {"operations": operations, "states": states, "final": final}

    def cases(self, faults: Sequence[str] = FAULTS) -> list[Case]:
        """Every fault at every operation where it makes a difference."""
        return [
            Case(self.scenario.name, fault, number)
            for fault in faults
            for number, operation in self.numbered_operations()
            if operation.is_distinct(fault)
        ]

    def run(self, case: Case) -> Outcome:
        """Disturb the command and check the result, then repeat it and check again."""
        reference, place = self.undisturbed, self.place("case")
        shutil.copytree(self.folder / "base", fresh_folder(place.root))
        output = self.folder / "case.txt"
        output.unlink(missing_ok=True)
        control = Control(self._control, place.root, case.fault, case.place)
        code = Child(lambda: self.scenario.command(place), output, control).wait()
        fired, operation = control.end()
        problems = faults_of_exit(case.fault if fired else "none", code, output.read_text())
        problems += problems_of(lambda: self._judge(place, code, reference), self.folder)
        return Outcome(str(case), operation, code, problems, bool(fired))

    def _judge(self, place: Place, code: int | None, reference: dict[str, Any]) -> list[str]:
        """The problems after a disturbed run, and after repeating the command."""
        final = {name: [state] for name, state in reference["final"].items()}
        # A command that succeeded must have done all its work.
        problems = judge.visible_faults(place, final if code == 0 else reference["states"])
        if code != 0:
            code = self.scenario.command(place)
            if code != 0:
                problems.append(f"repeated: exit code {code}")
        problems += [f"afterwards: {fault}" for fault in judge.visible_faults(place, final)]
        problems += [f"left behind: {path}" for path in judge.leftovers(place)]
        if judge.contents(place) != reference["final"]:
            problems.append("the tables are not those of the undisturbed run")
        return problems


def ends_of_runs(operations: Iterable[tuple[int, Operation]]) -> Iterator[tuple[int, Operation]]:
    """The first and the last of consecutive equal operations."""
    for _, run in groupby(operations, key=lambda numbered: numbered[1]):
        first, *rest = run
        yield from (first, *rest[-1:])


def faults_of_exit(fault: str, code: int | None, output: str) -> list[str]:
    """Problems with the exit code and output of a command: an undocumented code, a traceback."""
    documented = {"kill": (-9,), "torn": (-9,), "short": (0,), "none": (0,)}.get(fault, (0, 1))
    problems = []
    if code not in documented:
        lines = output.strip().splitlines() or [""]
        problems.append(f"exit code {code}, expected {documented}: {lines[-1]}")
    if "Traceback" in output:
        problems.append(f"a traceback: {output.strip().splitlines()[-1]}")
    return problems


def sample(cases: Sequence[Case], count: int, seed: int) -> list[Case]:
    """A sample of `count` cases in their order; all cases for 0."""
    if not count or count >= len(cases):
        return list(cases)
    return sorted(random.Random(seed).sample(list(cases), count))
