"""A Spark session for the tests that need a JVM; they run in a process of their own.

A process has one kind of session, so ``make test`` runs this folder apart from the others, where
Java is found.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from etl import engine
from etl.engine import EngineSettings
from etl.engine.spark import java_fault

# Tables of ten rows: what the JVM compiles never runs twice.
JAVA_OPTIONS = (
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:MetaspaceSize=256m "
    "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
)
SPARK = {
    "spark.master": "local[2]",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.extraJavaOptions": JAVA_OPTIONS,
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what cannot run here, saying why."""
    if fault := java_fault():
        for item in items:
            item.add_marker(pytest.mark.skip(reason=fault))


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A local Spark session on two cores, shared by the whole run."""
    yield engine.start("tests", EngineSettings(engine="spark"), extra=SPARK).spark
    engine.stop()
