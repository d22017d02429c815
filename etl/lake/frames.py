"""Check DataFrames against declarations; order their columns and rows."""

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import from_arrow_type

from adnominal.etl.lake.columns import Table, is_later
from adnominal.etl.lake.errors import LakeError
from adnominal.etl.lake.schema import differences


def spark_type(kind: pa.DataType) -> T.DataType:
    """Return Spark's type for an Arrow type; raise `TypeError` if it has none."""
    return from_arrow_type(kind)


def spark_schema(schema: pa.Schema) -> T.StructType:
    """Convert a declared schema to Spark's, comments included."""
    fields = [T.StructField(f.name, spark_type(f.type), True, comment(f)) for f in schema]
    return T.StructType(fields)


def comment(field: pa.Field) -> dict[str, str]:
    """Return the metadata of a column, which holds its meaning."""
    return {key.decode(): value.decode() for key, value in (field.metadata or {}).items()}


def _column_types(schema: T.StructType) -> list[tuple[str, str]]:
    return [(field.name, field.dataType.simpleString()) for field in schema.fields]


def declared_rows(frame: DataFrame, table_spec: Table) -> DataFrame:
    """Return `frame` with its columns in the declared order; nothing is cast.

    Raises:
        LakeError: columns are missing, undeclared, of another type or duplicated; all are listed.
    """
    declared_columns = _column_types(spark_schema(table_spec.schema))
    columns = _column_types(frame.schema)
    if lines := differences(declared_columns, columns, ordered=False):
        raise LakeError(f"a frame for {table_spec.name} is not as declared: {'; '.join(lines)}")
    return frame.select(*[F.col(f"`{name}`") for name, _ in declared_columns])


def with_later_columns(frame: DataFrame, table_spec: Table) -> DataFrame:
    """Return the stored rows of a table with null in the later columns that it lacks."""
    for field in table_spec.schema:
        if is_later(field) and field.name not in frame.columns:
            frame = frame.withColumn(field.name, F.lit(None).cast(spark_type(field.type)))
    return frame


def sort_rows(frame: DataFrame, key: str | Sequence[str], *order: Column | str) -> DataFrame:
    """Return `frame` with all rows of a key in one partition, sorted by key and `order`.

    The column ``place`` numbers the rows of a key from 1. It forces every engine to sort: the
    embedded one drops a sort within partitions that no operator needs. The reader of the frame has
    to select the column, or neither engine computes it or sorts.
    """
    keys = [key] if isinstance(key, str) else list(key)
    place = F.row_number().over(Window.partitionBy(*keys).orderBy(*order))
    return frame.withColumn("place", place)
