"""Sums of pairs in Arrow, between the tasks that count and the tables.

As a row of its own a pair costs an engine several times what counting it did: it is taken apart and
put together anew at every step. So pairs move packed, some thousands to a value, which an engine
carries without looking in. They are dealt out over parts by their noun, so that a part has all
pairs of its nouns; what is summed, sorted or measured is a part at a time, in Arrow.

Packed pairs are an Arrow record batch of schema `PAIRS`, as Arrow serialises it without the schema.
Those that the kernel has counted are packed by bucket (`etl.amod.kernel.BUCKETS`), so that a value
goes to its part unopened, unless there are more parts than buckets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple, TypeAlias
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from etl.amod.kernel import PAIRS

if TYPE_CHECKING:
    import numpy.typing as npt

Places: TypeAlias = "npt.NDArray[np.int64]"

# Some 100 kB: engines move up to 8,192 values at a time, and Parquet looks at the size of a page no
# more often than every hundred values, so that they hold some hundred megabytes, not gigabytes.
PACKED_PAIRS = 1 << 12
# Pairs of a part: as words and counts up to some 30 MB, and a file of a table.
PART_PAIRS = 1 << 20
MOST_PARTS = 1 << 16
LARGE_PARTS = 32  # so many may be more than an engine's memory

PARTS = pa.schema([("part", pa.int32()), ("packed", pa.binary())])


def pack(pairs: pa.RecordBatch) -> Iterator[bytes]:
    """`pairs` (schema `PAIRS`) in values of up to `PACKED_PAIRS` each; none for no pairs."""
    for start in range(0, pairs.num_rows, PACKED_PAIRS):
        yield pairs.slice(start, PACKED_PAIRS).serialize().to_pybytes()


def unpack(packed_pairs: pa.BinaryArray | pa.ChunkedArray) -> Iterator[pa.RecordBatch]:
    """The pairs in values that `pack` made."""
    for value in packed_pairs:
        yield pa.ipc.read_record_batch(value.as_buffer(), PAIRS)


def parts_for(pairs: int) -> int:
    """Into how many parts so many pairs are dealt out: a power of two, so that buckets fit them.

    By the pairs alone, not by the cores, so that any machine makes the same files.
    """
    return min(1 << max(0, -(-pairs // PART_PAIRS) - 1).bit_length(), MOST_PARTS)


def partial_sums(
    batches: Iterable[pa.RecordBatch], parts: int, memory_bytes: int
) -> Iterator[pa.RecordBatch]:
    """Pairs (schema `PAIRS`) to packed sums by part (schema `PARTS`).

    A pair is in one part of `parts`, a power of two, chosen by its noun. It has one sum in all
    where its words and counts fit a quarter of `memory_bytes`, else one for each time that this was
    used up.
    """
    for total in _summed_within(memory_bytes // 4, batches):
        yield from _packed_by_part(total, parts)


def sums(part: pa.Table) -> pa.Table:
    """All packed sums of one part (schema `PARTS`) to its pairs (as `PAIRS`), each once.

    Sorted by noun and adjective; words are dictionaries, as Parquet stores them.
    """
    total = _total(unpack(part.column("packed")))
    words = (total.adjectives, total.adjective), (total.nouns, total.noun)
    coded = [
        pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), known) for known, codes in words
    ]
    return pa.table([*coded, total.counts], names=PAIRS.names)


class _Total(NamedTuple):
    """Pairs, each once, sorted by noun and adjective: words as places among sorted words."""

    adjectives: pa.StringArray
    adjective: Places
    nouns: pa.StringArray
    noun: Places
    counts: Places

    def batch(self, rows: slice | Places) -> pa.RecordBatch:
        """Some of the pairs, with their words (schema `PAIRS`)."""
        adjectives = self.adjectives.take(pa.array(self.adjective[rows]))
        nouns = self.nouns.take(pa.array(self.noun[rows]))
        columns = [adjectives, nouns, pa.array(self.counts[rows])]
        return pa.RecordBatch.from_arrays(columns, schema=PAIRS)


def _summed_within(limit: int, batches: Iterable[pa.RecordBatch]) -> Iterator[_Total]:
    """Sums of pairs; when what is held reaches `limit` bytes and is still half of it once summed,
    it is handed on."""
    batches_to_sum: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        batches_to_sum.append(batch)
        size += batch.nbytes
        if size >= limit:
            total = _total(batches_to_sum)
            batches_to_sum = [total.batch(slice(None))]
            size = batches_to_sum[0].nbytes
            if size > limit // 2:
                yield total
                batches_to_sum, size = [], 0
    if batches_to_sum:
        yield _total(batches_to_sum)


def _total(pairs: Iterable[pa.RecordBatch]) -> _Total:
    """The pairs with the sums of their counts.

    Words are compared once each: a pair is a number made of the places of its words.
    """
    all_pairs = pa.Table.from_batches(pairs, schema=PAIRS)
    nouns, noun = sorted_places(all_pairs.column("noun"))
    adjectives, adjective = sorted_places(all_pairs.column("adjective"))
    number = noun * len(adjectives) + adjective
    order = np.argsort(number)
    number = number[order]
    first = np.flatnonzero(np.diff(number, prepend=-1))
    count = all_pairs.column("count").to_numpy()[order]
    noun, adjective = np.divmod(number[first], max(1, len(adjectives)))
    summed = np.add.reduceat(count, first) if len(first) else count
    return _Total(adjectives, adjective, nouns, noun, summed)


def sorted_places(words: pa.ChunkedArray) -> tuple[pa.StringArray, Places]:
    """The distinct words, sorted, and for each word its place among them."""
    if not len(words):
        return pa.array([], pa.string()), np.array([], np.int64)
    coded = words.dictionary_encode().combine_chunks()
    order = pc.array_sort_indices(coded.dictionary)
    place = np.empty(len(order), np.int64)
    place[order.to_numpy()] = np.arange(len(order))
    return coded.dictionary.take(order), place[coded.indices.to_numpy()]


def _packed_by_part(total: _Total, parts: int) -> Iterator[pa.RecordBatch]:
    of_noun = [crc32(noun) % parts for noun in total.nouns.cast(pa.binary()).to_pylist()]
    part = np.array(of_noun, np.uint16)[total.noun]
    order = np.argsort(part, kind="stable")
    ends = np.cumsum(np.bincount(part, minlength=parts))
    for number, (start, end) in enumerate(zip((0, *ends), ends, strict=False)):
        packed = list(pack(total.batch(order[start:end])))
        numbers = pa.array([number] * len(packed), pa.int32())
        yield pa.RecordBatch.from_arrays([numbers, pa.array(packed, pa.binary())], schema=PARTS)
