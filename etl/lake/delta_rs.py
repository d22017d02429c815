"""Tables without a JVM: tasks write plain Parquet, delta-rs reads and writes the log.

No jar is needed. Each file that tasks wrote is checked before the log names it
(`etl.lake.staging`); readers read exactly the files that the log names.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import reduce
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow.fs as pa_fs
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from adnominal.etl.engine import running
from adnominal.etl.lake import blocks, doubled, log
from adnominal.etl.lake.blocks import Blocks
from adnominal.etl.lake.columns import Table
from adnominal.etl.lake.errors import LakeFailed
from adnominal.etl.lake.frames import spark_schema, spark_type
from adnominal.etl.lake.log import Change, Commit, File
from adnominal.etl.lake.staging import Staged
from adnominal.etl.lake.storage import filesystem, local_path, table_uri
from adnominal.etl.lake.writing import publish


def write(
    frame: DataFrame | Blocks,
    table_spec: Table,
    root: str,
    change: Change,
    files_read: Iterable[Path],
) -> Commit:
    """Let tasks stage the rows, then check and commit them (`etl.lake.writing.publish`).

    Raises:
        LakeFailed: one of `files_read`, from which the rows may have been computed, is gone; else
            as `etl.lake.writing.publish`.
    """
    rows = frame if isinstance(frame, Blocks) else blocks.blocks_of(frame, table_spec)

    def stage(_: pa_fs.FileSystem, write: str) -> Staged:
        staged = blocks.stage(rows, table_spec, root, write)
        # The embedded engine takes a file that a vacuum has deleted meanwhile for an empty one.
        for path in files_read:
            if not path.exists():
                raise LakeFailed(
                    f"{path} was deleted while this job read it (a vacuum with a short "
                    "older_than=); nothing was written: run the job again"
                )
        return staged

    return publish(table_uri(root, table_spec.name), table_spec, stage, change)


def read(
    spark: SparkSession,
    table_spec: Table,
    root: str,
    *,
    version: int | None,
    where: Mapping[str, str],
    files_read: set[Path],
) -> DataFrame:
    """Return the rows of the active files, with the partition columns from the log.

    In a local lake, the files are added to `files_read`, for `write`.
    """
    handle = log.existing_table(root, table_spec, version=version)
    groups: dict[tuple[tuple[str, Any], ...], list[File]] = defaultdict(list)
    active_files = log.active_files(handle, where)
    doubled.refuse(handle, table_spec, active_files)
    for file in active_files:
        groups[file.partition].append(file)
    uri = table_uri(root, table_spec.name)
    locate = running().location
    folder = local_path(root)
    stored_schema = spark_schema(table_spec.stored_schema)
    parts = []
    # One relation per partition: a filter on the partition column then skips the others.
    for partition, files in sorted(groups.items(), key=lambda item: str(item[0])):
        names = sorted(file.path for file in files)
        # The embedded engine takes a path as a pattern: a missing file gives no rows.
        for info in filesystem(uri).get_file_info(names):
            if info.type == pa_fs.FileType.NotFound:
                raise _missing_version(table_spec, handle.version(), info.path)
        if folder is not None:
            files_read.update(folder / table_spec.name / name for name in names)
        paths = [locate(f"{uri}/{quote(name)}" if folder else f"{uri}/{name}") for name in names]
        try:
            # The paths are names, not patterns: "[" in a folder's name is literal.
            reader = spark.read.schema(stored_schema).option("__globPaths__", "false")
            part = reader.parquet(*paths)
        except AnalysisException as error:
            reason = str(error).splitlines()[0]
            raise _missing_version(table_spec, handle.version(), reason) from error
        values = dict(partition)
        columns = [
            F.lit(values[field.name]).cast(spark_type(field.type)).alias(field.name)
            if field.name in values
            else F.col(f"`{field.name}`")
            for field in table_spec.schema
        ]
        parts.append(part.select(*columns))
    if not parts:
        return spark.createDataFrame([], spark_schema(table_spec.schema))
    return reduce(DataFrame.unionAll, parts)


def _missing_version(table_spec: Table, version: int, cause: str) -> LakeFailed:
    return LakeFailed(
        f"{table_spec.name} version {version}: a file that the log names is gone ({cause}); read "
        "another version or build the table again"
    )
