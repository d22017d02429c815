"""The job that builds the tables asp_entailment, asp_degree and asp_splits.

Every row depends only on its number, so tasks exchange nothing and any partitioning gives the same
rows.
"""

import logging
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from adnominal.conf import UserError, settings_hash
from adnominal.etl.asp import (
    CONTRADICTION,
    DISCARD,
    ENTAILMENT,
    NEUTRAL,
    TESTS,
    TRAINED,
    rounds,
    splits,
)
from adnominal.etl.asp.controls import Control, ControlDegree, ControlEntailment
from adnominal.etl.asp.degree import Degree, DegreeRow
from adnominal.etl.asp.entailment import Entailment, Row
from adnominal.etl.asp.gold import Gold, published_gold, scaled_shares
from adnominal.etl.asp.lexicon import Lexicon, load_lexicon
from adnominal.etl.asp.settings import Settings
from adnominal.etl.asp.templates import Style
from adnominal.etl.building import begin_build
from adnominal.etl.dropped import Dropped
from adnominal.etl.engine import map_arrow, running
from adnominal.etl.lake.frames import spark_schema
from adnominal.etl.lake.schema import batch_of
from adnominal.etl.lake.scratch import Scratch, scratch
from adnominal.etl.lake.spark import Lake
from adnominal.etl.lake.tables import table

JOB = "build_asp"

# A row of a split, before the labels of its training rows are balanced.
_ASSIGNED = pa.schema(
    [(name, pa.string()) for name in ("scheme", "round", "part", "item_id", "label3")]
)
_ASSIGNED_COLUMNS = ", ".join(f"{name} string" for name in _ASSIGNED.names)

log = logging.getLogger("adnominal")


@dataclass(frozen=True)
class Recipe:
    """The data that determine the rows. Workers receive it and build their lexicon from it.

    Attributes:
        pairs: the (adjective, noun) combinations that a corpus has; None for all.
        gold: the published thresholds, or those of the judgements in the lake.
    """

    settings: Settings
    pairs: frozenset[tuple[str, str]] | None = None
    gold: Gold = field(default_factory=published_gold)

    def lexicon(self) -> Lexicon:
        """The lexicon, restricted to the combinations of the corpus."""
        return _lexicon(self.pairs)

    def entailment(self) -> Entailment:
        """The rows of entailment inference; built once per process, whatever the lake."""
        settings = self.settings
        return _entailment(
            self.pairs, settings.seed, settings.style, settings.balanced, settings.control
        )

    @lru_cache(maxsize=2)  # noqa: B019  (a worker process has one or two recipes)
    def degree(self) -> Degree:
        """The rows of degree estimation; built once per process."""
        settings = self.settings
        options: dict[str, Any] = {"gold": self.gold, "style": settings.style}
        options["grid"] = settings.grid
        if settings.control != "none":
            return ControlDegree(self.control(), self.lexicon(), settings.seed, **options)
        return Degree(self.lexicon(), settings.seed, **options)

    def control(self) -> Control:
        """What makes control rows of intact ones."""
        # The adjectives are exchanged within the whole lexicon, whatever a corpus has.
        return Control(self.settings.control, load_lexicon(), self.settings.seed)

    def __hash__(self) -> int:
        # Settings have lists, which cannot be hashed; their own hash stands for them.
        thresholds = tuple(sorted(self.gold.thresholds.items()))
        return hash((settings_hash(self.settings), self.pairs, thresholds))


def _lexicon(pairs: frozenset[tuple[str, str]] | None) -> Lexicon:
    unrestricted = load_lexicon()
    if pairs is None:
        return unrestricted
    return unrestricted.restrict_to_pairs(pairs)[0]


@lru_cache(maxsize=2)
def _entailment(
    pairs: frozenset[tuple[str, str]] | None,
    seed: int,
    style: Style,
    balanced: bool,
    control: str,
) -> Entailment:
    """The rows of entailment inference of a recipe; finding their pairs takes seconds."""
    lexicon = _lexicon(pairs)
    if control == "none":
        return Entailment(lexicon, seed, style, balanced=balanced)
    exchange = Control(control, load_lexicon(), seed)
    return ControlEntailment(exchange, lexicon, seed, style=style, balanced=balanced)


def build(settings: Settings) -> None:
    """Build ASP: entailment inference and degree estimation over scales of adjectives, and splits.

    Writes entailment=N rows of each of the eight tests to asp_entailment, degree=N rows to
    asp_degree, and the rounds of fine-tuning to asp_splits, replacing edition=NAME. With
    rounds=drawn (as in the paper) the rounds have separate rows, as edition NAME_tuning.
    """
    run = begin_build(JOB, settings)
    recipe, dropped = _recipe(run.lake, settings)
    # Too few rows in the lexicon are reported before any row is generated.
    if settings.entailment:
        recipe.entailment().check(settings.entailment)
    if settings.degree:
        recipe.degree().check(settings.degree)
    spark = run.lake.spark
    run.replace("asp_entailment", entailment_rows(spark, recipe), allow_empty=True)
    run.replace("asp_degree", degree_rows(spark, recipe), allow_empty=True)
    run.write_dropped(dropped)
    if settings.splits and settings.rounds == "drawn":
        for name, round_rows in drawn_rounds(recipe).items():
            run.replace(name, round_rows, edition=settings.tuning, allow_empty=True)
    with scratch(settings.lake) as folder:
        assigned = (
            split_rows(run.lake, recipe, folder)
            if settings.splits and settings.rounds == "assigned"
            else table("asp_splits").schema.empty_table()
        )
        run.replace("asp_splits", assigned, allow_empty=True)


def _recipe(lake: Lake, settings: Settings) -> tuple[Recipe, list[Dropped]]:
    """The recipe from the settings and the tables of the lake, and what is dropped."""
    pairs: frozenset[tuple[str, str]] | None = None
    dropped: list[Dropped] = []
    if settings.corpus is not None:
        pairs = _pairs(lake, settings.corpus, settings.min_count)
        _, *lists = load_lexicon().restrict_to_pairs(pairs)
        log.info("%d combinations dropped: not in %s", sum(map(len, lists)), settings.corpus)
        reason = f"combination not in {settings.corpus}"
        for name, lost in zip(("asp_entailment", "asp_degree"), lists, strict=True):
            if lost:
                dropped.append(Dropped(name, reason, len(lost), " ".join(lost[0])))
    if settings.human is None:
        return Recipe(settings, pairs), dropped
    thresholds: dict[tuple[str, str], float] = {}
    curves: dict[tuple[str, str], dict[float, float]] = {}
    for row in lake.read("asp_human", where={"source": settings.human}).collect():
        key = row["test"], row["polarity"]
        thresholds[key] = row["threshold"]
        curves.setdefault(key, {})[row["z"]] = row["share"]
    missing = sorted(set(published_gold().thresholds) - set(thresholds))
    if missing:
        listed = ", ".join(" ".join(key) for key in missing)
        raise UserError(
            f"human={settings.human}: no judgements in asp_human of {listed}; expected all "
            "six tests, positive and negative (etl/annotate_asp.py)"
        )
    scaled = {}
    if settings.gold == "empirical":
        scaled = {key: scaled_shares(curve) for key, curve in curves.items()}
    return Recipe(settings, pairs, Gold(settings.gold, thresholds, scaled)), dropped


def _pairs(lake: Lake, corpus: str, min_count: int) -> frozenset[tuple[str, str]]:
    """The pairs of the lexicon's adjectives and nouns that the corpus has often enough."""
    lexicon = load_lexicon()
    words = lexicon.words.union(*((m.positive, m.negative) for m in lexicon.measures))
    pairs = frozenset(
        (row["adjective"], row["noun"])
        for row in lake.read("amod_pairs", where={"corpus": corpus})
        .where(F.col("count") >= min_count)
        .where(F.col("adjective").isin(sorted(words)))
        .where(F.col("noun").isin(sorted(lexicon.nouns)))
        .select("adjective", "noun")
        .collect()
    )
    if not pairs:
        raise UserError(
            f"corpus={corpus}: no pair of the lexicon with {min_count} or "
            "more occurrences in amod_pairs; expected a corpus that "
            "`python -m etl.lake show amod_pairs` lists, or a lower min_count="
        )
    return pairs


def _batch(name: str, rows: Sequence[Sequence[Any]], edition: str) -> pa.RecordBatch:
    return batch_of([(*row, edition) for row in rows], table(name).schema)


def entailment_rows(spark: SparkSession, recipe: Recipe) -> DataFrame:
    """Rows of ``asp_entailment``: number n is row n % size of test n // size."""
    size = recipe.settings.entailment

    def generate(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        source = recipe.entailment()
        for batch in batches:
            rows: list[Row] = []
            for row_number in batch.column(0).to_pylist():
                test, number = divmod(row_number, size)
                rows += source.rows(TESTS[test], number, number + 1)
            yield _batch("asp_entailment", rows, recipe.settings.name)

    total = len(TESTS) * size
    tasks = math.ceil(total / recipe.settings.task_size)
    numbers = spark.range(0, total, 1, running().partitions(tasks, tasks))
    return map_arrow(numbers, generate, spark_schema(table("asp_entailment").schema))


def degree_rows(spark: SparkSession, recipe: Recipe) -> DataFrame:
    """Rows of ``asp_degree``: number n is group n % groups of test n // groups."""
    settings = recipe.settings
    groups = settings.degree // settings.numbers
    rows_per_group = settings.numbers * len(settings.variants)

    def generate(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        source = recipe.degree()
        for batch in batches:
            rows: list[DegreeRow] = []
            for group_number in batch.column(0).to_pylist():
                test, number = divmod(group_number, groups)
                rows += source.rows(source.group(TESTS[test], number), settings.variants)
                if len(rows) >= 20_000:
                    yield _batch("asp_degree", rows, settings.name)
                    rows = []
            yield _batch("asp_degree", rows, settings.name)

    total = len(TESTS) * groups
    tasks = math.ceil(total * rows_per_group / settings.task_size)
    numbers = spark.range(0, total, 1, running().partitions(tasks, tasks))
    return map_arrow(numbers, generate, spark_schema(table("asp_degree").schema))


def drawn_rounds(recipe: Recipe) -> dict[str, pa.Table]:
    """The rows of ``asp_entailment``, ``asp_degree`` and ``asp_splits`` for ``rounds=drawn``.

    A round is one way to divide the words into those of training and those held out for its test
    (`etl.asp.rounds`). The rounds have a fixed size, together a few hundred thousand rows. A row of
    several rounds is stored once; a discarded row is in none. A task that the settings exclude gets
    an empty table, which replaces earlier rows.
    """
    settings = recipe.settings
    edition = settings.tuning
    sources: list[tuple[str, Iterator[tuple[rounds.Place, Row | DegreeRow]]]] = []
    if settings.entailment:
        held_out = splits.held_out_adjectives(recipe.lexicon(), settings.seed)
        inferences = rounds.entailment(recipe.entailment(), held_out, settings.entailment)
        sources.append(("asp_entailment", inferences))
    if settings.degree:
        sources.append(("asp_degree", rounds.degree(recipe.degree(), settings.degree)))
    tables = {name: table(name).schema.empty_table() for name in ("asp_entailment", "asp_degree")}
    # (scheme, round, part, item, edition): the rows of asp_splits.
    places = []
    for name, placed_rows in sources:
        rows: dict[str, Row | DegreeRow] = {}
        for place, row in placed_rows:
            rows.setdefault(row.item_id, row)
            if row.label != DISCARD:
                places.append((*place, row.item_id, edition))
        tables[name] = pa.Table.from_batches([_batch(name, list(rows.values()), edition)])
    schema = table("asp_splits").schema
    distinct_places = list(dict.fromkeys(places))
    tables["asp_splits"] = pa.Table.from_batches([batch_of(distinct_places, schema)])
    return tables


def split_rows(lake: Lake, recipe: Recipe, folder: Scratch) -> DataFrame:
    """Rows of ``asp_splits``; training and validation are balanced by label3, by hash.

    A warning names each part that has no row of a label.
    """
    edition = recipe.settings.name
    words = ("adjective", "other_adjective", "noun", "other_noun", "modifier")
    entailment = lake.read("asp_entailment", where={"edition": edition}).select(
        "item_id", "test", "label3", *words
    )
    degree = (
        lake.read("asp_degree", where={"edition": edition})
        # The variants are for testing robustness.
        .where((F.col("variant") == "base") | ~F.col("test").isin(*TRAINED))
        .select("item_id", "test", "dimension", "z", "label", "label3")
    )
    seed = recipe.settings.seed
    held_out = splits.held_out_adjectives(recipe.lexicon(), seed)
    entailment_places = _places(entailment, partial(splits.assign_entailment, held_out, seed))
    degree_places = _places(degree, partial(splits.assign_degree, seed))
    # Small (only ids), and read three times: for the counts, the training rows and the tests.
    assigned = folder.keep(entailment_places.unionAll(degree_places))
    test_rows = assigned.where(F.col("part") == "test")
    training_rows = assigned.where(F.col("part") != "test")
    part = ["scheme", "round", "part"]
    sizes = folder.keep(
        training_rows.groupBy(*part, "label3")
        .count()
        .groupBy(*part)
        .agg(F.min("count").alias("size"), F.collect_list("label3").alias("labels"))
    )
    for row in sizes.orderBy(*part).collect():
        missing = {ENTAILMENT, CONTRADICTION, NEUTRAL} - set(row["labels"])
        if missing:
            log.warning(
                "asp_splits: %s, round %s: no rows of %s in part %s; ask for a larger build",
                row["scheme"],
                row["round"],
                " or ".join(sorted(missing)),
                row["part"],
            )
    place = Window.partitionBy(*part, "label3").orderBy(F.hash("item_id"), "item_id")
    balanced = (
        training_rows.withColumn("place", F.row_number().over(place))
        .join(F.broadcast(sizes.drop("labels")), part)
        .where(F.col("place") <= F.col("size"))
    )
    columns = [*part, "item_id"]
    return (
        test_rows.select(*columns)
        .unionAll(balanced.select(*columns))
        .withColumn("edition", F.lit(edition))
    )


def _places(
    frame: DataFrame, places: Callable[[Mapping[str, Any]], list[rounds.Place]]
) -> DataFrame:
    """For each row its places in the splits, with its id and label."""

    def assign(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows = [
                (*place, row["item_id"], row["label3"])
                for row in batch.to_pylist()
                for place in places(row)
            ]
            yield batch_of(rows, _ASSIGNED)

    return map_arrow(frame, assign, _ASSIGNED_COLUMNS)
