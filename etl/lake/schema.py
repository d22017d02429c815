"""Compare the schema that a table declares with that of a file, a log or a frame.

Column names, their order and their types count. Nullability, comments and the names inside a list
(Spark's ``element``, Arrow's ``item``) do not, nor do 64-bit offsets and views of the same values.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import types

from adnominal.etl.lake.columns import Table, is_later
from adnominal.etl.lake.errors import LakeError


def type_name(kind: pa.DataType) -> str:
    """Return the name of a type, the same for types that hold the same values."""
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return "string"
    if types.is_binary(kind) or types.is_large_binary(kind) or types.is_binary_view(kind):
        return "binary"
    if types.is_list(kind) or types.is_large_list(kind):
        return f"list<{type_name(kind.value_type)}>"
    if types.is_struct(kind):
        inner = ", ".join(f"{field.name}: {type_name(field.type)}" for field in kind)
        return f"struct<{inner}>"
    if types.is_timestamp(kind) and kind.tz in ("UTC", "+00:00", "Etc/UTC"):
        return f"timestamp[{kind.unit}, UTC]"
    return str(kind)


def named_types(schema: pa.Schema) -> list[tuple[str, str]]:
    """Return (name, name of the type) of each column, in order."""
    return [(field.name, type_name(field.type)) for field in schema]


def differences(
    expected: list[tuple[str, str]], actual: list[tuple[str, str]], *, ordered: bool = True
) -> list[str]:
    """Return the differences between `expected` and `actual` columns; empty if they agree.

    Each entry names the kind of difference (missing, not declared, of another type, given twice, in
    another order if `ordered`) and every column that shows it.
    """
    declared_types, actual_types = dict(expected), dict(actual)
    names = [name for name, _ in actual]
    faults = {
        "missing": [f"{name} ({kind})" for name, kind in expected if name not in actual_types],
        "not declared": [f"{name} ({kind})" for name, kind in actual if name not in declared_types],
        "of another type": [
            f"{name} is {actual_types[name]}, declared {kind}"
            for name, kind in expected
            if actual_types.get(name, kind) != kind
        ],
        "given twice": sorted({name for name in names if names.count(name) > 1}),
    }
    lines = [f"{fault}: {', '.join(columns)}" for fault, columns in faults.items() if columns]
    if ordered and not lines and names != [name for name, _ in expected]:
        lines.append(f"order: {', '.join(names)}; declared {', '.join(declared_types)}")
    return lines


def stored_columns(declared: pa.Schema, names: Collection[str]) -> pa.Schema:
    """Return the declared columns of a table with columns `names`: all but absent later ones."""
    return pa.schema([f for f in declared if f.name in names or not is_later(f)])


def with_later_columns(rows: pa.Table, declared: pa.Schema) -> pa.Table:
    """Return stored rows with the declared columns, null for absent later ones."""
    for field in declared:
        if field.name not in rows.column_names and is_later(field):
            rows = rows.append_column(field, pa.nulls(rows.num_rows, field.type))
    return rows.select(declared.names).cast(declared)


def batch_of(rows: Sequence[Sequence[object]], schema: pa.Schema) -> pa.RecordBatch:
    """Return rows, each with its values in the order of the schema, as a batch."""
    columns = zip(*rows, strict=True) if rows else [()] * len(schema)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def rows_of_schema(schema: pa.Schema, size: int, columns: Mapping[str, Any]) -> pa.Table:
    """Return `size` rows; a column is an array, a list, or one value for all rows (default null).

    A two-dimensional array becomes a column of lists.
    """
    arrays = []
    for field in schema:
        value = columns.get(field.name)
        if isinstance(value, np.ndarray) and value.ndim == 2:
            offsets = pa.array(np.arange(size + 1, dtype=np.int32) * value.shape[1])
            value = pa.ListArray.from_arrays(offsets, pa.array(value.reshape(-1)))
        if isinstance(value, pa.Array | pa.ChunkedArray):
            arrays.append(value.cast(field.type))
        elif isinstance(value, list):
            arrays.append(pa.array(value, field.type))
        else:
            arrays.append(pa.repeat(pa.scalar(value, field.type), size))
    return pa.table(arrays, schema=schema)


def partition_text(value: object) -> str | None:
    """Return a partition value as the Delta log spells it; None for null."""
    if isinstance(value, bool):
        return str(value).lower()
    return None if value is None else str(value)


def partition_value(text: str | None, kind: pa.DataType) -> object:
    """Return the value that the Delta log spells `text` in a partition column of type `kind`."""
    if text is None or types.is_string(kind):
        return text
    if types.is_boolean(kind):
        return text == "true"
    return int(text)


def check_partition_types(table_spec: Table) -> None:
    """Raise `TypeError` if `table_spec` is partitioned by anything but text, integers, booleans.

    Only these are spelled the same in the Delta log by every reader.
    """
    for name in table_spec.partition_by:
        kind = table_spec.schema.field(name).type
        if not (types.is_string(kind) or types.is_integer(kind) or types.is_boolean(kind)):
            raise TypeError(f"{table_spec.name}: partition column {name} cannot be a {kind}")


def check_replaced(table_spec: Table, partition: Mapping[str, str]) -> None:
    """Raise `LakeError` if `partition` does not name what a replacement of the table replaces."""
    if bool(partition) != bool(table_spec.partition_by):
        raise LakeError(
            f"{table_spec.name}: replace needs a value of "
            f"{' or '.join(table_spec.partition_by) or 'no column'}, got {dict(partition)}"
        )
    check_partition(table_spec, partition)


def check_partition(table_spec: Table, partition: Mapping[str, str]) -> None:
    """Raise `LakeError` if `partition` has an empty value or names no partition column."""
    for name, value in partition.items():
        if name not in table_spec.partition_by:
            raise LakeError(
                f"{table_spec.name} is not partitioned by {name!r}; its partition columns: "
                f"{', '.join(table_spec.partition_by) or 'none'}"
            )
        if not isinstance(value, str) or not value:
            raise LakeError(
                f"{table_spec.name}: {name}={value!r}: expected a text of one or more characters"
            )
