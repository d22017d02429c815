"""The embedded engine: Spark writes and reads plain Parquet, delta-rs reads and writes the log.

It needs no jar. What Spark wrote is checked file by file before the log names it
(`etl.lake.staging`); what is read are exactly the files that the log names.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from etl.lake import blocks, log, staging
from etl.lake.blocks import Blocks
from etl.lake.errors import LakeFailed
from etl.lake.frames import checked, spark_schema, spark_type
from etl.lake.log import Change, Commit, File
from etl.lake.schema import data_schema
from etl.lake.staging import Staged
from etl.lake.storage import spark_path, table_uri
from etl.lake.tables import Table
from etl.lake.writing import publish


def escaped(column: Column) -> Column:
    """`etl.lake.storage.escape` as a Spark expression; null stays null, Spark names its folder."""
    # url_encode keeps letters, digits and ".-*_", and makes a space "+".
    text = F.url_encode(column.cast("string"))
    for old, new in (("_", "%5F"), ("*", "%2A"), ("+", "%20"), ("%", "_")):
        text = F.replace(text, F.lit(old), F.lit(new))
    return F.when(column.cast("string") == "", F.lit("_")).otherwise(text)


def stage(frame: DataFrame, declared: Table, root: str, write: str) -> Staged:
    """Run the frame's job and write its rows as the files of write `write`."""
    rows = checked(frame, declared)
    for name in declared.partition_by:
        rows = rows.withColumn(name, escaped(F.col(f"`{name}`")))
    observation = Observation()
    # In the stage that writes: Spark counts each of its tasks once, however often it is retried.
    counted = rows.observe(observation, F.count(F.lit(1)).alias("rows"))
    writer = counted.write.mode("error")
    if declared.partition_by:
        writer = writer.partitionBy(*declared.partition_by)
    writer.parquet(f"{spark_path(root, declared.name)}/{staging.DATA}/{write}")
    return Staged(write, int(observation.get["rows"]))


def write(
    frame: DataFrame | Blocks,
    declared: Table,
    root: str,
    change: Change,
) -> Commit:
    """Stage by Spark, then check and commit (`etl.lake.writing.publish`)."""
    if not isinstance(frame, Blocks):
        checked(frame, declared)
    by = blocks.stage if isinstance(frame, Blocks) else stage
    return publish(
        table_uri(root, declared.name),
        declared,
        lambda _, write: by(frame, declared, root, write),
        change,
    )


def read(
    spark: SparkSession,
    declared: Table,
    root: str,
    *,
    version: int | None,
    where: Mapping[str, str],
) -> DataFrame:
    """The rows of the active files, partition columns as the log has them."""
    handle = log.open_table(table_uri(root, declared.name), declared, version=version)
    if handle is None:
        raise log.missing_table(root, declared)
    groups: dict[tuple[tuple[str, Any], ...], list[File]] = defaultdict(list)
    for file in log.active_files(handle, where):
        groups[file.partition].append(file)
    base = spark_path(root, declared.name)
    stored = spark_schema(data_schema(declared.schema, declared.partition_by))
    parts = []
    # One relation a partition: a filter on the partition column then leaves the others unread.
    for partition, files in sorted(groups.items(), key=lambda item: str(item[0])):
        paths = sorted(f"{base}/{file.path}" for file in files)
        try:
            part = (
                spark.read.schema(stored)
                # The paths are names, not patterns: "[" in a folder's name means itself.
                .option("__globPaths__", "false")
                .parquet(*paths)
            )
        except AnalysisException as error:
            raise LakeFailed(
                f"{declared.name} version {handle.version()}: a file that the log names is gone "
                f"({str(error).splitlines()[0]}); read another version or build the table again"
            ) from error
        values = dict(partition)
        parts.append(
            part.select(
                *[
                    F.lit(values[field.name]).cast(spark_type(field.type)).alias(field.name)
                    if field.name in values
                    else F.col(f"`{field.name}`")
                    for field in declared.schema
                ]
            )
        )
    if not parts:
        return spark.createDataFrame([], spark_schema(declared.schema))
    rows = parts[0]
    for part in parts[1:]:
        rows = rows.unionAll(part)
    return rows
