"""Faults at every storage operation of the lake: ``python -m tests.faults [key=value …]``.

Each case is named ``SCENARIO:FAULT:NUMBER``; ``replay=`` with the same seed repeats one.
"""

import gc
import json
import logging
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from adnominal import conf
from adnominal.conf import JobFailed, UserError, setting
from tests.faults import enumeration, planted
from tests.faults.enumeration import FAULTS, Case, Enumeration, Outcome
from tests.faults.scenarios import SCENARIOS
from tests.faults.writers import PAIRS, Writers

KNOWN = {**SCENARIOS, **PAIRS}

log = logging.getLogger("adnominal")


@dataclass(frozen=True)
class Settings:
    """Settings of ``python -m tests.faults``."""

    scenarios: list[str] = setting([], help="commands to disturb; all if empty")
    faults: list[str] = setting(list(FAULTS), help="faults to inject at an operation")
    sample: int = setting(0, help="cases to draw for each scenario; 0 for all")
    first: bool = setting(False, help="start at the last case and stop at the first problem")
    seed: int = setting(1, help="seed of the rows and of the sample")
    replay: str | None = setting(None, help="a case to repeat", example="replay=append:kill:17")
    plant: str | None = setting(None, help="a bug to plant first")
    folder: str | None = setting(None, help="folder of lakes and finished cases; a new one if null")

    def __post_init__(self) -> None:
        for name, known in (("scenarios", KNOWN), ("faults", FAULTS)):
            if unknown := set(getattr(self, name)) - set(known):
                raise UserError(f"{name}={unknown}: expected some of {', '.join(known)}")
        if self.plant not in (None, *planted.BUGS):
            raise UserError(f"plant={self.plant}: expected one of {', '.join(planted.BUGS)}")


def disturb(settings: Settings) -> None:
    """Run the cases; `JobFailed` if the result of one differs from an undisturbed run."""
    folder = Path(settings.folder or tempfile.mkdtemp(prefix="adnominal-faults-"))
    planted.plant(settings.plant)
    gc.freeze()  # so that forks need not copy the imported modules
    if settings.replay:
        case = Case.of(settings.replay)
        cases_by_name = {case.scenario: [case]}
    else:
        cases_by_name = {name: [] for name in settings.scenarios or KNOWN}
    outcomes: list[Outcome] = []
    for name in cases_by_name:
        disturber = (
            Writers(PAIRS[name], folder, settings.seed)
            if name in PAIRS
            else Enumeration(SCENARIOS[name], folder, settings.seed)
        )
        finished = _read_finished(disturber.folder.with_suffix(".jsonl"), settings)
        started, first_outcome = time.monotonic(), len(outcomes)
        cases = cases_by_name[name] or enumeration.sample(
            disturber.cases(settings.faults), settings.sample, settings.seed
        )
        for case in reversed(cases) if settings.first else cases:
            outcome = finished.get(str(case)) or disturber.run(case)
            outcomes.append(outcome)
            if str(case) not in finished and settings.folder:
                with disturber.folder.with_suffix(".jsonl").open("a") as file:
                    file.write(json.dumps(asdict(outcome)) + "\n")
            for problem in outcome.problems:
                print(f"seed={settings.seed} replay='{case}' ({outcome.operation}): {problem}")
            if outcome.problems and settings.first:
                break
        if settings.folder and not settings.replay:
            summary = {"operations": len(disturber.undisturbed["operations"]), "cases": len(cases)}
            disturber.folder.with_suffix(".json").write_text(json.dumps(summary))
        log.info(
            "%s: %d operations, %d cases, %.0f s",
            name,
            len(disturber.undisturbed["operations"]),
            len(outcomes) - first_outcome,
            time.monotonic() - started,
        )
    wrong = [outcome for outcome in outcomes if outcome.problems]
    print(f"{len(outcomes)} cases, {len(wrong)} with problems")
    if wrong:
        raise JobFailed(
            f"{len(wrong)} of {len(outcomes)} cases went wrong; run one again with: "
            f"python -m tests.faults seed={settings.seed} replay='{wrong[0].case}'"
        )


def _read_finished(path: Path, settings: Settings) -> dict[str, Outcome]:
    if not settings.folder or settings.replay or not path.exists():
        return {}
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return {row["case"]: Outcome(**row) for row in rows}


if __name__ == "__main__":
    enumeration.with_library()
    sys.exit(conf.run(Settings, disturb))
