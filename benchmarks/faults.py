"""A fault at every storage operation, two writers at every operation: do tables ever differ?

`tests/faults` numbers the file operations of commands on tiny lakes and disturbs one at a time.
This benchmark covers all operations, and checks that planted bugs are found. Where a case starts an
engine, which takes seconds, `engine_kills` and `engine_faults` cases are drawn for each scenario.
Finished cases are stored in `folder`, so that the benchmark can be stopped and continued.
"""

import json
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from adnominal.conf import ROOT, setting
from benchmarks.harness import Bound, Case, CaseSettings, Measurement, log
from benchmarks.results import Figures
from tests.faults.enumeration import FAULTS
from tests.faults.planted import SEEN_BY
from tests.faults.scenarios import SCENARIOS
from tests.faults.writers import PAIRS


@dataclass(frozen=True)
class Settings(CaseSettings):
    scenarios: list[str] = setting([], help="scenarios to run now; all if none is named")
    engine_kills: int = setting(100, help="kills drawn for each scenario that starts an engine")
    engine_faults: int = setting(40, help="other faults drawn for each of these scenarios")
    engine_pairs: int = setting(60, help="operations drawn for two extractions")
    seed: int = setting(1, help="seed of rows and draws")

    def __post_init__(self) -> None:
        self.check_known("scenarios", [*SCENARIOS, *PAIRS])


def measurements(settings: Settings) -> dict[str, Measurement]:
    """The only measurement; with `scenarios`, only these are run and stored for a later run."""
    if not settings.scenarios:
        return {"": partial(measured, settings)}
    run_scenarios(settings, settings.scenarios)
    log.info("the section is written once all scenarios have been run")
    return {}


def run_scenarios(settings: Settings, names: list[str]) -> Path:
    """Go through the operations of scenarios; return the folder with the outcomes."""
    folder = settings.place("faults")
    for name in names:
        for words in _runs(name, settings):
            _run([*words, f"scenarios=['{name}']", f"seed={settings.seed}", f"folder={folder}"])
    return folder


def measured(settings: Settings) -> Figures:
    """Go through all scenarios and check that the planted bugs are found."""
    outcomes, operations = _outcomes(run_scenarios(settings, [*SCENARIOS, *PAIRS]))
    bugs = {bug: _seed_of(bug, settings) for bug in SEEN_BY}
    by_name: dict[str, list[dict[str, Any]]] = {}
    for outcome in outcomes:
        by_name.setdefault(outcome["case"].rsplit(":", 2)[0], []).append(outcome)
    commands = []
    for name, cases in by_name.items():
        codes = Counter(case["code"] for case in cases)
        stem = name.replace(" ", "-").replace(",", "").replace("+", "and")
        wrong = sum(bool(case["problems"]) for case in cases)
        counts = [operations[stem], len(cases), codes[0], codes[1], codes[-9], wrong]
        commands.append([name, *counts])
    return {
        "cases": len(outcomes),
        "wrong": sum(bool(outcome["problems"]) for outcome in outcomes),
        "operations": sum(operations.values()),
        "faults": Counter(outcome["case"].rsplit(":", 2)[1] for outcome in outcomes),
        "bugs": bugs,
        "commands": commands,
    }


def _runs(name: str, settings: Settings) -> list[list[str]]:
    """The command lines that go through a scenario."""
    if name in PAIRS:
        return [[f"sample={settings.engine_pairs if PAIRS[name].engine else 0}"]]
    if not SCENARIOS[name].engine:
        return [["sample=0"]]
    other_faults = ",".join(fault for fault in FAULTS if fault != "kill")
    return [
        [f"sample={settings.engine_kills}", "faults=[kill]"],
        [f"sample={settings.engine_faults}", f"faults=[{other_faults}]"],
    ]


def _run(words: list[str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.faults", *words]
    result = subprocess.run(command, cwd=ROOT, text=True, capture_output=True, check=False)
    log.info("%s: exit code %d\n%s", words, result.returncode, result.stdout[-2000:])
    return result


def _outcomes(base: Path) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """The cases of all scenarios, and the number of operations of each."""
    outcomes: dict[str, dict[str, Any]] = {}
    for path in sorted(base.glob("*.jsonl")):
        for line in path.read_text().splitlines():
            outcome = json.loads(line)
            outcomes[outcome["case"]] = outcome
    operations = {
        path.stem: int(json.loads(path.read_text())["operations"]) for path in base.glob("*.json")
    }
    return list(outcomes.values()), operations


def _seed_of(bug: str, settings: Settings) -> str:
    """The case that reveals a planted bug; empty if none does."""
    for name in SEEN_BY[bug]:
        result = _run([f"scenarios=['{name}']", f"plant={bug}", f"seed={settings.seed}"])
        if result.returncode == 1 and "replay=" in result.stdout:
            return result.stdout.split("replay='", 1)[1].split("'", 1)[0]
    return ""


CASE = Case(
    "faults",
    measurements,
    settings=Settings,
    packages=("deltalake", "pyarrow", "pysail"),
    bounds={
        "cases that went wrong": Bound("wrong", most=0),
        "planted bugs that were not found": Bound(
            "bugs.values()|select('eq', '')|list|length", most=0
        ),
    },
)
