"""The JVM engine: Delta's own connector for Spark, where its classes are on the classpath.

Concurrency control, idempotence (``txnAppId``, ``txnVersion``) and the check of ``replaceWhere``
are the connector's. Its blind appends do not conflict with a replacement of the same partition;
that conflict is checked before the write, not within it.
"""

import uuid
from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from adnominal.etl.engine.spark import hadoop_location
from adnominal.etl.lake import log
from adnominal.etl.lake.blocks import Blocks, frame_of
from adnominal.etl.lake.columns import Table
from adnominal.etl.lake.errors import LakeFailed
from adnominal.etl.lake.frames import comment, declared_rows, spark_type
from adnominal.etl.lake.log import Change, Commit
from adnominal.etl.lake.storage import AS_NULL, table_uri


def _quoted(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def condition(partition: Mapping[str, str]) -> str:
    """Return a partition as the SQL condition of ``replaceWhere``."""
    return " AND ".join(f"`{name}` = {_quoted(value)}" for name, value in partition.items())


def write(
    frame: DataFrame | Blocks,
    table_spec: Table,
    root: str,
    change: Change,
) -> Commit:
    """Write the rows in one commit through the connector.

    Raises:
        LakeConflict: the partition was changed after the base, before this write began.
        LakeFailed: there are no rows to replace a partition with.
    """
    rows = declared_rows(
        frame_of(frame, table_spec) if isinstance(frame, Blocks) else frame, table_spec
    )
    uri = table_uri(root, table_spec.name)
    handle = log.open_table(uri, table_spec)
    if handle is not None and log.done_already(handle, change.transaction):
        return Commit(table_spec.name, handle.version(), 0, 0, 0, skipped=True)
    if handle is not None and change.partition and change.base is not None:
        log.refuse_stale(handle, table_spec, change, [change.partition])
    if not change.allow_empty and rows.isEmpty():
        raise LakeFailed(f"{table_spec.name}: no rows to {change.mode} with; nothing was changed")
    name = uuid.uuid4().hex
    columns = []
    for field in table_spec.schema:
        column = F.col(f"`{field.name}`")
        if field.name in table_spec.partition_by:
            message = f"{field.name} is empty or {AS_NULL[1]}, which Delta stores as null"
            error = F.raise_error(F.lit(message))
            is_refused = column.cast("string").isin(*AS_NULL)
            column = F.when(is_refused, error.cast(spark_type(field.type))).otherwise(column)
        columns.append(column.alias(field.name, metadata=comment(field)))
    writer = (
        rows.select(*columns)
        .write.format("delta")
        .mode("overwrite" if change.mode == "replace" else "append")
        .option("delta.enableDeletionVectors", "false")
        .option("userMetadata", log.user_metadata(change, name, {}))
    )
    if table_spec.partition_by:
        writer = writer.partitionBy(*table_spec.partition_by)
    if change.mode == "replace" and change.partition and handle is not None:
        writer = writer.option("replaceWhere", condition(change.partition))
    if change.transaction is not None:
        application, number = change.transaction
        writer = writer.option("txnAppId", application).option("txnVersion", number)
    writer.save(hadoop_location(uri))
    return _outcome(uri, table_spec, name)


def _outcome(uri: str, table_spec: Table, write: str) -> Commit:
    handle = log.open_table(uri, table_spec)
    if handle is None:
        raise LakeFailed(f"{table_spec.name}: the write left no table at {uri}")
    for entry in handle.history():
        if write in str(entry.get("userMetadata")):
            metrics = entry.get("operationMetrics") or {}
            return Commit(
                table_spec.name,
                int(entry["version"]),
                int(metrics.get("numOutputRows", 0)),
                int(metrics.get("numFiles", metrics.get("numAddedFiles", 0))),
                int(metrics.get("numOutputBytes", 0)),
            )
    return Commit(table_spec.name, handle.version(), 0, 0, 0, skipped=True)


def read(
    spark: SparkSession,
    table_spec: Table,
    root: str,
    *,
    version: int | None,
    where: Mapping[str, str],
) -> DataFrame:
    """Return the rows of the table, read by the connector."""
    log.existing_table(root, table_spec, version=version)  # checked before Spark reads it
    reader = spark.read.format("delta")
    if version is not None:
        reader = reader.option("versionAsOf", version)
    rows = declared_rows(reader.load(hadoop_location(table_uri(root, table_spec.name))), table_spec)
    for name, value in where.items():
        rows = rows.where(
            F.col(f"`{name}`") == F.lit(value).cast(spark_type(table_spec.schema.field(name).type))
        )
    return rows
