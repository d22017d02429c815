"""SyGNS's DataFrames: draws spread over tasks, tables ``sygns`` and ``sygns_splits``.

A draw's sentence depends on its number alone, so the sentences of an edition are those of the first
draws until enough are different, whatever the partitioning. The job finds how many draws that takes
(sentences only, which is cheap), and composes the meanings of the ones it keeps.
"""

from __future__ import annotations

import logging
import math
import time
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from itertools import accumulate
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from conf import UserError, settings_hash
from etl.engine import map_arrow, running, start
from etl.lake.frames import ordered, spark_schema
from etl.lake.scratch import Scratch, scratch
from etl.lake.spark import Lake
from etl.lake.tables import table
from etl.sygns import splits
from etl.sygns.generate import Record, Sampler, record, sentence_id, surface
from etl.sygns.grammar import Edition, grammar
from etl.sygns.settings import Settings

__all__ = ["build", "drawn", "rows", "split_rows", "with_meanings"]

JOB = "build_sygns"
# Sides of table 10: what training shows embedded, and what it does not.
TRAINED = {"detSing": ("every", "one"), "detPlur": ("two",)}
UNSEEN = {"detSing": ("a",), "detPlur": ("all", "three")}
# The schemes by the draws that they are made of.
_RUN = 1000  # draws that stay together
FROM_ALL = ("systematicity", "quantifier_negation")

log = logging.getLogger("adnominal")


@dataclass(frozen=True)
class Stream:
    """Draws of one kind at one depth; `words` narrows categories to some words."""

    name: str
    depth: int
    size: int
    words: tuple[tuple[str, tuple[str, ...]], ...] = ()


def streams(settings: Settings) -> list[Stream]:
    """Everything that the settings ask to be drawn."""
    at_0 = max(settings.sentences, settings.per_depth)
    result = [
        Stream("main", depth, settings.per_depth if depth else at_0)
        for depth in range(settings.max_depth + 1)
    ]
    if settings.embedded and "embedded_quantifiers" in settings.schemes:
        result.append(Stream("embedded", 0, settings.embedded))
        for depth in range(1, settings.max_depth + 1):
            for name, words in (("trained", TRAINED), ("unseen", UNSEEN)):
                result.append(Stream(name, depth, settings.embedded, tuple(words.items())))
    return result


@cache
def _sampler(rules: Edition, adjectives: int, adverbs: int, seed: int, stream: Stream) -> Sampler:
    """Made once per worker process."""
    own = grammar(rules, adjectives, adverbs)
    return Sampler(own, stream.depth, seed, stream.name, dict(stream.words))


def sampler_of(settings: Settings, stream: Stream) -> Sampler:
    """The sampler of one of the settings' streams."""
    rules: Any = settings.rules
    return _sampler(rules, settings.adjectives, settings.adverbs, settings.seed, stream)


def build(settings: Settings) -> None:
    """SyGNS: sentences with meanings in FOL, DRS and VF, polarities and phenomena; and splits.

    Draws sentences=N of depth 0 and per_depth=N of each further depth, writes them to the table
    sygns and their splits to sygns_splits, as edition=NAME, which it replaces.
    """
    spark = start(f"{JOB} {settings.name}", settings).spark
    lake = Lake(spark, settings.lake)
    with scratch(settings.lake) as folder:
        _build(lake, folder, settings)


def _build(lake: Lake, folder: Scratch, settings: Settings) -> None:
    started = time.monotonic()
    # A sentence that several streams drew is one row, and of every split that they are for.
    merged = folder.keep(
        drawn(lake.spark, settings, folder)
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
    size = merged.count()
    log.info("%d sentences drawn after %.1f s", size, time.monotonic() - started)
    meta = {"settings": settings_hash(settings), "seed": str(settings.seed)}
    partition = {"edition": settings.name}
    lake.replace("sygns", with_meanings(merged, settings), partition, job=JOB, metadata=meta)
    seconds = time.monotonic() - started
    log.info("with their meanings after %.1f s (%.0f sentences/s)", seconds, size / seconds)
    flags = merged.select("sentence_id", "all", "productivity", "embedded")
    own = lake.read("sygns", where=partition).join(flags, "sentence_id")
    assigned = split_rows(own, settings.schemes, settings.seed, settings.name)
    lake.replace("sygns_splits", assigned, partition, job=JOB, metadata=meta, allow_empty=True)
    log.info("splits after %.1f s: %s", time.monotonic() - started, ", ".join(settings.schemes))


def drawn(spark: SparkSession, settings: Settings, folder: Scratch) -> DataFrame:
    """For each stream, the draws whose sentences are its first `size` different ones.

    Columns: sentence_id, depth, stream (its place in `streams`), number, and for which splits the
    sentence is (all, productivity, embedded).

    Raises:
        UserError: the grammar has too few sentences of a depth.
    """
    wanted = streams(settings)
    for stream in wanted:
        there = sampler_of(settings, stream).sentences
        if stream.size > there:
            raise UserError(
                f"{stream.size} sentences of depth {stream.depth} asked for, but there are {there} "
                f"with {settings.adjectives} adjectives and {settings.adverbs} adverbs; ask for "
                "fewer, or for more words"
            )
    limits = [100 * stream.size for stream in wanted]
    draws = [
        min(limit, _expected_draws(stream.size, sampler_of(settings, stream).total))
        for stream, limit in zip(wanted, limits, strict=True)
    ]
    while True:
        first = folder.keep(_first_draws(spark, settings, wanted, draws))
        sizes = {(i, stream.size) for i, stream in enumerate(wanted)}
        sizes |= {
            (i, settings.per_depth) for i, stream in enumerate(wanted) if stream.name == "main"
        }
        last = _cuts(first, sizes)
        short = [i for i, stream in enumerate(wanted) if (i, stream.size) not in last]
        if not short:
            break
        for i in short:
            if draws[i] >= limits[i]:
                raise UserError(
                    f"{wanted[i].size} different sentences of depth {wanted[i].depth} asked for, "
                    f"but {draws[i]} draws gave fewer; ask for fewer, or for more adjectives and "
                    "adverbs"
                )
            draws[i] = min(2 * draws[i], limits[i])
    kept = F.lit(False)
    productive = F.lit(False)
    for i, stream in enumerate(wanted):
        mine = F.col("stream") == i
        kept |= mine & (F.col("number") <= last[i, stream.size])
        if stream.name == "main":
            productive |= mine & (F.col("number") <= last[i, settings.per_depth])
    main = F.col("stream").isin([i for i, s in enumerate(wanted) if s.name == "main"])
    depth = F.element_at(F.array([F.lit(s.depth) for s in wanted]), F.col("stream") + 1)
    return first.where(kept).select(
        "sentence_id",
        depth.alias("depth"),
        "stream",
        "number",
        (main & (depth == 0)).alias("all"),
        productive.alias("productivity"),
        (~main).alias("embedded"),
    )


def _expected_draws(size: int, pool: int) -> int:
    """Draws that give `size` different of `pool` equally likely sentences, and some to spare."""
    if size >= pool:
        return 3 * size
    return math.ceil(-pool * math.log1p(-size / pool) * 1.05) + 100


def _first_draws(
    spark: SparkSession, settings: Settings, wanted: Sequence[Stream], draws: Sequence[int]
) -> DataFrame:
    """For each stream and sentence, the least number below the stream's `draws` that draws it."""
    starts = list(accumulate(draws, initial=0))

    def ids(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        schema = pa.schema(
            [("sentence_id", pa.string()), ("stream", pa.int32()), ("number", pa.int64())]
        )
        for batch in batches:
            found: list[tuple[str, int, int]] = []
            for at in batch.column(0).to_pylist():
                i = bisect_right(starts, at) - 1
                number = at - starts[i]
                tree = sampler_of(settings, wanted[i]).tree(number)
                found.append((sentence_id(surface(tree), wanted[i].depth), i, number))
            columns = zip(*found, strict=True)
            yield pa.RecordBatch.from_arrays(
                [pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)], schema=schema
            )

    tasks = math.ceil(starts[-1] / settings.task_size)
    numbers = spark.range(0, starts[-1], 1, running().partitions(tasks, tasks))
    return (
        map_arrow(numbers, ids, "sentence_id string, stream int, number long")
        .groupBy("stream", "sentence_id")
        .agg(F.min("number").alias("number"))
    )


def _cuts(first: DataFrame, sizes: Collection[tuple[int, int]]) -> dict[tuple[int, int], int]:
    """For each (stream, size), the number of the draw that made `size` sentences complete.

    Left out where there are fewer. Counted by blocks of a thousand draws, so that the driver holds
    a few thousand numbers at most.
    """
    block = F.floor(F.col("number") / 1000)
    counts: dict[int, list[tuple[int, int]]] = {}
    for row in first.groupBy("stream", block.alias("block")).count().collect():
        counts.setdefault(row["stream"], []).append((row["block"], row["count"]))
    # (stream, block) -> the sizes that are reached in it, and how many are left to reach them.
    inside: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for i, size in sizes:
        left = size
        for at, count in sorted(counts.get(i, [])):
            if count >= left:
                inside.setdefault((i, at), []).append((size, left))
                break
            left -= count
    numbers: dict[tuple[int, int], list[int]] = {}
    where = reduce(
        lambda a, b: a | b,
        [(F.col("stream") == i) & (block == at) for i, at in inside],
        F.lit(False),
    )
    for row in first.where(where).select("stream", "number").collect():
        numbers.setdefault((row["stream"], row["number"] // 1000), []).append(row["number"])
    return {
        (i, size): sorted(numbers[i, at])[left - 1]
        for (i, at), reached in inside.items()
        for size, left in reached
    }


def rows(records: Sequence[Record], edition: str) -> pa.RecordBatch:
    """Records as a batch of the table ``sygns``."""
    schema = table("sygns").schema

    def polarity(pairs: Sequence[tuple[str, str]]) -> list[dict[str, str]]:
        return [{"word": word, "direction": direction} for word, direction in pairs]

    values: Mapping[str, list[Any]] = {
        "sentence_id": [r.sentence_id for r in records],
        "depth": [r.depth for r in records],
        "sentence": [r.sentence for r in records],
        "fol": [r.fol for r in records],
        "drs": [r.drs for r in records],
        "vf": [r.vf for r in records],
        "polarity_fol": [polarity(r.polarity_fol) for r in records],
        "polarity_vf": [polarity(r.polarity_vf) for r in records],
        "phenomena": [list(r.phenomena) for r in records],
        "edition": [edition] * len(records),
    }
    return pa.RecordBatch.from_pydict(
        {name: pa.array(values[name], schema.field(name).type) for name in schema.names}
    )


def with_meanings(chosen: DataFrame, settings: Settings) -> DataFrame:
    """Rows of the table ``sygns`` for draws given by stream and number."""
    wanted = streams(settings)
    boxes: Any = settings.boxes

    def meanings(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            records = []
            places = zip(batch["stream"].to_pylist(), batch["number"].to_pylist(), strict=True)
            for i, number in places:
                sampler = sampler_of(settings, wanted[i])
                tree = sampler.tree(number)
                records.append(record(sampler.grammar, sampler.depth, tree, boxes))
            yield rows(records, settings.name)

    # What is chosen is small and cheap to move; what is made of it is neither.
    tasks = math.ceil(sum(stream.size for stream in wanted) / settings.task_size)
    run = F.floor(F.col("number") / _RUN)
    numbers = ordered(
        chosen.select("stream", "number", run.alias("run")).repartition(
            running().partitions(tasks, tasks), "stream", "run"
        ),
        ("stream", "run"),
        "number",
    )
    return map_arrow(numbers, meanings, spark_schema(table("sygns").schema))


def split_rows(sentences: DataFrame, schemes: Sequence[str], seed: int, edition: str) -> DataFrame:
    """Rows of the table ``sygns_splits`` for rows of ``sygns``.

    The boolean columns all, productivity and embedded say which schemes a sentence is drawn for.
    """
    chosen = list(schemes)

    def assign(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        schema = table("sygns_splits").schema
        for batch in batches:
            found = []
            for row in batch.to_pylist():
                allowed = [s for s in chosen if row[s if s not in FROM_ALL else "all"]]
                found += [
                    {
                        "scheme": scheme,
                        "primitive": primitive,
                        "part": part,
                        "sentence_id": row["sentence_id"],
                        "edition": edition,
                    }
                    for scheme, primitive, part in splits.assign(
                        allowed,
                        seed,
                        row["sentence_id"],
                        row["depth"],
                        row["sentence"],
                        row["phenomena"],
                    )
                ]
            yield pa.RecordBatch.from_pylist(found, schema=schema)

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
