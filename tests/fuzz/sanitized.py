"""The C extensions on mutated input under the address and undefined-behaviour sanitizers.

    python -m tests.fuzz.sanitized [extension=kernel|fast] [inputs=100000] [seed=0]

kernel  blocks of DepCC and CoNLL-U: pairs and counts must be those of the reference
fast    lines of text: offsets must lie within the line, and two halves count the same as the whole

A memory fault ends the process that has loaded the extension, with a report.
"""

import importlib.util
import os
import random
import subprocess
import sys
import sysconfig
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adnominal import conf
from adnominal.conf import ROOT, JobFailed, setting
from adnominal.conf.progress import Progress
from adnominal.etl.amod import kernel
from adnominal.etl.amod.rules import ReadingRules
from adnominal.etl.parsing.fast.extractor import tables
from tests.fuzz.mutations import mutate
from tests.fuzz.readers import CONLLU, DEPCC

SOURCES = {
    "kernel": ROOT / "etl" / "amod" / "_kernel.c",
    "fast": ROOT / "etl" / "parsing" / "fast" / "_fast.c",
}
MODULES = {
    "kernel": "adnominal.etl.amod._kernel",
    "fast": "adnominal.etl.parsing.fast._fast",
}
OPTIONS = [
    *("-shared", "-fPIC", "-O1", "-g", "-DPORTABLE"),
    *("-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
]
TEXT = ROOT / "conf" / "demo" / "depcc_sentences.txt"
BLOCK_SENTENCES = 80
LONGEST_LINE = 400
# Two halves are compared with the whole after this many inputs.
COMPARED_EVERY = 50_000
RULES = (ReadingRules(), ReadingRules(dependent="any", lowercase=False, noun_by="form"))

Pairs = Counter[tuple[bytes, bytes]]


@dataclass(frozen=True)
class Settings:
    """Settings of ``python -m tests.fuzz.sanitized``."""

    extension: str = setting("kernel", choices=tuple(SOURCES), help="the extension to test")
    inputs: int = setting(100_000, help="mutated sentences (kernel) or lines (fast)")
    seed: int = setting(0, help="seed of the mutations")
    module: str | None = setting(None, help="an extension compiled earlier; used by this command")


def main(settings: Settings) -> None:
    """Run mutated input through a C extension; `JobFailed` for a fault or a wrong count."""
    if settings.module is None:
        compile_and_check(settings)
        return
    module = load(MODULES[settings.extension], settings.module)
    check = check_kernel if settings.extension == "kernel" else check_fast
    check(module, settings)


def compile_and_check(settings: Settings) -> None:
    """Compile the extension with the sanitizers and check it in a process that has their library;
    `JobFailed` if that process failed."""
    source = SOURCES[settings.extension]
    with tempfile.TemporaryDirectory(prefix="adnominal-sanitized-") as folder:
        module = Path(folder) / f"{source.stem}.so"
        include = sysconfig.get_paths()["include"]
        compiler = ["cc", str(source), f"-I{include}", *OPTIONS, "-lm", "-o", str(module)]
        subprocess.run(compiler, check=True)
        words = [f"extension={settings.extension}", f"inputs={settings.inputs}"]
        words += [f"seed={settings.seed}", f"module={module}"]
        result = subprocess.run(
            [sys.executable, "-m", "tests.fuzz.sanitized", *words],
            # Python does not free all memory when it exits.
            env={**os.environ, "LD_PRELOAD": library(), "ASAN_OPTIONS": "detect_leaks=0"},
            cwd=ROOT,
            check=False,
        )
    if result.returncode:
        raise JobFailed(f"{source.name} failed on mutated input (exit code {result.returncode})")
    print(f"{source.name}: {settings.inputs:_} mutated inputs, no fault")


def library() -> str:
    """The address sanitizer's library, which must be loaded first."""
    command = ["cc", "-print-file-name=libasan.so"]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return output.strip()


def load(name: str, path: str) -> Any:
    """The extension at `path`, as a module of that name."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def check_kernel(module: Any, settings: Settings) -> None:
    """Compare the kernel with the reference on blocks of mutated sentences."""
    kernel.compiled_kernel = lambda: module
    draw = random.Random(settings.seed)
    with Progress("mutations", settings.inputs, unit="sentences") as progress:
        for number in range(0, settings.inputs, BLOCK_SENTENCES):
            dialect, sentence = draw.choice([("depcc", DEPCC), ("conllu", CONLLU)])
            block = mutated_block(sentence, draw)
            rules = RULES[number % 3 == 0]
            by_kernel = counts_of("compiled", dialect, block, rules)
            by_reference = counts_of("reference", dialect, block, rules)
            if by_kernel != by_reference:
                path = Path(tempfile.mkdtemp()) / dialect
                path.write_bytes(block)
                raise JobFailed(f"{path}: the kernel and the reference count differently")
            progress.advance(BLOCK_SENTENCES)


def mutated_block(sentence: bytes, draw: random.Random) -> bytes:
    """The sentence many times, mutated in half of them."""
    sentences = []
    for _ in range(BLOCK_SENTENCES):
        is_mutated = draw.random() < 0.5
        sentences.append(mutate(sentence, draw) if is_mutated else sentence)
    return b"\n\n".join([*sentences, b""])


def counts_of(implementation: str, dialect: str, block: bytes, rules: ReadingRules) -> object:
    """The pairs and all counts of a block."""
    counter = kernel.PairCounter(dialect, rules, implementation)
    counter.feed(block)
    columns = [column.to_pylist() for column in counter.drain()]
    return sorted(zip(*columns, strict=True)), counter.stats()


def check_fast(module: Any, settings: Settings) -> None:
    """Parse and count mutated lines; their pairs in two halves must be those of the whole."""
    draw = random.Random(settings.seed)
    lines = TEXT.read_bytes().splitlines()
    whole, first, second = (module.Extractor(tables()) for _ in range(3))
    with Progress("mutations", settings.inputs, unit="lines") as progress:
        for number in range(settings.inputs):
            line = mutate(draw.choice(lines), draw)[:LONGEST_LINE]
            newline_ends = bool(number % 2)
            check_offsets(whole, line, newline_ends)
            whole.feed(line, newline_ends)
            half = first if draw.random() < 0.5 else second
            half.feed(line, newline_ends)
            is_last = number + 1 == settings.inputs
            if is_last or (number + 1) % COMPARED_EVERY == 0:
                of_halves = drain(first) + drain(second)
                if drain(whole) != of_halves:
                    raise JobFailed("two halves gave other pairs than the whole")
            progress.advance(1)


def check_offsets(extractor: Any, line: bytes, newline_ends: bool) -> None:
    """`JobFailed` if tokens, heads or sentences of a line point outside it."""
    extractor.parse(line, newline_ends)
    begins, ends, _, heads, _, sentences = (memoryview(part) for part in extractor.tokens())
    last_end = 0
    for begin, end in zip(begins.cast("I"), ends.cast("I"), strict=True):
        if not last_end <= begin < end <= len(line):
            raise JobFailed(f"a token of {line!r} is at {begin}:{end}, after one to {last_end}")
        last_end = end
    tokens = len(ends.cast("I"))
    if any(head < -1 or head >= tokens for head in heads.cast("i")):
        raise JobFailed(f"a head of {line!r} is not among its {tokens} tokens")
    if len(sentences.cast("I")) > tokens:
        raise JobFailed(f"{line!r} has more sentences than its {tokens} tokens")


def drain(extractor: Any) -> Pairs:
    """The pairs counted since the last call."""
    size, adjective_ends, adjectives, noun_ends, nouns, counts = extractor.drain()
    columns = []
    for offsets, words in ((adjective_ends, adjectives), (noun_ends, nouns)):
        at = memoryview(offsets).cast("i")
        columns.append([words[at[row] : at[row + 1]] for row in range(size)])
    pairs = zip(*columns, strict=True)
    return Counter(dict(zip(pairs, memoryview(counts).cast("q"), strict=True)))


if __name__ == "__main__":
    sys.exit(conf.run(Settings, main))
