"""Derive the results of a wave from its staged rows: DataFrame to DataFrame, without storage.

`staged_rows` is a DataFrame of `etl.amod.tasks.STAGED`. Every function gives the same rows for any
order and partitioning of its input.
"""

from collections.abc import Mapping

import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from adnominal.etl.amod import sums
from adnominal.etl.amod.kernel import BUCKETS, PAIRS
from adnominal.etl.engine import map_arrow
from adnominal.etl.lake.blocks import Blocks, read_files
from adnominal.etl.lake.frames import sort_rows
from adnominal.etl.lake.schema import rows_of_schema
from adnominal.etl.lake.tables import table as declaration

NO_PLACE = 2**62  # sorts after every line, so a sample with a line comes first


def kind(staged_rows: DataFrame, name: str) -> DataFrame:
    """The staged rows of one kind."""
    return staged_rows.where(F.col("kind") == name)


def statements(staged_rows: DataFrame) -> DataFrame:
    """Kind, file, reason, count, and the first place with its sample, per file and reason.

    These are a few rows per file, never one per line or pair.
    """
    return (
        staged_rows.where(F.col("kind").isin("stat", "rejected", "left_out", "failed"))
        .groupBy("kind", "file", "reason")
        .agg(
            F.sum("count").alias("count"),
            # the first line with a sample; samples without a line come last
            F.min(F.struct(F.coalesce("place", F.lit(NO_PLACE)).alias("place"), "text")).alias(
                "first"
            ),
        )
    )


def packed_of(pairs: DataFrame, parts: int, memory_bytes: int) -> DataFrame:
    """Distribute pairs (adjective, noun, count) over `parts` by noun, packed (`sums.PARTS`).

    A task holds up to `memory_bytes` of pairs, then yields its sums so far.
    """
    return map_arrow(
        pairs.select(PAIRS.names),
        lambda batches: sums.partial_sums(batches, parts, memory_bytes),
        from_arrow_schema(sums.PARTS),
        compiled=True,
    )


def packed_in(staged_rows: DataFrame, parts: int, memory_bytes: int) -> DataFrame:
    """The staged pairs over `parts` by noun, packed (`sums.PARTS`).

    Tasks have packed them by bucket, which the noun's hash decides. A part is some buckets, so that
    nothing is unpacked; only if there are more parts than buckets are the pairs divided again.
    """
    packed = kind(staged_rows, "pairs")
    if parts <= BUCKETS:
        # Both numbers are powers of two: the last bits of a bucket's number are its part.
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
    """Rows of a table of counts from packed pairs: each pair once, sorted, one file per part.

    `constants` are the values of the other columns.
    """

    def make(part: pa.Table) -> pa.Table:
        return _rows(sums.sums(part), table, constants)

    return Blocks(packed_pairs, make, group_by="part", large=parts >= sums.LARGE_PARTS)


def copy_counts(counts: DataFrame, table: str, **constants: object) -> Blocks:
    """Like `rows_of`, for counts in which every pair has one row; one file for each of theirs.

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
    if earlier_digests is None:
        return digests
    return digests.join(earlier_digests.select("digest"), "digest", "left_anti")


def pairs_of_new_sentences(pairs: DataFrame, new: DataFrame) -> DataFrame:
    """Staged pairs of new sentences (or documents), with those of equal ones kept once.

    Equal digests mean equal pairs, so any of the copies may be kept.
    """
    return pairs.dropDuplicates(["digest", "adjective", "noun"]).join(
        new.select("digest"), "digest", "left_semi"
    )


def sentences_of(
    staged_rows: DataFrame, corpus: str, new: DataFrame | None, deduplicate: str
) -> DataFrame:
    """Rows of the table ``sentences``; with `new`, only of new sentences or documents.

    Of equal sentences, the one of the first document by name is kept; of equal documents, the
    first.
    """
    rows = kind(staged_rows, "sentence").select("digest", "document", "place", "text")
    if new is not None:
        # A document may repeat a sentence, and its digest covers the whole document.
        keys = ("digest", "place") if deduplicate == "document" else ("digest",)
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
    """Rows of ``relation_pairs``: the sums of staged counts and of `earlier_rows`, sorted."""
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
    # All rows have a place above 0: the condition only makes the engines sort (`sort_rows`).
    return sorted_rows.where("place > 0").select(
        F.lit(corpus).alias("corpus"), "relation", "dependent", "head", "count"
    )


def examples_of(staged_rows: DataFrame, corpus: str, per_pair: int, seed: int) -> DataFrame:
    """Rows of ``amod_examples``: the `per_pair` first-ranked sentences of each pair.

    The rank is a hash of (seed, adjective, noun, sentence), so the choice is random but the same
    for any order of reading, and can be updated with further candidates. Of documents that share a
    sentence, the first by name is kept.
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
