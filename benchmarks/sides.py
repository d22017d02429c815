"""The sides of a comparison: several ways to do the same on one input, each in new processes.

A side is a function of a module that takes the input's path. A reading of the input is timed by the
CPU time of its process, excluding Python's start and imports.
"""

import json
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from statistics import median
from typing import Any, TypeAlias, TypeVar

from benchmarks.processes import call, last_cores

Pairs: TypeAlias = Counter[tuple[str, str]]
Measured = TypeVar("Measured")


@dataclass(frozen=True)
class Reading:
    """One reading of an input by one side; None or empty for what the side does not count.

    seconds   CPU time of the process, user and system, all threads
    wall      seconds from start to end
    size      bytes of the input, uncompressed
    peak_mb   peak memory of the process, 10^6 bytes
    pairs     occurrences of pairs
    distinct  distinct pairs
    digest    SHA-256 of the sorted counts: equal digests mean equal counts
    tokens    tokens, excluding white space
    ledger    sentences, tokens, amod rows, … if the side counts them
    stages    CPU seconds of parts of `seconds`, by name
    """

    seconds: float
    wall: float = 0.0
    size: int = 0
    peak_mb: float = 0.0
    pairs: int | None = None
    distinct: int | None = None
    digest: str | None = None
    tokens: int | None = None
    ledger: dict[str, int] | None = None
    stages: dict[str, float] = field(default_factory=dict)


def measure(read: str, side: str, path: Path, cores: int = 1) -> Reading:
    """Read `path` with `side` through the function `read` (``module:name``) in a new process;
    `RuntimeError` with the output of the process if the side failed."""
    limits = {"POLARS_MAX_THREADS": str(cores), "OMP_NUM_THREADS": str(cores)}
    return Reading(**call(read, side, str(path), cores=last_cores(cores), env=limits))


def take_turns(sides: Mapping[str, Callable[[], Measured]], rounds: int) -> dict[str, list[Any]]:
    """Measure each side `rounds` times, starting every round with another side, so that a slow
    minute of the machine affects all of them."""
    values: dict[str, list[Any]] = {side: [] for side in sides}
    for number in range(rounds):
        turn = number % len(sides)
        for side in (*list(sides)[turn:], *list(sides)[:turn]):
            values[side].append(sides[side]())
        print(f"round {number + 1} of {rounds}", file=sys.stderr, flush=True)
    return values


def spread(readings: Sequence[Reading]) -> dict[str, float]:
    """CPU seconds of several readings (median, minimum, maximum), and the first one's memory."""
    seconds = [reading.seconds for reading in readings]
    bounds = {"median": median(seconds), "least": min(seconds), "most": max(seconds)}
    return bounds | {"peak_mb": readings[0].peak_mb}


def numbered(readings: Mapping[str, Sequence[Reading]]) -> dict[str, Reading]:
    """All readings, by side and number."""
    return {f"{side} {at}": r for side, rs in readings.items() for at, r in enumerate(rs)}


def pairs_of(result: Any) -> Pairs:
    """The counts of an Arrow table (adjective, noun, count); a Counter is returned unchanged."""
    if isinstance(result, Counter):
        return result
    columns = [result.column(name).to_pylist() for name in ("adjective", "noun", "count")]
    return Counter({(a, n): int(c) for a, n, c in zip(*columns, strict=True)})


def digest(counts: Pairs) -> str:
    """SHA-256 of the sorted counts."""
    content = sorted((adjective, noun, count) for (adjective, noun), count in counts.items())
    return sha256(json.dumps(content, ensure_ascii=False).encode()).hexdigest()


def check_identical(readings: Mapping[str, Reading]) -> None:
    """Raise `AssertionError`, naming the sides, unless all sides that count a figure agree."""
    digests = {reading.digest for reading in readings.values()} - {None}
    tokens = {reading.tokens for reading in readings.values()} - {None}
    if len(digests) > 1 or len(tokens) > 1:
        stated = "; ".join(
            f"{side}: {reading.pairs} pairs, {reading.distinct} distinct, {reading.tokens} tokens, "
            f"{reading.digest}"
            for side, reading in readings.items()
        )
        raise AssertionError(f"the sides differ: {stated}")
