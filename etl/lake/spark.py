"""Read and write the tables as DataFrames; both Delta writers give the same tables on disk.

``delta-spark`` is the JVM connector, used when its classes are on the classpath (as after
``spark-submit --packages``); ``delta-rs`` needs no jar. Both write tables without deletion vectors
and store the job, the code version and the caller's metadata with every commit.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Unpack

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from adnominal.etl.engine import running
from adnominal.etl.engine.spark import DELTA_EXTENSION
from adnominal.etl.engine.versions import delta_coordinates
from adnominal.etl.lake import arrow, delta_rs, delta_spark, handles, log
from adnominal.etl.lake.blocks import Blocks
from adnominal.etl.lake.errors import LakeError
from adnominal.etl.lake.log import Change, Commit, CommitOptions, Record
from adnominal.etl.lake.schema import check_partition, check_partition_types, check_replaced
from adnominal.etl.lake.storage import table_uri
from adnominal.etl.lake.tables import table as declaration

ENGINES = ("delta-rs", "delta-spark")


def _pick_engine(engine: str) -> str:
    """The engine to use; `auto` is Delta's connector where Spark has its classes."""
    has_connector = running().has_class(DELTA_EXTENSION)
    if engine == "auto":
        return "delta-spark" if has_connector else "delta-rs"
    if engine not in ENGINES:
        raise LakeError(f"engine={engine}: expected one of auto, {', '.join(ENGINES)}")
    if engine == "delta-spark" and not has_connector:
        raise LakeError(
            "engine=delta-spark: its classes are not on Spark's classpath; start the job with "
            f"spark-submit --packages {delta_coordinates()}, or use engine=delta-rs"
        )
    return engine


class Lake:
    """The tables under `root`, a local path or the URI of a store that Spark reaches.

    Attributes:
        engine: ``delta-rs`` or ``delta-spark``.
    """

    def __init__(self, spark: SparkSession, root: str, engine: str = "auto") -> None:
        """`engine`: ``auto`` takes delta-spark if its classes are present, else delta-rs.

        Raises:
            LakeError: the engine is unknown, or delta-spark is without its classes.
        """
        running().check_store(root)
        self.spark = spark
        self.root = root
        self.engine = _pick_engine(engine)
        self._engine = delta_spark if self.engine == "delta-spark" else delta_rs
        # Spark itself fails if a file is gone.
        self._read_check: dict[str, set[Path]] = (
            {} if self.engine == "delta-spark" else {"files_read": set()}
        )

    def exists(self, table: str) -> bool:
        """Whether the table has a first commit."""
        return self.version(table) is not None

    def version(self, table: str) -> int | None:
        """Return the table's newest version, from 0; None if there is no table."""
        return arrow.version(self.root, table)

    def read(
        self, table: str, *, version: int | None = None, where: Mapping[str, str] | None = None
    ) -> DataFrame:
        """Read the table's rows, in its newest version or an earlier one.

        `where` names values of partition columns; only their files are read.

        Raises:
            LakeError: the table (the error names the command that builds it) or version does not
                exist, the schema is not as declared, the table uses deletion vectors or column
                mapping, or `where` names another column.
            LakeFailed: a file that the log names is gone.
        """
        declared = declaration(table)
        check_partition(declared, where or {})
        return self._engine.read(
            self.spark,
            declared,
            self.root,
            version=version,
            where=where or {},
            **self._read_check,
        )

    def files(self, table: str, where: Mapping[str, str]) -> DataFrame:
        """Return the files of a partition, one per row, for `etl.lake.blocks.read_files`.

        Columns: table (its address) and file (a path within it).
        """
        declared = declaration(table)
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
        """Add the frame's rows in one commit; the first one creates the table.

        Instead of a DataFrame, a `Blocks` lets its tasks make and write the rows as Arrow tables;
        an Arrow table is written by this process without the engine. If the table already has the
        `transaction`, the frame is not computed. An empty frame commits only transaction and
        metadata.

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
        """Replace a partition's rows with the frame's, in one commit.

        `partition` gives the value of at least one partition column (it is empty for a table
        without partitions, which is then replaced whole). Every row must be in it; no other
        partition is touched. Other settings as for `append`.

        Raises:
            LakeError: the frame or the partition is not as declared.
            LakeConflict: the partition changed after `base`.
            LakeFailed: there are rows outside the partition, or none without `allow_empty`; else as
                `append`.
        """
        check_replaced(declaration(table), partition)
        change = Change("replace", partition=partition, allow_empty=allow_empty, **commit)
        return self._write(table, frame, change)

    def transaction_version(self, table: str, app_id: str) -> int | None:
        """Return the number of the newest commit by application `app_id`; None if there is none."""
        handle = log.open_table(table_uri(self.root, table), declaration(table))
        return None if handle is None else handles.transaction_version(handle, app_id)

    def history(self, table: str, limit: int | None = None) -> list[Record]:
        """Return the table's commits, newest first; raise `LakeError` if there is no table."""
        return arrow.history(self.root, table, limit)

    def _write(self, table: str, frame: DataFrame | Blocks | pa.Table, change: Change) -> Commit:
        if isinstance(frame, pa.Table):
            return arrow.write(self.root, table, frame, change)
        declared = declaration(table)
        check_partition_types(declared)
        commit: Commit = self._engine.write(frame, declared, self.root, change, **self._read_check)
        return commit
