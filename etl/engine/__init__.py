"""Which engine runs the DataFrame code of the jobs, and what a job may ask of it.

One DataFrame code serves three engines: Sail, embedded in the job's own process and the default;
Spark, if the job was started by ``spark-submit`` or the data outgrows one machine; and any Spark
Connect server. Jobs and rules use only what Spark Connect offers; engine-specific code is in
modules:

    sail.py      the embedded engine
    spark.py     Spark in a JVM of the job's own
    connect.py   a Spark Connect server
    workers.py   Python functions in processes, for the embedded engine
    exchange.py  large values between tasks of the embedded engine
    versions.py  what differs between versions of Spark
    progress.py  progress of long-running work

A process has one engine: the jobs of a pipeline and the tests of a run share it.
"""

from __future__ import annotations

import importlib
import logging
import os
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from adnominal import conf
from adnominal.conf import UserError, setting
from adnominal.conf.opening import OPENING

# pyspark is not imported here: Spark's Python workers are forked from a module of this package
# (spark_workers.py) that must change the path before pyspark is imported.
if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql import types as T

    MapFunction = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
    GroupFunction = Callable[[pa.Table], pa.Table]

ENGINES = ("auto", "sail", "spark", "connect")

EMBEDDED_ROWS = 50_000_000
"""Number of pair rows up to which `auto` takes the embedded engine: the largest size measured
(`benchmarks.engines`), where it was faster than local Spark within 8 GB."""

# Lines of a Java stack trace without a message, and lines that name an exception.
_JAVA_FRAME = re.compile(r"at (app//|java\.base/)?[\w.$/<>]+\(|\.\.\. \d+ (more|common frames)")
_RAISED = re.compile(r"[\w.$]*(Error|Exception|Failed|Failure)(:|$)")

log = logging.getLogger("adnominal")


@dataclass(frozen=True, kw_only=True)
class EngineSettings:
    """Engine settings of every job; they never change the content of a table."""

    engine: str = setting(
        "auto",
        help="sail (embedded, no Java), spark, connect (SPARK_REMOTE); auto: spark under "
        "spark-submit, connect if SPARK_REMOTE is set, else sail",
        choices=ENGINES,
        identity=False,
    )
    memory: str | None = setting(
        None,
        help="memory of the embedded engine before it spills to disk; default: half of all",
        example="memory=8GB",
        identity=False,
    )


class Engine(Protocol):
    """What a job may ask of an engine, beyond the DataFrame calls of its session."""

    name: str
    spark: SparkSession
    is_cluster: bool  # whether tasks run on other machines

    @property
    def cores(self) -> int:
        """How many tasks run at the same time."""

    def partitions(self, max_tasks: int, min_tasks: int) -> int:
        """Number of tasks for some work: at most `max_tasks`, `min_tasks` if that many can run."""

    def map_arrow(
        self, frame: DataFrame, function: MapFunction, schema: T.StructType | str, compiled: bool
    ) -> DataFrame:
        """``DataFrame.mapInArrow``."""

    def group_arrow(
        self,
        frame: DataFrame,
        by: str,
        function: GroupFunction,
        schema: T.StructType | str,
        large: bool,
    ) -> DataFrame:
        """``DataFrame.groupBy(by).applyInArrow``."""

    def watch(self, label: str, size: int) -> AbstractContextManager[None]:
        """Log the progress of the work inside the block."""

    def location(self, uri: str) -> str:
        """The address of a file or folder as the engine's readers and writers take it."""

    def check_store(self, uri: str) -> None:
        """Raise `UserError` if the engine lacks what it needs to reach the store of a URI."""

    def has_class(self, name: str) -> bool:
        """Whether the engine's JVM, if it has one, has a class on its classpath."""

    def stop(self) -> None:
        """End the session and free what it holds."""


_running: Engine | None = None


def start(
    app: str,
    settings: EngineSettings | None = None,
    *,
    rows: int = 0,
    needs_jvm: str | None = None,
    **options: Any,
) -> Engine:
    """Return the engine of this process: the running one, or a new one as the settings say.

    Args:
        app: name of the application, as cluster user interfaces show it.
        settings: the job's settings; by default ``engine=auto``.
        rows: rows of the largest table that the job joins or sorts, as far as they are known.
        needs_jvm: what in the job needs a JVM, such as ``parser=sparknlp``; None for most jobs.
        options: passed on to a new engine (properties of a Spark session in ``extra``).

    Raises:
        UserError: the engine lacks something (Java, a server's address, a package), another engine
            is running, or the job needs a JVM and the engine has none.
    """
    global _running
    settings = settings or EngineSettings()
    if _running is None:
        name = choose(settings.engine, rows, needs_jvm)
        module = importlib.import_module(f"adnominal.etl.engine.{name}")
        _running = module.start(app, memory=settings.memory, **options)
    elif settings.engine not in ("auto", _running.name):
        raise UserError(
            f"engine={settings.engine}: this process runs {_running.name} already; expected "
            "engine=auto or the same engine for all of its jobs"
        )
    if needs_jvm and _running.name != "spark":
        raise UserError(
            f"{needs_jvm} runs in a JVM, which engine={_running.name} does not have; start the job "
            "with spark-submit, or give engine=spark"
        )
    return _running


def running() -> Engine:
    """Return the engine that `start` has started in this process.

    Raises:
        RuntimeError: there is none.
    """
    if _running is None:
        raise RuntimeError("no engine runs in this process; call etl.engine.start first")
    return _running


def stop() -> None:
    """End the running engine, if there is one; the next `start` makes a new one."""
    global _running
    if _running is not None:
        _running.stop()
        _running = None


def choose(setting_value: str, rows: int = 0, needs_jvm: str | None = None) -> str:
    """Return the name of the engine for `setting_value`, and log the reason.

    Raises:
        UserError: ``connect`` without an address in ``SPARK_REMOTE``; pyspark is too old for it.
    """
    from adnominal.etl.engine import versions
    from adnominal.etl.engine.spark import java_fault

    remote = os.environ.get("SPARK_REMOTE")
    is_submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    if setting_value == "connect" and not remote:
        raise UserError(
            "engine=connect: SPARK_REMOTE is not set; expected the address of a Spark Connect "
            "server, as SPARK_REMOTE=sc://host:15002"
        )
    if not versions.HAS_CONNECT and (setting_value in ("sail", "connect") or remote):
        versions.refuse_old(setting_value if setting_value != "auto" else "connect")
    if setting_value != "auto":
        name, cause = setting_value, f"engine={setting_value}"
    elif is_submitted:
        name, cause = "spark", "started by spark-submit"
    elif not versions.HAS_CONNECT:
        name, cause = "spark", "this pyspark has no other"
    elif remote:
        name, cause = "connect", f"SPARK_REMOTE={remote}"
    elif needs_jvm:
        name, cause = "spark", f"{needs_jvm} runs in a JVM"
    elif rows > EMBEDDED_ROWS:
        fault = java_fault()
        name = "sail" if fault else "spark"
        cause = f"{rows:,} rows, more than the {EMBEDDED_ROWS:,} up to which sail is used"
        if fault:
            cause += f"; spark would be taken, but {fault}"
    else:
        name, cause = "sail", "embedded; engine=spark selects Spark"
    log.info("engine: %s (%s)", name, cause, extra=OPENING)
    return name


def map_arrow(
    frame: DataFrame,
    function: MapFunction,
    schema: T.StructType | str,
    *,
    compiled: bool = False,
) -> DataFrame:
    """``frame.mapInArrow(function, schema)``, on every core with any engine.

    Args:
        frame: the input.
        function: called once per partition with an iterator of its batches; yields batches of
            `schema`. It must be pure, and picklable with all that it refers to.
        schema: schema of the result.
        compiled: whether `function` spends its time in code that releases the interpreter's lock
            (the counting kernel, Arrow); it then needs no process of its own.
    """
    return running().map_arrow(frame, function, schema, compiled)


def group_arrow(
    frame: DataFrame,
    by: str,
    function: GroupFunction,
    schema: T.StructType | str,
    large: bool = False,
) -> DataFrame:
    """``frame.groupBy(by).applyInArrow(function, schema)``; `function` should only call Arrow.

    Each group must fit in memory. Set `large` if the frame may be too large for memory and has a
    binary column of long values (`etl.engine.exchange`).
    """
    return running().group_arrow(frame, by, function, schema, large)


def failure(error: Exception) -> str | None:
    """Return in one line why a task or the engine failed; None for other errors."""
    if not type(error).__module__.startswith(("pyspark.", "py4j.")):
        return None
    lines = [line.strip().removeprefix(": ") for line in str(error).splitlines()]
    # Java's own frames follow each message; the last cause is the real one.
    lines = [line for line in lines if line and not _JAVA_FRAME.match(line)]
    lines = [line.removeprefix("Caused by: ") for line in lines]
    raised = [line for line in lines if _RAISED.match(line)]
    return (raised or lines or [type(error).__name__])[-1]


conf.EXPLAINERS.append(failure)
