"""Reading and writing the tables as DataFrames, with either Delta writer, the same tables on disk.

``delta-spark`` is the JVM connector, used when its classes are on the classpath (as after
``spark-submit --packages``); ``delta-rs`` needs no jar. Both write tables without deletion vectors
and store job, code version and the caller's metadata with every commit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Unpack

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from etl.engine import running
from etl.engine.spark import DELTA_EXTENSION
from etl.lake import arrow, delta_rs, delta_spark, handles, log
from etl.lake.blocks import Blocks
from etl.lake.errors import LakeConflict, LakeError, LakeFailed
from etl.lake.log import Change, Commit, CommitOptions, Record
from etl.lake.schema import check_partition, check_partition_types
from etl.lake.storage import table_uri

__all__ = ["Blocks", "Commit", "Lake", "LakeConflict", "LakeError", "LakeFailed", "Record"]

ENGINES = ("delta-rs", "delta-spark")


def _pick_engine(engine: str) -> str:
    has_connector = running().has_class(DELTA_EXTENSION)
    if engine == "auto":
        return "delta-spark" if has_connector else "delta-rs"
    if engine not in ENGINES:
        raise LakeError(f"engine={engine}: expected one of auto, {', '.join(ENGINES)}")
    if engine == "delta-spark" and not has_connector:
        raise LakeError(
            "engine=delta-spark: its classes are not on Spark's classpath; start the job with "
            "spark-submit --packages io.delta:delta-spark_… or use engine=delta-rs"
        )
    return engine


class Lake:
    """The tables under `root`, a local path or the URI of a store that Spark reaches.

    Attributes:
        root: as given.
        engine: ``delta-rs`` or ``delta-spark``.
    """

    def __init__(self, spark: SparkSession, root: str, engine: str = "auto") -> None:
        """`engine`: ``auto`` takes delta-spark when its classes are there, else delta-rs.

        Raises:
            LakeError: an unknown engine, or delta-spark without its classes.
        """
        running().check_store(root)
        self.spark = spark
        self.root = root
        self.engine = _pick_engine(engine)
        self._engine = delta_spark if self.engine == "delta-spark" else delta_rs

    def path(self, table: str) -> str:
        """The table's address as delta-rs takes it (``file://…``, ``s3://…``)."""
        return table_uri(self.root, log.declaration(table).name)

    def exists(self, table: str) -> bool:
        """Whether the table has a first commit."""
        return self.version(table) is not None

    def version(self, table: str) -> int | None:
        """The table's newest version, from 0; None where there is no table."""
        return arrow.version(self.root, table)

    def read(
        self, table: str, *, version: int | None = None, where: Mapping[str, str] | None = None
    ) -> DataFrame:
        """The table's rows, of its newest version or of an earlier one.

        `where` names values of partition columns; only their files are read.

        Raises:
            LakeError: no such table (naming the command that builds it) or version; a schema that
                is not as declared; deletion vectors or column mapping; `where` on another column.
            LakeFailed: a file that the log names is gone.
        """
        declared = log.declaration(table)
        check_partition(declared, where or {})
        return self._engine.read(
            self.spark, declared, self.root, version=version, where=where or {}
        )

    def files(self, table: str, where: Mapping[str, str]) -> DataFrame:
        """The files of a partition, a row each, for `etl.lake.blocks.read_files`.

        Columns: table (its address) and file (a path within it).
        """
        declared = log.declaration(table)
        check_partition(declared, where)
        uri = table_uri(self.root, table)
        paths = [file.path for file in arrow.files(self.root, table) if file.lies_in(where)]
        rows = [(uri, path) for path in sorted(paths)]
        return self.spark.createDataFrame(rows, "table string, file string")

    def append(
        self,
        table: str,
        frame: DataFrame | Blocks | pa.Table,
        **commit: Unpack[CommitOptions],
    ) -> Commit:
        """Add the frame's rows in one commit; the first one makes the table.

        A `Blocks` in the frame's place has its tasks make and write the rows as Arrow tables; rows
        that this process holds, as an Arrow table, are written by it without the engine.

        Where the table holds the `transaction`, the frame is not even computed. A frame without
        rows commits nothing but its transaction and metadata.

        Raises:
            LakeError: the frame is not as declared; `metadata` aside, see `read`.
            LakeConflict: a partition written to was replaced after `base`.
            LakeFailed: a staged file is broken or missing; the log could not be written.
        """
        return self._write(table, frame, Change("append", allow_empty=True, **commit))

    def replace(
        self,
        table: str,
        frame: DataFrame | Blocks | pa.Table,
        partition: Mapping[str, str],
        *,
        allow_empty: bool = False,
        **commit: Unpack[CommitOptions],
    ) -> Commit:
        """Put the frame's rows in the place of a partition's, in one commit.

        `partition` names the value of at least one partition column (and is empty for a table
        without partitions, which is then replaced whole); every row must lie in it, no other
        partition is touched. Other settings as for `append`.

        Raises:
            LakeError: the frame or the partition is not as declared.
            LakeConflict: the partition changed after `base`.
            LakeFailed: rows outside the partition; no rows without `allow_empty`; else as `append`.
        """
        declared = log.declaration(table)
        if bool(partition) != bool(declared.partition_by):
            raise LakeError(
                f"{table}: replace wants a value of "
                f"{' or '.join(declared.partition_by) or 'no column'}, got {dict(partition)}"
            )
        change = Change("replace", partition=partition, allow_empty=allow_empty, **commit)
        return self._write(table, frame, change)

    def transaction_version(self, table: str, app_id: str) -> int | None:
        """The number of the newest commit that application `app_id` made; None without one."""
        handle = log.open_table(self.path(table), log.declaration(table))
        return None if handle is None else handles.transaction_version(handle, app_id)

    def history(self, table: str, limit: int | None = None) -> list[Record]:
        """The table's commits, newest first; a `LakeError` where there is no table."""
        return arrow.history(self.root, table, limit)

    def _write(self, table: str, frame: DataFrame | Blocks | pa.Table, change: Change) -> Commit:
        declared = log.declaration(table)
        check_partition(declared, change.partition)
        if isinstance(frame, pa.Table):
            return arrow.write(self.root, table, frame, change)
        check_partition_types(declared)
        commit: Commit = self._engine.write(frame, declared, self.root, change)
        return commit
