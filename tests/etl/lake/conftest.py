"""A lake in an empty folder, by either engine; rows of the declared tables from literals."""

from __future__ import annotations

import pytest

from etl.engine import running
from etl.engine.spark import DELTA_EXTENSION
from etl.lake.frames import spark_schema
from etl.lake.spark import ENGINES, Lake
from etl.lake.tables import TABLES


def _lake(spark, root, engine):
    if engine == "delta-spark" and not running().has_class(DELTA_EXTENSION):
        pytest.skip("the Delta connector's jar is not on Spark's classpath")
    return Lake(spark, str(root), engine)


@pytest.fixture
def root(tmp_path):
    """The folder of a lake that is not there yet."""
    return str(tmp_path / "lake")


@pytest.fixture(params=ENGINES)
def lake(request, spark, tmp_path):
    """A new lake, by each engine whose classes are there."""
    return _lake(spark, tmp_path / "lake", request.param)


@pytest.fixture
def plain_lake(spark, tmp_path):
    """A new lake by the embedded engine."""
    return _lake(spark, tmp_path / "lake", "delta-rs")


@pytest.fixture
def frame(spark):
    """`frame(table, rows)`: a frame of the declared schema, in one partition."""

    def make(table, rows):
        return spark.createDataFrame(rows, spark_schema(TABLES[table].schema)).coalesce(1)

    return make
