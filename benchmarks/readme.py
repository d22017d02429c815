"""The measured figures of the README, taken from what the benchmarks recorded.

    python -m benchmarks.readme [page=README.md] [figures=benchmarks/results.json]

A line whose benchmark has not been run is left out.
"""

from __future__ import annotations

import json
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


def _job(found: Mapping[str, Any]) -> str:
    own = found["extract"]
    return (
        f"{own['job_cpu_seconds_per_gb_warm']:.1f} CPU s a GB, {own['job_over_kernel_warm']:.1f} "
        "times the kernel's"
    )


def _wikipedia(found: Mapping[str, Any]) -> str:
    return f"{found['parse']['job_words_per_second']:,.0f} words/s"


def _adept(found: Mapping[str, Any]) -> str:
    sizes: Mapping[str, Any] = found["adept"]["scale"]
    pairs = max(sizes, key=int)
    return f"{int(pairs):,} pairs and a fifth as many edges in {sizes[pairs]['seconds']:.0f} s"


def _plane(found: Mapping[str, Any]) -> str:
    build = max(found["plane"]["scale"]["builds"], key=lambda own: own["items"])
    return f"{build['items']:,} items in {build['wall']:.0f} s"


def _asp(found: Mapping[str, Any]) -> str:
    own = found["asp"]["spark"]
    return f"{own['large_rows']:,} rows in {own['large_seconds']:.0f} s"


def _sygns(found: Mapping[str, Any]) -> str:
    own = found["sygns"]["generation"]
    return f"{own['sentences']:,} sentences in {own['seconds']:.0f} s"


def _proofs(found: Mapping[str, Any]) -> str:
    own = found["sygns"]["provers"]["provers"]["eprover"]
    return " and ".join(f"{own[depth]['per_second']:.0f}/s at depth {depth}" for depth in own)


def _training(found: Mapping[str, Any]) -> str:
    own = found["train"]["cpu"]["speed"]
    ratio = own["ours"]["samples_per_cpu_second"] / own["default"]["samples_per_cpu_second"]
    return (
        f"{own['ours']['samples_per_cpu_second']:.0f} samples a CPU second, {ratio:.2f} times "
        f"HF Trainer's defaults; {own['ours']['padding_efficiency']:.0%} of tokens are no padding"
    )


def _predicting(found: Mapping[str, Any]) -> str:
    own = found["predict"]["cpu"]
    job, bare = (own[side]["rows_per_second"] for side in ("job", "bare"))
    return f"{job:.0f} rows/s, {job / bare:.2f} of its bare forward passes"


LINES: Sequence[tuple[str, Callable[[Mapping[str, Any]], str]]] = (
    ("DepCC's pairs counted, one core", _kernel),
    ("the Spark job around it, once warm", _job),
    ("Wikipedia parsed and counted, one core", _wikipedia),
    ("ADEPT built by Spark, two cores", _adept),
    ("PLANE built by Spark, two cores", _plane),
    ("ASP built by Spark, two cores", _asp),
    ("SyGNS with all meanings, two cores", _sygns),
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
