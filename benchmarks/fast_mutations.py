"""A million mutated inputs through `parser=fast` under the address and undefined-behaviour
sanitizers.

    python -m benchmarks.fast_mutations text=PROSE.txt [inputs=1000000] [seed=0]

The extractor is compiled anew with the sanitizers and run in a process that loads them first. Every
input is a line of the text with bytes changed, taken out, doubled or moved; its offsets are
checked, and that its counts are the same in two halves as in one. A fault ends the process with a
report.
"""

from __future__ import annotations

import logging
import os
import random
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import conf
from benchmarks import fast as fast_benchmark
from conf import ROOT, JobFailed, setting

log = logging.getLogger("adnominal")

_TEXT_MARKS = (*"\n.'’-—()\"“”\xa0é𝐛\x00", "\n\n", "--", "...", "n't", "'s", "U.S.")
_MARKS = [mark.encode() for mark in _TEXT_MARKS] + [
    *(b"\xff", b"\xc3", b"\xe2\x80", b"\xf0\x9f"),
    *(b"x" * 600, b"-" * 300, b"." * 520),
]


@dataclass(frozen=True)
class Settings:
    """Settings of ``benchmarks/fast_mutations.py``."""

    text: str = setting(help="plain text whose lines are mutated")
    inputs: int = setting(1_000_000, help="mutated inputs")
    seed: int = setting(0, help="seed of the mutations")
    model: str | None = setting(None, help="model; if not given that of the package")
    keep: bool = setting(True, help="write RESULTS.md and results.json, not only print")


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


def drained(extractor: Any) -> Counter[tuple[bytes, bytes]]:
    """The pairs counted since the last drain."""
    n, *buffers, counts = extractor.drain()
    at = [memoryview(buffers[k]).cast("i") for k in (0, 2)]
    number = memoryview(counts).cast("q")
    return Counter(
        {
            tuple(buffers[k + 1][a[i] : a[i + 1]] for k, a in zip((0, 2), at, strict=True)): number[
                i
            ]
            for i in range(n)
        }
    )


def run(module: str, settings: Settings) -> None:
    """What the process under the sanitizers does."""
    import importlib.util

    from etl.parsing.fast.extractor import tables

    spec = importlib.util.spec_from_file_location("etl.parsing.fast._fast", module)
    assert spec is not None and spec.loader is not None
    fast = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fast)
    lines = Path(settings.text).read_bytes().split(b"\n\n")[:20_000]
    draw = random.Random(settings.seed)
    extractors = [fast.Extractor(tables(settings.model)) for _ in range(3)]
    started = time.monotonic()
    for number in range(settings.inputs):
        data = mutate(draw, draw.choice(lines))
        check(extractors[0], data, bool(number & 1))
        extractors[1 + (number & 2) // 2].feed(data, bool(number & 1))
        if number % 50_000 == 49_999 or number == settings.inputs - 1:
            halves = drained(extractors[1]) + drained(extractors[2])
            if drained(extractors[0]) != halves:
                raise AssertionError("two halves counted other pairs than the whole")
            rate = (number + 1) / (time.monotonic() - started)
            print(f"{number + 1:_} inputs, {rate:,.0f}/s", flush=True)


def main(settings: Settings) -> None:
    """Mutated inputs through the extractor under the sanitizers."""
    with tempfile.TemporaryDirectory(prefix="adnominal-fast-") as folder:
        module = Path(folder) / "_fast.so"
        source = ROOT / "etl" / "parsing" / "fast" / "_fast.c"
        options = ["-O1", "-g", "-DPORTABLE", "-fsanitize=address,undefined"]
        options += ["-fno-sanitize-recover=all", "-shared", "-fPIC"]
        include = sysconfig.get_paths()["include"]
        subprocess.run(
            ["cc", *options, f"-I{include}", str(source), "-lm", "-o", str(module)], check=True
        )
        library = subprocess.run(
            ["cc", "-print-file-name=libasan.so"], check=True, capture_output=True, text=True
        ).stdout.strip()
        words = [f"text={settings.text}", f"inputs={settings.inputs}", f"seed={settings.seed}"]
        if settings.model:
            words.append(f"model={settings.model}")
        started = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.fast_mutations", "run", str(module), *words],
            # Python leaves memory to the system when it ends.
            env={**os.environ, "LD_PRELOAD": library, "ASAN_OPTIONS": "detect_leaks=0"},
            cwd=ROOT,
            check=False,
        )
    if done.returncode:
        raise JobFailed(f"the extractor failed on a mutated input (exit code {done.returncode})")
    print(f"{settings.inputs:_} mutated inputs, no fault")
    if settings.keep:
        seconds = time.monotonic() - started
        fast_benchmark.keep({"mutations": {"inputs": settings.inputs, "seconds": seconds}})


if __name__ == "__main__":
    if sys.argv[1:2] == ["run"]:
        run(sys.argv[2], conf.load(Settings, sys.argv[3:]))
    else:
        sys.exit(conf.run(Settings, main))
