"""Rows of Arrow tables as Python lists, rows drawn as examples, and schemas in one line."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from adnominal.etl.draws import draw

_T = TypeVar("_T")

_TYPES = {
    "str": pa.string(),
    "int": pa.int64(),
    "int32": pa.int32(),
    "float": pa.float64(),
    "bool": pa.bool_(),
}


def schema(columns: str) -> pa.Schema:
    """The schema of ``test:str z:float n:int``; a name without a type is text."""
    fields = [column.partition(":")[::2] for column in columns.split()]
    return pa.schema([(name, _TYPES[kind or "str"]) for name, kind in fields])


def lists(table: pa.Table | pa.RecordBatch, *names: str) -> list[list[Any]]:
    """These columns as lists; all columns if none is named."""
    return [table.column(name).to_pylist() for name in names or table.schema.names]


def tuples(table: pa.Table | pa.RecordBatch, *names: str) -> list[tuple[Any, ...]]:
    """The rows of these columns as tuples; of all columns if none is named."""
    return list(zip(*lists(table, *names), strict=True))


def with_column(table: pa.Table, name: str, values: Sequence[Any], kind: str = "str") -> pa.Table:
    """The table with one more column."""
    return table.append_column(name, pa.array(values, _TYPES[kind]))


def with_columns(table: pa.Table, other: pa.Table) -> pa.Table:
    """The table with the columns of another table with the same number of rows."""
    for name in other.column_names:
        table = table.append_column(name, other.column(name))
    return table


def join_items(answers: pa.Table, items: pa.Table, key: str = "item_id") -> pa.Table:
    """The answers to these items, in their order, with the columns of the items."""
    ids = items.column(key).combine_chunks()
    places = pc.index_in(answers.column("item_id"), value_set=ids)
    items_of_answers = items.drop_columns(key).take(places.drop_null())
    return with_columns(answers.filter(places.is_valid()), items_of_answers)


def where_equal(table: pa.Table, column: str, value: Any) -> pa.Table:
    """The rows in which the column has the value."""
    return table.filter(pc.equal(table.column(column), value))


def distinct_values(table: pa.Table, column: str) -> list[Any]:
    """The distinct values of a column, sorted."""
    return sorted(set(table.column(column).to_pylist()))


def places(table: pa.Table, *names: str) -> dict[tuple[Any, ...], list[int]]:
    """The row numbers of each combination of values in these columns, in order of appearance."""
    groups: dict[tuple[Any, ...], list[int]] = {}
    for place, values in enumerate(tuples(table, *names)):
        groups.setdefault(values, []).append(place)
    return groups


def row_counts(batches: Iterable[pa.RecordBatch], *names: str) -> Counter[tuple[Any, ...]]:
    """The number of rows of each combination of values in these columns.

    Batches are counted as they are streamed; memory does not grow with the table.
    """
    totals: Counter[tuple[Any, ...]] = Counter()
    for batch in batches:
        groups = pa.Table.from_batches([batch]).group_by(list(names))
        for *values, count in tuples(groups.aggregate([([], "count_all")]), *names, "count_all"):
            totals[tuple(values)] += count
    return totals


def is_right(table: pa.Table) -> list[bool]:
    """Whether `predicted` equals `gold` in each row; a missing answer is wrong."""
    same = pc.equal(table.column("gold"), table.column("predicted"))
    return list(pc.fill_null(same, False).to_pylist())


def seeded_order(rows: Iterable[_T], seed: int, key: Callable[[_T], Any]) -> list[_T]:
    """The rows in a reproducible random order; `key` gives the id of each."""
    return sorted(rows, key=lambda row: draw(seed, key(row)))
