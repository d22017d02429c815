"""The session with Delta's connector on its classpath."""

from pyspark.sql import SparkSession

from adnominal.etl import engine
from adnominal.etl.engine import EngineSettings
from adnominal.etl.engine.versions import SPARK as SPARK_VERSION
from tests.jars import jars
from tests.spark.conftest import SPARK

JARS = "delta" if SPARK_VERSION >= (4,) else "delta-3.5"


def start_session() -> SparkSession:
    """Start Spark with the connector; without its jars, the test is skipped."""
    extra = {**SPARK, "spark.jars": jars(JARS)}
    return engine.start("tests", EngineSettings(engine="spark"), extra=extra).spark
