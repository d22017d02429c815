"""Millions of mutated rows through the counting kernel under the sanitizers, against the reference.

    python -m benchmarks.kernel_mutations [rows=10_000_000] [seed=0]

The kernel is compiled anew with the address and undefined-behaviour sanitizers and run in a process
that loads them first. Blocks of DepCC and CoNLL-U have bytes flipped, cut, doubled and moved; pairs
and every count of the compiled kernel must be those of the reference. A fault of memory ends the
process with a report.
"""

from __future__ import annotations

import importlib.util
import os
import random
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import conf
from benchmarks.results import record, write_section
from conf import ROOT, JobFailed, setting
from etl.amod import kernel
from etl.amod.rules import ReadingRules
from tests.fuzz.mutations import mutated
from tests.fuzz.readers import CONLLU, DEPCC

_BLOCK_ROWS = 400


@dataclass(frozen=True)
class Settings:
    """Settings of ``benchmarks/kernel_mutations.py``."""

    rows: int = setting(10_000_000, help="mutated rows")
    seed: int = setting(0, help="seed of the mutations")
    keep: bool = setting(True, help="write RESULTS.md and results.json, not only print")


def mutated_blocks(seed: int) -> Iterator[tuple[str, bytes]]:
    """Blocks of mutated sentences without end, with their dialect."""
    draw = random.Random(seed)
    seeds = {"depcc": DEPCC, "conllu": CONLLU}
    while True:
        for dialect, text in seeds.items():
            sentences = []
            rows = 0
            while rows < _BLOCK_ROWS:
                sentence = mutated(text, draw) if draw.random() < 0.5 else text
                sentences.append(sentence + b"\n\n")
                rows += sentence.count(b"\n") + 1
            yield dialect, b"".join(sentences)


def counted(implementation: str, dialect: str, block: bytes, rules: ReadingRules) -> object:
    """The pairs and all that is said of a block."""
    counter = kernel.PairCounter(dialect, rules, implementation)
    counter.feed(block)
    columns = (column.to_pylist() for column in counter.drain())
    return sorted(zip(*columns, strict=True)), counter.stats()


def run(module: str, settings: Settings) -> None:
    """What the process under the sanitizers does."""
    spec = importlib.util.spec_from_file_location("etl.amod._kernel", module)
    assert spec is not None and spec.loader is not None
    compiled = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(compiled)
    kernel._load = lambda: compiled
    rules = (ReadingRules(), ReadingRules(dependent="any", lowercase=False, noun_by="form"))
    rows = blocks = 0
    started = shown = time.monotonic()
    for dialect, block in mutated_blocks(settings.seed):
        chosen = rules[blocks % 3 == 2]
        found, expected = (
            counted(name, dialect, block, chosen) for name in ("compiled", "reference")
        )
        if found != expected:
            kept = Path(tempfile.mkdtemp()) / dialect
            kept.write_bytes(block)
            raise AssertionError(f"{kept}: compiled and reference count otherwise")
        rows += block.count(b"\n")
        blocks += 1
        if time.monotonic() - shown > 10 or rows >= settings.rows:
            shown = time.monotonic()
            print(f"{rows:_} rows, {rows / (shown - started):,.0f}/s", flush=True)
        if rows >= settings.rows:
            return


def main(settings: Settings) -> None:
    """Mutated rows through the kernel under the sanitizers; `JobFailed` for any fault."""
    with tempfile.TemporaryDirectory(prefix="adnominal-kernel-") as folder:
        module = Path(folder) / "_kernel.so"
        options = ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
        include = sysconfig.get_paths()["include"]
        source = ROOT / "etl" / "amod" / "_kernel.c"
        subprocess.run(
            ["cc", *options, "-shared", "-fPIC", f"-I{include}", str(source), "-o", str(module)],
            check=True,
        )
        library = subprocess.run(
            ["cc", "-print-file-name=libasan.so"], check=True, capture_output=True, text=True
        ).stdout.strip()
        words = [f"rows={settings.rows}", f"seed={settings.seed}"]
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.kernel_mutations", "run", str(module), *words],
            # Python leaves memory to the system when it ends.
            env={**os.environ, "LD_PRELOAD": library, "ASAN_OPTIONS": "detect_leaks=0"},
            cwd=ROOT,
            check=False,
        )
    if done.returncode:
        raise JobFailed(f"the kernel failed on mutated rows (exit code {done.returncode})")
    print(f"{settings.rows:_} mutated rows, no fault")
    if settings.keep:
        text = (
            "## The kernel on mutated rows\n\n"
            f"`python -m benchmarks.kernel_mutations rows={settings.rows}`: the counting kernel "
            "under the address and undefined-behaviour sanitizers, DepCC and CoNLL-U with bytes "
            f"flipped, cut, doubled and moved. **{settings.rows:_} rows: no fault of memory, pairs "
            "and counts those of the reference.**"
        )
        write_section("kernel-mutations", text)
        record("kernel_mutations", {"rows": settings.rows, "faults": 0})


if __name__ == "__main__":
    if sys.argv[1:2] == ["run"]:
        run(sys.argv[2], conf.load(Settings, sys.argv[3:]))
    else:
        sys.exit(conf.run(Settings, main))
