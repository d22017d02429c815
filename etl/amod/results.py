"""What the staged rows of a wave come to: DataFrame to DataFrame, nothing read or written.

`staged` is a DataFrame of `etl.amod.tasks.STAGED` rows. Every function gives the same rows
whatever the order and partitioning of its input.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from etl.amod import sums
from etl.amod.kernel import BUCKETS, PAIRS
from etl.engine import map_arrow
from etl.lake.blocks import Blocks, read_files
from etl.lake.frames import sort_rows
from etl.lake.schema import rows_of_schema
from etl.lake.tables import table as declaration

NO_PLACE = 2**62  # comes after every line, so that of two samples the one with a line is first


def kind(staged_rows: DataFrame, name: str) -> DataFrame:
    """The staged rows of one kind."""
    return staged_rows.where(F.col("kind") == name)


def statements(staged_rows: DataFrame) -> DataFrame:
    """Per file and reason: kind, file, reason, count, and the first place with its sample.

    A few rows for each file, never one for each line or pair.
    """
    return (
        staged_rows.where(F.col("kind").isin("stat", "rejected", "left_out", "failed"))
        .groupBy("kind", "file", "reason")
        .agg(
            F.sum("count").alias("count"),
            # the lowest line that has one; samples without a line come after those with
            F.min(F.struct(F.coalesce("place", F.lit(NO_PLACE)).alias("place"), "text")).alias(
                "first"
            ),
        )
    )


def packed_of(pairs: DataFrame, parts: int, memory_bytes: int) -> DataFrame:
    """Pairs (adjective, noun, count) dealt out over `parts` by their noun, packed (`sums.PARTS`).

    A task holds up to `memory_bytes` of pairs, then hands on what it has summed so far.
    """
    return map_arrow(
        pairs.select(PAIRS.names),
        lambda batches: sums.partial_sums(batches, parts, memory_bytes),
        from_arrow_schema(sums.PARTS),
        compiled=True,
    )


def packed_in(staged_rows: DataFrame, parts: int, memory_bytes: int) -> DataFrame:
    """As `packed_of`, of the pairs that tasks have packed by bucket."""
    packed = kind(staged_rows, "pairs")
    if parts <= BUCKETS:
        return packed.select(F.col("bucket").bitwiseAND(parts - 1).alias("part"), "packed")
    return map_arrow(
        packed.select("packed"),
        lambda batches: sums.partial_sums(
            (pairs for batch in batches for pairs in sums.unpack(batch.column("packed"))),
            parts,
            memory_bytes,
        ),
        from_arrow_schema(sums.PARTS),
        compiled=True,
    )


def rows_of(packed_pairs: DataFrame, parts: int, table: str, **constants: object) -> Blocks:
    """Rows of a table of counts from packed pairs: each pair once, sorted, a file for each part.

    `constants` are the values of its further columns.
    """

    def make(part: pa.Table) -> pa.Table:
        return _rows(sums.sums(part), table, constants)

    return Blocks(packed_pairs, make, group_by="part", large=parts >= sums.LARGE_PARTS)


def copied_from(counts: DataFrame, table: str, **constants: object) -> Blocks:
    """`rows_of` for counts in which every pair has one row, a file for each of their files.

    `counts` are the files that `rows_of` has made for one wave (`etl.lake.spark.Lake.files`).
    """

    def make(file: pa.Table) -> pa.Table:
        return _rows(read_files(file, PAIRS.names), table, constants)

    return Blocks(counts, make, group_by="file")


def _rows(pairs: pa.Table, table: str, constants: Mapping[str, object]) -> pa.Table:
    columns = dict(zip(pairs.column_names, pairs.columns, strict=True))
    return rows_of_schema(declaration(table).schema, pairs.num_rows, {**columns, **constants})


def new_digests(staged_rows: DataFrame, earlier_digests: DataFrame | None) -> DataFrame:
    """The digests of a wave's sentences (or documents) that no earlier wave has counted."""
    digests = kind(staged_rows, "digest").select("digest").distinct()
    return (
        digests
        if earlier_digests is None
        else digests.join(earlier_digests.select("digest"), "digest", "left_anti")
    )


def once(pairs: DataFrame, new: DataFrame) -> DataFrame:
    """Staged pairs with those of equal sentences (or documents) kept once, seen ones left out.

    Equal digests mean equal content, so equal pairs: any of the copies may stay.
    """
    return pairs.dropDuplicates(["digest", "adjective", "noun"]).join(
        new.select("digest"), "digest", "left_semi"
    )


def sentences_of(
    staged_rows: DataFrame, corpus: str, new: DataFrame | None, deduplicate: str
) -> DataFrame:
    """Rows of the table ``sentences``; with `new`, of sentences and documents not seen before.

    Of equal sentences the one of the first document, by name, stays; of equal documents the first.
    """
    rows = kind(staged_rows, "sentence").select("digest", "document", "place", "text")
    if new is not None:
        # A document may repeat a sentence, and its digest stands for all of it.
        keys = ("digest", "place") if deduplicate == "document" else ("digest", "text")
        rows = (
            rows.groupBy(*keys)
            .agg(F.min(F.struct("document", "place", "text")).alias("first"))
            .join(new.select("digest"), "digest", "left_semi")
            .select("first.document", "first.place", "first.text")
        )
    content = F.concat_ws(
        "\u0001", F.lit(corpus), "document", F.col("place").cast("string"), "text"
    )
    return rows.select(
        F.lit(corpus).alias("corpus"),
        "document",
        F.substring(F.sha2(content, 256), 1, 32).alias("sentence_id"),
        "text",
    )


def relations_of(staged_rows: DataFrame, earlier_rows: DataFrame | None, corpus: str) -> DataFrame:
    """Rows of ``relation_pairs``: sums of staged counts and of `earlier_rows` rows, sorted."""
    counts = kind(staged_rows, "relation").select(
        F.col("reason").alias("relation"),
        F.col("adjective").alias("dependent"),
        F.col("noun").alias("head"),
        "count",
    )
    if earlier_rows is not None:
        counts = counts.unionByName(earlier_rows.drop("corpus"))
    summed = counts.groupBy("relation", "dependent", "head").agg(F.sum("count").alias("count"))
    sorted_rows = sort_rows(summed, "relation", "head", "dependent")
    return sorted_rows.where("place > 0").select(
        F.lit(corpus).alias("corpus"), "relation", "dependent", "head", "count"
    )


def examples_of(staged_rows: DataFrame, corpus: str, per_pair: int, seed: int) -> DataFrame:
    """Rows of ``amod_examples``: of each pair the `per_pair` sentences that rank first.

    The rank is a hash of (seed, adjective, noun, sentence), so that the choice is random, yet the
    same for any order of reading, and can be brought up to date with further candidates. Of
    documents that share a sentence the first by name stays.
    """
    content = F.concat_ws("\u0001", F.lit(str(seed)), "adjective", "noun", "sentence")
    best = Window.partitionBy("adjective", "noun").orderBy("rank")
    return (
        staged_rows.groupBy("adjective", "noun", "sentence")
        .agg(F.min("document").alias("document"))
        .withColumn("rank", F.sha2(content, 256))
        .withColumn("place", F.row_number().over(best))
        .where(F.col("place") <= per_pair)
        .select(F.lit(corpus).alias("corpus"), "adjective", "noun", "sentence", "document")
    )
