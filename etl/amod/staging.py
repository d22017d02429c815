"""Where a wave's staged rows lie until its results are committed.

Each attempt writes into a folder of its own, since a killed driver's tasks may go on writing for a
while; an attempt is complete when Spark has left its ``_SUCCESS`` there, and a later run then goes
on from it without reading the input again.
"""

from __future__ import annotations

import uuid
from urllib.parse import quote

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from etl import hadoop
from etl.amod.tasks import STAGED


class Staging:
    """The staged waves of one job with one set of settings, below the lake's root."""

    def __init__(self, spark: SparkSession, root: str, job: str) -> None:
        self._spark = spark
        self._folder = f"{root.rstrip('/')}/_staging/{quote(job, safe='')}"

    def complete(self, wave: int) -> DataFrame | None:
        """The rows of a complete attempt at `wave`, if there is one."""
        for path in self._attempts(wave):
            if hadoop.exists(self._spark, f"{path}/_SUCCESS"):
                return self._rows(path)
        return None

    def write(self, wave: int, rows: DataFrame) -> DataFrame:
        """Compute and store the rows of `wave` as a new attempt; the rows as stored."""
        path = f"{self._folder}/{wave}-{uuid.uuid4().hex}"
        # Packed pairs are words and numbers as they stand: zstd leaves half of what snappy does, at
        # its first level in half the time of its third. No value of theirs occurs twice.
        options = {
            "compression": "zstd",
            "parquet.compression.codec.zstd.level": "1",
            "parquet.enable.dictionary#packed": "false",
        }
        rows.write.options(**options).parquet(path)
        return self._rows(path)

    def forget(self, wave: int) -> None:
        """Delete every attempt at `wave`."""
        for path in self._attempts(wave):
            hadoop.delete(self._spark, path)

    def forget_all(self) -> None:
        """Delete whatever the job has staged."""
        hadoop.delete(self._spark, self._folder)

    def _attempts(self, wave: int) -> list[str]:
        names = hadoop.children(self._spark, self._folder)
        return [f"{self._folder}/{name}" for name in names if name.startswith(f"{wave}-")]

    def _rows(self, path: str) -> DataFrame:
        return self._spark.read.schema(from_arrow_schema(STAGED)).parquet(path)
