"""The frame of the jobs that build a dataset: pairs to read, tables to replace, drops to count.

A build reads the lake, applies the dataset's rules and replaces its own edition in the dataset's
tables; it touches no other edition. Whatever it leaves out has a reason, and the table dropped has
the number of rows and a sample for each.
"""

from __future__ import annotations

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

from conf import UserError, settings_hash
from etl import engine
from etl.declaration import RELEASED
from etl.dropped import Dropped, write_dropped
from etl.engine import EngineSettings
from etl.lake import arrow
from etl.lake.log import Commit
from etl.lake.spark import Blocks, Lake

log = logging.getLogger("adnominal")

_EDITION = re.compile(r"\w[\w.-]*")


class BuildSettings(Protocol):
    """The settings that all builds have."""

    @property
    def name(self) -> str:
        """The edition to build."""

    @property
    def seed(self) -> int:
        """The seed of the job."""

    @property
    def lake(self) -> str:
        """The root of the lake."""


@dataclass(frozen=True)
class Build:
    """One run of a build: where it reads and writes, and what its commits say of it.

    Attributes:
        job: name of the job, as ``build_plane``.
        lake: the tables.
        settings: of the job.
        started: when, by the monotonic clock.
    """

    job: str
    lake: Lake
    settings: BuildSettings
    started: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """The time since the start."""
        return time.monotonic() - self.started

    def report(self, text: str, *values: object) -> None:
        """Log a step that is done, with the time since the start."""
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
            LakeFailed: no rows, without `allow_empty`.
        """
        metadata = {"settings": settings_hash(self.settings), "seed": str(self.settings.seed)}
        partition = {"edition": edition or self.settings.name}
        commit = self.lake.replace(
            name, rows, partition, job=self.job, metadata=metadata, allow_empty=allow_empty
        )
        self.report("%s: %d rows", name, commit.rows)
        return commit

    def write_dropped(self, drops: Iterable[Dropped]) -> None:
        """Replace what the build of the edition noted in the table dropped, and log it."""
        write_dropped(self.settings.lake, f"{self.job}/{self.settings.name}", drops)


def begin_build(job: str, settings: BuildSettings, rows: int = 0) -> Build:
    """Start the engine of a build, for about `rows` rows of input, and the build's clock.

    Raises:
        UserError: an edition whose name is the releases', or does not fit file names.
    """
    _check_edition(settings.name)
    assert isinstance(settings, EngineSettings)
    session = engine.start(f"{job} {settings.name}", settings, rows=rows)
    return Build(job, Lake(session.spark, settings.lake), settings)


def _check_edition(name: str) -> None:
    if name in RELEASED:
        raise UserError(
            f"edition={name}: is the authors' release, which etl/import_published.py imports; give "
            "another name"
        )
    if not _EDITION.fullmatch(name):
        raise UserError(
            f"edition={name}: expected letters, digits, '.', '-' and '_', as exports name files "
            "by it"
        )


def drops_by_reason(
    frame: DataFrame, name: str, sample: Column, count: Column | None = None
) -> DataFrame:
    """The rows of a frame that have a reason, as drops from the table `name`.

    Columns table, reason, count and sample. `count` says for how many rows each one stands.
    """
    return frame.where(F.col("reason").isNotNull()).select(
        F.lit(name).alias("table"),
        "reason",
        (F.lit(1) if count is None else count).cast("long").alias("count"),
        sample.alias("sample"),
    )


def collect_drops(drops: Sequence[DataFrame]) -> list[Dropped]:
    """The sums of frames of drops by table and reason, the largest first; the least sample."""
    if not drops:
        return []
    rows = (
        reduce(DataFrame.unionAll, drops)
        .groupBy("table", "reason")
        .agg(F.sum("count").alias("count"), F.min("sample").alias("sample"))
        .collect()
    )
    drops_found = [
        Dropped(row["table"], row["reason"], row["count"], row["sample"]) for row in rows
    ]
    return sorted(drops_found, key=lambda drop: (drop.table, -drop.count, drop.reason))


def pairs_of(lake: Lake, corpora: Sequence[str], key: str) -> DataFrame:
    """The rows of amod_pairs of some corpora, or of all where none is named.

    Raises:
        UserError: a corpus that the table does not have; `key` is the setting that names it.
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
