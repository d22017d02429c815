"""The measured figures of the README, taken from what the benchmarks recorded.

    python -m benchmarks.readme [page=README.md] [figures=benchmarks/results.json]

A line whose benchmark has not been run is left out.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import conf
from benchmarks.results import table
from benchmarks.sizing import write
from conf import ROOT, UserError, setting

BEGIN, END = "<!-- figures -->", "<!-- /figures -->"


@dataclass(frozen=True)
class Settings:
    """Settings of ``benchmarks/readme.py``."""

    page: str = setting(str(ROOT / "README.md"), help="the page to write into")
    figures: str = setting(
        str(ROOT / "benchmarks" / "results.json"), help="what the benchmarks measured"
    )


def _kernel(found: Mapping[str, Any]) -> str:
    speed = found["extract"]["mb_per_second"]
    own = speed["compiled"]
    peers = (("polars", "polars"), ("duckdb", "DuckDB"), ("line_loop", "a line loop"))
    times = ", ".join(f"{own / speed[key]:.1f} times {name}" for key, name in peers)
    return f"{own:.0f} MB/s; {own / speed['isal']:.2f} of decompression alone; {times}"


def _treebank(found: Mapping[str, Any]) -> str:
    figures = {engine: found["engines"][f"treebank-{engine}"] for engine in ("sail", "spark")}
    return f"{figures['sail']['wall']:.1f} s; on Spark {figures['spark']['wall']:.0f} s"


def _parts(found: Mapping[str, Any]) -> str:
    figures = found["engines"]["many-sail"]
    return (
        f"{figures['gigabytes']:.1f} GB in {figures['wall']:.1f} s; start left out, "
        f"{figures['cpu_a_gb'] / figures['kernel_a_gb']:.1f} times the kernel's CPU"
    )


def _wikipedia(found: Mapping[str, Any]) -> str:
    figures = found["engines"]["wikipedia-sail"]
    return (
        f"{figures['words'] / figures['one_core']:,.0f} words/s, start included; on "
        f"{figures['cores']} cores {figures['one_core'] / figures['wall']:.2f} times that"
    )


def _build(case: str, what: str) -> Callable[[Mapping[str, Any]], str]:
    """The largest build of a dataset that was measured on both engines, or on the embedded one."""

    def said(found: Mapping[str, Any]) -> str:
        kept = found["engines"]
        names = [key for key in kept if re.fullmatch(rf"{case}-\d+-sail", key)]
        names = [key for key in names if "wall" in kept[key]]
        if not names:
            raise KeyError(case)
        largest = max(names, key=lambda key: int(key.split("-")[1]))
        sail, spark = kept[largest], kept.get(largest.replace("sail", "spark"), {})
        millions = int(largest.split("-")[1])
        text = f"{what.format(millions=millions, rows=sail['rows'])} in {sail['wall']:.0f} s"
        return f"{text}; on Spark {spark['wall']:.0f} s" if "wall" in spark else text

    return said


def _proofs(found: Mapping[str, Any]) -> str:
    own = found["sygns"]["provers"]["provers"]["eprover"]
    return " and ".join(f"{own[depth]['per_second']:.0f}/s at depth {depth}" for depth in own)


def _training(found: Mapping[str, Any]) -> str:
    own = found["train"]["cpu"]["speed"]
    ratio = own["ours"]["samples_per_cpu_second"] / own["grouped"]["samples_per_cpu_second"]
    return (
        f"{own['ours']['samples_per_cpu_second']:.0f} samples a CPU second, {ratio:.2f} times "
        "transformers' own grouping by length; "
        f"{own['ours']['padding_efficiency']:.0%} of tokens are no padding"
    )


def _predicting(found: Mapping[str, Any]) -> str:
    own = found["predict"]["cpu"]
    job, bare = (own[side]["rows_per_second"] for side in ("job", "bare"))
    return f"{job:.0f} rows/s, {job / bare:.2f} of its bare forward passes"


LINES: Sequence[tuple[str, Callable[[Mapping[str, Any]], str]]] = (
    ("DepCC's pairs counted, one core", _kernel),
    ("the job on 24 different parts of 250 MB, two cores", _parts),
    ("the job on a treebank of 1.8 MB, from start to end", _treebank),
    ("Wikipedia parsed and counted, one core", _wikipedia),
    ("pairs and association from counts", _build("association", "{rows:,} distinct pairs")),
    ("ADEPT built", _build("adept", "{millions} million pairs and a fifth as many edges")),
    ("PLANE built", _build("plane", "{rows:,} items")),
    ("ASP built", _build("asp", "{rows:,} rows")),
    ("SyGNS with all meanings built", _build("sygns", "{rows:,} sentences")),
    ("entailments decided by E, one core", _proofs),
    ("MiniLM fine-tuned on ADEPT, CPU", _training),
    ("MiniLM over a table of the lake, CPU", _predicting),
)


def section(found: Mapping[str, Any]) -> str:
    """The table of what was measured."""
    lines = [["what", "measured"]]
    for name, said in LINES:
        try:
            lines.append([name, said(found)])
        except KeyError:
            continue  # not measured
    return table(lines)


def main(settings: Settings) -> None:
    """Write the measured figures into the README."""
    try:
        found = json.loads(Path(settings.figures).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise UserError(f"figures={settings.figures}: no such file; run `make bench`") from error
    text = section(found)
    write(Path(settings.page), text, BEGIN, END)
    print(text)


if __name__ == "__main__":
    sys.exit(conf.run(Settings, main))
