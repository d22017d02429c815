"""ASP's DataFrames: rows spread over tasks, tables asp_entailment, asp_degree, asp_splits.

Every row is made from its number alone, so nothing is exchanged between tasks and any partitioning
gives the same rows.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from conf import UserError, settings_hash
from etl.asp import TESTS, TRAINED, rounds, splits
from etl.asp.degree import Degree, DegreeRow
from etl.asp.entailment import Entailment, Row
from etl.asp.gold import Gold, published_gold, scaled
from etl.asp.lexicon import Lexicon, lexicon
from etl.asp.settings import Settings
from etl.engine import map_arrow, running, start
from etl.lake.frames import spark_schema
from etl.lake.scratch import Scratch, scratch
from etl.lake.spark import Lake
from etl.lake.tables import table

__all__ = ["Recipe", "build", "degree_rows", "entailment_rows", "split_rows"]

JOB = "build_asp"

log = logging.getLogger("adnominal")


@dataclass(frozen=True)
class Recipe:
    """What the rows depend on; goes to the workers, which make their tables of words from it.

    `pairs` are the (adjective, noun) combinations that a corpus backs, null for all;
    `thresholds` and `curves` the gold, as (test, polarity, value) and (test, polarity, z, share).
    """

    settings: Settings
    pairs: frozenset[tuple[str, str]] | None = None
    thresholds: tuple[tuple[str, str, float], ...] = ()
    curves: tuple[tuple[str, str, float, float], ...] = ()

    def words(self) -> Lexicon:
        """The lexicon, narrowed to what the corpus backs."""
        own = lexicon()
        return own if self.pairs is None else own.backed(self.pairs)[0]

    def gold(self) -> Gold:
        """The published thresholds, or those of the judgements given."""
        if not self.thresholds:
            return published_gold()
        curves: dict[tuple[str, str], dict[float, float]] = {}
        for test, polarity, z, share in self.curves:
            curves.setdefault((test, polarity), {})[z] = share
        return Gold(
            self.settings.gold,
            {(test, polarity): value for test, polarity, value in self.thresholds},
            {key: scaled(curve) for key, curve in curves.items()}
            if self.settings.gold == "empirical"
            else {},
        )

    def entailment(self) -> Entailment:
        """The rows of entailment inference; made once per process."""
        return _entailment(self)

    def degree(self) -> Degree:
        """The rows of degree estimation; made once per process."""
        return _degree(self)

    def __hash__(self) -> int:
        # Settings hold lists; the hash of their text stands for them.
        return hash((settings_hash(self.settings), self.pairs, self.thresholds, self.curves))


@lru_cache(maxsize=2)
def _entailment(recipe: Recipe) -> Entailment:
    own = recipe.settings
    return Entailment(
        recipe.words(),
        own.seed,
        boosters=own.boosters,
        diminishers=own.diminishers,
        balanced=own.balanced,
        text=own.text,
    )


@lru_cache(maxsize=2)
def _degree(recipe: Recipe) -> Degree:
    own = recipe.settings
    return Degree(
        recipe.words(),
        own.seed,
        recipe.gold(),
        boosters=own.boosters,
        diminishers=own.diminishers,
        z_range=(own.z_from, own.z_to),
        numbers=own.numbers,
        text=own.text,
    )


def build(settings: Settings) -> None:
    """ASP: entailment inference and degree estimation over scales of adjectives; and splits.

    Writes entailment=N rows of each of the eight tests to asp_entailment, degree=N rows to
    asp_degree, and the rounds of fine-tuning to asp_splits, as edition=NAME, which it replaces.
    With rounds=drawn (the paper's) the rounds have rows of their own, as edition NAME_tuning.
    """
    spark = start(f"{JOB} {settings.name}", settings).spark
    lake = Lake(spark, settings.lake)
    started = time.monotonic()
    recipe, dropped = _recipe(lake, settings)
    # Every row is made of these, so what the lexicon cannot give is known before a row is made.
    recipe.entailment().check(settings.entailment)
    if settings.degree:
        recipe.degree().check(settings.degree)
    meta = {"settings": settings_hash(settings), "seed": str(settings.seed)}
    partition = {"edition": settings.name}
    size = 0
    for name, rows, count in (
        ("asp_entailment", entailment_rows(spark, recipe), settings.entailment),
        ("asp_degree", degree_rows(spark, recipe), settings.degree * len(settings.variants)),
    ):
        lake.replace(name, rows, partition, job=JOB, metadata=meta, allow_empty=True)
        size += len(TESTS) * count
        seconds = time.monotonic() - started
        log.info("%s: %d rows after %.1f s (%.0f rows/s)", name, size, seconds, size / seconds)
    job = f"{JOB}/{settings.name}"
    left_out = pa.Table.from_pylist(dropped, table("dropped").schema)
    lake.replace("dropped", left_out, {"job": job}, job=JOB, allow_empty=True)
    if settings.splits and settings.rounds == "drawn":
        tables = drawn_rounds(recipe)
        for name, own in tables.items():
            where = {"edition": settings.tuning}
            lake.replace(name, own, where, job=JOB, metadata=meta)
            log.info("%s: %d rows of %s", name, own.num_rows, settings.tuning)
    with scratch(settings.lake) as folder:
        assigned = (
            split_rows(lake, recipe, folder)
            if settings.splits and settings.rounds == "assigned"
            else table("asp_splits").schema.empty_table()
        )
        lake.replace("asp_splits", assigned, partition, job=JOB, metadata=meta, allow_empty=True)
    log.info("splits after %.1f s", time.monotonic() - started)


def _recipe(lake: Lake, settings: Settings) -> tuple[Recipe, list[dict[str, Any]]]:
    """What the tables of the lake add to the settings, and what was dropped for it."""
    pairs, dropped = None, []
    if settings.corpus is not None:
        words = lexicon()
        pairs = frozenset(
            (row["adjective"], row["noun"])
            for row in lake.read("amod_pairs", where={"corpus": settings.corpus})
            .where(F.col("count") >= settings.min_count)
            .where(F.col("adjective").isin(sorted(words.words)))
            .where(F.col("noun").isin(sorted(words.nouns)))
            .select("adjective", "noun")
            .collect()
        )
        if not pairs:
            raise UserError(
                f"corpus={settings.corpus}: no pair of the lexicon with {settings.min_count} or "
                "more occurrences in amod_pairs; expected a corpus that "
                "`python -m etl.lake show amod_pairs` lists"
            )
        _, lost = words.backed(pairs)
        log.info("%d combinations left out for want of %s", len(lost), settings.corpus)
        if lost:
            dropped.append(
                {
                    "job": f"{JOB}/{settings.name}",
                    "table": "asp_entailment",
                    "reason": f"combination not in {settings.corpus}",
                    "count": len(lost),
                    "sample": " ".join(lost[0]),
                }
            )
    thresholds: dict[tuple[str, str], float] = {}
    curves: list[tuple[str, str, float, float]] = []
    if settings.human is not None:
        for row in lake.read("asp_human", where={"source": settings.human}).collect():
            thresholds[row["test"], row["polarity"]] = row["threshold"]
            curves.append((row["test"], row["polarity"], row["z"], row["share"]))
        missing = sorted(set(published_gold().thresholds) - set(thresholds))
        if missing:
            listed = ", ".join(" ".join(key) for key in missing)
            raise UserError(
                f"human={settings.human}: no judgements in asp_human of {listed}; expected all "
                "six tests, positive and negative (etl/judge_asp.py)"
            )
    return (
        Recipe(
            settings,
            pairs,
            tuple((test, polarity, cut) for (test, polarity), cut in sorted(thresholds.items())),
            tuple(sorted(curves)),
        ),
        dropped,
    )


def _batch(name: str, rows: Sequence[Sequence[Any]], edition: str) -> pa.RecordBatch:
    schema = table(name).schema
    columns: Iterable[Sequence[Any]] = zip(*rows, strict=True) if rows else [[]] * (len(schema) - 1)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=False)]
    arrays.append(pa.array([edition] * len(rows), pa.string()))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def entailment_rows(spark: SparkSession, recipe: Recipe) -> DataFrame:
    """Rows of ``asp_entailment``: number n is row n % size of test n // size."""
    size = recipe.settings.entailment

    def made(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        source = recipe.entailment()
        for batch in batches:
            rows: list[Row] = []
            for at in batch.column(0).to_pylist():
                test, number = divmod(at, size)
                rows += source.rows(TESTS[test], number, number + 1)
            yield _batch("asp_entailment", rows, recipe.settings.name)

    total = len(TESTS) * size
    tasks = math.ceil(total / recipe.settings.task_size)
    numbers = spark.range(0, total, 1, running().partitions(tasks, tasks))
    return map_arrow(numbers, made, spark_schema(table("asp_entailment").schema))


def degree_rows(spark: SparkSession, recipe: Recipe) -> DataFrame:
    """Rows of ``asp_degree``: number n is group n % groups of test n // groups."""
    settings = recipe.settings
    groups = settings.degree // settings.numbers
    a_group = settings.numbers * len(settings.variants)

    def made(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        source = recipe.degree()
        for batch in batches:
            rows: list[DegreeRow] = []
            for at in batch.column(0).to_pylist():
                test, number = divmod(at, groups)
                rows += source.rows(source.group(TESTS[test], number), settings.variants)
                if len(rows) >= 20_000:
                    yield _batch("asp_degree", rows, settings.name)
                    rows = []
            yield _batch("asp_degree", rows, settings.name)

    total = len(TESTS) * groups
    tasks = math.ceil(total * a_group / settings.task_size)
    numbers = spark.range(0, total, 1, running().partitions(tasks, tasks))
    return map_arrow(numbers, made, spark_schema(table("asp_degree").schema))


def drawn_rounds(recipe: Recipe) -> dict[str, pa.Table]:
    """The rounds whose words are drawn before their rows (`etl.asp.rounds`), by table.

    Their size is fixed, some hundred thousand rows. A row of several rounds is in its table once.
    """
    settings = recipe.settings
    edition = settings.tuning
    sources: list[tuple[str, Iterator[tuple[rounds.Place, Row | DegreeRow]]]] = []
    if settings.entailment:
        outs = splits.held_out(recipe.words(), settings.seed)
        inferred = rounds.entailment(recipe.entailment(), outs, settings.entailment)
        sources.append(("asp_entailment", inferred))
    if settings.degree:
        sources.append(("asp_degree", rounds.degree(recipe.degree(), settings.degree)))
    tables, places = {}, []
    for name, drawn in sources:
        rows: dict[str, Row | DegreeRow] = {}
        for place, row in drawn:
            rows.setdefault(row.item_id, row)
            places.append((*place, row.item_id, edition))
        tables[name] = pa.Table.from_batches([_batch(name, list(rows.values()), edition)])
    schema = table("asp_splits").schema
    columns = zip(*dict.fromkeys(places), strict=True)
    tables["asp_splits"] = pa.Table.from_arrays([pa.array(c) for c in columns], schema=schema)
    return tables


def split_rows(lake: Lake, recipe: Recipe, folder: Scratch) -> DataFrame:
    """Rows of ``asp_splits``; in train and val all of label3 are equally many, by hash."""
    edition, seed = recipe.settings.name, recipe.settings.seed
    where = {"edition": edition}
    schema = pa.schema(
        [(name, pa.string()) for name in ("scheme", "round", "part", "item_id", "label3")]
    )
    outs = splits.held_out(recipe.words(), seed)

    def batch(found: Sequence[tuple[tuple[str, str, str], str, str | None]]) -> pa.RecordBatch:
        return pa.RecordBatch.from_pylist(
            [
                {"scheme": s, "round": r, "part": p, "item_id": item, "label3": label}
                for (s, r, p), item, label in found
            ],
            schema=schema,
        )

    def entailment(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for own in batches:
            found: list[tuple[tuple[str, str, str], str, str | None]] = []
            for row in own.to_pylist():
                adjectives = {row["adjective"], row["other_adjective"] or row["adjective"]}
                nouns = {row["noun"], row["other_noun"] or row["noun"]}
                pair = f"{row['test']} {sorted(adjectives)} {sorted(nouns)} {row['modifier']}"
                places = splits.assign_entailment(outs, seed, row["test"], adjectives, pair)
                found += [(place, row["item_id"], row["label3"]) for place in places]
            yield batch(found)

    def degree(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for own in batches:
            found: list[tuple[tuple[str, str, str], str, str | None]] = []
            for row in own.to_pylist():
                place_of = (row["test"], row["dimension"], row["z"], row["label"], row["item_id"])
                places = splits.assign_degree(seed, *place_of)
                found += [(place, row["item_id"], row["label3"]) for place in places]
            yield batch(found)

    text = ", ".join(f"{field.name} string" for field in schema)
    one = lake.read("asp_entailment", where=where).select(
        "item_id",
        "test",
        "label3",
        "adjective",
        "other_adjective",
        "noun",
        "other_noun",
        "modifier",
    )
    two = (
        lake.read("asp_degree", where=where)
        # The variants are for testing robustness.
        .where((F.col("variant") == "base") | ~F.col("test").isin(*TRAINED))
        .select("item_id", "test", "dimension", "z", "label", "label3")
    )
    # Small (ids alone), and read three times: to be counted, to be cut, and as it is.
    both = folder.keep(map_arrow(one, entailment, text).unionAll(map_arrow(two, degree, text)))
    tested = both.where(F.col("part") == "test")
    trained = both.where(F.col("part") != "test")
    part = ["scheme", "round", "part"]
    sizes = (
        trained.groupBy(*part, "label3").count().groupBy(*part).agg(F.min("count").alias("most"))
    )
    place = Window.partitionBy(*part, "label3").orderBy(F.hash("item_id"), "item_id")
    balanced = (
        trained.withColumn("place", F.row_number().over(place))
        .join(F.broadcast(sizes), part)
        .where(F.col("place") <= F.col("most"))
    )
    columns = [*part, "item_id"]
    return (
        tested.select(*columns)
        .unionAll(balanced.select(*columns))
        .withColumn("edition", F.lit(edition))
    )
