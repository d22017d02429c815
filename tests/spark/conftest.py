"""A Spark session for the tests that need a JVM.

A process can have only one kind of session, so ``make test`` runs this folder in a separate process
if Java is installed.
"""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from adnominal.etl import engine
from adnominal.etl.engine import EngineSettings
from adnominal.etl.engine.spark import java_fault

# Tables have few rows, so that optimising compilation in the JVM does not pay.
JAVA_OPTIONS = (
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:MetaspaceSize=256m "
    "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
)
SPARK = {
    "spark.master": "local[2]",
    "spark.sql.shuffle.partitions": "2",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tests, with the reason, if Java is missing."""
    if fault := java_fault():
        for item in items:
            item.add_marker(pytest.mark.skip(reason=fault))


@pytest.fixture(scope="session", autouse=True)
def java_options() -> Iterator[None]:
    """Options of every JVM that a test starts, those of commands and clusters too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JDK_JAVA_OPTIONS", JAVA_OPTIONS)
        yield


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A local Spark session on two cores, shared by all tests."""
    yield engine.start("tests", EngineSettings(engine="spark"), extra=SPARK).spark
    engine.stop()
