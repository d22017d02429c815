"""A lake in an empty folder, written by either engine, and DataFrames of declared tables."""

import pytest

from adnominal.etl.engine import running
from adnominal.etl.engine.spark import DELTA_EXTENSION
from adnominal.etl.lake.frames import spark_schema
from adnominal.etl.lake.spark import ENGINES, Lake
from adnominal.etl.lake.tables import TABLES


def _lake(spark, root, engine):
    if engine == "delta-spark" and not running().has_class(DELTA_EXTENSION):
        pytest.skip("the Delta connector's jar is not on Spark's classpath")
    return Lake(spark, str(root), engine)


@pytest.fixture
def root(tmp_path):
    """The folder of a lake that does not exist yet."""
    return str(tmp_path / "lake")


@pytest.fixture(params=ENGINES)
def lake(request, spark, tmp_path):
    """A new lake, for each engine that is available."""
    return _lake(spark, tmp_path / "lake", request.param)


@pytest.fixture
def plain_lake(spark, tmp_path):
    """A new lake for the embedded engine."""
    return _lake(spark, tmp_path / "lake", "delta-rs")


@pytest.fixture
def frame(spark):
    """A function that makes a DataFrame of a declared table, in one partition."""

    def make(table, rows):
        return spark.createDataFrame(rows, spark_schema(TABLES[table].schema)).coalesce(1)

    return make
