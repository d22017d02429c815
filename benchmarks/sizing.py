"""What a cluster needs for the whole of DepCC and for English Wikipedia; written into its guide.

Computed from rates that were measured on one machine with the embedded engine (so for cores like
its own), and from the corpora's published sizes: running text by `extract`, the job on
different parts and on Wikipedia by `engines`, sums, association and tables of hundreds
of millions of different pairs by `scale`, raw text with `parser=fast` by `fast`. What is neither
measured nor published is an assumption, named as one in the page.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import conf
from benchmarks.readme import Documented
from benchmarks.results import render
from conf import ROOT, UserError, setting

BEGIN, END = "<!-- sizing -->", "<!-- end of sizing -->"

# DepCC as published (Panchenko et al., LREC 2018), in gzip parts of about a gigabyte.
DEPCC_TOKENS = 252e9
PART_BYTES = 1e9
# Bytes of a pair packed, as staged, of 193,810 pairs.
STAGED_BYTES_PER_PAIR = 11.4
# Distinct pairs grow as a power of all pairs (Heaps' law); that of word types is about 0.5, that of
# word pairs lies above it. The ledger and amod_counts tell after the first wave.
HEAPS = 0.7
TASKS_PER_CORE = 4  # in a wave, so that its last tasks leave few cores idle for long
CORES = (16, 64, 256, 1024)
# English Wikipedia in round figures: words of running text, bytes of its bz2 dump.
WIKIPEDIA_WORDS = 4.9e9
WIKIPEDIA_STORED = 25e9
# Web text, as corpora of the kind of C4, RefinedWeb and FineWeb come to it.
WEB_WORDS = 1e12
BYTES_PER_WORD = 6.0  # English running text, spaces included


@dataclass(frozen=True)
class Settings(Documented):
    """Settings of the case sizing."""

    page: str = setting(str(ROOT / "docs" / "cluster.md"), help="the page to write into")


# Stages of `benchmarks.scale` that follow the waves, by the table that each commits.
DERIVED = ("amod_pairs", "amod_association", "amod_by_adjective")
TABLES = ("amod_counts", *DERIVED)


@dataclass(frozen=True)
class DepCC:
    """The whole of DepCC: sizes in bytes, work in core-seconds.

    counting  of the input into the counts of waves; deriving: what follows from these once
    tables    bytes of each table, `amod_counts` of one wave of all
    """

    plain: float
    stored: float
    pairs: float
    distinct: float
    counting: float
    deriving: float
    staged_part: float
    tables: dict[str, float]

    @property
    def parts(self) -> int:
        """Files of a gigabyte."""
        return math.ceil(self.stored / PART_BYTES)

    def wave_parts(self, cores: int) -> int:
        """Parts read between two commits on so many cores."""
        return min(self.parts, TASKS_PER_CORE * cores)


def depcc(measured: Mapping[str, Any]) -> DepCC:
    """The whole of DepCC from the figures of `benchmarks.extract`, `engines` and `scale`."""
    part, scaled = measured["extract"], largest(measured["scale"])
    tokens = part["part_tokens"]
    plain = DEPCC_TOKENS * part["part_bytes"] / tokens
    pairs = DEPCC_TOKENS * part["part_pairs"] / tokens
    distinct = part["part_distinct_pairs"] * (pairs / part["part_pairs"]) ** HEAPS
    # Of the pairs of a larger part fewer are distinct, so this share is an upper bound.
    distinct_in_part = part["part_distinct_pairs"] * PART_BYTES / part["part_stored_bytes"]
    work = sum(scaled["stages"][name]["cpu"] for name in DERIVED)
    rows = {name: scaled["counted" if name == "amod_counts" else "rows"] for name in TABLES}
    return DepCC(
        plain=plain,
        stored=DEPCC_TOKENS * part["part_stored_bytes"] / tokens,
        pairs=pairs,
        distinct=distinct,
        counting=plain / 1e9 * measured["engines"]["many-sail"]["cpu_a_gb"],
        deriving=distinct * work / scaled["rows"],
        staged_part=distinct_in_part * STAGED_BYTES_PER_PAIR,
        tables={name: distinct * scaled["tables"][name] / rows[name] for name in TABLES},
    )


def largest(scaled: Mapping[str, Any]) -> Mapping[str, Any]:
    """The extraction of most pairs, in several waves."""
    extractions: list[Mapping[str, Any]] = [
        figures for name, figures in scaled.items() if name.startswith("extraction-")
    ]
    return max(extractions, key=lambda figures: figures["rows"])


def size(value: float) -> str:
    """Bytes in the unit that fits: ``2.4 TB``, ``950 MB``."""
    for unit, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB")):
        if value >= unit:
            return f"{value / unit:.3g} {name}"
    return f"{value:.0f} bytes"


def hours(seconds: float) -> str:
    """``3.2 h`` or ``25 min``."""
    return f"{seconds / 3600:.3g} h" if seconds >= 5400 else f"{max(1, round(seconds / 60))} min"


def number(value: float) -> str:
    """``252 G``, ``11.6 M``."""
    for unit, name in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if value >= unit:
            return f"{value / unit:.3g}{name}"
    return f"{value:.3g}"


def section(measured: Mapping[str, Any]) -> str:
    """The tables for DepCC, for what one machine took, for Wikipedia, and for raw text."""
    spacy, fast = measured["engines"]["wikipedia-sail"], measured["fast"]
    dump = fast["wikipedia"]
    return render(
        "sizing",
        corpus=depcc(measured),
        scaled=largest(measured["scale"]),
        spacy_rate=spacy["words"] / spacy["one_core_cpu"],
        fast=fast,
        # Of a small dump the start of the job is most of its CPU, of a large one nothing.
        fast_rate=dump["words"] / (dump["fast"]["cpu"] - dump["fast"]["start_cpu"]),
        size=size,
        hours=hours,
        number=number,
    )


def write(settings: Settings) -> None:
    """Compute the sizes of clusters and write them into the guide."""
    measured = settings.recorded()
    for name, key in (
        ("extract", "part_distinct_pairs"),
        ("engines", "many-sail"),
        ("engines", "wikipedia-sail"),
        ("scale", "extraction"),
        ("fast", "cores"),
        ("fast", "wikipedia"),
    ):
        if not any(known.startswith(key) for known in measured.get(name, {})):
            raise UserError(
                f"figures={settings.figures} has no {key} of {name}; run "
                f"`python -m benchmarks {name}` first"
            )
    settings.write(section(measured), BEGIN, END)


main = partial(conf.run, Settings, write)
