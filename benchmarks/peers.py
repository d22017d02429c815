"""Ways of counting the adjective–noun pairs of a DepCC part: the kernel's, and those of its peers.

    python -m benchmarks.peers SIDE PART.gz [CORES]        (what `measure` runs)

Every side reads the same gzip file and gives the same pairs: `amod` rows tagged JJ, JJR or JJS
whose head, found by its id within the sentence, is tagged NN or NNS; the form and the head's lemma
in lower case. A side is a process of its own on one core, timed by its CPU time, of all threads,
from the opening of the file to the counts; starting Python and importing are left out. The peers
are written as someone who knows them would; variants that were slower are named where they stand.
They take the part as sound: none of them checks rows, as the kernel does.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias, cast

import pyarrow as pa
from isal import igzip

from benchmarks.polars_script import ADJECTIVES, COLUMNS, NOUNS, count
from conf import ROOT
from etl.amod.kernel import PairCounter
from etl.amod.rules import CLEAN
from etl.corpora.blocks import blocks
from etl.corpora.files import open_input

# What fits a core's own cache; larger buffers were no faster.
BUFFER = 1 << 18

Pairs: TypeAlias = Counter[tuple[str, str]]


@dataclass(frozen=True)
class Reading:
    """One reading of a part by one side.

    seconds   CPU time of the process, user and system, all threads
    wall      seconds from start to end
    size      bytes of the part, uncompressed
    peak_mb   most memory that the process held, 10^6 bytes
    pairs     occurrences counted; None where the side counts nothing
    distinct  distinct pairs
    digest    SHA-256 of the sorted counts: equal digests mean equal counts
    ledger    sentences, tokens, amod rows, … where the side counts them too
    """

    seconds: float
    wall: float
    size: int
    peak_mb: float
    pairs: int | None = None
    distinct: int | None = None
    digest: str | None = None
    ledger: dict[str, int] | None = None


# ------------------------------------------------------------------------------------- the sides


def isal(part: str) -> int:
    """The floor: decompression alone, checksum included; nothing is looked at."""
    buffer, size = bytearray(BUFFER), 0
    with igzip.open(part) as stream:
        while got := stream.readinto(buffer):
            size += got
    return size


def kernel(part: str, implementation: str) -> tuple[pa.RecordBatch, dict[str, int]]:
    """The kernel, as a task of the job runs it, with all that the ledger holds."""
    counter = PairCounter("depcc", CLEAN, implementation)
    with open_input(part) as stream:
        for block in blocks(cast("Any", stream)):
            counter.feed(block)
    pairs, stats = counter.drain(), counter.stats()
    return pairs, {
        "sentences": stats.sentences,
        "tokens": stats.tokens,
        "amod": stats.amod,
        "pairs": stats.pairs,
        "rejected_lines": stats.rejected_lines,
    }


def duckdb(part: str) -> pa.Table:
    """DuckDB on the part as isal decompresses it to memory-backed storage (counted as its time).

    Slower: its own gzip reader, and one column a line split by SQL.
    """
    import duckdb as db

    memory = Path("/dev/shm")
    with tempfile.NamedTemporaryFile(dir=memory if memory.is_dir() else None) as plain:
        buffer = memoryview(bytearray(BUFFER))
        with igzip.open(part) as stream:
            while got := stream.readinto(buffer):
                plain.write(buffer[:got])
        plain.flush()
        columns = ", ".join(f"'{name}': 'VARCHAR'" for name in COLUMNS)
        connection = db.connect(config={"threads": len(os.sched_getaffinity(0))})
        # Without an order of its own the window runs as a stream, in the order of the file.
        return connection.sql(f"""
            WITH numbered AS (
                SELECT sum(starts_with(id, '# sent_id')::INT)
                           OVER (ROWS UNBOUNDED PRECEDING) AS sentence,
                       id, form, lemma, xpos, head, deprel
                FROM read_csv('{plain.name}', columns = {{{columns}}}, delim = '\t', quote = '',
                              escape = '', header = false, auto_detect = false,
                              null_padding = true)),
            kept AS (
                SELECT * FROM numbered
                WHERE xpos IN {NOUNS} OR (deprel = 'amod' AND xpos IN {ADJECTIVES}))
            SELECT lower(a.form) AS adjective, lower(n.lemma) AS noun, count(*) AS count
            FROM kept a JOIN kept n ON a.sentence = n.sentence AND a.head = n.id
            WHERE a.deprel = 'amod' AND a.xpos IN {ADJECTIVES} AND n.xpos IN {NOUNS}
            GROUP BY ALL""").to_arrow_table()


def line_loop(part: str) -> Pairs:
    """Line by line, a dictionary of each sentence's rows: the method of the ADEPT authors' script,
    with heads looked up by id (theirs takes list positions)."""
    counts: Pairs = Counter()
    rows: dict[str, list[str]] = {}
    modifiers: list[list[str]] = []

    def finish() -> None:
        for row in modifiers:
            head = rows.get(row[6])
            if head is not None and head[3] in NOUNS:
                counts[row[1].lower(), head[2].lower()] += 1
        rows.clear()
        modifiers.clear()

    with igzip.open(part, "rt", encoding="utf-8") as lines:
        for line in lines:
            if line == "\n":
                finish()
            elif not line.startswith("#"):
                row = line.rstrip("\n").split("\t")
                rows[row[0]] = row
                if row[7] == "amod" and row[3] in ADJECTIVES:
                    modifiers.append(row)
    finish()
    return counts


def conllu(part: str) -> Pairs:
    """The `conllu` library, reading incrementally with its own parsers of fields."""
    from conllu import parse_incr

    counts: Pairs = Counter()
    with igzip.open(part, "rt", encoding="utf-8") as lines:
        for sentence in parse_incr(lines):
            tokens = {token["id"]: token for token in sentence}
            for token in sentence:
                if token["deprel"] == "amod" and token["xpos"] in ADJECTIVES:
                    head = tokens.get(token["head"])
                    if head is not None and head["xpos"] in NOUNS:
                        counts[token["form"].lower(), head["lemma"].lower()] += 1
    return counts


SIDES: dict[str, Callable[[str], Any]] = {
    "isal": isal,
    "compiled": lambda part: kernel(part, "compiled"),
    "reference": lambda part: kernel(part, "reference"),
    "polars": count,
    "duckdb": duckdb,
    "line_loop": line_loop,
    "conllu": conllu,
}


# ------------------------------------------------------------------------------- measuring them


def pairs_of(result: Any) -> Pairs:
    """The counts of an Arrow table (adjective, noun, count); a Counter is returned as it is."""
    if isinstance(result, Counter):
        return result
    columns = [result.column(name).to_pylist() for name in ("adjective", "noun", "count")]
    return Counter({(a, n): int(c) for a, n, c in zip(*columns, strict=True)})


def digest(counts: Pairs) -> str:
    """SHA-256 of the sorted counts."""
    content = sorted((adjective, noun, count) for (adjective, noun), count in counts.items())
    return sha256(json.dumps(content, ensure_ascii=False).encode()).hexdigest()


def read(side: str, part: str) -> Reading:
    """Read `part` by `side` in this process."""
    size = isal(part)  # also brings the file into the page cache
    if side in ("polars", "duckdb", "conllu"):
        __import__(side)
    wall, start = time.perf_counter(), time.process_time()
    result = SIDES[side](part)
    seconds, wall = time.process_time() - start, time.perf_counter() - wall
    # Not ru_maxrss: a process inherits that of the one that started it.
    status = Path("/proc/self/status").read_text()
    peak = int(status.partition("VmHWM:")[2].split()[0]) * 1024 / 1e6
    if side == "isal":
        return Reading(seconds, wall, size, peak)
    ledger = None
    if isinstance(result, tuple):
        result, ledger = result
    counts = pairs_of(result)
    return Reading(seconds, wall, size, peak, counts.total(), len(counts), digest(counts), ledger)


def measure(side: str, part: Path, cores: int = 1) -> Reading:
    """Read `part` by `side` in a fresh process on `cores` cores.

    Raises `RuntimeError`, with what the process wrote, if it fails.
    """
    command = [sys.executable, "-m", "benchmarks.peers", side, str(part), str(cores)]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "POLARS_MAX_THREADS": str(cores)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{side} failed on {part}:\n{done.stderr[-2000:]}")
    return Reading(**json.loads(done.stdout.splitlines()[-1]))


def check_identical(readings: dict[str, Reading]) -> None:
    """Raise `AssertionError`, naming the sides, unless all that count agree."""
    told = {side: reading for side, reading in readings.items() if reading.digest is not None}
    if len({reading.digest for reading in told.values()}) > 1:
        stated = "; ".join(
            f"{side}: {reading.pairs} pairs, {reading.distinct} distinct, {reading.digest}"
            for side, reading in told.items()
        )
        raise AssertionError(f"the sides count differently: {stated}")


if __name__ == "__main__":
    # The last cores: the first one serves most interrupts.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-int(sys.argv[3]) :])
    print(json.dumps(asdict(read(sys.argv[1], sys.argv[2]))))
