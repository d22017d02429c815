"""What differs between versions of Spark, in one place, and the versions known to work together."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import pyspark
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from adnominal.conf import UserError
from adnominal.etl.engine.groups import groups_of

if TYPE_CHECKING:
    from adnominal.etl.engine import GroupFunction, MapFunction

ENGINE_ERRORS: tuple[type[Exception], ...] = (PySparkException, Py4JJavaError)
"""What an engine raises if rows cannot be computed. Classic Spark leaves errors of Java without a
class in pyspark as they are, for instance that a task has failed."""

# Version of Spark -> artefact of Delta's connector, and the first of its versions that works.
CONNECTORS: dict[tuple[int, ...], tuple[str, str]] = {
    (3, 5): ("io.delta:delta-spark_2.12", "3.3.2"),
    (4, 1): ("io.delta:delta-spark_4.1_2.13", "4.3.1"),
}


def numbers(version: str) -> tuple[int, ...]:
    """Return the numbers of a version: (4, 1, 2) for ``4.1.2``."""
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


SPARK = numbers(pyspark.__version__)
HAS_CONNECT = SPARK >= (4,)
"""Whether pyspark is new enough for the embedded engine and for Spark Connect."""


def refuse_old(engine: str) -> None:
    """Raise `UserError` if the installed pyspark is too old for an engine."""
    if not HAS_CONNECT:
        raise UserError(
            f"engine={engine}: pyspark {pyspark.__version__} is installed, and this engine needs "
            "4.0 or later; expected engine=spark (or auto), or install the versions of "
            "conf/constraints.txt"
        )


def delta_coordinates() -> str:
    """Return the coordinates of Delta's connector for the installed pyspark."""
    artefact, version = CONNECTORS.get(SPARK[:2], CONNECTORS[4, 1])
    return f"{artefact}:{version}"


def check_connector(jvm: Any) -> None:
    """Raise `UserError` if the connector on the JVM's classpath is too old for Spark.

    Such a connector fails only at the first checkpoint, when tables have commits already.
    """
    if SPARK[:2] not in CONNECTORS:
        return
    first = CONNECTORS[SPARK[:2]][1]
    try:
        version = str(jvm.io.delta.package.VERSION())
    except TypeError:
        return  # a vendor's own build, which goes with its Spark
    if numbers(version) < numbers(first):
        raise UserError(
            f"delta-spark {version} is on the classpath, and Spark {pyspark.__version__} needs "
            f"{first} or later: start the job with --packages {delta_coordinates()}, or without "
            "the connector"
        )


def to_arrow(frame: DataFrame) -> pa.Table:
    """Return the rows of a DataFrame: ``DataFrame.toArrow``, which Spark 3.5 lacks."""
    if hasattr(frame, "toArrow"):
        return frame.toArrow()
    from pyspark.sql.pandas.types import to_arrow_schema

    batches = cast("Any", frame)._collect_as_arrow()
    return pa.Table.from_batches(batches, to_arrow_schema(frame.schema))


def rows_of(table: pa.Table) -> tuple[list[tuple[Any, ...]], T.StructType]:
    """Return the two arguments with which ``createDataFrame`` makes a DataFrame of a small table.

    Spark 3.5 takes no Arrow table.
    """
    from pyspark.sql.pandas.types import from_arrow_schema

    rows = [tuple(row.values()) for row in table.to_pylist()]
    return rows, cast("T.StructType", from_arrow_schema(table.schema))


def group_arrow(
    frame: DataFrame, by: str, function: GroupFunction, schema: T.StructType | str
) -> DataFrame:
    """Return ``frame.groupBy(by).applyInArrow(function, schema)``, which Spark 3.5 lacks."""
    if hasattr(frame.groupBy(by), "applyInArrow"):
        return frame.groupBy(by).applyInArrow(function, schema)
    rows_in_order = frame.repartition(by).sortWithinPartitions(by)
    return rows_in_order.mapInArrow(_of_groups(function, by), schema)


def _of_groups(function: GroupFunction, by: str) -> MapFunction:
    def map_groups(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for group in groups_of(batches, by):
            yield from function(group).to_batches()

    return map_groups
