"""Packed pairs and their sums by part, without Spark."""

from collections import Counter
from collections.abc import Iterable

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adnominal.etl.amod import sums
from adnominal.etl.amod.kernel import PAIRS

Sums = Counter[tuple[str, str]]
WORDS = st.sampled_from(["", "old", "key", "ключ", "a b", "x" * 300])
ROWS = st.lists(st.tuples(WORDS, WORDS, st.integers(1, 2**40)), max_size=20)


def batch_of(rows: Iterable[tuple[str, str, int]]) -> pa.RecordBatch:
    columns = [list(column) for column in zip(*rows, strict=True)] or [[], [], []]
    return pa.RecordBatch.from_arrays(
        [pa.array(c, f.type) for c, f in zip(columns, PAIRS, strict=True)], schema=PAIRS
    )


def counter(batches: Iterable[pa.RecordBatch]) -> Sums:
    counts: Sums = Counter()
    for row in (row for batch in batches for row in batch.to_pylist()):
        counts[row["adjective"], row["noun"]] += row["count"]
    return counts


@pytest.mark.parametrize("size", [0, 1, sums.PACKED_PAIRS, 2 * sums.PACKED_PAIRS + 1])
def test_pairs_survive_packing_into_values_of_limited_size(size):
    pairs = batch_of([(f"a{i % 7}", f"n{i}", i + 1) for i in range(size)])
    packed = list(sums.pack(pairs))
    assert len(packed) == -(-size // sums.PACKED_PAIRS)
    assert all(len(value) < 1 << 19 for value in packed)
    unpacked = list(sums.unpack(pa.array(packed, pa.binary())))
    assert pa.Table.from_batches(unpacked, schema=PAIRS) == pa.Table.from_batches([pairs])


@given(st.lists(ROWS, max_size=6), st.sampled_from([1, 2, 8]), st.sampled_from([1, 4000, 1 << 20]))
def test_the_sums_of_all_parts_are_the_sums_of_all_pairs(lists, parts, memory):
    expected: Sums = Counter()
    for adjective, noun, count in (row for rows in lists for row in rows):
        expected[adjective, noun] += count
    part_batches = list(sums.partial_sums(map(batch_of, lists), parts, memory))
    assert all(batch.schema.equals(sums.PARTS) for batch in part_batches)
    table = pa.Table.from_batches(part_batches, schema=sums.PARTS)
    counts_of_parts: Sums = Counter()
    for part in range(parts):
        total = sums.sums(table.filter(pa.compute.equal(table["part"], part)))
        assert total.cast(PAIRS).schema.equals(PAIRS)
        words = list(zip(total["noun"].to_pylist(), total["adjective"].to_pylist(), strict=True))
        assert words == sorted(words, key=lambda pair: [word.encode() for word in pair])
        pairs = counter(total.to_batches())
        assert len(pairs) == total.num_rows  # no pair occurs twice
        assert not pairs.keys() & counts_of_parts.keys()  # nor in two parts
        counts_of_parts |= pairs
    assert counts_of_parts == expected


def test_partial_sums_are_emitted_only_when_memory_is_full():
    batches = [batch_of([(f"a{i}", "key", 1), ("old", "key", 1)]) for i in range(60)]
    tight = list(sums.partial_sums(batches, 1, 4000))
    assert 1 < len(tight) < len(batches)
    assert len(list(sums.partial_sums(batches, 1, 1 << 20))) == 1
    repeated = [batch_of([("old", "key", 1)])] * 500
    assert len(list(sums.partial_sums(repeated, 1, 4000))) == 1


@pytest.mark.parametrize(
    ("pairs", "parts"),
    [(0, 1), (1, 1), (sums.PART_PAIRS * 8, 8), (sums.PART_PAIRS * 8 + 1, 16), (1 << 60, 1 << 16)],
)
def test_the_number_of_parts_grows_with_the_pairs(pairs, parts):
    assert sums.parts_for(pairs) == parts
