"""The sides of a comparison: several ways to do the same on one input, each in new processes.

A side is measured by the CPU time of its process, without Python's start and imports.
"""

import json
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa

from benchmarks.processes import Usage, call, last_cores

Pairs = Counter[tuple[str, str]]

log = logging.getLogger("adnominal")


@dataclass(frozen=True)
class Reading:
    """One reading of an input by one side; None for what the side does not count.

    Attributes:
        seconds: CPU seconds of the process, user and system, all threads.
        wall: seconds from start to end.
        bytes: bytes of the input, uncompressed.
        memory_mb: the peak memory of the process, in 10^6 bytes.
        tokens: tokens, without white space.
        pairs: occurrences of pairs.
        distinct: distinct pairs.
        digest: SHA-256 of the sorted counts; equal digests mean equal counts.
    """

    seconds: float
    wall: float = 0.0
    bytes: int = 0
    memory_mb: float = 0.0
    tokens: int | None = None
    pairs: int | None = None
    distinct: int | None = None
    digest: str | None = None


def read_in_process(function: str, side: str, path: Path, cores: int = 1) -> Reading:
    """The reading of an input by a side, through a function (``module:name``) that takes the side
    and the path and returns the fields of a reading, in a new process on so many cores."""
    threads = {"POLARS_MAX_THREADS": str(cores), "OMP_NUM_THREADS": str(cores)}
    fields = call(function, side, str(path), cores=last_cores(cores), env=threads)
    return Reading(**fields)


def take_turns(sides: Mapping[str, Callable[[], Any]], rounds: int) -> dict[str, list[Any]]:
    """The results of each side over several rounds.

    Every round begins with another side, so that a slow minute of the machine affects all of them.
    """
    results: dict[str, list[Any]] = {side: [] for side in sides}
    order = list(sides)
    for number in range(rounds):
        for side in order:
            results[side].append(sides[side]())
        order = [*order[1:], order[0]]
        log.info("round %d of %d", number + 1, rounds)
    return results


def rates(rows: int, wall: float, cpu: float) -> dict[str, float]:
    """Rows per second and per CPU second."""
    return {"rows_per_second": rows / wall, "rows_per_cpu_second": rows / cpu}


def rates_of_further_rows(run: Callable[[int], Usage], many: int, few: int) -> dict[str, float]:
    """The rates of a job, from its runs over many rows and over few: what all runs need, such as
    start and loading, is left out."""
    large, small = run(many), run(few)
    return rates(many - few, large.wall - small.wall, large.cpu - small.cpu)


def medians(rounds: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The median of each figure over the rounds of a side."""
    return {name: median(figures[name] for figures in rounds) for name in rounds[0]}


def spread(readings: Sequence[Reading]) -> dict[str, float]:
    """CPU seconds of several readings (median, minimum, maximum), and the first one's memory."""
    seconds = [reading.seconds for reading in readings]
    return {
        "median": median(seconds),
        "least": min(seconds),
        "most": max(seconds),
        "memory_mb": readings[0].memory_mb,
    }


def pairs_of(table: pa.Table | pa.RecordBatch) -> Pairs:
    """The counts of an Arrow table with the columns adjective, noun and count."""
    names = ("adjective", "noun", "count")
    adjectives, nouns, counts = (table.column(name).to_pylist() for name in names)
    return Counter(dict(zip(zip(adjectives, nouns, strict=True), counts, strict=True)))


def totals(pairs: Pairs) -> dict[str, Any]:
    """The fields of a reading that describe its pairs."""
    rows = sorted((adjective, noun, count) for (adjective, noun), count in pairs.items())
    digest = sha256(json.dumps(rows, ensure_ascii=False).encode()).hexdigest()
    return {"pairs": pairs.total(), "distinct": len(pairs), "digest": digest}


def check_identical(readings: Mapping[str, Iterable[Reading]]) -> None:
    """Raise `AssertionError` with all counts unless all sides that count something agree."""
    digests, tokens, descriptions = set(), set(), []
    for side, readings_of_side in readings.items():
        for reading in readings_of_side:
            digests.add(reading.digest)
            tokens.add(reading.tokens)
            descriptions.append(
                f"{side}: {reading.pairs} pairs, {reading.distinct} distinct, "
                f"{reading.tokens} tokens, {reading.digest}"
            )
    if len(digests - {None}) > 1 or len(tokens - {None}) > 1:
        raise AssertionError(f"the sides differ: {'; '.join(descriptions)}")
