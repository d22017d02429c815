"""Sums of pairs in Arrow, between the tasks that count and the tables.

As a row of its own a pair costs an engine several times what counting it did: it is taken apart and
put together anew at every step. So pairs move packed, some thousands to a value, which an engine
carries without looking in. They are dealt out over parts by their noun, so that a part has all
pairs of its nouns; what is summed, sorted or measured is a part at a time, in Arrow.

Packed pairs are an Arrow record batch of schema `PAIRS`, as Arrow serialises it without the schema.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from etl.amod.kernel import PAIRS

# Some 200 kB: Parquet, which looks at the size of a page or row group no more often than every
# hundred values, then holds tens of megabytes in memory, not gigabytes.
PACKED_PAIRS = 1 << 13
# Pairs of a part: as words and counts some 30 MB, and a file of a table.
PART_PAIRS = 1 << 20
MOST_PARTS = 1 << 16

PARTS = pa.schema([("part", pa.int32()), ("packed", pa.binary())])


def pack(pairs: pa.RecordBatch) -> Iterator[bytes]:
    """`pairs` (schema `PAIRS`) in values of up to `PACKED_PAIRS` each; none for no pairs."""
    for start in range(0, pairs.num_rows, PACKED_PAIRS):
        yield pairs.slice(start, PACKED_PAIRS).serialize().to_pybytes()


def unpack(packed: pa.BinaryArray | pa.ChunkedArray) -> Iterator[pa.RecordBatch]:
    """The pairs in values that `pack` made; nulls hold none."""
    for value in packed:
        if value.is_valid:
            yield pa.ipc.read_record_batch(value.as_buffer(), PAIRS)


def parts_for(pairs: int) -> int:
    """Into how many parts so many pairs are dealt out.

    By the pairs alone, not by the cores, so that any machine makes the same files.
    """
    return min(max(1, -(-pairs // PART_PAIRS)), MOST_PARTS)


def partial_sums(
    batches: Iterable[pa.RecordBatch], parts: int, memory_bytes: int
) -> Iterator[pa.RecordBatch]:
    """Staged pairs (adjective, noun, count, or packed) to packed sums by part (schema `PARTS`).

    A pair is in one part of `parts`, chosen by its noun. It has one sum in all where its words and
    counts fit a quarter of `memory_bytes`, else one for each time that this was used up.
    """
    for pairs in _summed_within(memory_bytes // 4, _pairs_in(batches)):
        yield from _packed_by_part(pairs, parts)


def sums(part: pa.Table) -> pa.Table:
    """All packed sums of one part (schema `PARTS`) to its pairs (schema `PAIRS`), each once.

    Sorted by noun and adjective.
    """
    order = [("noun", "ascending"), ("adjective", "ascending")]
    return _total(unpack(part.column("packed"))).sort_by(order)


def _pairs_in(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        single = batch.filter(pc.is_null(batch.column("packed")))
        if single.num_rows:
            columns = [single.column(name) for name in PAIRS.names]
            yield pa.RecordBatch.from_arrays(columns, schema=PAIRS)
        yield from unpack(batch.column("packed"))


def _summed_within(limit: int, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Sums of pairs; when what is held reaches `limit` bytes and is still half of it once summed,
    it is handed on."""
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        held.append(batch)
        size += batch.nbytes
        if size >= limit:
            total = _total(held)
            held, size = total.to_batches(), total.nbytes
            if size > limit // 2:
                yield total
                held, size = [], 0
    if held:
        yield _total(held)


def _total(pairs: Iterable[pa.RecordBatch]) -> pa.Table:
    together = pa.Table.from_batches(pairs, schema=PAIRS)
    words = ["adjective", "noun"]
    # One thread: a task has one core.
    summed = together.group_by(words, use_threads=False).aggregate([("count", "sum")])
    return summed.rename_columns({"count_sum": "count"}).select(PAIRS.names)


def _packed_by_part(pairs: pa.Table, parts: int) -> Iterator[pa.RecordBatch]:
    nouns = pairs.column("noun").combine_chunks().dictionary_encode()
    of_noun = [crc32(noun) % parts for noun in nouns.dictionary.cast(pa.binary()).to_pylist()]
    part = np.array(of_noun, np.uint16)[nouns.indices.to_numpy()]
    ordered = pairs.take(np.argsort(part, kind="stable")).combine_chunks()
    ends = np.cumsum(np.bincount(part, minlength=parts))
    for number, (start, end) in enumerate(zip((0, *ends), ends, strict=False)):
        for batch in ordered.slice(start, end - start).to_batches():
            packed = list(pack(batch))
            numbers = pa.array([number] * len(packed), pa.int32())
            yield pa.RecordBatch.from_arrays([numbers, pa.array(packed)], schema=PARTS)
