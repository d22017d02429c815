"""The session with Delta's connector on its classpath."""

import pytest
from pyspark.sql import SparkSession

from adnominal.etl import engine
from adnominal.etl.engine import EngineSettings
from adnominal.etl.engine.spark import java_fault
from adnominal.etl.engine.versions import SPARK as SPARK_VERSION
from tests.jars import jars
from tests.spark.conftest import SPARK

JARS = "delta" if SPARK_VERSION >= (4,) else "delta-3.5"


def start_session() -> SparkSession:
    """Start Spark with the connector; without Java or its jars, the test is skipped."""
    if fault := java_fault():
        pytest.skip(fault)
    extra = {**SPARK, "spark.jars": jars(JARS)}
    return engine.start("tests", EngineSettings(engine="spark"), extra=extra).spark
