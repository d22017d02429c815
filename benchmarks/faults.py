"""A fault at every storage operation, two writers at every operation: do tables ever differ?

    python -m benchmarks.faults [folder=DIR] [key=value …]

`tests/faults` numbers what commands on tiny lakes do to files and disturbs them one operation at a
time; here all operations are gone through, and the planted bugs looked for. Where a case starts an
engine, which takes seconds, `engine_kills` and `engine_faults` cases are drawn for each scenario.
Finished cases are kept in `folder`, so that the benchmark can be stopped and run again.
"""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import conf
from benchmarks.results import record, table, write_section
from conf import ROOT, JobFailed, UserError, setting
from tests.faults.enumeration import FAULTS
from tests.faults.planted import SEEN_BY
from tests.faults.scenarios import SCENARIOS
from tests.faults.writers import PAIRS

PACKAGES = ("deltalake", "pyarrow", "pysail")

log = logging.getLogger("adnominal")


@dataclass(frozen=True)
class Settings:
    """Settings of ``benchmarks/faults.py``."""

    folder: str | None = setting(None, help="where lakes and finished cases lie")
    scenarios: list[str] = setting([], help="scenarios to run now; all if none is named")
    engine_kills: int = setting(100, help="kills drawn of each scenario that starts an engine")
    engine_faults: int = setting(40, help="other faults drawn of each of these")
    engine_pairs: int = setting(60, help="operations drawn of two extractions")
    seed: int = setting(1, help="seed of rows and draws")
    keep: bool = setting(True, help="write RESULTS.md and results.json, not only print")

    def __post_init__(self) -> None:
        if unknown := set(self.scenarios) - {*SCENARIOS, *PAIRS}:
            raise UserError(f"scenarios={unknown}: expected some of {[*SCENARIOS, *PAIRS]}")


def benchmark(settings: Settings) -> None:
    """Go through all scenarios; print the table and keep it. `JobFailed` if a case went wrong."""
    base = Path(settings.folder or Path(tempfile.gettempdir()) / "adnominal-bench" / "faults")
    base.mkdir(parents=True, exist_ok=True)
    for name in settings.scenarios or [*SCENARIOS, *PAIRS]:
        for words in _runs(name, settings):
            _run([*words, f"scenarios=['{name}']", f"seed={settings.seed}", f"folder={base}"])
    if settings.scenarios:
        log.info("the section is written once all scenarios have been run")
        return
    outcomes, operations = _outcomes(base)
    bugs = {bug: _seed_of(bug, settings) for bug in SEEN_BY}
    section = page(outcomes, operations, bugs)
    print(section)
    wrong = [outcome for outcome in outcomes if outcome["problems"]]
    if settings.keep:
        write_section("faults", section, packages=PACKAGES)
        record("faults", {"cases": len(outcomes), "wrong": len(wrong)})
    if wrong or not all(bugs.values()):
        raise JobFailed(f"{len(wrong)} of {len(outcomes)} cases went wrong; bugs: {bugs}")


def _runs(name: str, settings: Settings) -> list[list[str]]:
    """The command lines that go through a scenario."""
    if name in PAIRS:
        return [[f"sample={settings.engine_pairs if PAIRS[name].engine else 0}"]]
    if not SCENARIOS[name].engine:
        return [["sample=0"]]
    rest = ",".join(fault for fault in FAULTS if fault != "kill")
    return [
        [f"sample={settings.engine_kills}", "faults=[kill]"],
        [f"sample={settings.engine_faults}", f"faults=[{rest}]"],
    ]


def _run(words: list[str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.faults", *words]
    done = subprocess.run(command, cwd=ROOT, text=True, capture_output=True, check=False)
    log.info("%s: exit code %d\n%s", words, done.returncode, done.stdout[-2000:])
    return done


def _outcomes(base: Path) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """The cases of all scenarios, and how many operations each has."""
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
    """The case that shows a planted bug; empty where none does."""
    for name in SEEN_BY[bug]:
        done = _run([f"scenarios=['{name}']", f"plant={bug}", f"seed={settings.seed}"])
        if done.returncode == 1 and "replay=" in done.stdout:
            return done.stdout.split("replay='", 1)[1].split("'", 1)[0]
    return ""


def page(outcomes: list[dict[str, Any]], operations: dict[str, int], bugs: dict[str, str]) -> str:
    """The section of RESULTS.md."""
    by_name: dict[str, list[dict[str, Any]]] = {}
    for outcome in outcomes:
        by_name.setdefault(outcome["case"].rsplit(":", 2)[0], []).append(outcome)
    rows = [["command", "operations", "cases", "exit 0", "exit 1", "killed", "went wrong"]]
    for name, cases in by_name.items():
        codes = Counter(case["code"] for case in cases)
        stem = name.replace(" ", "-").replace(",", "").replace("+", "and")
        wrong = sum(bool(case["problems"]) for case in cases)
        rows.append(
            [
                name,
                *map(str, (operations[stem], len(cases), codes[0], codes[1], codes[-9], wrong)),
            ]
        )
    faults = Counter(outcome["case"].rsplit(":", 2)[1] for outcome in outcomes)
    total = sum(operations.values())
    wrong = sum(bool(outcome["problems"]) for outcome in outcomes)
    return "\n".join(
        [
            "## A fault at every storage operation",
            "",
            f"`python -m benchmarks.faults`: {total} storage operations of {len(rows) - 1} "
            f"commands and pairs of commands on tiny lakes, {len(outcomes)} cases: "
            + ", ".join(f"{fault} {count}" for fault, count in sorted(faults.items()))
            + ". After each fault the tables are looked at, the same command is given again, and "
            "the tables and the files of the lake are compared with those of an undisturbed run "
            "(`stop`: a second writer runs while the first stands still; either order's tables "
            "are right). Of commands that start the embedded engine, cases were drawn.",
            "",
            f"**{wrong} of {len(outcomes)} cases went wrong.** Planted bugs and the first case "
            "that shows each: "
            + "; ".join(
                f"{bug}: {f'`{case}`' if case else 'NOT FOUND'}" for bug, case in bugs.items()
            )
            + ".",
            "",
            table(rows),
        ]
    )


if __name__ == "__main__":
    sys.exit(conf.run(Settings, benchmark))
