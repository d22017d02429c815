"""Spark in a JVM, local or on a cluster, and how the code reaches its workers.

In local mode, workers import the checkout itself. On a cluster, each executor unpacks an archive of
the package beside its workers; the compiled kernel and data files could not be loaded from a zip
on the path. The libraries that the packages import must be installed on every node
(docs/cluster.md).
"""

from __future__ import annotations

import atexit
import gc
import logging
import os
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from adnominal.conf import IMPORT_ROOT, ROOT, UserError
from adnominal.conf.progress import report_progress
from adnominal.etl.engine import versions

if TYPE_CHECKING:
    from pyspark import SparkConf, SparkContext

    from adnominal.etl.engine import GroupFunction, MapFunction

# The folders of the one archive that executors get; they need neither training nor analysis.
SHIPPED = ("conf", "etl")
DELTA_EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"
DELTA_CATALOG = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
S3_CLASS = "org.apache.hadoop.fs.s3a.S3AFileSystem"
JAVA_HINT = "install one (Debian: apt-get install openjdk-17-jre-headless) or set JAVA_HOME"

# Our tables rely on these; the user's properties cannot change them.
REQUIRED = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
}
# Defaults for what the user's properties do not set.
PREFERRED = {
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # Packed pairs take 200 kB per value: a batch limited only by rows could fill a worker.
    "spark.sql.execution.arrow.maxBytesPerBatch": str(16 << 20),
    "spark.ui.showConsoleProgress": "false",  # `etl.engine.progress` reports
    # Shuffles carry sorted words and counts: half the size that lz4 achieves.
    "spark.io.compression.codec": "zstd",
    "spark.log.level": "WARN",  # dozens of lines per second would bury the job's own
}
PREFERRED_LOCALLY = {
    "spark.ui.enabled": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    # Results over a megabyte are fetched from the address that the driver advertises.
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": str(max(2, os.cpu_count() or 2)),
    # Delta's connector reads a log in fifty tasks; one of ours has some hundred lines.
    "spark.databricks.delta.snapshotPartitions": "2",
    # Saves a tenth of a second per Python task (the module says why).
    "spark.python.daemon.module": "adnominal.etl.engine.spark_workers",
}
LOCAL_MEMORY = "2g"
WORKER_LOG = "ADNOMINAL_WORKER_LOG"

log = logging.getLogger("adnominal")


def java_fault() -> str | None:
    """Return why Spark finds no Java and what to do about it; None if there is one."""
    home = os.environ.get("JAVA_HOME")
    if home and not (Path(home) / "bin" / "java").exists():
        return f"JAVA_HOME={home} has no bin/java: {JAVA_HINT}"
    if not home and shutil.which("java") is None:
        return f"no java is on the PATH: {JAVA_HINT}"
    return None


def check_java() -> None:
    """Raise `UserError` if there is no Java: Spark would fail without saying so."""
    if fault := java_fault():
        raise UserError(
            f"Spark needs Java 17 or later, and {fault}; or use the embedded engine, which needs "
            "none (python etl/JOB.py engine=sail)"
        )


def hadoop_location(uri: str) -> str:
    """Return the address of a file or folder as Hadoop takes it: without percent-encoding."""
    parts = urlsplit(uri)
    if "://" not in uri or parts.scheme == "file":
        path = unquote(parts.path) if parts.scheme == "file" else os.path.abspath(uri)
        return f"file://{path}"
    return uri.replace("s3://", "s3a://", 1)


def hadoop_aws(jvm: Any) -> str:
    """Return the coordinates of hadoop-aws for the Hadoop of the driver's JVM."""
    version = jvm.org.apache.hadoop.util.VersionInfo.getVersion()
    return f"org.apache.hadoop:hadoop-aws:{version}"


def jvm_class_exists(jvm: Any, name: str) -> bool:
    """Whether the driver's JVM has class `name` on its classpath."""
    from py4j.protocol import Py4JJavaError

    try:
        loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
        jvm.java.lang.Class.forName(name, False, loader)
    except Py4JJavaError:
        return False
    return True


def pack(folder: Path) -> Path:
    """Write ``adnominal.zip`` to `folder`: the package, for executors to unpack.

    It omits what workers do not need (C sources, caches, the demo corpus). A compiled module that
    was built for another platform cannot be imported, as if it were missing.
    """
    import adnominal

    target = folder / "adnominal.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(adnominal.__file__, "__init__.py")
        for package in SHIPPED:
            # From the real folders: in a checkout, `adnominal` has links, which rglob skips.
            for path in sorted((ROOT / package).rglob("*")):
                inside = path.relative_to(ROOT)
                unwanted = path.suffix in (".c", ".pyc") or inside.parts[1] == "demo"
                if path.is_file() and not unwanted:
                    archive.write(path, inside)
    return target


class Started:
    """A function of batches that sets up its worker first.

    The worker logs to its executor's stderr if the session asks for it; in local mode it does not,
    because its messages would mix with the job's. Spark collects garbage after every task, so
    packages and models that exist before the task are excluded from collection: scanning them took
    a tenth of the time of counting 250 MB.
    """

    def __init__(self, function: MapFunction) -> None:
        self._function = function

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        gc.freeze()
        if os.environ.get(WORKER_LOG) and not log.hasHandlers():
            logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s")
            log.setLevel(os.environ[WORKER_LOG])
            log.info("Python %s, code from %s", sys.version.split()[0], ROOT)
        return self._function(batches)


def start(app: str, *, extra: dict[str, str] | None = None, **_: Any) -> Spark:
    """Return the running session, or a new one, with the settings that our tables rely on.

    Master, memory and cores are the user's (``spark-submit`` options, ``conf/spark/*.conf``,
    ``spark-defaults.conf``); by default Spark runs locally on every core. `extra` holds more
    properties of a new session; under ``spark-submit``, the user's properties win.

    Raises:
        UserError: there is no Java, or Delta's connector is too old for Spark.
    """
    check_java()
    # Set by a process with an embedded engine that started this one.
    os.environ.pop("SPARK_CONNECT_MODE_ENABLED", None)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    from pyspark import SparkContext

    session = SparkSession.getActiveSession()
    if session is None:
        context = SparkContext.getOrCreate(_configuration(app, extra or {}))
        session = SparkSession.builder.getOrCreate()
    context = session.sparkContext
    for key, value in REQUIRED.items():
        session.conf.set(key, value)
    local = _is_local(context.master)
    if local:
        # Workers are children of the JVM, which spark-submit started before this line.
        path = os.pathsep.join(p for p in (str(IMPORT_ROOT), os.environ.get("PYTHONPATH", "")) if p)
        context.environment["PYTHONPATH"] = path
    else:
        context.environment[WORKER_LOG] = "INFO"
        _ship(context)
    return Spark(session, is_cluster=not local)


class Spark:
    """A classic Spark session."""

    name = "spark"

    def __init__(self, session: SparkSession, is_cluster: bool) -> None:
        self.spark = session
        self.is_cluster = is_cluster

    @property
    def cores(self) -> int:
        return int(self.spark.sparkContext.defaultParallelism)

    def partitions(self, max_tasks: int, min_tasks: int) -> int:
        # By size as well as cores: the number of cores is unknown if executors start on demand.
        return max(1, min(max_tasks, max(4 * self.cores, min_tasks)))

    def map_arrow(
        self, frame: DataFrame, function: MapFunction, schema: T.StructType | str, compiled: bool
    ) -> DataFrame:
        return frame.mapInArrow(Started(function), schema)

    def group_arrow(
        self,
        frame: DataFrame,
        by: str,
        function: GroupFunction,
        schema: T.StructType | str,
        large: bool,
    ) -> DataFrame:
        return versions.group_arrow(frame, by, function, schema)

    @contextmanager
    def watch(self, label: str, size: int) -> Iterator[None]:
        """Report the progress of the block: the share of its stages' tasks that are done."""
        # A task counts when it is done, so progress is coarse in a job of few tasks.
        context = self.spark.sparkContext
        tracker = context.statusTracker()
        context.setJobGroup(label, label)

        def share() -> float:
            jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(label)]
            ids = [stage for job in jobs if job for stage in job.stageIds]
            stages = [stage for stage in map(tracker.getStageInfo, ids) if stage]
            total = sum(stage.numTasks for stage in stages)
            return sum(stage.numCompletedTasks for stage in stages) / total if total else 0.0

        try:
            with report_progress(label, size, share):
                yield
        finally:
            context.setLocalProperty("spark.jobGroup.id", None)
            context.setLocalProperty("spark.job.description", None)

    def location(self, uri: str) -> str:
        return hadoop_location(uri)

    def check_store(self, uri: str) -> None:
        if uri.partition("://")[0] in ("s3", "s3a", "s3n") and not self.has_class(S3_CLASS):
            raise UserError(
                f"{uri}: Spark reaches S3 through hadoop-aws, which is not on its classpath; start "
                f"the job with spark-submit --packages {hadoop_aws(self._jvm)}, or use the "
                "embedded engine, which needs no jar (python etl/JOB.py engine=sail)"
            )

    def has_class(self, name: str) -> bool:
        return jvm_class_exists(self._jvm, name)

    @property
    def _jvm(self) -> Any:
        return self.spark.sparkContext._jvm

    def stop(self) -> None:
        self.spark.stop()


def _is_local(master: str) -> bool:
    return master == "local" or master.startswith("local[")


def _configuration(app: str, extra: dict[str, str]) -> SparkConf:
    """Return the properties of a new session; start the JVM, which knows what the user has set."""
    from pyspark import SparkConf, SparkContext

    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    launch = SparkConf()
    if not submitted:
        # spark-defaults.conf overrides this, unlike a property.
        os.environ.setdefault("SPARK_DRIVER_MEMORY", LOCAL_MEMORY)
        # Under plain Python, Spark treats the job as a shell with a progress bar.
        launch.set("spark.ui.showConsoleProgress", "false")
        for key, value in extra.items():
            launch.set(key, value)
    SparkContext._ensure_initialized(conf=launch)
    # Only now does a configuration hold what spark-submit was given. Before the JVM runs it is
    # empty, and our defaults would replace the user's properties.
    conf = SparkConf()
    # Without --name, spark-submit names an application after its file.
    if conf.get("spark.app.name") in (None, "pyspark-shell", Path(sys.argv[0]).name):
        conf.setAppName(app)
    conf.setIfMissing("spark.master", "local[*]")
    preferred_settings = dict(PREFERRED)
    if _is_local(conf.get("spark.master") or ""):
        preferred_settings |= PREFERRED_LOCALLY
    if jvm_class_exists(SparkContext._jvm, DELTA_EXTENSION):
        versions.check_connector(SparkContext._jvm)
        preferred_settings["spark.sql.extensions"] = DELTA_EXTENSION
        preferred_settings["spark.sql.catalog.spark_catalog"] = DELTA_CATALOG
    for key, value in (preferred_settings | extra).items():
        conf.setIfMissing(key, value)
    return conf


def _ship(context: SparkContext) -> None:
    """Make every executor unpack the package into the folder that its workers import from."""
    if any("/adnominal.zip" in uri for uri in context.listArchives):
        return
    # The driver serves the archive from this folder, so it stays until the driver ends.
    folder = Path(tempfile.mkdtemp(prefix="adnominal-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    context.addArchive(f"{pack(folder)}#adnominal")
