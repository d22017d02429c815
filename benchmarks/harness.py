"""The harness of the benchmarks: it runs declared cases, checks their figures and records them.

A measurement is not recorded, and the run fails, if a count differs from the correct one. If a
floor or a ceiling is missed, the measurement is recorded, and the run fails at its end.
"""

import json
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from adnominal import conf
from adnominal.conf import JobFailed
from benchmarks import rendering, results
from benchmarks.cases import Case
from benchmarks.rendering import evaluate
from benchmarks.results import Figures

log = logging.getLogger("adnominal")


def run(case: Case, settings: Any, store: Path = results.STORE) -> Figures:
    """Measure, check and record a case, and print its section; the measured figures by measurement.

    Raises:
        JobFailed: a count is wrong, or a bound is missed.
    """
    entries = results.recorded_entries(store).get(case.name, {})
    measured: Figures = {}
    for name, measure in case.measurements(settings).items():
        if case.resumes and name in entries and not settings.again:
            log.info("%s, %s: recorded earlier (again=true repeats it)", case.name, name)
            continue
        log.info("%s, %s …", case.name, name)
        entry = results.new_entry(measure(), case.packages)
        measured[name] = entry["figures"]
        log.info("%s, %s: %s", case.name, name, json.dumps(measured[name])[:2000])
        wrong = wrong_counts(case, measured)
        if wrong:
            raise JobFailed(f"{case.name}, {name}: not recorded: {'; '.join(wrong)}")
        entries[name] = entry
        if settings.keep:
            results.record(case.name, name, entry, store)
    if not measured:
        return measured
    print(rendering.section(case, entries))
    if settings.keep:
        rendering.write_page(store)
    missed = missed_bounds(case, measured)
    if missed:
        raise JobFailed(f"{case.name}: missed {', '.join(missed)} (see its section)")
    return measured


def wrong_counts(case: Case, measured: Figures) -> list[str]:
    """The counts that differ from the correct ones."""
    messages = []
    for expression, expected in case.exact.items():
        value = evaluate(expression, measured)
        if value is not None and value != expected:
            messages.append(f"{expression} is {value}, expected exactly {expected}")
    return messages


def missed_bounds(case: Case, measured: Figures) -> list[str]:
    """The names of the bounds that the measured figures miss."""
    names = case.bounds.items()
    return [name for name, bound in names if rendering.outcome(bound, measured) == "missed"]


def main(case: Case, about: str, words: Sequence[str]) -> int:
    """Run a case with the words of its command line, the names of parts first; the exit code."""
    parts = []
    settings = list(words)
    while settings and settings[0].isidentifier():
        parts.append(settings.pop(0))
    if parts:
        settings.append(f"parts=[{','.join(parts)}]")

    def benchmark(values: Any) -> None:
        run(case, values)

    benchmark.__doc__ = about
    return conf.run(case.settings, benchmark, settings)
