"""The cluster resources for DepCC, English Wikipedia and FineWeb, for the cluster guide.

They are computed from rates measured on one machine with the embedded engine (and thus apply to
similar cores), and from the corpora's published sizes: `extract` measures running text, `engines`
the job on different parts and on Wikipedia, `scale` the sums, association and tables of hundreds of
millions of distinct pairs, `fast` raw text with `parser=fast`, and `sources` Parquet. Anything
neither measured nor published is an assumption, and marked as one on the page.
"""

import math
from dataclasses import dataclass

from benchmarks.rendering import render
from benchmarks.results import Figures
from benchmarks.scale import STAGES

# DepCC as published (Panchenko et al., LREC 2018), in gzip parts of about one gigabyte.
DEPCC_TOKENS = 252e9
PART_BYTES = 1e9
# Bytes per pair in the packed staging format, measured on 193,810 pairs.
STAGED_BYTES_PER_PAIR = 11.4
# Distinct pairs grow as a power of all pairs (Heaps' law). The exponent is about 0.5 for word types
# and higher for word pairs. The ledger and amod_counts show it after the first wave.
HEAPS = 0.7
TASKS_PER_CORE = 4  # per wave, so that its last tasks do not leave many cores idle for long
CORES = (16, 64, 256, 1024)
# English Wikipedia in round figures: words of running text, bytes of its bz2 dump.
WIKIPEDIA_WORDS = 4.9e9
WIKIPEDIA_BYTES = 25e9
# Web text, as in corpora such as C4, RefinedWeb and FineWeb.
WEB_WORDS = 1e12
BYTES_PER_WORD = 6.0  # English running text, including spaces
# FineWeb as published (Penedo et al. 2024): tokens of GPT-2, bytes of its Parquet files.
FINEWEB_TOKENS = 15e12
FINEWEB_BYTES = 44e12
FINEWEB_SLICE = 200e9
WORDS_PER_TOKEN = 0.75  # an assumption: English text has about four tokens for three words
MACHINE_CORES = 16

# What follows the waves; `amod_counts` has the pairs of each wave.
DERIVED = [table for table in STAGES if table != "amod_counts"]


@dataclass(frozen=True)
class DepCC:
    """All of DepCC: sizes in bytes, work in core-seconds.

    Attributes:
        plain: the uncompressed size.
        stored: the size as gzip.
        pairs: occurrences of pairs.
        distinct: distinct pairs.
        counting: the work from the input to the counts of waves.
        deriving: the work that is done once from these counts.
        staged_part: the staged rows of one part, at most.
        tables: the size of each table, `amod_counts` as if there were a single wave.
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
        """The number of files of one gigabyte."""
        return math.ceil(self.stored / PART_BYTES)

    def wave_parts(self, cores: int) -> int:
        """The number of parts read between two commits on this number of cores."""
        return min(self.parts, TASKS_PER_CORE * cores)


def depcc(measured: Figures) -> DepCC:
    """All of DepCC, from the figures of `extract`, `engines` and `scale`; `KeyError` if one of them
    is missing."""
    part, run = measured["extract"]["kernel"], measured["scale"]["extraction-100"]
    times = DEPCC_TOKENS / part["part_tokens"]
    plain = times * part["part_bytes"]
    distinct = part["part_distinct_pairs"] * times**HEAPS
    # In a larger part, a smaller share of pairs is distinct, so this share is an upper bound.
    distinct_in_part = part["part_distinct_pairs"] * PART_BYTES / part["part_stored_bytes"]
    work = sum(run["stages"][table]["cpu"] for table in DERIVED)
    tables = {"amod_counts": distinct * run["tables"]["amod_counts"] / run["counted"]}
    for table in DERIVED:
        tables[table] = distinct * run["tables"][table] / run["rows"]
    return DepCC(
        plain=plain,
        stored=times * part["part_stored_bytes"],
        pairs=times * part["part_pairs"],
        distinct=distinct,
        counting=plain / 1e9 * measured["engines"]["many-sail"]["cpu_a_gb"],
        deriving=distinct * work / run["rows"],
        staged_part=distinct_in_part * STAGED_BYTES_PER_PAIR,
        tables=tables,
    )


def hours(seconds: float) -> str:
    """``3.2 h`` or ``25 min``."""
    if seconds >= 5400:
        return f"{seconds / 3600:.3g} h"
    return f"{max(1, round(seconds / 60))} min"


def number(value: float, unit: str = "") -> str:
    """``252 G``, ``11.6 M``; with the unit ``B``, ``2.37 TB``."""
    for factor, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= factor:
            return f"{value / factor:.3g} {prefix}{unit}"
    return f"{value:.3g}"


def section(measured: Figures) -> str:
    """The tables for DepCC, for what one machine took, for Wikipedia, and for raw text; `KeyError`
    if a figure is missing."""
    spacy, fast = measured["engines"]["wikipedia-sail"], measured["fast"]
    dump, job = fast["wikipedia"], fast["cores"]
    # The job's start is most of the CPU time for a small dump, but negligible for a large one.
    dump_seconds = dump["fast"]["cpu"] - dump["fast"]["start_cpu"]
    return render(
        "cluster_sizes",
        **{name: value for name, value in globals().items() if name.isupper()},
        corpus=depcc(measured),
        run=measured["scale"]["extraction-100"],
        spacy_rate=spacy["words"] / spacy["one_core_cpu"],
        fast_rate=dump["words"] / dump_seconds,
        counting_rate=fast["speed"]["words_per_second"],
        job_rate=job["words"] / job["one_cpu"],
        hours=hours,
        number=number,
    )


def fineweb(measured: Figures) -> str:
    """The table for FineWeb, from the figures of `sources` and `fast`; `KeyError` if one of them is
    missing."""
    job = measured["fast"]["cores"]
    job_rate = job["words"] / job["one_cpu"]
    reading_rate = measured["sources"]["parquet"]["mb_per_second"]["ours"] * 1e6
    # The job was measured on plain text; Parquet is decoded in addition.
    seconds_per_word = 1 / job_rate + BYTES_PER_WORD / reading_rate
    whole_words = FINEWEB_TOKENS * WORDS_PER_TOKEN
    words = whole_words * FINEWEB_SLICE / FINEWEB_BYTES
    return render(
        "fineweb",
        **{name: value for name, value in globals().items() if name.isupper()},
        reading_rate=reading_rate,
        job_rate=job_rate,
        words=words,
        seconds=words * seconds_per_word,
        whole=whole_words * seconds_per_word,
        hours=hours,
        number=number,
    )
