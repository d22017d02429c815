"""Sum packed pairs in Arrow, between the counting tasks and the tables.

As a row of its own, a pair costs an engine several times what counting it did, because every step
converts it. Pairs are therefore packed, some thousands in one opaque value. They are distributed
over parts by their noun, so a part has all pairs of its nouns and is summed, sorted and measured by
itself, in Arrow.

Packed pairs are an Arrow record batch with the schema `PAIRS`, serialised without the schema. The
kernel's pairs are packed by bucket (`etl.amod.kernel.BUCKETS`), so a value goes to its part
unopened, unless there are more parts than buckets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple, TypeAlias
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from adnominal.etl.amod.kernel import PAIRS

if TYPE_CHECKING:
    import numpy.typing as npt

Places: TypeAlias = "npt.NDArray[np.int64]"

# About 100 kB: engines move up to 8,192 values at a time, and Parquet checks the size of a page
# only every hundred values, so they hold hundreds of megabytes, not gigabytes.
PACKED_PAIRS = 1 << 12
# Pairs of a part, which is a file of a table: words and counts have up to about 30 MB.
PART_PAIRS = 1 << 20
MOST_PARTS = 1 << 16
LARGE_PARTS = 32  # this many may exceed an engine's memory

PARTS = pa.schema([("part", pa.int32()), ("packed", pa.binary())])


def pack(pairs: pa.RecordBatch) -> Iterator[bytes]:
    """Pack `pairs` (schema `PAIRS`) into values of up to `PACKED_PAIRS` each."""
    for start in range(0, pairs.num_rows, PACKED_PAIRS):
        yield pairs.slice(start, PACKED_PAIRS).serialize().to_pybytes()


def unpack(packed_pairs: pa.BinaryArray | pa.ChunkedArray) -> Iterator[pa.RecordBatch]:
    """The pairs in values that `pack` made."""
    for value in packed_pairs:
        yield pa.ipc.read_record_batch(value.as_buffer(), PAIRS)


def parts_for(pairs: int) -> int:
    """The number of parts for this many pairs: a power of two, so that parts are whole buckets.

    It depends only on the pairs, not on the cores, so any machine makes the same files.
    """
    return min(1 << max(0, -(-pairs // PART_PAIRS) - 1).bit_length(), MOST_PARTS)


def partial_sums(
    batches: Iterable[pa.RecordBatch], parts: int, memory_bytes: int
) -> Iterator[pa.RecordBatch]:
    """Sum pairs (schema `PAIRS`) into packed sums by part (schema `PARTS`).

    The noun of a pair selects one of `parts` parts, a power of two. A pair has a single sum if all
    words and counts fit into a quarter of `memory_bytes`, else one for each time that this was
    full.
    """
    for total in _summed_within(memory_bytes // 4, batches):
        yield from _packed_by_part(total, parts)


def sums(part: pa.Table) -> pa.Table:
    """Add up all packed sums of one part (schema `PARTS`) to its distinct pairs (as `PAIRS`).

    They are sorted by noun and adjective, with dictionary-encoded words, as Parquet stores them.
    """
    total = _total(unpack(part.column("packed")))
    adjectives = coded_words(total.adjective, total.adjectives)
    nouns = coded_words(total.noun, total.nouns)
    return pa.table([adjectives, nouns, total.counts], names=PAIRS.names)


def coded_words(places: Places, words: pa.StringArray) -> pa.DictionaryArray:
    """The words at `places`, dictionary-encoded."""
    return pa.DictionaryArray.from_arrays(pa.array(places, pa.int32()), words)


class _Total(NamedTuple):
    """Distinct pairs, sorted by noun and adjective, with words as positions among sorted words."""

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
    """Sum pairs; yield a total when `limit` bytes are held and summing leaves more than half."""
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
    """The distinct pairs with the sums of their counts.

    Each word is compared only once: a pair is a number made of the positions of its words.
    """
    all_pairs = pa.Table.from_batches(pairs, schema=PAIRS)
    nouns, noun_of_row = sorted_places(all_pairs.column("noun"))
    adjectives, adjective_of_row = sorted_places(all_pairs.column("adjective"))
    number_of_row = noun_of_row * len(adjectives) + adjective_of_row

    # Sorted by their numbers, equal pairs stand together; each sum begins where the number changes.
    order = np.argsort(number_of_row)
    numbers = number_of_row[order]
    counts = all_pairs.column("count").to_numpy()[order]
    starts = np.flatnonzero(np.diff(numbers, prepend=-1))
    sums = np.add.reduceat(counts, starts) if len(starts) else counts

    noun, adjective = np.divmod(numbers[starts], max(1, len(adjectives)))
    return _Total(adjectives, adjective, nouns, noun, sums)


def sorted_places(words: pa.ChunkedArray) -> tuple[pa.StringArray, Places]:
    """The distinct words, sorted, and the position of each word among them."""
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
