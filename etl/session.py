"""The Spark session of a job, and how the code reaches its workers.

Jobs run as files under ``spark-submit``, under plain ``python`` (local Spark) and as modules, from
any folder. Workers run the driver's own interpreter; in local mode they import the checkout
itself (so the compiled kernel serves), elsewhere a zip of the packages is shipped to them, from
which a compiled module cannot be imported: a cluster that is to use it has the wheel installed
(docs/cluster.md).
"""

from __future__ import annotations

import atexit
import logging
import os
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conf import ROOT, UserError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PACKAGES = ("conf", "etl")
DELTA_EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"
DELTA_CATALOG = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
JAVA_HINT = "install one (Debian: apt-get install openjdk-17-jre-headless) or set JAVA_HOME"

log = logging.getLogger("adnominal")


def check_java() -> None:
    """Raise `UserError` where no Java is to be found, before Spark fails without saying so."""
    home = os.environ.get("JAVA_HOME")
    if home and (Path(home) / "bin" / "java").exists():
        return
    if home:
        raise UserError(
            f"JAVA_HOME={home} has no bin/java; Spark needs Java 17 or later: {JAVA_HINT}"
        )
    if shutil.which("java") is None:
        raise UserError(f"no java on the PATH; Spark needs Java 17 or later: {JAVA_HINT}")


def jvm_class_exists(jvm: Any, name: str) -> bool:
    """Whether the driver's JVM has class `name` on its classpath."""
    from py4j.protocol import Py4JJavaError

    try:
        loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
        jvm.java.lang.Class.forName(name, False, loader)
    except Py4JJavaError:
        return False
    return True


def zip_packages(folder: Path) -> Path:
    """A zip of the Python sources and data of our packages, for executors to import."""
    target = folder / "adnominal.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for package in PACKAGES:
            for path in sorted((ROOT / package).rglob("*")):
                if path.is_file() and path.suffix in (".py", ".yaml", ".txt", ".json", ".tsv"):
                    archive.write(path, path.relative_to(ROOT))
    return target


def spark_session(app: str, *, extra: dict[str, str] | None = None) -> SparkSession:
    """The running session, or a new one with the settings that our tables rely on.

    Master, memory and cores are the user's (``spark-submit`` options, ``conf/spark/*.conf``); where
    nothing says otherwise Spark runs locally on every core.

    Raises:
        UserError: no Java.
    """
    check_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    conf = SparkConf().setAppName(app)
    conf.setIfMissing("spark.master", "local[*]")
    settings = {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # Counts are sums and tables sorted by key: adaptive plans change speed, never content.
        "spark.sql.adaptive.enabled": "true",
    }
    for key, value in settings.items():
        conf.set(key, value)
    # Spark's own INFO lines, dozens a second, would bury the job's progress.
    conf.setIfMissing("spark.log.level", "WARN")
    for key, value in (extra or {}).items():
        conf.setIfMissing(key, value)
    local = conf.get("spark.master", "local").startswith("local")
    if local:
        conf.setIfMissing("spark.ui.enabled", "false")
        conf.setIfMissing("spark.driver.bindAddress", "127.0.0.1")
        conf.setIfMissing("spark.sql.shuffle.partitions", str(max(2, os.cpu_count() or 2)))
        conf.setIfMissing("spark.driver.memory", "2g")
    SparkContext._ensure_initialized(
        conf=conf
    )  # starts the JVM, so that its classpath can be asked
    if jvm_class_exists(SparkContext._jvm, DELTA_EXTENSION):
        conf.setIfMissing("spark.sql.extensions", DELTA_EXTENSION)
        conf.setIfMissing("spark.sql.catalog.spark_catalog", DELTA_CATALOG)
    context = SparkContext.getOrCreate(conf)
    if local:
        # Workers are children of the JVM, which spark-submit started before this line.
        path = os.pathsep.join(p for p in (str(ROOT), os.environ.get("PYTHONPATH", "")) if p)
        context.environment["PYTHONPATH"] = path
    else:
        # The driver serves the file from where it lies, so it stays until the driver ends.
        folder = Path(tempfile.mkdtemp(prefix="adnominal-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        context.addPyFile(str(zip_packages(folder)))
    return SparkSession.builder.getOrCreate()
