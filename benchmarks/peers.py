"""Ways of counting the adjective–noun pairs of a DepCC part: the kernel and its peers.

Every side reads the same gzip file and gives the same pairs: `amod` rows tagged JJ, JJR or JJS
whose head, found by its id within the sentence, is tagged NN or NNS; the form and the head's lemma
in lower case. The time runs from opening the file to the counts. The peers are written as an
experienced user would write them; docstrings name slower variants. Unlike the kernel, they trust
the part and do not check rows.

    python -m benchmarks.peers PART.gz … OUT.parquet      (polars, as a script from start to end)
"""

import os
import sys
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
from benchmarks.processes import peak_memory_mb, time_block
from benchmarks.sides import Pairs, pairs_of, read_in_process, totals

ADJECTIVES = ("JJ", "JJR", "JJS")
NOUNS = ("NN", "NNS")
COLUMNS = ("id", "form", "lemma", "xpos", "xpos2", "feats", "head", "deprel", "deps", "ner")
# Fits in the cache of a core; larger buffers were not faster.
BUFFER_BYTES = 1 << 18


def decompress(part: str, target: Any = None) -> int:
    """Only decompression, including the checksum, into a file if one is given; the bytes."""
    buffer = memoryview(bytearray(BUFFER_BYTES))
    size = 0
    with igzip.open(part) as stream:
        while count := stream.readinto(buffer):
            size += count
            if target is not None:
                target.write(buffer[:count])
    return size


def kernel(part: str, implementation: str) -> tuple[Pairs, int]:
    """The kernel as a task of the job runs it; the pairs and the number of tokens."""
    counter = PairCounter("depcc", CLEAN, implementation)
    with open_input(part) as stream:
        for block in blocks(stream):
            counter.feed(block)
    return pairs_of(counter.drain()), counter.stats().tokens


def polars_query(parts: str | list[str]) -> Any:
    """The pairs with their counts, as a lazy frame of polars for its streaming engine.

    Slower: the in-memory engine, `scan_lines` with splitting in expressions, and prior
    decompression by isal.
    """
    import polars as pl

    rows = pl.scan_csv(
        parts,
        separator="\t",
        has_header=False,
        quote_char=None,
        schema=dict.fromkeys(COLUMNS, pl.String),
        missing_columns="insert",  # comments have one column
    )
    starts = pl.col("id").str.starts_with("# sent_id")
    rows = rows.with_columns(sentence=starts.cum_sum())
    is_adjective = (pl.col("deprel") == "amod") & pl.col("xpos").is_in(list(ADJECTIVES))
    adjectives = rows.filter(is_adjective).select(
        "sentence", "head", adjective=pl.col("form").str.to_lowercase()
    )
    nouns = rows.filter(pl.col("xpos").is_in(list(NOUNS))).select(
        "sentence", "id", noun=pl.col("lemma").str.to_lowercase()
    )
    joined = adjectives.join(nouns, left_on=["sentence", "head"], right_on=["sentence", "id"])
    return joined.group_by("adjective", "noun").len("count")


def polars(part: str) -> pa.Table:
    """polars on one part."""
    return polars_query(part).collect(engine="streaming").to_arrow()


def duckdb(part: str) -> pa.Table:
    """DuckDB on the part that isal decompressed to memory-backed storage (included in the time).

    Slower: its own gzip reader, and one column per line split by SQL.
    """
    import duckdb as db

    memory = Path("/dev/shm")
    columns = ", ".join(f"'{name}': 'VARCHAR'" for name in COLUMNS)
    with tempfile.NamedTemporaryFile(dir=memory if memory.is_dir() else None) as plain:
        decompress(part, plain)
        plain.flush()
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
    with igzip.open(part, "rt", encoding="utf-8") as lines:
        for line in lines:
            if line == "\n":
                count_sentence(rows, modifiers, counts)
                rows, modifiers = {}, []
            elif not line.startswith("#"):
                row = line.rstrip("\n").split("\t")
                rows[row[0]] = row
                if row[7] == "amod" and row[3] in ADJECTIVES:
                    modifiers.append(row)
    count_sentence(rows, modifiers, counts)
    return counts


def count_sentence(rows: dict[str, list[str]], modifiers: list[list[str]], counts: Pairs) -> None:
    """Count the pairs of a sentence."""
    for row in modifiers:
        head = rows.get(row[6])
        if head is not None and head[3] in NOUNS:
            counts[row[1].lower(), head[2].lower()] += 1


def conllu(part: str) -> Pairs:
    """The `conllu` library, reading incrementally with its own field parsers."""
    from conllu import parse_incr

    counts: Pairs = Counter()
    with igzip.open(part, "rt", encoding="utf-8") as lines:
        for sentence in parse_incr(lines):
            tokens = {token["id"]: token for token in sentence}
            for token in sentence:
                if token["deprel"] != "amod" or token["xpos"] not in ADJECTIVES:
                    continue
                head = tokens.get(token["head"])
                if head is not None and head["xpos"] in NOUNS:
                    counts[token["form"].lower(), head["lemma"].lower()] += 1
    return counts


SIDES: dict[str, Callable[[str], Any]] = {
    "isal": decompress,
    "compiled": partial(kernel, implementation="compiled"),
    "reference": partial(kernel, implementation="reference"),
    "polars": polars,
    "duckdb": duckdb,
    "line_loop": line_loop,
    "conllu": conllu,
}


def read(side: str, part: str) -> dict[str, Any]:
    """Read `part` with `side` in this process; the fields of the reading."""
    size = decompress(part)  # also loads the file into the page cache
    if side in ("polars", "duckdb", "conllu"):
        __import__(side)
    with time_block() as timing:
        result = SIDES[side](part)
    fields = {"seconds": timing.cpu, "wall": timing.wall, "bytes": size}
    fields["memory_mb"] = peak_memory_mb()
    if side == "isal":
        return fields
    if isinstance(result, tuple):
        result, fields["tokens"] = result
    pairs = result if isinstance(result, Counter) else pairs_of(result)
    return {**fields, **totals(pairs)}


read_part = partial(read_in_process, "benchmarks.peers:read")
"""The reading of a part by a side in a new process, on one core or on so many."""


if __name__ == "__main__":
    *files, out = sys.argv[1:]
    polars_query(files).collect(engine="streaming").write_parquet(out)
