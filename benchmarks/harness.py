"""The harness of all benchmarks: it runs, checks, records and shows declared cases.

    python -m benchmarks                        (the cases)
    python -m benchmarks CASE [PART …] [key=value …]

A case declares its settings (including sizes), the measurements to take, the floors and ceilings of
its figures, and exact counts. A run fails if a measurement fails, if a count differs from the
declared one, if a ratio between two sides has become worse than `steady` times the recorded one, or
if a floor or ceiling is missed. In the first three cases nothing of that measurement is recorded.
`plant=slow` slows the subject of a case by a fifth and `plant=lost` removes a pair from its counts,
to show that the run then fails; neither records anything.
"""

import json
import logging
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from jinja2 import UndefinedError

from adnominal import conf
from adnominal.conf import ROOT, JobFailed, UserError, setting
from benchmarks import BENCH, FURTHER, results
from benchmarks.processes import PLANT
from benchmarks.results import Figures, evaluated

DATA = Path(os.environ.get("ADNOMINAL_DATA", ROOT.parent / "shared" / "data"))
"""The folder with published data and corpora."""

log = logging.getLogger("adnominal")

Measurement = Callable[[], Figures]


@dataclass(frozen=True)
class CaseSettings:
    """Settings that every case has."""

    parts: list[str] = setting([], help="parts of the case to measure; all if none is named")
    folder: str | None = setting(
        None, help="folder of inputs and lakes; default: the system's temporary folder"
    )
    again: bool = setting(False, help="also repeat recorded measurements")
    keep: bool = setting(True, help="write RESULTS.md and results.json instead of only printing")
    plant: str = setting(
        "none", choices=("none", "slow", "lost"), help="a planted fault that the run must detect"
    )

    def place(self, name: str) -> Path:
        """The folder of a case's inputs and lakes."""
        path = Path(self.folder or Path(tempfile.gettempdir()) / "adnominal-bench") / name
        path.mkdir(parents=True, exist_ok=True)
        return path

    def check_positive(self, *names: str) -> None:
        """Raise `UserError` for a setting that is not positive."""
        for name in names:
            if getattr(self, name) <= 0:
                raise UserError(f"{name}={getattr(self, name)}: expected more than 0")

    def named_parts(self, known: Iterable[str]) -> list[str]:
        """The parts to measure: those named, or all of the known ones."""
        names = list(known)
        self.check_known("parts", names)
        return self.parts or names

    def check_known(self, name: str, known: Sequence[str]) -> None:
        """Raise `UserError` for a list member that is not known."""
        if unknown := sorted(set(getattr(self, name)) - set(known)):
            raise UserError(f"{name}={unknown}: expected some of {', '.join(known)}")


@dataclass(frozen=True)
class Bound:
    """A floor or a ceiling of a figure.

    Attributes:
        value: an expression over the case's figures, such as ``mine.seconds / peer.seconds``.
        least: the floor.
        most: the ceiling.
        steady: for a ratio of two sides, the share of the recorded ratio that must be reached (with
            `most`, the recorded ratio divided by `steady` must not be exceeded).
    """

    value: str
    least: float | None = None
    most: float | None = None
    steady: float | None = None

    @property
    def limit(self) -> Any:
        """The floor or the ceiling."""
        return self.most if self.least is None else self.least

    def outcome(self, figures: Mapping[str, Any]) -> str:
        """``met``, ``missed``, or ``not measured`` if one of its figures is missing."""
        value = evaluated(self.value, figures)
        if value is None:
            return "not measured"
        return results.verdict(value, self.limit, at_least=self.most is None)

    def worse(self, value: float, earlier: float) -> bool:
        """Whether a value is worse than the recorded one by more than `steady` allows."""
        if self.steady is None:
            return False
        at_least = self.most is None
        return value < self.steady * earlier if at_least else value > earlier / self.steady


@dataclass(frozen=True)
class Exact:
    """A count with one correct value; `expected` is by size if it depends on a setting.

    Attributes:
        value: an expression over the case's figures.
        expected: the count, or the count for each value of the setting `size`.
    """

    value: str
    expected: Any
    size: str = ""


@dataclass(frozen=True)
class Case:
    """A benchmark.

    Attributes:
        name: the case on the command line, the key of its figures, and its template.
        measurements: the measurements of a run by the name under which each is recorded: a key of
            the case's figures, nested keys (``cpu/speed``), or empty for all figures.
        settings: the settings class.
        resumes: whether recorded measurements are skipped (unless again=true).
        bounds: floors and ceilings, by a name that the template may use.
        size: an expression over the figures; `steady` compares only runs of the same size.
        context: additional values for the template, computed from the figures; the template also
            has the constants of the case's module.
    """

    name: str
    measurements: Callable[[Any], Mapping[str, Measurement]]
    settings: type[Any] = CaseSettings
    resumes: bool = False
    packages: tuple[str, ...] = ()
    bounds: Mapping[str, Bound] = field(default_factory=dict)
    size: str = "none"
    exact: Mapping[str, Exact] = field(default_factory=dict)
    context: Callable[[Figures], Mapping[str, Any]] = lambda figures: {}

    @property
    def section(self) -> str:
        """The name of its section in RESULTS.md."""
        return self.name.replace("_", "-")


def whole(measure: Callable[[Any], Figures]) -> Callable[[Any], Mapping[str, Measurement]]:
    """The only measurement of a case, which gives all of its figures."""

    def measurements(settings: Any) -> Mapping[str, Measurement]:
        if settings.parts:
            raise UserError(f"parts={settings.parts}: this case has no parts; leave parts= out")
        return {"": partial(measure, settings)}

    return measurements


def in_parts(**functions: Callable[[Any], Figures]) -> Callable[[Any], Mapping[str, Measurement]]:
    """Measurements of a case with named parts, which ``parts=`` selects."""

    return lambda settings: {
        name: partial(functions[name], settings) for name in settings.named_parts(functions)
    }


def page(case: Case, figures: Figures) -> str:
    """The case's section in RESULTS.md, only from its figures, in the order of the store."""
    figures = json.loads(json.dumps(figures, sort_keys=True))
    shared = {
        "figures": figures,
        "outcome": outcomes(case, figures),
        "limit": {name: bound.limit for name, bound in case.bounds.items()},
    }
    return results.render(case.name, **{**figures, **shared, **case.context(figures)})


def outcomes(case: Case, figures: Figures) -> dict[str, str]:
    """Whether each floor and ceiling is met, missed, or not measured."""
    return {name: bound.outcome(figures) for name, bound in case.bounds.items()}


def faults(case: Case, settings: Any, figures: Figures, earlier: Figures) -> list[str]:
    """The reasons not to record figures: wrong counts, and ratios that became worse."""
    messages = []
    for name, exact in case.exact.items():
        value, right = evaluated(exact.value, figures), exact.expected
        if exact.size:
            right = right.get(getattr(settings, exact.size))
        if right is not None and value is not None and value != right:
            messages.append(f"{name}: {value}, expected exactly {right}")
    comparable = evaluated(case.size, figures) == evaluated(case.size, earlier)
    for name, bound in case.bounds.items() if comparable else ():
        value, recorded = evaluated(bound.value, figures), evaluated(bound.value, earlier)
        if value is not None and recorded is not None and bound.worse(value, recorded):
            messages.append(
                f"{name}: {value:.3g} is worse than {bound.steady:.0%} of the recorded "
                f"{recorded:.3g}"
            )
    return messages


def run(case: Case, settings: Any, *, store: Path = results.FIGURES) -> Figures:
    """Measure, check, record and show a case; return its figures, including earlier ones.
    `JobFailed` if a count is wrong, a ratio became worse, or a floor or ceiling is missed."""
    planted = settings.plant != "none"
    keep = settings.keep and not planted
    os.environ[PLANT] = settings.plant
    figures: Figures = results.recorded(figures=store).get(case.name, {})
    fresh: Figures = {}
    measurements = case.measurements(settings)
    try:
        for name, measure in measurements.items():
            if case.resumes and _has(figures, name) and not settings.again:
                continue
            log.info("%s %s …", case.name, name)
            measured = measure()
            log.info("%s %s: %s", case.name, name, json.dumps(measured)[:2000])
            fresh = with_measured(fresh, name, measured)
            if messages := faults(case, settings, fresh, figures):
                raise JobFailed(f"{case.name}, nothing recorded: {'; '.join(messages)}")
            figures = with_measured(figures, name, measured)
            if keep:
                # Read again: another process may have recorded figures in the meantime.
                recorded = results.recorded(figures=store).get(case.name, {})
                merged = with_measured(recorded, name, measured)
                results.record(case.name, merged, figures=store)
    finally:
        os.environ.pop(PLANT, None)
    if not measurements:
        return figures
    section = page(case, figures)
    print(section)
    if keep and fresh:  # otherwise the section would get a new date
        document = store.with_name(results.PAGE.name)
        results.write_section(case.section, section, packages=case.packages, page=document)
        results.write_headlines(figures=store)
    if missed := [name for name, outcome in outcomes(case, fresh).items() if outcome == "missed"]:
        raise JobFailed(f"{case.name}: missed {', '.join(missed)} (see its section)")
    if planted:
        raise JobFailed(f"{case.name}: plant={settings.plant} was not detected")
    return figures


def with_measured(figures: Figures, name: str, measured: Figures) -> Figures:
    """The figures with the measured ones inserted; see `Case.measurements`."""
    if not name:
        return measured
    key, _, inner = name.partition("/")
    return {**figures, key: with_measured(figures.get(key, {}), inner, measured)}


def _has(figures: Mapping[str, Any], name: str) -> bool:
    key, _, inner = name.partition("/")
    return key in figures and (not inner or _has(figures[key], inner))


def write_pages(store: Path = results.FIGURES) -> None:
    """Rewrite RESULTS.md from the recorded figures; each section keeps its machine and date."""
    document = store.with_name(results.PAGE.name)
    for name, figures in results.recorded(figures=store).items():
        module = name.replace("-", "_")
        if module not in (*BENCH, *FURTHER):
            continue
        case = getattr(import_module(f"benchmarks.{module}"), "CASE", None)
        if case is None or (stamp := results.stamp_of(case.section, page=document)) is None:
            continue
        try:
            section = page(case, figures)
        except (TypeError, UndefinedError):
            log.warning("%s: recorded by an earlier version; its section stays as it is", name)
            continue
        results.write_section(case.section, section, stamp=stamp, page=document)
    results.write_headlines(figures=store)


def main(case: Case, about: str, words: Sequence[str]) -> int:
    """Run a case with the words of its command line; return the exit code. `about` is its help."""
    words = list(words)
    if words[:1] == ["sheet"]:  # the syntax of earlier versions: sheet SEED
        words[:2] = ["=".join(words[:2])]
    count = next((at for at, word in enumerate(words) if not word.isidentifier()), len(words))
    if count:
        words[:count] = [f"parts=[{','.join(words[:count])}]"]
    for at, word in enumerate(words):
        if word.startswith("cases="):
            print("cases= is now parts=", file=sys.stderr)
            words[at] = word.replace("cases=", "parts=", 1)

    def benchmark(settings: Any) -> None:
        run(case, settings)

    benchmark.__doc__ = about
    return conf.run(case.settings, benchmark, words)
