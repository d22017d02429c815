"""The cluster resources for all of DepCC and English Wikipedia; written to the cluster guide.

They are computed from rates measured on one machine with the embedded engine (and thus apply to
similar cores), and from the corpora's published sizes: `extract` measures running text, `engines`
the job on different parts and on Wikipedia, `scale` the sums, association and tables of hundreds of
millions of distinct pairs, and `fast` raw text with `parser=fast`. Anything neither measured nor
published is an assumption, and marked as one on the page.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from adnominal import conf
from adnominal.conf import ROOT, UserError, setting
from benchmarks.readme import Documented
from benchmarks.results import render

BEGIN, END = "<!-- sizing -->", "<!-- end of sizing -->"

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
WIKIPEDIA_STORED = 25e9
# Web text, as in corpora such as C4, RefinedWeb and FineWeb.
WEB_WORDS = 1e12
BYTES_PER_WORD = 6.0  # English running text, including spaces


@dataclass(frozen=True)
class Settings(Documented):
    page: str = setting(str(ROOT / "docs" / "cluster.md"), help="the page to write to")


# Stages of `benchmarks.scale` after the waves, by the table that each commits.
DERIVED = ("amod_pairs", "amod_association", "amod_by_adjective")
TABLES = ("amod_counts", *DERIVED)


@dataclass(frozen=True)
class DepCC:
    """All of DepCC: sizes in bytes, work in core-seconds.

    counting  work from the input to the counts of waves; deriving: work done once from these counts
    tables    bytes of each table; `amod_counts` as if there were a single wave
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


def depcc(measured: Mapping[str, Any]) -> DepCC:
    """All of DepCC, from the figures of `benchmarks.extract`, `engines` and `scale`."""
    part, scaled = measured["extract"], largest(measured["scale"])
    tokens = part["part_tokens"]
    plain = DEPCC_TOKENS * part["part_bytes"] / tokens
    pairs = DEPCC_TOKENS * part["part_pairs"] / tokens
    distinct = part["part_distinct_pairs"] * (pairs / part["part_pairs"]) ** HEAPS
    # In a larger part, a smaller share of pairs is distinct, so this share is an upper bound.
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
    """The extraction with the most pairs, in several waves."""
    extractions: list[Mapping[str, Any]] = [
        figures for name, figures in scaled.items() if name.startswith("extraction-")
    ]
    return max(extractions, key=lambda figures: figures["rows"])


def size(value: float) -> str:
    """Format bytes in a suitable unit: ``2.4 TB``, ``950 MB``."""
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
        # The job's start is most of the CPU time for a small dump, but negligible for a large one.
        fast_rate=dump["words"] / (dump["fast"]["cpu"] - dump["fast"]["start_cpu"]),
        size=size,
        hours=hours,
        number=number,
    )


def write(settings: Settings) -> None:
    """Compute the cluster sizes and write them to the guide."""
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
