"""Where measurements are kept: `RESULTS.md` to be read, `results.json` for other scripts.

Every benchmark owns one section of the page and writes it anew, with the machine, the date and the
versions it ran with, so that sections measured on different days stand side by side.
"""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
PAGE = FOLDER / "RESULTS.md"
FIGURES = FOLDER / "results.json"
TITLE = (
    "# Measurements\n\n"
    "Written by the scripts of this folder, a section each; nothing here is typed by hand. Ratios\n"
    "are taken within one run on one machine.\n"
)
_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")


def machine() -> str:
    """Processor, cores and memory of this machine, in words."""
    try:
        info = Path("/proc/cpuinfo").read_text()
        found = re.search(r"^model name\s*:\s*(.+)$", info, re.MULTILINE)
    except OSError:
        found = None
    model = found[1].strip() if found else platform.processor() or platform.machine()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    cores = len(os.sched_getaffinity(0))
    return f"{model}, {cores} core{'s' * (cores != 1)}, {memory:.0f} GiB"


def versions(packages: Iterable[str]) -> str:
    """Python's version and those of `packages` that are installed, in words."""
    stated = [f"Python {platform.python_version()}"]
    for package in packages:
        try:
            stated.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            stated.append(f"{package} not installed")
    return ", ".join(stated)


def write_section(
    name: str, markdown: str, *, packages: Sequence[str] = (), page: Path = PAGE
) -> None:
    """Put `markdown` in place of the section `name` of the page, or at its end if it is new.

    `markdown` begins with its own heading (``## …``); machine, date and versions are written below
    it. Other sections are left as they are. Raises `ValueError` for a name that is not of lower
    case letters, digits and hyphens, and for markdown without a heading.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(f"section {name!r}: expected lower-case letters, digits and hyphens")
    heading, _, body = markdown.strip().partition("\n")
    if not heading.startswith("## "):
        raise ValueError(f"section {name}: expected a first line `## …`, got {heading[:60]!r}")
    begin, end = f"<!-- section {name} -->", f"<!-- end of {name} -->"
    stamp = f"*{machine()}; {datetime.now(UTC):%Y-%m-%d}; {versions(packages)}.*"
    section = "\n".join([begin, heading, "", stamp, "", body.strip(), end])
    text = page.read_text(encoding="utf-8") if page.exists() else TITLE
    start, stop = text.find(begin), text.find(end)
    if 0 <= start < stop:
        text = text[:start] + section + text[stop + len(end) :]
    else:
        text = f"{text.rstrip()}\n\n{section}\n"
    _replace(page, text)


def record(key: str, value: Any, *, figures: Path = FIGURES) -> None:
    """Keep `value` (anything that JSON holds) under `key`; other keys are left as they are."""
    kept = recorded(figures=figures)
    kept[key] = value
    _replace(figures, json.dumps(kept, indent=1, sort_keys=True, ensure_ascii=False) + "\n")


def recorded(*, figures: Path = FIGURES) -> dict[str, Any]:
    """All figures kept so far."""
    if not figures.exists():
        return {}
    kept: dict[str, Any] = json.loads(figures.read_text(encoding="utf-8"))
    return kept


def table(rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table; the first row is its header, columns of figures are set right.

    Raises `ValueError` for rows of different lengths.
    """
    texts = [[str(cell) for cell in row] for row in rows]
    if len({len(row) for row in texts}) != 1:
        raise ValueError(f"rows of {sorted({len(row) for row in texts})} cells in one table")
    rule = [
        "--:" if all(re.match(r"[-+<>=≥≤ ]*\d|-$|$", cell) for cell in column[1:]) else "---"
        for column in zip(*texts, strict=True)
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in [texts[0], rule, *texts[1:]])


def verdict(value: float, target: float, *, at_least: bool = True) -> str:
    """``met`` or ``missed``: whether `value` reaches `target`, or stays below it."""
    return "met" if (value >= target if at_least else value <= target) else "missed"


def _replace(path: Path, text: str) -> None:
    # A reader, or a kill, sees the old page or the new one.
    fresh = path.with_name(path.name + ".new")
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(path)
