"""Ways of counting the adjective–noun pairs of a DepCC part: the kernel and its peers.

Every side reads the same gzip file and gives the same pairs: `amod` rows tagged JJ, JJR or JJS
whose head, found by its id within the sentence, is tagged NN or NNS; the form and the head's lemma
in lower case. Time is measured from opening the file to the counts. The peers are written as an
experienced user would write them; docstrings name slower variants. Unlike the kernel, they trust
the part and do not check rows.
"""

import os
import tempfile
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from isal import igzip

from adnominal.etl.amod.kernel import PairCounter
from adnominal.etl.amod.rules import CLEAN
from adnominal.etl.corpora.blocks import blocks
from adnominal.etl.corpora.files import open_input
from benchmarks.polars_script import ADJECTIVES, COLUMNS, NOUNS, count
from benchmarks.processes import planted_loss, process_bytes, timed
from benchmarks.sides import Pairs, Reading, digest, measure, pairs_of

# Fits in the cache of a core; larger buffers were not faster.
BUFFER = 1 << 18
SUBJECT = "compiled"
"""The side that the others are compared with."""


def isal(part: str) -> int:
    """The floor: only decompression, including the checksum, without looking at the data."""
    buffer, size = bytearray(BUFFER), 0
    with igzip.open(part) as stream:
        while got := stream.readinto(buffer):
            size += got
    return size


def kernel(part: str, implementation: str) -> tuple[pa.RecordBatch, dict[str, int]]:
    """The kernel as run by a task of the job, with all counts of the ledger."""
    counter = PairCounter("depcc", CLEAN, implementation)
    with open_input(part) as stream:
        for block in blocks(stream):
            counter.feed(block)
    pairs, stats = counter.drain(), counter.stats()
    names = ("sentences", "tokens", "amod", "pairs", "rejected_lines")
    return pairs, {name: getattr(stats, name) for name in names}


def duckdb(part: str) -> pa.Table:
    """DuckDB on the part that isal decompressed to memory-backed storage (included in the time).

    Slower: its own gzip reader, and one column per line split by SQL.
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
        # Without ORDER BY, the window streams in file order.
        return connection.sql(f"""
            WITH numbered AS (
                SELECT sum(starts_with(id, '# sent_id')::INT)
                           OVER (ROWS UNBOUNDED PRECEDING) AS sentence,
                       id, form, lemma, xpos, head, deprel
                FROM read_csv('{plain.name}', columns = {{{columns}}}, delim = '\t', quote = '',
                              escape = '', header = false, auto_detect = false,
                              null_padding = true)),
            words AS (
                SELECT * FROM numbered
                WHERE xpos IN {NOUNS} OR (deprel = 'amod' AND xpos IN {ADJECTIVES}))
            SELECT lower(a.form) AS adjective, lower(n.lemma) AS noun, count(*) AS count
            FROM words a JOIN words n ON a.sentence = n.sentence AND a.head = n.id
            WHERE a.deprel = 'amod' AND a.xpos IN {ADJECTIVES} AND n.xpos IN {NOUNS}
            GROUP BY ALL""").to_arrow_table()


def line_loop(part: str) -> Pairs:
    """A loop over lines with a dictionary of each sentence's rows: the method of the ADEPT authors'
    script, but with heads looked up by id (theirs uses list positions)."""
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
    """The `conllu` library, reading incrementally with its own field parsers."""
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
    "compiled": partial(kernel, implementation="compiled"),
    "reference": partial(kernel, implementation="reference"),
    "polars": count,
    "duckdb": duckdb,
    "line_loop": line_loop,
    "conllu": conllu,
}


def read(side: str, part: str) -> Reading:
    """Read `part` with `side` in this process."""
    size = isal(part)  # also loads the file into the page cache
    if side in ("polars", "duckdb", "conllu"):
        __import__(side)
    with timed(subject=side == SUBJECT) as timing:
        result = SIDES[side](part)
    peak = process_bytes("VmHWM") / 1e6
    if side == "isal":
        return Reading(timing.cpu, timing.wall, size, peak)
    ledger = None
    if isinstance(result, tuple):
        result, ledger = result
    counts = pairs_of(result)
    if side == SUBJECT:
        counts = planted_loss(counts)
    totals = (counts.total(), len(counts), digest(counts))
    return Reading(timing.cpu, timing.wall, size, peak, *totals, ledger=ledger)


measure_side = partial(measure, "benchmarks.peers:read")
"""Read a part with a side in a new process, on one core or on so many."""
