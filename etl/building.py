"""The common part of the jobs that build a dataset: read pairs, replace tables, count drops.

A build reads the lake, applies the dataset's rules and replaces its own edition in the dataset's
tables; it touches no other edition. Every row it drops has a reason, and the table dropped has a
count and a sample for each reason.
"""

import logging
import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Protocol

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from adnominal.conf import UserError, settings_hash
from adnominal.conf.numbers import count_of
from adnominal.etl import engine
from adnominal.etl.declaration import RELEASED
from adnominal.etl.dropped import Dropped, write_dropped
from adnominal.etl.engine import EngineSettings
from adnominal.etl.lake import arrow
from adnominal.etl.lake.blocks import Blocks
from adnominal.etl.lake.log import Commit
from adnominal.etl.lake.spark import Lake
from adnominal.etl.lake.storage import check_name

log = logging.getLogger("adnominal")

_EDITION = re.compile(r"\w[\w.-]*")


class BuildSettings(Protocol):
    """The settings shared by all builds: the edition to build, the seed, the root of the lake."""

    @property
    def name(self) -> str: ...

    @property
    def seed(self) -> int: ...

    @property
    def lake(self) -> str: ...


@dataclass(frozen=True)
class Build:
    """One run of a build: the lake, the settings, and the metadata of its commits.

    Attributes:
        job: name of the job, as ``build_plane``.
        lake: the tables.
        settings: settings of the job.
        started: start time by the monotonic clock.
    """

    job: str
    lake: Lake
    settings: BuildSettings
    started: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """The number of seconds since the start."""
        return time.monotonic() - self.started

    def report(self, text: str, *values: object) -> None:
        """Log a finished step with the time since the start."""
        log.info(f"{text} after %.1f s", *values, self.seconds)

    def replace(
        self,
        name: str,
        rows: DataFrame | Blocks | pa.Table,
        *,
        edition: str | None = None,
        allow_empty: bool = False,
    ) -> Commit:
        """Replace the edition, by default that of the settings, in the table `name`.

        Raises:
            LakeFailed: there are no rows and `allow_empty` is false.
        """
        metadata = {"settings": settings_hash(self.settings), "seed": str(self.settings.seed)}
        partition = {"edition": edition or self.settings.name}
        commit = self.lake.replace(
            name, rows, partition, job=self.job, metadata=metadata, allow_empty=allow_empty
        )
        self.report("%s: %s", name, count_of(commit.rows, "row"))
        return commit

    def write_dropped(self, drops: Iterable[Dropped]) -> None:
        """Replace the edition's rows in the table dropped, and log them."""
        write_dropped(self.settings.lake, f"{self.job}/{self.settings.name}", drops)


def begin_build(job: str, settings: BuildSettings, rows: int = 0) -> Build:
    """Start the engine of a build, for about `rows` rows of input, and its clock.

    Raises:
        UserError: the edition has the name of a release or a name that does not fit file names.
    """
    _check_edition(settings.name)
    assert isinstance(settings, EngineSettings)
    session = engine.start(f"{job} {settings.name}", settings, rows=rows)
    return Build(job, Lake(session.spark, settings.lake), settings)


def _check_edition(name: str) -> None:
    """Raise `UserError` for a name that the release has, or that exports cannot use."""
    if name in RELEASED:
        raise UserError(
            f"edition={name} is the authors' release, which etl/import_published.py imports; give "
            "another name"
        )
    if not _EDITION.fullmatch(name):
        raise UserError(
            f"edition={name}: expected letters, digits, '.', '-' and '_', because exports use it "
            "in file names"
        )
    check_name("edition", name)


def drops_by_reason(
    frame: DataFrame, name: str, sample: Column, count: Column | None = None
) -> DataFrame:
    """Return the rows of a frame that have a reason, as drops from the table `name`.

    The columns are table, reason, count and sample. `count` is the number of rows each stands for.
    """
    return frame.where(F.col("reason").isNotNull()).select(
        F.lit(name).alias("table"),
        "reason",
        (F.lit(1) if count is None else count).cast("long").alias("count"),
        sample.alias("sample"),
    )


def collect_drops(drops: Sequence[DataFrame]) -> list[Dropped]:
    """Sum drops by table and reason, largest first, each with its smallest sample."""
    if not drops:
        return []
    rows = (
        reduce(DataFrame.unionAll, drops)
        .groupBy("table", "reason")
        .agg(F.sum("count").alias("count"), F.min("sample").alias("sample"))
        .collect()
    )
    collected = [Dropped(*row) for row in rows]
    return sorted(collected, key=lambda drop: (drop.table, -drop.count, drop.reason))


def pairs_of(lake: Lake, corpora: Sequence[str], key: str) -> DataFrame:
    """Return the rows of amod_pairs of some corpora, or of all if none is named.

    Raises:
        UserError: the table lacks a corpus; `key` is the setting that names it.
    """
    pairs = lake.read("amod_pairs")
    if not corpora:
        return pairs
    known = {str(dict(f.partition).get("corpus")) for f in arrow.files(lake.root, "amod_pairs")}
    missing = sorted(set(corpora) - known)
    if missing:
        raise UserError(
            f"{key}={','.join(missing)}: not in amod_pairs, which has "
            f"{', '.join(sorted(known))}; extract it first (etl/extract_amod.py)"
        )
    frames = [lake.read("amod_pairs", where={"corpus": name}) for name in dict.fromkeys(corpora)]
    return reduce(DataFrame.unionAll, frames)
