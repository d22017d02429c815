"""Conditions in SQL on the columns of Parquet and Arrow files, evaluated by DuckDB.

Only DuckDB's parser and its expressions are used: it gets batches in memory and can reach neither
files nor the network. A condition has to select the same rows wherever and whenever it is
evaluated, since tasks are repeated, so functions such as ``random()`` and ``now()`` are refused.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from adnominal.conf import UserError
from adnominal.conf.exiting import skip_teardown
from adnominal.conf.texts import first_line
from adnominal.etl.corpora.files import Unreadable

if TYPE_CHECKING:
    import duckdb
    import numpy.typing as npt

_TABLE = "adnominal_rows"  # a name that no column has
_ROW = "adnominal_row"
_CONFIG = {
    "threads": 1,  # keeps the order of rows; tasks share the cores already
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}
_VARYING_FUNCTIONS = """
    SELECT DISTINCT function_name FROM duckdb_functions()
    WHERE stability IN ('VOLATILE', 'CONSISTENT_WITHIN_QUERY')
"""
_EXPECTED = "expected columns, constants, operators and functions"


class WrongCondition(Unreadable):
    """A file whose columns a condition cannot be evaluated on."""


class Condition:
    """A condition in SQL: ``language = 'en' AND score > 0.5``.

    Raises:
        UserError: DuckDB is not installed; the SQL is not a condition, has subqueries or
            parameters, or calls a function whose results vary.
    """

    def __init__(self, sql: str) -> None:
        if importlib.util.find_spec("duckdb") is None:
            raise UserError("where= needs DuckDB: pip install 'adnominal[corpora]'")
        self.sql = sql
        self._connection = _connect()
        nodes = list(_nodes(self._syntax_tree()))
        self._check_nodes(nodes)
        column_names = [node["column_names"][0] for node in nodes if "column_names" in node]
        self._referenced = {name.lower() for name in column_names}
        if not self._referenced:
            raise UserError(f"where={sql}: it names no column; {_EXPECTED}")

    def columns(self, path: str, schema: pa.Schema) -> list[str]:
        """The columns of a file that the condition refers to.

        SQL's names have no case. The condition is bound to the types of the columns.

        Raises:
            WrongCondition: a column is missing, duplicated or of a type that does not fit.
        """
        lower_names = [name.lower() for name in schema.names]
        for name in sorted(self._referenced):
            number = lower_names.count(name)
            if not number:
                known = ", ".join(schema.names)
                raise WrongCondition(path, f"where={self.sql}: no column {name}; it has {known}")
            if number > 1:
                raise WrongCondition(path, f"where={self.sql}: {number} columns are named {name}")
        names = [name for name in schema.names if name.lower() in self._referenced]
        fields = [schema.field(name) for name in names]
        empty = pa.RecordBatch.from_pylist([], pa.schema(fields))
        self.selected_rows(path, empty)
        self._check_type(path, empty)
        return names

    def selected_rows(self, path: str, rows: pa.RecordBatch) -> npt.NDArray[np.int64]:
        """The numbers of the rows for which the condition is true, from 0.

        A text that is not UTF-8 is null.

        Raises:
            WrongCondition: the condition fails on a value, as a cast may.
        """
        query = f'SELECT "{_ROW}" FROM {_TABLE} WHERE (\n{self.sql}\n)'
        selected: npt.NDArray[np.int64] = self._evaluate(path, rows, query).column(0).to_numpy()
        return selected

    def _check_type(self, path: str, rows: pa.RecordBatch) -> None:
        """Raise `WrongCondition` unless the condition is true or false."""
        result = self._evaluate(path, rows, f"SELECT (\n{self.sql}\n) FROM {_TABLE}")
        kind = result.schema.field(0).type
        if not pa.types.is_boolean(kind):
            reason = f"it gives {kind}; expected true or false, as from a comparison"
            raise WrongCondition(path, f"where={self.sql}: {reason}")

    def _evaluate(self, path: str, rows: pa.RecordBatch, query: str) -> pa.Table:
        """The result of a query on these rows; the column `_ROW` numbers them from 0."""
        import duckdb

        names = [*rows.schema.names, _ROW]
        columns = [_with_valid_texts(column) for column in rows.columns]
        numbers = pa.array(range(rows.num_rows), pa.int64())
        table = pa.Table.from_arrays([*columns, numbers], names=names)
        try:
            self._connection.register(_TABLE, table)
            return self._connection.sql(query).to_arrow_table()
        except duckdb.Error as error:
            raise WrongCondition(path, f"where={self.sql}: {first_line(error)}") from error

    def _syntax_tree(self) -> Any:
        query = f"SELECT 1 FROM {_TABLE} WHERE (\n{self.sql}\n)"
        (text,) = self._connection.execute("SELECT json_serialize_sql($1)", [query]).fetchone()
        answer = json.loads(text)
        if answer["error"]:
            raise UserError(f"where={self.sql}: {answer['error_message']}; {_EXPECTED}")
        return answer["statements"][0]["node"]["where_clause"]

    def _check_nodes(self, nodes: Sequence[dict[str, Any]]) -> None:
        """Raise `UserError` for anything but columns, constants and functions that do not vary."""
        rows = self._connection.execute(_VARYING_FUNCTIONS).fetchall()
        varying = {name for (name,) in rows}
        for node in nodes:
            kind = node.get("class")
            if kind in ("SUBQUERY", "LAMBDA", "PARAMETER", "STAR"):
                raise UserError(f"where={self.sql}: it has a {kind.lower()}; {_EXPECTED}")
            function = node.get("function_name", "").lower()
            if function in varying:
                raise UserError(
                    f"where={self.sql}: the results of {function}() vary; {_EXPECTED} that "
                    "always give the same"
                )


def matching_rows(
    path: str, batches: Iterable[pa.RecordBatch], where: Condition
) -> tuple[npt.NDArray[np.int64], int]:
    """The numbers of the rows for which the condition is true, and the number of all rows."""
    matching = [np.zeros(0, np.int64)]
    count = 0
    for batch in batches:
        matching.append(count + where.selected_rows(path, batch))
        count += batch.num_rows
    return np.concatenate(matching), count


def batches_with_rows(
    batches: Iterable[pa.RecordBatch], rows: npt.NDArray[np.int64]
) -> Iterator[tuple[pa.RecordBatch, npt.NDArray[np.int64]]]:
    """The given rows, in ascending order, of consecutive batches."""
    first = 0
    for batch in batches:
        end = first + batch.num_rows
        start, stop = np.searchsorted(rows, [first, end])
        if start < stop:
            places = pa.array(rows[start:stop] - first)
            yield batch.take(places), rows[start:stop]
        first = end


def first_missing(numbers: npt.NDArray[np.int64]) -> int:
    """The least number from 0 that is not among ascending distinct numbers."""
    gaps = np.flatnonzero(numbers != np.arange(len(numbers)))
    return int(gaps[0]) if len(gaps) else len(numbers)


def _connect() -> duckdb.DuckDBPyConnection:
    import duckdb

    skip_teardown()
    return duckdb.connect(config=_CONFIG)


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    """All objects of a syntax tree."""
    if isinstance(tree, dict):
        yield tree
        tree = list(tree.values())
    if isinstance(tree, list):
        for child in tree:
            yield from _nodes(child)


def _with_valid_texts(column: pa.Array) -> pa.Array:
    """A column in which texts that are not UTF-8 are null."""
    try:
        column.validate(full=True)
        return column
    except pa.ArrowInvalid:
        pass
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_nested(column.type):
        return pa.nulls(len(column), column.type)
    values = column.cast(pa.large_binary()).to_pylist()
    return pa.array([text_or_none(value) for value in values], pa.large_string())


def text_or_none(value: bytes | None) -> str | None:
    """A text from its bytes; none if they are not UTF-8."""
    if value is None:
        return None
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None
