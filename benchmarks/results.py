"""Storage of measurements: `RESULTS.md` for readers, `results.json` for other scripts.

Every case owns one section of the page and rewrites it with the machine, date and versions of the
run, so sections from different days can coexist. The text of a section is a Jinja template,
`pages/CASE.md`, filled from the recorded figures.
"""

import functools
import json
import os
import platform
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import yaml
from jinja2 import Environment, FileSystemLoader, StrictUndefined, UndefinedError

from adnominal.conf.markdown import table_text
from adnominal.training.files import replace_text

Figures = dict[str, Any]

FOLDER = Path(__file__).resolve().parent
PAGE = FOLDER / "RESULTS.md"
FIGURES = FOLDER / "results.json"
TITLE = (
    "# Measurements\n\n"
    "Written by the scripts of this folder, a section each; nothing here is typed by hand. Ratios\n"
    "are taken within one run on one machine.\n"
)
_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")


def record(key: str, value: Any, *, figures: Path = FIGURES) -> None:
    """Store `value` (any JSON value) under `key`; other keys are unchanged."""
    values = recorded(figures=figures)
    values[key] = value
    replace_text(figures, json.dumps(values, indent=1, sort_keys=True, ensure_ascii=False) + "\n")


def recorded(*, figures: Path = FIGURES) -> Figures:
    """All figures recorded so far."""
    if not figures.exists():
        return {}
    values: Figures = json.loads(figures.read_text(encoding="utf-8"))
    return values


def machine() -> str:
    """Processor, cores and memory of this machine, in words."""
    info = Path("/proc/cpuinfo").read_text()
    match = re.search(r"^model name\s*:\s*(.+)$", info, re.MULTILINE)
    model = match[1].strip() if match else platform.processor() or platform.machine()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    cores = len(os.sched_getaffinity(0))
    return f"{model}, {cores} core{'s' * (cores != 1)}, {memory:.0f} GiB"


def versions(packages: Iterable[str]) -> str:
    """The versions of Python and of `packages`, in words."""
    stated = [f"Python {platform.python_version()}"]
    for package in packages:
        try:
            stated.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            stated.append(f"{package} not installed")
    return ", ".join(stated)


def write_section(
    name: str,
    markdown: str,
    *,
    packages: Sequence[str] = (),
    stamp: str | None = None,
    page: Path = PAGE,
) -> None:
    """Replace the section `name` of the page with `markdown`, or append it if it is new.

    `markdown` starts with its heading (``## …``). Below it comes `stamp`, or else this machine, the
    date and the versions of `packages`. Other sections are unchanged. Raises `ValueError` for a
    name with characters other than lower-case letters, digits and hyphens, and for markdown without
    a heading.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(f"section {name!r}: expected lower-case letters, digits and hyphens")
    heading, _, body = markdown.strip().partition("\n")
    if not heading.startswith("## "):
        raise ValueError(f"section {name}: expected a first line `## …`, got {heading[:60]!r}")
    stamp = stamp or f"*{machine()}; {datetime.now(UTC):%Y-%m-%d}; {versions(packages)}.*"
    _put(name, "\n".join([heading, "", stamp, "", body.strip()]), page)


def stamp_of(name: str, *, page: Path = PAGE) -> str | None:
    """The machine, date and versions of a section; None if the page does not have it."""
    text = page.read_text(encoding="utf-8")
    match = re.search(rf"<!-- section {re.escape(name)} -->\n## .*\n\n(\*.*\*)\n", text)
    return match and match[1]


def write_headlines(*, figures: Path = FIGURES) -> None:
    """Put the headline figures below the title of the page, which is beside the figures."""
    text = render("headlines", rows=headlines(recorded(figures=figures)))
    _put("headlines", text, figures.with_name(PAGE.name), first=True)


def _put(name: str, content: str, page: Path, *, first: bool = False) -> None:
    begin, end = f"<!-- section {name} -->", f"<!-- end of {name} -->"
    section = f"{begin}\n{content}\n{end}"
    text = page.read_text(encoding="utf-8") if page.exists() else TITLE
    start, stop = text.find(begin), text.find(end)
    if 0 <= start < stop:
        text = text[:start] + section + text[stop + len(end) :]
    elif first:
        top, marker, sections = text.partition("<!-- section ")
        text = f"{top.rstrip()}\n\n{section}\n{marker and chr(10)}{marker}{sections}"
    else:
        text = f"{text.rstrip()}\n\n{section}\n"
    replace_text(page, text)


class Headline(NamedTuple):
    """A figure in words, what it excludes, and the section with the details."""

    title: str
    text: str
    leaves_out: str
    section: str


def largest(engines: Mapping[str, Any], name: str) -> Figures:
    """The largest build of a dataset on the embedded engine: its figures, its size in millions, and
    the time on Spark in words. `UndefinedError` if there is none."""
    keys = [key for key in engines if re.fullmatch(rf"{name}-\d+-sail", key)]
    runs = {int(key.split("-")[1]): engines[key] for key in keys if "wall" in engines[key]}
    if not runs:
        raise UndefinedError(name)
    size = max(runs)
    spark = engines.get(f"{name}-{size}-spark", {})
    words = f"; on Spark {spark['wall']:.0f} s" if "wall" in spark else ""
    return {**runs[size], "millions": size, "spark": words}


def headlines(figures: Figures) -> Iterator[Headline]:
    """The headlines of headlines.yaml whose cases have been run."""
    values = {**figures, "largest": lambda name: largest(figures.get("engines", {}), name)}
    for entry in yaml.safe_load((FOLDER / "headlines.yaml").read_text(encoding="utf-8")):
        try:
            text = templates().from_string(entry["text"]).render(**values)
        except UndefinedError:
            continue
        load = evaluated(entry.get("load", "none"), values)
        busy = f"; load average {load:.1f}" if load is not None else ""
        yield Headline(entry["title"], text, entry["leaves_out"] + busy, entry["section"])


def table(rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table; the first row is its header, and numeric columns are right-aligned.

    Raises `ValueError` for rows of different lengths.
    """
    texts = [[str(cell) for cell in row] for row in rows]
    if len({len(row) for row in texts}) != 1:
        raise ValueError(f"rows of {sorted({len(row) for row in texts})} cells in one table")
    rules = [
        "--:" if all(re.match(r"[-+<>=≥≤ ]*\d|-$|$", cell) for cell in column[1:]) else "---"
        for column in zip(*texts, strict=True)
    ]
    return table_text(texts[0], rules, texts[1:])


def verdict(value: float, target: float, *, at_least: bool = True) -> str:
    """``met`` or ``missed``: whether `value` reaches `target`, or does not exceed it."""
    return "met" if (value >= target if at_least else value <= target) else "missed"


@functools.cache
def templates() -> Environment:
    """The templates of the sections.

    ``x|f(".1f")`` formats a number; ``verdict`` is the function above, ``at_most`` its opposite.
    """
    environment = Environment(
        loader=FileSystemLoader(FOLDER / "pages"),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        extensions=["jinja2.ext.do"],
    )
    environment.filters["f"] = format
    environment.tests["search"] = lambda text, pattern: bool(re.search(pattern, text))
    environment.globals["verdict"] = verdict
    environment.globals["median"] = median
    environment.globals["at_most"] = functools.partial(verdict, at_least=False)
    return environment


def evaluated(expression: str, figures: Mapping[str, Any]) -> Any:
    """The value of an expression over figures; None if one of its figures is missing."""
    compiled = templates().compile_expression(expression, undefined_to_none=False)
    try:
        value = compiled(**figures, figures=figures)
        bool(value)  # a missing figure raises the error here
    except UndefinedError:
        return None
    return value


def render(name: str, **context: Any) -> str:
    """Render the section `name` from its template, with paragraphs on one line.

    A template may also use the constants of its case's module.
    """
    module = sys.modules.get(f"benchmarks.{name.replace('-', '_')}")
    constants = {key: value for key, value in vars(module or object).items() if key.isupper()}
    return flowed(templates().get_template(f"{name}.md").render(**{**constants, **context}))


def flowed(text: str) -> str:
    """Join the lines of each Markdown paragraph, and add the rule below a table header if it is
    missing."""
    lines: list[str] = []
    rows: list[list[str]] = []
    in_code = False
    for line in [*text.strip().splitlines(), ""]:
        if line.startswith("|") and not in_code:
            rows.append([cell.strip() for cell in line.strip()[1:-1].split("|")])
            continue
        if rows:
            ruled = len(rows) > 1 and all(re.fullmatch(":?-+:?", cell) for cell in rows[1])
            lines += [f"| {' | '.join(row)} |" for row in rows] if ruled else [table(rows)]
            rows = []
        if line.startswith("```"):
            in_code = not in_code
        joins = line.strip() and lines and lines[-1] and not re.match(r"#|- |```|<", line)
        if joins and not in_code and not re.match(r"[#|]|```|<", lines[-1]):
            lines[-1] += " " + line.strip()
        elif line.strip() or (lines and lines[-1]):
            lines.append(line.rstrip())
    return "\n".join(lines).strip()
