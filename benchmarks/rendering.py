"""RESULTS.md: the headline figures, and a section for each case, from the recorded figures.

The text of a section is a Jinja template, ``pages/CASE.md``. It is filled with the figures of each
measurement under its name, and with

figures   the figures of all measurements, by name
limit     the floor or ceiling of each bound
outcome   whether each bound is met or missed, in one word
          (and the constants of the case's module, and the case's `context`)
"""

import functools
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from jinja2 import Environment, FileSystemLoader, StrictUndefined, UndefinedError

from adnominal.conf.files import replace_text
from benchmarks import CASES, load_case
from benchmarks.cases import Bound, Case
from benchmarks.results import STORE, Entry, Figures, figures_of, recorded_entries

FOLDER = Path(__file__).resolve().parent
PAGE = FOLDER / "RESULTS.md"
HEADLINES = FOLDER / "headlines.yaml"


@functools.cache
def environment() -> Environment:
    """Jinja with our one filter: ``value|f(".1f")`` formats a number."""
    jinja = Environment(
        loader=FileSystemLoader(FOLDER / "pages"),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    jinja.filters["f"] = format
    return jinja


def evaluate(expression: str, figures: Mapping[str, Any]) -> Any:
    """The value of an expression over figures; None if one of its figures is missing."""
    compiled = environment().compile_expression(expression, undefined_to_none=False)
    try:
        value = compiled(**figures, figures=figures)
        bool(value)  # an undefined value raises here
    except UndefinedError:
        return None
    return value


def outcome(bound: Bound, figures: Mapping[str, Any]) -> str:
    """``met``, ``missed``, or ``not measured`` if a figure is missing."""
    value = evaluate(bound.value, figures)
    if value is None:
        return "not measured"
    return "met" if bound.is_met(value) else "missed"


def render(template: str, **context: Any) -> str:
    """The text of a template."""
    return environment().get_template(f"{template}.md").render(**context).strip()


def section(case: Case, entries: Mapping[str, Entry]) -> str:
    """A case's section: heading, machines and dates, and the filled template."""
    figures = figures_of(dict(sorted(entries.items())))
    context = {
        **constants_of(case),
        **figures,
        "figures": figures,
        "limit": {name: bound.limit for name, bound in case.bounds.items()},
        "outcome": {name: outcome(bound, figures) for name, bound in case.bounds.items()},
        **case.context(figures),
    }
    stamps = "\n\n".join(stamps_of(entries))
    return f"## {case.title}\n\n{stamps}\n\n{render(case.name, **context)}"


def constants_of(case: Case) -> dict[str, Any]:
    """The constants of a case's module, for its template."""
    module = sys.modules.get(f"benchmarks.{case.name}")
    if module is None:
        return {}
    return {name: value for name, value in vars(module).items() if name.isupper()}


def stamps_of(entries: Mapping[str, Entry]) -> list[str]:
    """The machines, dates and versions of entries; if they differ, with the measurements of all
    but the most common."""
    names: dict[str, list[str]] = {}
    for name, entry in sorted(entries.items()):
        stamp = f"*{entry['machine']}; {entry['date']}; {entry['versions']}.*"
        names.setdefault(stamp, []).append(name)
    most_common, *others = sorted(names, key=lambda stamp: -len(names[stamp]))
    return [most_common, *(f"Of {', '.join(names[stamp])}: {stamp}" for stamp in others)]


def headlines(recorded: Mapping[str, Mapping[str, Entry]]) -> Iterator[dict[str, str]]:
    """The headlines of headlines.yaml whose measurements are recorded: a title, the figure in
    words, what it leaves out, where and when it was measured, and its section.

    The text is a template over the figures of the measurement; ``case`` has the figures of all
    measurements of the case.
    """
    for row in yaml.safe_load(HEADLINES.read_text(encoding="utf-8")):
        entries = recorded.get(row["case"], {})
        entry = entries.get(row["measurement"])
        if entry is None:
            continue
        figures: Figures = entry["figures"]
        template = environment().from_string(row["text"])
        text = template.render(**figures, case=figures_of(dict(entries)))
        load = f"; load average {figures['load']:.1f}" if "load" in figures else ""
        yield {
            "title": row["title"],
            "text": text,
            "leaves_out": row["leaves_out"] + load,
            "measured": f"{entry['machine']}; {entry['date']}",
            "section": anchor(load_case(row["case"]).title),
        }


def anchor(heading: str) -> str:
    """The anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def write_page(store: Path = STORE) -> None:
    """Write RESULTS.md, beside the recorded figures, from these alone."""
    recorded = recorded_entries(store)
    top = render("headlines", rows=list(headlines(recorded)))
    names = [name for name in CASES if name in recorded]
    sections = [section(load_case(name), recorded[name]) for name in names]
    replace_text(store.with_name(PAGE.name), "\n\n".join([top, *sections]) + "\n")
