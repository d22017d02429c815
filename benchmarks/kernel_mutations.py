"""Millions of mutated rows through the counting kernel under the sanitizers, against the reference.

Blocks of DepCC and CoNLL-U have bytes flipped, cut, doubled and moved; the pairs and all counts of
the compiled kernel must equal those of the reference.
"""

import random
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adnominal.conf import ROOT, setting
from adnominal.conf.progress import Progress
from adnominal.etl.amod import kernel
from adnominal.etl.amod.rules import ReadingRules
from benchmarks import sanitized
from benchmarks.harness import Case, CaseSettings, whole
from benchmarks.results import Figures
from tests.fuzz.mutations import mutated
from tests.fuzz.readers import CONLLU, DEPCC

_BLOCK_ROWS = 400


@dataclass(frozen=True)
class Settings(CaseSettings):
    rows: int = setting(10_000_000, help="mutated rows")
    seed: int = setting(0, help="seed of the mutations")


def mutated_blocks(seed: int) -> Iterator[tuple[str, bytes]]:
    """An endless sequence of blocks of mutated sentences, with their dialect."""
    rng = random.Random(seed)
    seeds = {"depcc": DEPCC, "conllu": CONLLU}
    while True:
        for dialect, text in seeds.items():
            sentences = []
            rows = 0
            while rows < _BLOCK_ROWS:
                sentence = mutated(text, rng) if rng.random() < 0.5 else text
                sentences.append(sentence + b"\n\n")
                rows += sentence.count(b"\n") + 1
            yield dialect, b"".join(sentences)


def counted(implementation: str, dialect: str, block: bytes, rules: ReadingRules) -> object:
    """The pairs and all counts of a block."""
    counter = kernel.PairCounter(dialect, rules, implementation)
    counter.feed(block)
    columns = (column.to_pylist() for column in counter.drain())
    return sorted(zip(*columns, strict=True)), counter.stats()


def compare(module: str, settings: Mapping[str, Any]) -> None:
    """Compare the kernel in `module` with the reference; runs under the sanitizers."""
    compiled = sanitized.load("adnominal.etl.amod._kernel", module)
    kernel.compiled = lambda: compiled
    rules = (ReadingRules(), ReadingRules(dependent="any", lowercase=False, noun_by="form"))
    left = settings["rows"]
    blocks = enumerate(mutated_blocks(settings["seed"]))
    with Progress("mutations", left, unit="rows") as progress:
        while left > 0:
            number, (dialect, block) = next(blocks)
            by_kernel, by_reference = (
                counted(name, dialect, block, rules[number % 3 == 2])
                for name in ("compiled", "reference")
            )
            if by_kernel != by_reference:
                path = Path(tempfile.mkdtemp()) / dialect
                path.write_bytes(block)
                raise AssertionError(f"{path}: the kernel and the reference count differently")
            left -= block.count(b"\n")
            progress.advance(block.count(b"\n"))


def measured(settings: Settings) -> Figures:
    """Run mutated rows through the kernel under the sanitizers; `JobFailed` for any fault."""
    source = ROOT / "etl" / "amod" / "_kernel.c"
    words = {"rows": settings.rows, "seed": settings.seed}
    sanitized.run("benchmarks.kernel_mutations:compare", source, words)
    return {"rows": settings.rows, "faults": 0}


CASE = Case(
    "kernel_mutations",
    whole(measured),
    settings=Settings,
)
