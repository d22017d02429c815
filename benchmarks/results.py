"""The recorded figures: results.json has an entry for each measurement of each case.

An entry consists of the figures and of the machine, the date and the versions of their run, so that
measurements of different days can stand beside each other.
"""

import json
import os
import platform
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from adnominal.conf.files import replace_text

Figures = dict[str, Any]
Entry = dict[str, Any]

STORE = Path(__file__).resolve().with_name("results.json")


def recorded_entries(store: Path = STORE) -> dict[str, dict[str, Entry]]:
    """All entries, by case and measurement."""
    if not store.exists():
        return {}
    entries: dict[str, dict[str, Entry]] = json.loads(store.read_text(encoding="utf-8"))
    return entries


def figures_of(entries: dict[str, Entry]) -> Figures:
    """The figures of entries, by measurement."""
    return {name: entry["figures"] for name, entry in entries.items()}


def new_entry(figures: Figures, packages: Iterable[str]) -> Entry:
    """An entry with figures that were measured now, on this machine."""
    return {
        "machine": machine(),
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "versions": versions(packages),
        "figures": json.loads(json.dumps(figures)),
    }


def record(case: str, measurement: str, entry: Entry, store: Path = STORE) -> None:
    """Store the entry of a measurement; all others are unchanged."""
    entries = recorded_entries(store)
    entries.setdefault(case, {})[measurement] = entry
    text = json.dumps(entries, indent=1, sort_keys=True, ensure_ascii=False)
    replace_text(store, text + "\n")


def machine() -> str:
    """Processor, cores and memory of this machine, in words."""
    info = Path("/proc/cpuinfo").read_text()
    match = re.search(r"^model name\s*:\s*(.+)$", info, re.MULTILINE)
    processor = match[1].strip() if match else platform.machine()
    cores = len(os.sched_getaffinity(0))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{processor}, {cores} core{'s' * (cores != 1)}, {memory:.0f} GiB"


def versions(packages: Iterable[str]) -> str:
    """The versions of Python and of `packages`, in words."""
    texts = [f"Python {platform.python_version()}"]
    for package in packages:
        try:
            texts.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            texts.append(f"{package} not installed")
    return ", ".join(texts)
