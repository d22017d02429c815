"""Two writers, one stopped at each of its storage operations while the other runs."""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from tests.faults import judge, scenarios
from tests.faults.enumeration import Case, Outcome, Recorded
from tests.faults.interposer import Control
from tests.faults.processes import Child, answer, problems_of
from tests.faults.scenarios import Place, fresh_folder

Command = Callable[[Place], int]
BOTH = (0, 1)


@dataclass(frozen=True)
class Pair:
    """Two commands: `stopped` is stopped at an operation, while `other` runs from start to end."""

    prepare: Callable[[Place], Any]
    stopped: Command
    other: Command
    engine: bool = False

    @property
    def name(self) -> str:
        return next(name for name, pair in PAIRS.items() if pair is self)


def _pairs() -> dict[str, Pair]:
    commands: dict[str, Command] = {
        "append": scenarios.append,
        "other append": scenarios.append_other,
        "replace": scenarios.replace,
        "other replace": scenarios.replace_other,
        "vacuum": scenarios.vacuum,
        "compact": scenarios.compact,
        "export": scenarios.export,
    }
    combinations = (
        ("append", "other append", scenarios.two_corpora),
        ("append", "replace", scenarios.two_corpora),
        ("replace", "other replace", scenarios.two_corpora),
        ("append", "vacuum", scenarios.replaced),
        ("replace", "vacuum", scenarios.replaced),
        ("append", "compact", scenarios.two_corpora),
        ("replace", "compact", scenarios.two_corpora),
        ("vacuum", "compact", scenarios.replaced),
        ("replace", "export", scenarios.two_corpora),
        ("append", "export", scenarios.two_corpora),
    )
    pairs = {}
    for first, second, lake in combinations:
        pairs[f"{first} + {second}"] = Pair(lake, commands[first], commands[second])
        pairs[f"{second} + {first}"] = Pair(lake, commands[second], commands[first])
    extractions = scenarios.extraction(), scenarios.extraction()
    pairs["first append + other append"] = Pair(
        scenarios.empty, scenarios.append, scenarios.append_other
    )
    pairs["two extractions"] = Pair(scenarios.empty, *extractions, engine=True)
    return pairs


PAIRS = _pairs()


class Writers(Recorded):
    """The cases of one pair, in a folder of its own."""

    def __init__(self, pair: Pair, folder: Path, seed: int) -> None:
        super().__init__(folder / pair.name.replace(" ", "-").replace("+", "and"), seed)
        self.scenario = pair

    @cached_property
    def undisturbed(self) -> dict[str, Any]:
        """The operations of `stopped`, and the tables after both commands in either order.

        Raises:
            RuntimeError: a command fails.
        """
        fresh_folder(self.folder).mkdir(parents=True)
        base = self.place("base")
        pair = self.scenario
        answer(lambda: pair.prepare(base), self.folder)
        finished = self.place("whole")
        shutil.copytree(base.root, finished.root)
        operations = self.operations(pair.stopped, finished)
        ends = {}
        for order in ((pair.stopped, pair.other), (pair.other, pair.stopped), (pair.other,)):
            place = self.place("order")
            shutil.copytree(base.root, fresh_folder(place.root))
            codes = [answer(partial(command, place), self.folder) for command in order]
            if any(codes):
                raise RuntimeError(f"{pair.name} one after the other: exit codes {codes}")
            ends[order] = answer(partial(judge.contents, place), self.folder)
        both = [ends[pair.stopped, pair.other], ends[pair.other, pair.stopped]]
        return {"operations": operations, "both": both, "other": ends[pair.other,]}

    def cases(self, _: Sequence[str] = ()) -> list[Case]:
        """One case for each operation before which `stopped` is stopped."""
        return [
            Case(self.scenario.name, "stop", number) for number, _ in self.numbered_operations()
        ]

    def run(self, case: Case) -> Outcome:
        """Stop the first, run the other, resume the first; repeat the command that failed."""
        reference, place, pair = self.undisturbed, self.place("case"), self.scenario
        shutil.copytree(self.folder / "base", fresh_folder(place.root))
        outputs = [self.folder / "stopped.txt", self.folder / "other.txt"]
        for output in outputs:
            output.unlink(missing_ok=True)
        control = Control(self._control, place.root, "stop", case.place)
        first = Child(lambda: pair.stopped(place), outputs[0], control)
        stopped = first.wait(until_stopped=True)
        second = Child(lambda: pair.other(place), outputs[1]).wait()
        if stopped is None:
            first.resume()
        codes = (first.wait() if stopped is None else stopped, second)
        fired, operation = control.end()
        problems = []
        for code, output in zip(codes, outputs, strict=True):
            text = output.read_text()
            if code not in BOTH:
                problems.append(f"exit code {code}: {text.strip().splitlines()[-1:]}")
            if "Traceback" in text:
                problems.append(f"a traceback: {text.strip().splitlines()[-1]}")
        if codes[1]:
            problems.append(f"the undisturbed command failed: {outputs[1].read_text()[-300:]}")
        problems += problems_of(lambda: self._judge(place, codes, reference), self.folder)
        return Outcome(str(case), operation, codes[0], problems, bool(fired))

    def _judge(
        self, place: Place, codes: tuple[int | None, int | None], reference: dict[str, Any]
    ) -> list[str]:
        pair, problems = self.scenario, judge.table_faults(place)
        digests = judge.contents(place)
        if codes == (0, 0) and digests not in reference["both"]:
            problems.append(f"both succeeded as in no order: {_difference(digests, reference)}")
        if codes[0] and not pair.engine and digests not in (reference["other"], *reference["both"]):
            problems.append("the command that failed has changed a table")
        for code, command in zip(codes, (pair.stopped, pair.other), strict=True):
            if code and command(place):
                problems.append("repeated: it failed")
        problems += [f"afterwards: {fault}" for fault in judge.table_faults(place)]
        digests = judge.contents(place)
        if digests not in reference["both"]:
            problems.append(f"afterwards as in no order: {_difference(digests, reference)}")
        problems += [f"left behind: {path}" for path in judge.leftovers(place)]
        tables = {name for name in digests if "." not in name}
        vacuumed = judge.contents(place)
        if any(vacuumed.get(name) != digests[name] for name in tables):
            problems.append("vacuum changed a table")
        return problems


def _difference(contents: dict[str, str], reference: dict[str, Any]) -> str:
    ends = reference["both"]
    return ", ".join(
        name for name in sorted(contents) if all(end.get(name) != contents[name] for end in ends)
    )
