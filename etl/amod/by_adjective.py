"""Measured pairs sorted by adjective, for look-ups of adjectives.

The files of ``amod_pairs`` have all pairs of their nouns. Each file of ``amod_by_adjective`` has a
range of adjectives with all of their pairs, so the bounds in the table's log identify the one file
of an adjective. The ranges depend only on the counts of the adjectives, which every task reads, so
any machine and any engine makes the same files.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema

from adnominal.etl.amod.association import Adjectives, measured_rows, stored_adjectives
from adnominal.etl.amod.kernel import PAIRS
from adnominal.etl.amod.sums import (
    LARGE_PARTS,
    PACKED_PAIRS,
    PART_PAIRS,
    PARTS,
    coded_words,
    sorted_places,
)
from adnominal.etl.engine import group_arrow
from adnominal.etl.lake.blocks import Blocks, read_files
from adnominal.etl.lake.lookup import as_dictionary

# A row is a noun with its pairs in one part, with adjectives as their positions in sorted order. A
# noun is thus stored once, and adjectives remain numbers until the rows are written.
_PACKED = pa.schema(
    [
        ("noun", pa.string()),
        ("noun_count", pa.int64()),
        ("adjective", pa.list_(pa.int32())),
        ("count", pa.list_(pa.int64())),
    ]
)


def packed_by_adjective(
    pairs: pa.Table, adjectives: Adjectives, part_pairs: int = PART_PAIRS
) -> pa.Table:
    """Pairs packed by the part of their adjective (schema `etl.amod.sums.PARTS`).

    The pairs are sorted by part and noun. The pairs of a noun in a part are then one row of
    `_PACKED`, and some rows of a part one packed value. All arrays hold positions: `noun` in the
    dictionary of nouns, `adjective` in the sorted adjectives of the corpus.

    Args:
        pairs: adjective, noun, count: all pairs of the nouns that occur in them.
        adjectives: the adjectives of the corpus.
        part_pairs: the number of pairs in a part; more if one adjective has more.
    """
    if not pairs.num_rows:
        return PARTS.empty_table()
    nouns = as_dictionary(pairs.column("noun"))
    noun = nouns.indices.to_numpy().astype(np.int64)
    count = pairs.column("count").to_numpy()
    noun_count = np.zeros(len(nouns.dictionary), np.int64)
    np.add.at(noun_count, noun, count)
    words = as_dictionary(pairs.column("adjective"))
    adjective = adjectives.words.places(words.dictionary)[words.indices.to_numpy()]
    part = adjectives.parts(part_pairs)[adjective]
    order = np.argsort(part * len(noun_count) + noun)
    part = part[order]
    noun = noun[order]

    # A row begins where the part or the noun changes.
    begins_row = np.diff(part, prepend=-1) | np.diff(noun, prepend=-1)
    starts = np.flatnonzero(begins_row)
    offsets = pa.array(np.append(starts, len(noun)).astype(np.int32))
    part = part[starts]
    noun = noun[starts]
    rows = pa.RecordBatch.from_arrays(
        [
            nouns.dictionary.take(pa.array(noun)),
            pa.array(noun_count[noun]),
            pa.ListArray.from_arrays(offsets, pa.array(adjective[order].astype(np.int32))),
            pa.ListArray.from_arrays(offsets, pa.array(count[order])),
        ],
        schema=_PACKED,
    )
    # A new value starts with each part, and with each row that starts another `PACKED_PAIRS` pairs.
    is_first = np.diff(part, prepend=-1) | np.diff(starts // PACKED_PAIRS, prepend=-1)
    starts_of_values = np.flatnonzero(is_first)
    lengths = np.diff(starts_of_values, append=len(part))
    packed = [
        rows.slice(first, length).serialize().to_pybytes()
        for first, length in zip(starts_of_values, lengths, strict=True)
    ]
    return pa.table([part[starts_of_values].astype(np.int32), packed], schema=PARTS)


def association_rows(part: pa.Table, adjectives: Adjectives, corpus: str) -> pa.Table:
    """Rows of ``amod_by_adjective`` of one part, sorted by adjective and noun."""
    pieces = [
        pa.ipc.read_record_batch(value.as_buffer(), _PACKED) for value in part.column("packed")
    ]
    rows = pa.Table.from_batches(pieces, schema=_PACKED)
    nouns, place = sorted_places(rows.column("noun"))
    # Sort numbers, not words.
    noun = np.repeat(place, pc.list_value_length(rows.column("count")).to_numpy())
    adjective, count = (
        pc.list_flatten(rows.column(name)).to_numpy() for name in ("adjective", "count")
    )
    first = int(adjective.min()) if len(adjective) else 0
    last = int(adjective.max()) if len(adjective) else -1
    order = np.argsort((adjective - first) * np.int64(len(nouns)) + noun)
    adjective, noun, count = adjective[order], noun[order], count[order]
    noun_counts = np.zeros(len(nouns), np.int64)
    noun_counts[place] = rows.column("noun_count").to_numpy()
    words = (
        coded_words(adjective - first, adjectives.words.words[first : last + 1]),
        coded_words(noun, nouns),
    )
    counts = count, adjectives.counts[adjective], noun_counts[noun]
    return measured_rows(words, counts, adjectives, corpus)


def rows_of(pairs: DataFrame, parts: int, adjectives: str, corpus: str) -> Blocks:
    """Rows of ``amod_by_adjective``, one file for each range of adjectives.

    Args:
        pairs: the files of the corpus's pairs (`etl.lake.spark.Lake.files`), each with all pairs of
            its nouns, as `etl.amod.sums` makes them.
        parts: approximate number of files.
        adjectives: address of the stored `etl.amod.association.ADJECTIVES` of the corpus.
        corpus: name of the corpus.
    """

    def pack(file: pa.Table) -> pa.Table:
        return packed_by_adjective(read_files(file, PAIRS.names), stored_adjectives(adjectives))

    def make(part: pa.Table) -> pa.Table:
        return association_rows(part, stored_adjectives(adjectives), corpus)

    packed = group_arrow(pairs, "file", pack, from_arrow_schema(PARTS))
    return Blocks(packed, make, group_by="part", large=parts >= LARGE_PARTS)
