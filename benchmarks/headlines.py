"""The headline figures of headlines.yaml, in the README and at the top of RESULTS.md.

They are computed from the recorded figures; a line whose case has not been run is omitted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from jinja2 import UndefinedError

from benchmarks.results import Figures, templates

_FILE = Path(__file__).with_name("headlines.yaml")


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
    sizes = [int(key.split("-")[1]) for key in keys if "wall" in engines[key]]
    if not sizes:
        raise UndefinedError(name)
    size = max(sizes)
    spark = engines.get(f"{name}-{size}-spark", {})
    words = f"; on Spark {spark['wall']:.0f} s" if "wall" in spark else ""
    return {**engines[f"{name}-{size}-sail"], "millions": size, "spark": words}


def headlines(recorded: Mapping[str, Any]) -> Iterator[Headline]:
    """The headlines that have been measured."""
    values = {**recorded, "largest": lambda name: largest(recorded.get("engines", {}), name)}
    for entry in yaml.safe_load(_FILE.read_text(encoding="utf-8")):
        try:
            text = templates().from_string(entry["text"]).render(**values)
        except UndefinedError:
            continue
        leaves_out = entry["leaves_out"]
        try:
            load = templates().compile_expression(entry.get("load", "none"), False)(**values)
            leaves_out += f"; load average {load:.1f}" if load is not None else ""
        except (UndefinedError, TypeError):  # an older measurement recorded no load
            pass
        yield Headline(entry["title"], text, leaves_out, entry["section"])
