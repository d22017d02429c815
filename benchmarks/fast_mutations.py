"""Mutated inputs through the compiled extractor under the sanitizers.

Every input is a line of the text with bytes changed, removed, doubled or moved. Its offsets are
checked, and its counts must be the same in two halves as in one piece. A fault ends the process
with a report.
"""

import random
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from adnominal.conf.progress import Progress
from adnominal.etl.parsing.fast.extractor import tables
from benchmarks import sanitized

_TEXT_MARKS = (*"\n.'’-—()\"“”\xa0é𝐛\x00", "\n\n", "--", "...", "n't", "'s", "U.S.")
_MARKS = [mark.encode() for mark in _TEXT_MARKS] + [
    *(b"\xff", b"\xc3", b"\xe2\x80", b"\xf0\x9f"),
    *(b"x" * 600, b"-" * 300, b"." * 520),
]
_DRAINED_EVERY = 50_000


def mutate(draw: random.Random, line: bytes) -> bytes:
    """The line with one to six changes."""
    data = bytearray(line[: draw.randrange(20, 400)])
    for _ in range(draw.randrange(1, 7)):
        at = draw.randrange(len(data) + 1)
        kind = draw.randrange(4)
        if kind == 0:
            data[at:at] = draw.choice(_MARKS)
        elif kind == 1 and at < len(data):
            data[at] = draw.randrange(256)
        elif kind == 2:
            del data[at : at + draw.randrange(1, 12)]
        else:
            data[at:at] = data[at - 8 : at]
    return bytes(data)


def check(extractor: Any, data: bytes, newline_ends: bool) -> None:
    """Parse and count an input; `AssertionError` for offsets that do not fit it."""
    extractor.parse(data, newline_ends)
    begin, end, _, head, _, opens = (memoryview(part) for part in extractor.tokens())
    last = 0
    ends = end.cast("I")
    for place, start in enumerate(begin.cast("I")):
        if not last <= start < ends[place] <= len(data):
            raise AssertionError(f"token {place} of {data!r} is at {start}:{ends[place]}")
        last = ends[place]
    if opens.nbytes // 4 > len(ends) or any(h < -1 or h >= len(ends) for h in head.cast("i")):
        raise AssertionError(f"sentences or heads of {data!r} point outside")
    extractor.feed(data, newline_ends)


def counted_pairs(extractor: Any) -> Counter[tuple[bytes, bytes]]:
    """The pairs counted since the last drain."""
    size, adjective_offsets, adjectives, noun_offsets, nouns, counts = extractor.drain()
    columns = []
    for offsets, words in ((adjective_offsets, adjectives), (noun_offsets, nouns)):
        at = memoryview(offsets).cast("i")
        columns.append([words[at[i] : at[i + 1]] for i in range(size)])
    numbers = memoryview(counts).cast("q")
    return Counter({(a, n): numbers[i] for i, (a, n) in enumerate(zip(*columns, strict=True))})


def compare(module: str, settings: Mapping[str, Any]) -> None:
    """Run mutated lines through the extractor in `module`; runs under the sanitizers."""
    fast = sanitized.load("adnominal.etl.parsing.fast._fast", module)
    lines = Path(settings["text"]).read_bytes().split(b"\n\n")[:20_000]
    draw = random.Random(settings["seed"])
    undivided, *halves = (fast.Extractor(tables(settings["model"])) for _ in range(3))
    inputs = settings["inputs"]
    with Progress("mutations", inputs, unit="inputs") as progress:
        for number in range(inputs):
            data = mutate(draw, draw.choice(lines))
            check(undivided, data, bool(number & 1))
            halves[(number & 2) // 2].feed(data, bool(number & 1))
            if (number + 1) % _DRAINED_EVERY == 0 or number + 1 == inputs:
                first, second = map(counted_pairs, halves)
                if counted_pairs(undivided) != first + second:
                    raise AssertionError("two halves gave different pairs than the whole")
            progress.advance(1)
