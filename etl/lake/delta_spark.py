"""The JVM engine: Delta's own connector for Spark, where its classes are on the classpath.

Concurrency control, idempotence (``txnAppId``, ``txnVersion``) and the check of ``replaceWhere``
are the connector's. Its blind appends do not conflict with a replacement of the same partition;
that conflict is checked before the write, not within it.
"""

import re
import uuid
from collections.abc import Mapping
from dataclasses import replace

import pyarrow as pa
from deltalake import DeltaTable
from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, DataFrameWriter, SparkSession
from pyspark.sql import functions as F

from adnominal.etl.engine.spark import hadoop_location
from adnominal.etl.engine.versions import ENGINE_ERRORS
from adnominal.etl.lake import doubled, log
from adnominal.etl.lake.blocks import Blocks, frame_of
from adnominal.etl.lake.columns import Table
from adnominal.etl.lake.errors import LakeFailed, UnsupportedFeature
from adnominal.etl.lake.frames import comment, declared_rows, spark_type, with_later_columns
from adnominal.etl.lake.log import Change, Commit
from adnominal.etl.lake.schema import partition_text
from adnominal.etl.lake.storage import AS_NULL, NULL_TEXT, table_uri

_ATTEMPTS = 20
# Delta's errors: another writer was first; rows are outside the partition to replace.
_CONFLICT = re.compile(
    r"\b(Concurrent|MetadataChanged|ProtocolChanged)\w*Exception|DELTA_CONCURRENT"
)
_OUTSIDE = "a row is outside the partition that is replaced"


def _sql_string(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def condition(partition: Mapping[str, str]) -> str:
    """Return a partition as the SQL condition of ``replaceWhere``."""
    return " AND ".join(f"`{name}` = {_sql_string(value)}" for name, value in partition.items())


def write(
    frame: DataFrame | Blocks,
    table_spec: Table,
    root: str,
    change: Change,
) -> Commit:
    """Write the rows in one commit through the connector.

    Raises:
        LakeConflict: the partition was changed after the base, before this write began.
        ENGINE_ERRORS: rows could not be computed, or a partition value is a text that Delta
            stores as null.
        LakeFailed: there are no rows to replace a partition with, or rows outside it, or other
            writers took every version.
    """
    log.check_metadata(change.metadata)
    rows = declared_rows(
        frame_of(frame, table_spec) if isinstance(frame, Blocks) else frame, table_spec
    )
    uri = table_uri(root, table_spec.name)
    handle = log.open_table(uri, table_spec)
    if handle is not None and change.base is None:
        change = replace(change, base=handle.version())
    for attempt in range(_ATTEMPTS):
        if attempt:
            handle = log.open_table(uri, table_spec)
        if handle is not None:
            if log.done_already(handle, change.transaction):
                return Commit(table_spec.name, handle.version(), 0, 0, 0, skipped=True)
            _refuse_stale(handle, table_spec, change, rows)
        try:
            return _write_once(rows, table_spec, uri, change, is_new=handle is None)
        except ENGINE_ERRORS as error:
            reason = str(error)
            if _OUTSIDE in reason:
                raise _outside_partition(table_spec, change) from error
            if not _CONFLICT.search(reason):
                raise
    raise LakeFailed(
        f"{table_spec.name}: other writers took every version in {_ATTEMPTS} attempts; run the job "
        "again"
    )


def _refuse_stale(handle: DeltaTable, table_spec: Table, change: Change, rows: DataFrame) -> None:
    """Raise `LakeConflict` if a partition that is written to was changed after the base.

    The partitions of an append are known only from its rows. They are computed beforehand only if
    there are commits after the base.
    """
    partitions: list[Mapping[str, str | None]] = [change.partition]
    if change.mode == "append" and change.base != handle.version():
        names = table_spec.partition_by
        keys = rows.select(*names).distinct().collect() if names else [()]
        partitions = [dict(zip(names, map(partition_text, key), strict=True)) for key in keys]
    log.refuse_stale(handle, table_spec, change, partitions)


def _outside_partition(table_spec: Table, change: Change) -> LakeFailed:
    place = ", ".join(f"{name}={value}" for name, value in change.partition.items())
    return LakeFailed(
        f"{table_spec.name}: there are rows outside {place}; this write replaces only {place}; "
        "nothing was changed"
    )


def _write_once(
    rows: DataFrame, table_spec: Table, uri: str, change: Change, *, is_new: bool
) -> Commit:
    """Try one commit, which creates the table if it `is_new`."""
    name = uuid.uuid4().hex
    columns = [_column(table_spec, field, change) for field in table_spec.schema]
    selected = rows.select(*columns)
    is_checked = not change.allow_empty
    if is_checked:
        # Computed once: `isEmpty` would stop the workers in the middle of their first batches.
        selected = selected.persist(StorageLevel.DISK_ONLY)
    try:
        if is_checked and not selected.count():
            raise LakeFailed(
                f"{table_spec.name}: no rows to {change.mode} with; nothing was changed"
            )
        _writer(selected, table_spec, change, name, is_new).save(hadoop_location(uri))
    finally:
        if is_checked:
            selected.unpersist()
    return _outcome(uri, table_spec, name)


def _column(table_spec: Table, field: pa.Field, change: Change) -> Column:
    """Return a column of the rows, with its meaning; as a partition, it refuses wrong values.

    These are texts that Delta stores as null, and values outside the partition to replace, which
    the connector does not check in a new table.
    """
    column = F.col(f"`{field.name}`")
    if field.name not in table_spec.partition_by:
        return column.alias(field.name, metadata=comment(field))
    kind = spark_type(field.type)

    def refuse(values: Column, is_refused: Column, message: str) -> Column:
        error = F.raise_error(F.lit(message)).cast(kind)
        return F.when(is_refused, error).otherwise(values)

    is_null_text = column.cast("string").isin(*AS_NULL)
    checked = refuse(column, is_null_text, f"column {field.name}: {NULL_TEXT}")
    if field.name in change.partition:
        value = F.lit(change.partition[field.name]).cast(kind)
        checked = refuse(checked, ~column.eqNullSafe(value), _OUTSIDE)
    return checked.alias(field.name, metadata=comment(field))


def _writer(
    rows: DataFrame, table_spec: Table, change: Change, name: str, is_new: bool
) -> DataFrameWriter:
    """Spark's writer for a change: its mode, partition, transaction and metadata."""
    writer = (
        rows.write.format("delta")
        .mode("overwrite" if change.mode == "replace" else "append")
        .option("userMetadata", log.user_metadata(change, name, {}))
    )
    if is_new:
        for key, value in log.PROPERTIES.items():
            writer = writer.option(key, value)
    if table_spec.partition_by:
        writer = writer.partitionBy(*table_spec.partition_by)
    if change.mode == "replace" and change.partition:
        writer = writer.option("replaceWhere", condition(change.partition))
    if change.transaction is not None:
        application, number = change.transaction
        writer = writer.option("txnAppId", application).option("txnVersion", number)
    return writer


def _outcome(uri: str, table_spec: Table, write: str) -> Commit:
    """The commit of a write, found by its name in the log; skipped if there is none.

    Delta's connector skips a transaction that the table already has, without saying so.
    """
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
    try:
        handle = log.existing_table(root, table_spec, version=version)
        doubled.refuse(handle, table_spec, log.active_files(handle))
    except UnsupportedFeature:
        pass  # the connector knows it, and `declared_rows` compares the columns
    reader = spark.read.format("delta")
    if version is not None:
        reader = reader.option("versionAsOf", version)
    stored_rows = reader.load(hadoop_location(table_uri(root, table_spec.name)))
    rows = declared_rows(with_later_columns(stored_rows, table_spec), table_spec)
    for name, value in where.items():
        rows = rows.where(
            F.col(f"`{name}`") == F.lit(value).cast(spark_type(table_spec.schema.field(name).type))
        )
    return rows
