"""What a cluster needs for the whole of DepCC and for English Wikipedia; written into its guide.

Computed from rates that were measured on one machine with the embedded engine (so for cores like
its own), and from the corpora's published sizes: running text by `extract`, the job on
different parts and on Wikipedia by `engines`, sums, association and tables of hundreds
of millions of different pairs by `scale`, raw text with `parser=fast` by `fast`. What is neither
measured nor published is an assumption, named as one in the page.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import conf
from benchmarks.readme import Documented
from benchmarks.results import table
from conf import ROOT, UserError, setting

BEGIN, END = "<!-- sizing -->", "<!-- end of sizing -->"

# DepCC as published (Panchenko et al., LREC 2018), in gzip parts of about a gigabyte.
DEPCC_TOKENS = 252e9
PART_BYTES = 1e9
# English Wikipedia in round figures: words of running text, bytes of its bz2 dump.
WIKIPEDIA_WORDS = 4.9e9
WIKIPEDIA_STORED = 25e9
# Web text, as corpora of the kind of C4, RefinedWeb and FineWeb come to it.
WEB_WORDS = 1e12
BYTES_PER_WORD = 6.0  # English running text, spaces included

# Bytes of a pair packed, as staged, of 193,810 pairs.
STAGED_BYTES_PER_PAIR = 11.4
# Distinct pairs grow as a power of all pairs (Heaps' law); that of word types is about 0.5, that of
# word pairs lies above it. The ledger and amod_counts tell after the first wave.
HEAPS = 0.7
TASKS_PER_CORE = 4  # in a wave, so that its last tasks leave few cores idle for long
CORES = (16, 64, 256, 1024)


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


def depcc_section(measured: Mapping[str, Any]) -> str:
    """The tables for DepCC."""
    corpus = depcc(measured)
    rows = [
        ["DepCC as a whole", "figure"],
        ["tokens (published)", number(DEPCC_TOKENS)],
        ["uncompressed", size(corpus.plain)],
        ["gzip-compressed", size(corpus.stored)],
        ["parts of 1 GB", f"{corpus.parts:,}"],
        ["core-hours, reading and counting", f"{corpus.counting / 3600:.1f}"],
        ["read by each core", f"{corpus.stored / corpus.counting / 1e6:.0f} MB/s"],
        ["staged rows of one part, at most", size(corpus.staged_part)],
        ["pairs", number(corpus.pairs)],
        [f"distinct pairs, if they grow by the power {HEAPS}", number(corpus.distinct)],
        ["core-hours, sums over waves, association", f"{corpus.deriving / 3600:.1f}"],
        *([f"`{name}`, then", size(value)] for name, value in corpus.tables.items()),
    ]
    plans = [["cores", "hours", "reads", "wave_bytes=", "waves", "staged at a time"]]
    for cores in CORES:
        wave = corpus.wave_parts(cores)
        plans.append(
            [
                f"{cores}",
                hours((corpus.counting + corpus.deriving) / cores),
                f"{corpus.stored / corpus.counting * cores / 1e9:.3g} GB/s",
                f"{wave}000000000",
                f"{math.ceil(corpus.parts / wave)}",
                size(wave * corpus.staged_part),
            ]
        )
    return f"{table(rows)}\n\n{table(plans)}"


def scale_section(scaled: Mapping[str, Any]) -> str:
    """What one machine took for different pairs by the hundred million."""
    figures = largest(scaled)
    rows = [
        ["one machine, embedded engine", "figure"],
        ["pairs, different parts", number(figures["pairs"])],
        ["distinct pairs", number(figures["rows"])],
        ["cores", f"{figures['cores']}"],
        ["from start to end", hours(figures["wall"])],
        ["core-seconds", f"{figures['cpu']:.0f}"],
        ["memory at its highest (`memory=4GB`)", size(figures["memory"] * 1e6)],
        ["disk at its highest, tables included", size(figures["disk"])],
        ["tables at the end", size(sum(figures["tables"].values()))],
    ]
    return table(rows)


def wikipedia_section(measured: Mapping[str, Any]) -> str:
    """The table for English Wikipedia, from the figures of `benchmarks.engines`."""
    rate = measured["words"] / measured["one_core_cpu"]
    work = WIKIPEDIA_WORDS / rate
    rows = [
        ["English Wikipedia", "figure"],
        ["dump (bz2, round figure)", size(WIKIPEDIA_STORED)],
        ["words of running text (round figure)", number(WIKIPEDIA_WORDS)],
        ["words/s of one core (spaCy)", f"{rate:.0f}"],
        ["core-hours", f"{work / 3600:.0f}"],
        ["shuffle (the text, uncompressed)", size(WIKIPEDIA_WORDS * BYTES_PER_WORD)],
        *([f"on {cores} cores", hours(work / cores)] for cores in CORES[:3]),
    ]
    return table(rows)


def fast_section(measured: Mapping[str, Any]) -> str:
    """The table for raw text with `parser=fast`, from the figures of `benchmarks.fast`."""
    dump, text = measured["wikipedia"], measured["cores"]
    # Of a small dump the start of the job is most of its CPU, of a large one nothing.
    rate = dump["words"] / (dump["fast"]["cpu"] - dump["fast"]["start_cpu"])
    work = WIKIPEDIA_WORDS / rate
    counting = WEB_WORDS / measured["speed"]["words_per_second"]
    job = WEB_WORDS * text["cpu"] / text["words"]
    rows = [
        ["`parser=fast`", "figure"],
        ["English Wikipedia: words/s of one core, from the bz2 dump", f"{rate:,.0f}"],
        ["English Wikipedia: core-hours", f"{work / 3600:.1f}"],
        *([f"English Wikipedia on {cores} cores", hours(work / cores)] for cores in CORES[:2]),
        [
            "a trillion words: words/s of one core, counting alone",
            f"{measured['speed']['words_per_second']:,.0f}",
        ],
        ["a trillion words: core-hours, counting alone", f"{counting / 3600:,.0f}"],
        ["a trillion words: words/s of one core, the job", f"{WEB_WORDS / job:,.0f}"],
        ["a trillion words: core-hours, the job on plain text", f"{job / 3600:,.0f}"],
        *([f"a trillion words on {cores} cores", hours(job / cores)] for cores in CORES[1:]),
        ["a trillion words, uncompressed", size(WEB_WORDS * BYTES_PER_WORD)],
    ]
    return table(rows)


def write(settings: Settings) -> None:
    """Compute the sizes of clusters and write them into the guide."""
    measured = settings.recorded() if Path(settings.figures).exists() else {}
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
    sections = [
        depcc_section(measured),
        scale_section(measured["scale"]),
        wikipedia_section(measured["engines"]["wikipedia-sail"]),
        fast_section(measured["fast"]),
    ]
    settings.write("\n\n".join(sections), BEGIN, END)


def main(words: Sequence[str]) -> int:
    """Write the sizes by the words of the command line; the exit code."""
    return conf.run(Settings, write, words)
