"""Measured pairs turned around: sorted by adjective, for look-ups from the adjective's side.

The files of ``amod_association`` have all pairs of their nouns. Those of ``amod_by_adjective`` each
have a range of adjectives with all of their pairs, so that the bounds in the table's log name the
one file that an adjective is in. The ranges follow from the counts of the adjectives alone, which
every task reads: any machine and any engine makes the same files.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema

from etl.amod.association import measures, stored_adjectives
from etl.amod.sums import PART_PAIRS, PARTS, placed
from etl.engine import group_arrow
from etl.lake.blocks import Blocks, as_dictionary, read_files
from etl.lake.tables import table as declaration

if TYPE_CHECKING:
    import numpy.typing as npt

# The adjective's count and the measures follow from these and from the counts of the adjectives.
CARRIED = ["adjective", "noun", "count", "noun_count"]
_PACKED = pa.schema(
    [
        ("adjective", pa.string()),
        ("noun", pa.string()),
        ("count", pa.int64()),
        ("noun_count", pa.int64()),
    ]
)
_PACKED_ROWS = 1 << 12  # of one value, as `etl.amod.sums.PACKED_PAIRS`


class Ranges(NamedTuple):
    """The adjectives of a corpus in their order, with their counts and the part each is in."""

    adjectives: pa.StringArray
    counts: npt.NDArray[np.int64]
    parts: npt.NDArray[np.int64]


def ranges_of(adjectives: pa.Table, part_pairs: int = PART_PAIRS) -> Ranges:
    """Parts of about `part_pairs` pairs, an adjective with all of its pairs in one of them.

    Args:
        adjectives: `etl.amod.association.ADJECTIVES` of the corpus, in any order.
        part_pairs: how many pairs a part has; more where one adjective has more.
    """
    ordered = adjectives.sort_by("adjective").combine_chunks()
    nouns = ordered.column("nouns").to_numpy()
    starts = np.cumsum(nouns) - nouns
    return Ranges(
        ordered.column("adjective").combine_chunks(),
        ordered.column("count").to_numpy(),
        starts // part_pairs,
    )


def dealt(rows: pa.Table, ranges: Ranges) -> pa.Table:
    """Pairs (`CARRIED`) packed by the part of their adjective (schema `etl.amod.sums.PARTS`)."""
    places = _places(rows.column("adjective"), ranges.adjectives)
    part = ranges.parts[places]
    order = np.argsort(part, kind="stable")
    plain = rows.select(CARRIED).cast(_PACKED).take(pa.array(order))
    numbers, starts = np.unique(part[order], return_index=True)
    ends = np.append(starts, len(order))[1:]
    packed: list[tuple[int, bytes]] = []
    for number, start, end in zip(numbers, starts, ends, strict=True):
        for first in range(start, end, _PACKED_ROWS):
            piece = plain.slice(first, min(_PACKED_ROWS, end - first)).combine_chunks()
            packed.append((int(number), piece.to_batches()[0].serialize().to_pybytes()))
    return pa.table(
        [[number for number, _ in packed], [value for _, value in packed]], schema=PARTS
    )


def measured(part: pa.Table, ranges: Ranges, corpus: str) -> pa.Table:
    """Rows of ``amod_by_adjective`` of one part, sorted by adjective and noun."""
    pieces = [
        pa.ipc.read_record_batch(value.as_buffer(), _PACKED) for value in part.column("packed")
    ]
    rows = pa.Table.from_batches(pieces, schema=_PACKED)
    # Numbers are sorted, not words: an adjective's is its place among all, which is their order.
    adjective = _places(rows.column("adjective"), ranges.adjectives)
    nouns, noun = placed(rows.column("noun"))
    order = np.argsort(adjective * len(nouns) + noun)
    adjective, noun = adjective[order], noun[order]
    first = int(adjective[0]) if len(adjective) else 0
    known = ranges.adjectives[first : int(adjective[-1]) + 1] if len(adjective) else nouns
    counts, n = (rows.column(name).to_numpy()[order] for name in ("count", "noun_count"))
    a = ranges.counts[adjective]
    columns = {
        "corpus": pa.repeat(corpus, rows.num_rows),
        "adjective": _coded(adjective - first, known),
        "noun": _coded(noun, nouns),
        "count": counts,
        "adjective_count": a,
        "noun_count": n,
        **measures(counts, a, n, int(ranges.counts.sum())),
    }
    declared = declaration("amod_by_adjective").schema
    return pa.table([columns[name] for name in declared.names], names=declared.names)


def _coded(places: npt.NDArray[np.int64], words: pa.StringArray) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(places.astype(np.int32)), words)


def _places(words: pa.ChunkedArray, known: pa.StringArray) -> npt.NDArray[np.int64]:
    """The place of each word among the known ones, each different word being looked up once."""
    coded = as_dictionary(words)
    among = pc.index_in(coded.dictionary, value_set=known).to_numpy(zero_copy_only=False)
    places: npt.NDArray[np.int64] = np.asarray(among, np.int64)[coded.indices.to_numpy()]
    return places


@lru_cache(maxsize=1)
def _stored_ranges(uri: str) -> Ranges:
    """Made once a process."""
    return ranges_of(stored_adjectives(uri))


def rows_of(association: DataFrame, adjectives: str, corpus: str) -> Blocks:
    """Rows of ``amod_by_adjective``, a file a range of adjectives.

    Args:
        association: the corpus's files of ``amod_association`` (`etl.lake.spark.Lake.files`).
        adjectives: address of the stored `etl.amod.association.ADJECTIVES` of the corpus.
        corpus: its name.
    """

    def deal(file: pa.Table) -> pa.Table:
        return dealt(read_files(file, CARRIED), _stored_ranges(adjectives))

    def make(part: pa.Table) -> pa.Table:
        return measured(part, _stored_ranges(adjectives), corpus)

    packed = group_arrow(association, "file", deal, from_arrow_schema(PARTS))
    return Blocks(packed, make, group_by="part")
