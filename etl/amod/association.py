"""Measure the association of pairs, one part at a time.

Marginals are those of the relation itself: ``adjective_count`` is the number of amod pairs with the
adjective, ``noun_count`` with the noun, both before any minimum count of a pair. The measures are
those of `etl.amod.measures`.

A file of ``amod_pairs`` has all pairs of its nouns (`etl.amod.sums`), so only the counts of
adjectives come from elsewhere: one row each, which every task reads once. The engine sorts, joins
and shuffles no pairs. The association of further relations, a rare request, needs no faster way
than sorting and joins (`relation_rows_of`).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from adnominal.etl.amod.kernel import PAIRS
from adnominal.etl.amod.measures import measures
from adnominal.etl.amod.sums import PART_PAIRS
from adnominal.etl.amod.word_index import WordIndex
from adnominal.etl.lake.blocks import Blocks, join_batches, read_files
from adnominal.etl.lake.frames import sort_rows
from adnominal.etl.lake.lookup import as_dictionary
from adnominal.etl.lake.scratch import load
from adnominal.etl.lake.tables import table as declaration

if TYPE_CHECKING:
    from adnominal.etl.amod.measures import Counts

ADJECTIVES = pa.schema([("adjective", pa.string()), ("count", pa.int64()), ("nouns", pa.int64())])
"""The number of pairs of each adjective of a corpus, and of its distinct nouns."""


def adjectives_of(pairs: DataFrame) -> DataFrame:
    """The table `ADJECTIVES` of the pairs of one corpus."""
    return pairs.groupBy("adjective").agg(
        F.sum("count").alias("count"), F.count("*").alias("nouns")
    )


class Adjectives(NamedTuple):
    """The adjectives of a corpus, sorted, with the counts of `ADJECTIVES`."""

    words: WordIndex
    counts: Counts
    nouns: Counts

    @classmethod
    def of(cls, adjectives: pa.Table) -> Adjectives:
        """Build from a table with the schema `ADJECTIVES`, in any order."""
        ordered = adjectives.sort_by("adjective").combine_chunks()
        words = ordered.column("adjective").cast(pa.string()).combine_chunks()
        counts, nouns = (ordered.column(name).to_numpy() for name in ("count", "nouns"))
        return cls(WordIndex(words), counts, nouns)

    def parts(self, part_pairs: int = PART_PAIRS) -> Counts:
        """The part of each adjective: it has all pairs of the adjective, and about `part_pairs`."""
        return (np.cumsum(self.nouns) - self.nouns) // part_pairs


def association_of(pairs: pa.Table, adjectives: Adjectives, corpus: str) -> pa.Table:
    """Rows of ``amod_association`` for some nouns' pairs, in the order of the pairs.

    Args:
        pairs: adjective, noun, count: all pairs of the nouns that occur in it; words may be
            dictionary-encoded, as in the result.
        adjectives: the adjectives of the whole corpus.
        corpus: name of the corpus.
    """
    counts = pairs.column("count").to_numpy()
    nouns = as_dictionary(pairs.column("noun"))
    adjective_column = as_dictionary(pairs.column("adjective"))

    # The count of each distinct noun is the sum over its pairs, which are all here; that of an
    # adjective is known from the whole corpus. Both are then repeated for each pair.
    noun_numbers = nouns.indices.to_numpy()
    count_of_noun = np.zeros(len(nouns.dictionary), np.int64)
    np.add.at(count_of_noun, noun_numbers, counts)
    places = adjectives.words.places(adjective_column.dictionary)
    count_of_adjective = adjectives.counts[places]
    adjective_counts = count_of_adjective[adjective_column.indices.to_numpy()]
    noun_counts = count_of_noun[noun_numbers]
    return measured_rows(
        (adjective_column, nouns), (counts, adjective_counts, noun_counts), adjectives, corpus
    )


def measured_rows(
    words: tuple[pa.DictionaryArray, pa.DictionaryArray],
    counts: tuple[Counts, Counts, Counts],
    adjectives: Adjectives,
    corpus: str,
) -> pa.Table:
    """Pairs with their measures: rows of ``amod_association`` or ``amod_by_adjective``.

    Args:
        words: adjective and noun of each pair.
        counts: of each pair, of its adjective and of its noun.
        adjectives: the adjectives of the whole corpus.
        corpus: name of the corpus.
    """
    columns = {
        "corpus": pa.repeat(corpus, len(counts[0])),
        **dict(zip(("adjective", "noun"), words, strict=True)),
        **dict(zip(("count", "adjective_count", "noun_count"), counts, strict=True)),
        **measures(*counts, int(adjectives.counts.sum())),
    }
    names = declaration("amod_association").schema.names
    return pa.table([columns[name] for name in names], names=names)


@lru_cache(maxsize=1)
def stored_adjectives(uri: str) -> Adjectives:
    """The adjectives stored at `uri`, read once per process."""
    return Adjectives.of(load(uri, ADJECTIVES))


def rows_of(pairs: DataFrame, adjectives: str, corpus: str) -> Blocks:
    """Rows of ``amod_association``, one file for each file of ``amod_pairs``.

    Args:
        pairs: the files of the corpus's pairs (`etl.lake.spark.Lake.files`), each with all pairs of
            its nouns, as `etl.amod.sums` makes them.
        adjectives: address of the stored `ADJECTIVES` of the corpus.
        corpus: name of the corpus.
    """

    def make(file: pa.Table) -> pa.Table:
        counts = read_files(file, PAIRS.names)
        return association_of(counts, stored_adjectives(adjectives), corpus)

    return Blocks(pairs, make, group_by="file")


# ------------------------------------------------------------------------- further relations


def relation_rows_of(pairs: DataFrame, corpus: str) -> Blocks:
    """Rows of ``relation_association`` from the rows of ``relation_pairs`` of one corpus.

    The marginals of a dependent and of a head are those of the relation itself.
    """
    pairs = pairs.select("relation", "dependent", "head", "count")
    for keys, name in (
        (["relation", "dependent"], "dependent_count"),
        (["relation", "head"], "head_count"),
        (["relation"], "total"),
    ):
        pairs = pairs.join(pairs.groupBy(*keys).agg(F.sum("count").alias(name)), keys)
    schema = declaration("relation_association").schema.remove_metadata()

    def make(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
        for rows in join_batches(batches):
            names = ("count", "dependent_count", "head_count", "total")
            columns = {name: rows.column(name) for name in rows.column_names}
            columns["corpus"] = pa.repeat(corpus, rows.num_rows)
            columns |= measures(*(rows.column(name).to_numpy() for name in names))
            yield pa.table([columns[name] for name in schema.names], schema=schema)

    return Blocks(sort_rows(pairs, "relation", "head", "dependent"), make)
