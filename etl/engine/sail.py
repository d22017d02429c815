"""Sail embedded: a Spark Connect server in Rust, in the job's own process; no Java needed.

Known behaviour (``docs/engines.md``): hints and ``persist`` do nothing; ``repartitionByRange``
distributes by hash; lists as values of aggregates take many times their memory; a sort within
partitions that no later operator needs is dropped, so code that needs an order uses a window over
the same keys; all partitions of a stage run at once; paths are patterns, and one that matches
nothing gives no rows and no error; an interrupt ends the server unless Python handles it.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import signal
import tempfile
import threading
import weakref
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote, urlsplit

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from adnominal.conf import UserError
from adnominal.conf.progress import report_progress
from adnominal.etl.engine import progress
from adnominal.etl.engine.exchange import Exchange
from adnominal.etl.engine.groups import groups_of
from adnominal.etl.engine.temporary import TemporaryFolder
from adnominal.etl.engine.workers import LocalFunction, Pool
from adnominal.etl.optional_imports import hide_modules

if TYPE_CHECKING:
    from adnominal.etl.engine import GroupFunction, MapFunction

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_SCHEMES = {"s3a": "s3", "s3n": "s3"}  # Hadoop's names of a store -> Sail's
_PLACE = "_place"
_NEVER = str(365 * 24 * 3600)  # seconds


def start(app: str, *, memory: str | None = None, **_: Any) -> Sail:
    """Start a server on loopback and a session with it."""
    return Sail(memory)


def memory_bytes(text: str) -> int:
    """``8GB``, ``500m`` or a plain number, as bytes.

    Raises:
        UserError: anything else.
    """
    match = re.fullmatch(r"\s*([0-9.]+)\s*([KMGT]?)I?B?\s*", text.upper())
    try:
        size = int(float(match[1]) * _UNITS[match[2]]) if match else 0
    except ValueError:
        size = 0
    if size < 64 << 20:
        raise UserError(f"memory={text}: expected 64MB or more, as memory=8GB")
    return size


def machine_memory() -> int:
    """Return the memory, in bytes, of this machine or of the container of the process."""
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            limits.append(int(Path(path).read_text()))
        except (OSError, ValueError):  # no such file, or "max"
            continue
    return min(limits)


def sail_location(uri: str) -> str:
    """Return the address of a file or folder as Sail takes it.

    Sail takes paths as patterns; a percent-encoded name is taken literally.
    """
    parts = urlsplit(uri)
    if "://" not in uri or parts.scheme == "file":
        path = unquote(parts.path) if parts.scheme == "file" else os.path.abspath(uri)
        return f"file://{quote(path)}"
    scheme, rest = uri.split("://", 1)
    return f"{_SCHEMES.get(scheme, scheme)}://{rest}"


class Sail:
    """The running server, its session and its worker processes."""

    name = "sail"
    is_cluster = False

    def __init__(self, memory: str | None = None) -> None:
        from pysail.spark import SparkConnectServer

        if "jemalloc" in pa.supported_memory_backends():
            # With mimalloc, Arrow's default, counting 6 GB of DepCC takes 10% more CPU time.
            pa.set_memory_pool(pa.jemalloc_memory_pool())
        self.cores = len(os.sched_getaffinity(0))
        self.pool = Pool(self.cores)
        limit = memory_bytes(memory) if memory else machine_memory() // 2
        self._folder = TemporaryFolder("adnominal-spill-")
        self.spill = os.fspath(self._folder.path)
        options = {
            "execution.default_parallelism": str(self.cores),
            "runtime.memory_pool.type": "fair",
            "runtime.memory_pool.fair.max_size": str(limit),
            "runtime.temporary_files.paths": f'["{self.spill}"]',
            "runtime.temporary_files.max_size": str(int(shutil.disk_usage(self.spill).free * 0.9)),
            "parquet.compression": "zstd(1)",
            "spark.session_timeout_secs": _NEVER,
        }
        for key, value in options.items():
            os.environ.setdefault(f"SAIL_{key.upper().replace('.', '__')}", value)
        os.environ.setdefault("RUST_LOG", "error")
        self._server = SparkConnectServer(ip="127.0.0.1", port=0)
        self._server.start(background=True)
        _, port = self._server.listening_address
        # Not SPARK_REMOTE: processes that this one starts have engines of their own.
        with hide_modules("IPython", "ipykernel"):  # imported only for the width of a progress bar
            session = SparkSession.builder.remote(f"sc://127.0.0.1:{port}").create()
        self.spark: SparkSession = session
        self.spark.conf.set("spark.sql.session.timeZone", "UTC")
        # No call sites: no message here uses them, and PySpark imports IPython to find them.
        self.spark.conf.set("spark.python.sql.dataFrameDebugging.enabled", "false")
        self._handle_interrupts()
        atexit.register(self.stop)

    def _handle_interrupts(self) -> None:
        """Leave Ctrl-C to Python: the running stage ends, and the server stays."""
        handler = signal.getsignal(signal.SIGINT)
        if handler is not None and threading.current_thread() is threading.main_thread():
            # The server has replaced Python's handler with its own and would end; the client would
            # then try to reach it for many minutes.
            signal.signal(signal.SIGINT, handler)
        client = self.spark.client
        interrupt = client.interrupt_operation

        def interrupt_with_workers(operation: str) -> Any:
            # Tasks that wait for a worker hold the threads that the server needs to answer.
            self.pool.close()
            return interrupt(operation)

        client.interrupt_operation = interrupt_with_workers

    def partitions(self, max_tasks: int, min_tasks: int) -> int:
        # All of them run at once, so more than one per core would only take more memory.
        return max(1, min(max_tasks, self.cores))

    def map_arrow(
        self, frame: DataFrame, function: MapFunction, schema: T.StructType | str, compiled: bool
    ) -> DataFrame:
        return frame.mapInArrow(LocalFunction(function, None if compiled else self.pool), schema)

    def group_arrow(
        self,
        frame: DataFrame,
        by: str,
        function: GroupFunction,
        schema: T.StructType | str,
        large: bool,
    ) -> DataFrame:
        """Apply a function to all rows of each group; with `large`, rows wait on disk meanwhile."""
        # Not applyInArrow: Sail collects the rows of all groups as lists and counts the memory of
        # each list as that of the whole it was cut from. Sorted rows stream and spill.
        exchange: Exchange | None = None
        if large:
            folder = tempfile.mkdtemp(prefix="exchange-", dir=self.spill)
            exchange = Exchange(folder, frame.schema)
            frame = self.map_arrow(frame, exchange.write, exchange.schema, compiled=True)
        # With only a window, Sail runs a frame of few rows on one core, whatever their size.
        frame = frame.repartition(self.cores, by)
        place = F.row_number().over(Window.partitionBy(by).orderBy(by))
        rows_in_order = frame.withColumn(_PLACE, place)

        def of_groups(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for group in groups_of(batches, by):
                rows = group.drop_columns(_PLACE)
                yield from function(exchange.read(rows) if exchange else rows).to_batches()

        run = LocalFunction(of_groups, None)
        if exchange:
            # Plans hold the function; once no plan does, nothing reads the rows.
            weakref.finalize(run, shutil.rmtree, exchange.folder, ignore_errors=True)
        return rows_in_order.mapInArrow(run, schema)

    def watch(self, label: str, size: int) -> AbstractContextManager[None]:
        bytes_before = progress.bytes_read()
        return report_progress(
            label, size, lambda: (progress.bytes_read() - bytes_before) / max(size, 1)
        )

    def location(self, uri: str) -> str:
        return sail_location(uri)

    def check_store(self, uri: str) -> None:
        return  # it reaches the stores that delta-rs reaches, with the same credentials

    def has_class(self, name: str) -> bool:
        return False

    def stop(self) -> None:
        atexit.unregister(self.stop)
        self.pool.close()
        self.spark.stop()
        self._server.stop()
        self._folder.close()
