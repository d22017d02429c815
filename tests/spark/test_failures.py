"""Failures of Spark's tasks whose errors have no class in pyspark."""

import pytest

from adnominal.etl.engine import failure
from adnominal.etl.engine.versions import ENGINE_ERRORS, to_arrow


def test_a_file_that_is_gone_is_named(spark, tmp_path):
    spark.range(9).coalesce(1).write.parquet(str(tmp_path / "rows"))
    rows = spark.read.parquet(str(tmp_path / "rows"))
    (file,) = (tmp_path / "rows").glob("*.parquet")
    file.unlink()
    with pytest.raises(ENGINE_ERRORS) as error:
        to_arrow(rows)
    assert file.name in str(failure(error.value))
