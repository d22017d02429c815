"""The job that builds the tables ``sygns`` and ``sygns_splits``, with draws spread over tasks.

The sentence of a draw depends only on its number. An edition has the sentences of the first draws,
up to the draw that makes enough of them different, whatever the partitioning. The job finds that
draw (from only the sentences, which is cheap), then composes the meanings of the selected draws.
"""

import math
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from itertools import accumulate
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from adnominal.conf import UserError
from adnominal.etl.building import begin_build
from adnominal.etl.engine import map_arrow, running
from adnominal.etl.lake.frames import sort_rows, spark_schema
from adnominal.etl.lake.schema import batch_of
from adnominal.etl.lake.scratch import Scratch, scratch
from adnominal.etl.lake.tables import table
from adnominal.etl.sygns import splits
from adnominal.etl.sygns.generate import Record, Sampler, record, sentence_id, surface
from adnominal.etl.sygns.grammar import Grammar, grammar
from adnominal.etl.sygns.settings import Settings

JOB = "build_sygns"
# The two sides of table 10: quantifiers that are embedded in training, and the others.
TRAINED = {"detSing": ("every", "one"), "detPlur": ("two",)}
UNSEEN = {"detSing": ("a",), "detPlur": ("all", "three")}
# The schemes that use the sentences= of depth 0 (column all); the others have their own column.
FROM_ALL = ("systematicity", "quantifier_negation")
# Draws with consecutive numbers that are counted together, and later moved to one task together.
DRAWS_PER_BLOCK = 1000


@dataclass(frozen=True)
class Stream:
    """Draws of one kind at one depth; `words` narrows categories to some words."""

    name: str
    depth: int
    size: int
    words: tuple[tuple[str, tuple[str, ...]], ...] = ()


def streams_of(settings: Settings) -> list[Stream]:
    """Return all streams that the settings request."""
    size_at_0 = max(settings.sentences, settings.per_depth)
    streams = [
        Stream("main", depth, settings.per_depth if depth else size_at_0)
        for depth in range(settings.max_depth + 1)
    ]
    if settings.embedded and "embedded_quantifiers" in settings.schemes:
        streams.append(Stream("embedded", 0, settings.embedded))
        for depth in range(1, settings.max_depth + 1):
            for name, words in (("trained", TRAINED), ("unseen", UNSEEN)):
                streams.append(Stream(name, depth, settings.embedded, tuple(words.items())))
    return streams


@cache
def _sampler(words: Grammar, seed: int, stream: Stream) -> Sampler:
    """Return the sampler, built once per worker process."""
    return Sampler(words, stream.depth, seed, stream.name, dict(stream.words))


def sampler_of(settings: Settings, stream: Stream) -> Sampler:
    """The sampler of one of the settings' streams."""
    rules: Any = settings.rules
    arguments: Any = None if settings.arguments == "auto" else settings.arguments
    words = grammar(rules, settings.adjectives, settings.adverbs, arguments=arguments)
    return _sampler(words, settings.seed, stream)


def build(settings: Settings) -> None:
    """Build SyGNS: sentences with FOL, DRS and VF meanings, polarities, phenomena and splits.

    Draws sentences=N of depth 0 and per_depth=N of each further depth, and writes them to the table
    sygns and their splits to sygns_splits, replacing edition=NAME.
    """
    run = begin_build(JOB, settings)
    with scratch(settings.lake) as folder:
        lake = run.lake
        # A sentence that several streams drew is one row, in the splits of all of them.
        sentence_rows = folder.keep(
            selected_draws(lake.spark, settings, folder)
            .groupBy("sentence_id", "depth")
            .agg(
                F.min(F.struct("stream", "number")).alias("source"),
                F.max("all").alias("all"),
                F.max("productivity").alias("productivity"),
                F.max("embedded").alias("embedded"),
            )
            .withColumns({"stream": F.col("source.stream"), "number": F.col("source.number")})
            .drop("source")
        )
        size = sentence_rows.count()
        run.report("%d sentences drawn", size)
        run.replace("sygns", with_meanings(sentence_rows, settings))
        run.report("with their meanings (%.0f sentences/s)", size / run.seconds)
        flags = sentence_rows.select("sentence_id", "all", "productivity", "embedded")
        sentences = lake.read("sygns", where={"edition": settings.name}).join(flags, "sentence_id")
        assigned = split_rows(sentences, settings.schemes, settings.seed, settings.name)
        run.replace("sygns_splits", assigned, allow_empty=True)


def selected_draws(spark: SparkSession, settings: Settings, folder: Scratch) -> DataFrame:
    """For each stream, the draws whose sentences are its first `size` different ones.

    Columns: sentence_id, depth, stream (its position in `streams_of`), number, and for which splits
    the sentence is drawn (all, productivity, embedded).

    Raises:
        UserError: the grammar has too few sentences of a depth.
    """
    streams = streams_of(settings)
    first, last = _complete_draws(spark, settings, streams, folder)
    selected = F.lit(False)
    productive = F.lit(False)
    for i, stream in enumerate(streams):
        in_stream = F.col("stream") == i
        selected |= in_stream & (F.col("number") <= last[i, stream.size])
        if stream.name == "main":
            productive |= in_stream & (F.col("number") <= last[i, settings.per_depth])
    main = F.col("stream").isin([i for i, stream in enumerate(streams) if stream.name == "main"])
    depth = F.element_at(F.array([F.lit(s.depth) for s in streams]), F.col("stream") + 1)
    return first.where(selected).select(
        "sentence_id",
        depth.alias("depth"),
        "stream",
        "number",
        ((F.col("stream") == 0) & (F.col("number") <= last[0, settings.sentences])).alias("all"),
        productive.alias("productivity"),
        (~main).alias("embedded"),
    )


def _complete_draws(
    spark: SparkSession, settings: Settings, streams: Sequence[Stream], folder: Scratch
) -> tuple[DataFrame, dict[tuple[int, int], int]]:
    """Return the first draw of each sentence, from enough draws for every stream.

    Also return, by (stream, size), the number of the draw that completes that many sentences. A
    sentence may be drawn more than once, so how many draws a size needs is only estimated; streams
    that lack sentences are drawn again with twice as many.
    """
    draws, limits = [], []
    for stream in streams:
        sampler = sampler_of(settings, stream)
        if stream.size > sampler.sentences:
            raise UserError(
                f"{stream.size} sentences of depth {stream.depth} requested, but there are "
                f"{sampler.sentences} with {settings.adjectives} adjectives and {settings.adverbs} "
                "adverbs; ask for fewer, or for more words"
            )
        limits.append(100 * stream.size)
        draws.append(min(limits[-1], _expected_draws(stream.size, sampler.total)))
    # The sizes to be reached: each stream's, and those of the parts of the main streams.
    sizes = {(i, stream.size) for i, stream in enumerate(streams)}
    sizes |= {(i, settings.per_depth) for i, stream in enumerate(streams) if stream.name == "main"}
    sizes.add((0, settings.sentences))  # the first stream is the main one of depth 0
    while True:
        first = folder.keep(_first_draws(spark, settings, streams, draws))
        last = _last_draws(first, sizes)
        incomplete = [i for i, stream in enumerate(streams) if (i, stream.size) not in last]
        if not incomplete:
            return first, last
        for i in incomplete:
            if draws[i] >= limits[i]:
                raise UserError(
                    f"{streams[i].size} different sentences of depth {streams[i].depth} requested, "
                    f"but {draws[i]} draws gave fewer; ask for fewer, or for more adjectives and "
                    "adverbs"
                )
            draws[i] = min(2 * draws[i], limits[i])


def _expected_draws(size: int, pool: int) -> int:
    """Enough draws to give `size` different ones of `pool` equally likely sentences."""
    if size >= pool:
        return 3 * size
    return math.ceil(-pool * math.log1p(-size / pool) * 1.05) + 100


def _first_draws(
    spark: SparkSession, settings: Settings, streams: Sequence[Stream], draws: Sequence[int]
) -> DataFrame:
    """For each stream and sentence, the number of the first of its `draws` with that sentence."""
    starts = list(accumulate(draws, initial=0))
    schema = pa.schema(
        [("sentence_id", pa.string()), ("stream", pa.int32()), ("number", pa.int64())]
    )

    def ids(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows: list[tuple[str, int, int]] = []
            for position in batch.column(0).to_pylist():
                i = bisect_right(starts, position) - 1
                number = position - starts[i]
                tree = sampler_of(settings, streams[i]).tree(number)
                rows.append((sentence_id(surface(tree), streams[i].depth), i, number))
            yield batch_of(rows, schema)

    tasks = math.ceil(starts[-1] / settings.task_size)
    numbers = spark.range(0, starts[-1], 1, running().partitions(tasks, tasks))
    return (
        map_arrow(numbers, ids, spark_schema(schema))
        .groupBy("stream", "sentence_id")
        .agg(F.min("number").alias("number"))
    )


def _last_draws(first: DataFrame, sizes: Collection[tuple[int, int]]) -> dict[tuple[int, int], int]:
    """For each (stream, size), the number of the draw that completes `size` sentences.

    Streams with fewer sentences are not in it. Sentences are counted by blocks of draws, so that
    the driver holds at most a few thousand numbers.
    """
    block = F.floor(F.col("number") / DRAWS_PER_BLOCK)
    counts: dict[int, list[tuple[int, int]]] = {}
    for row in first.groupBy("stream", block.alias("block")).count().collect():
        counts.setdefault(row["stream"], []).append((row["block"], row["count"]))
    # By (stream, block): the sizes that are completed in it, with the sentences still missing.
    draws_by_depth: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for stream, size in sizes:
        missing = size
        for number, count in sorted(counts.get(stream, [])):
            if count >= missing:
                draws_by_depth.setdefault((stream, number), []).append((size, missing))
                break
            missing -= count
    numbers: dict[tuple[int, int], list[int]] = {}
    in_blocks = reduce(
        lambda a, b: a | b,
        [(F.col("stream") == stream) & (block == number) for stream, number in draws_by_depth],
        F.lit(False),
    )
    for row in first.where(in_blocks).select("stream", "number").collect():
        key = (row["stream"], row["number"] // DRAWS_PER_BLOCK)
        numbers.setdefault(key, []).append(row["number"])
    return {
        (stream, size): sorted(numbers[stream, number])[missing - 1]
        for (stream, number), sizes_in_block in draws_by_depth.items()
        for size, missing in sizes_in_block
    }


def record_batch(records: Sequence[Record], edition: str) -> pa.RecordBatch:
    """The records as rows of the table ``sygns``."""
    schema = table("sygns").schema

    def polarity(pairs: Sequence[tuple[str, str]]) -> list[dict[str, str]]:
        return [{"word": word, "direction": direction} for word, direction in pairs]

    rows = [
        {
            **{name: getattr(record, name) for name in schema.names if name != "edition"},
            "polarity_fol": polarity(record.polarity_fol),
            "polarity_vf": polarity(record.polarity_vf),
            "edition": edition,
        }
        for record in records
    ]
    return pa.RecordBatch.from_pylist(rows, schema)


def with_meanings(draws: DataFrame, settings: Settings) -> DataFrame:
    """Rows of the table ``sygns`` for draws given by stream and number."""
    streams = streams_of(settings)
    boxes: Any = settings.boxes

    def meanings(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            records = []
            for i, number in zip(
                *(batch[c].to_pylist() for c in ("stream", "number")), strict=True
            ):
                sampler = sampler_of(settings, streams[i])
                tree = sampler.tree(number)
                records.append(record(sampler.grammar, sampler.depth, tree, boxes))
            yield record_batch(records, settings.name)

    # The draws are small and cheap to move; the rows made from them are not.
    tasks = math.ceil(sum(stream.size for stream in streams) / settings.task_size)
    block = F.floor(F.col("number") / DRAWS_PER_BLOCK)
    numbers = sort_rows(
        draws.select("stream", "number", block.alias("block")).repartition(
            running().partitions(tasks, tasks), "stream", "block"
        ),
        ("stream", "block"),
        "number",
    )
    return map_arrow(numbers, meanings, spark_schema(table("sygns").schema))


def split_rows(sentences: DataFrame, schemes: Sequence[str], seed: int, edition: str) -> DataFrame:
    """Rows of the table ``sygns_splits`` for rows of ``sygns``.

    The boolean columns all, productivity and embedded say which schemes a sentence is drawn for.
    """

    def assign(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        schema = table("sygns_splits").schema
        for batch in batches:
            assigned = []
            for row in batch.to_pylist():
                schemes_of_row = [s for s in schemes if row[s if s not in FROM_ALL else "all"]]
                assigned += splits.rows_of(row, schemes_of_row, seed, edition)
            yield pa.RecordBatch.from_pylist(assigned, schema=schema)

    renamed = sentences.select(
        "sentence_id",
        "depth",
        "sentence",
        "phenomena",
        "all",
        "productivity",
        F.col("embedded").alias("embedded_quantifiers"),
    )
    return map_arrow(renamed, assign, spark_schema(table("sygns_splits").schema))
