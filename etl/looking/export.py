"""``python -m etl.lake export``: a table as one file, streamed.

tsv: a header line; null is ``\\N``; a backslash, tab, line feed or carriage return within a value
is written ``\\\\``, ``\\t``, ``\\n``, ``\\r``. csv (RFC 4180): a header line; null is an empty
field, the empty string ``""``; text that a spreadsheet would take for a formula (``=``, ``+``,
``-``, ``@``) gets a leading apostrophe, unless formulas=true. In both, lists and structs are JSON,
times are ISO 8601, binary is hexadecimal. jsonl: one object per line; NaN and infinities are null.
"""

from __future__ import annotations

import contextlib
import glob
import json
import math
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from adnominal.conf import JobFailed, UserError
from adnominal.etl.lake.staging import LEFTOVER_AGE
from adnominal.etl.lake.tables import table as declaration
from adnominal.etl.looking.rows import row_batches

FORMATS = ("tsv", "csv", "jsonl", "parquet")


def _json_value(value: Any) -> Any:
    """Convert a value to one that JSON can represent."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _json_value(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_json_value(member) for member in value]
    if isinstance(value, (date, datetime)):
        return value.isoformat().replace("+00:00", "Z")
    return value.hex() if isinstance(value, bytes) else value


def _json(value: Any) -> str:
    return json.dumps(_json_value(value), ensure_ascii=False)


def _as_text(column: pa.Array) -> pa.Array:
    """Convert a column to text; nulls stay null."""
    kind = column.type
    if pa.types.is_string(kind):
        return column
    if pa.types.is_timestamp(kind):
        return pc.strftime(column, "%Y-%m-%dT%H:%M:%SZ")
    if pa.types.is_nested(kind):
        return pa.array([None if v is None else _json(v) for v in column.to_pylist()], pa.string())
    if pa.types.is_binary(kind):
        return pa.array([None if v is None else v.hex() for v in column.to_pylist()], pa.string())
    return column.cast(pa.string())


def _tsv_field(column: pa.Array) -> pa.Array:
    text = _as_text(column)
    for old, new in (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"), ("\r", "\\r")):
        text = pc.replace_substring(text, old, new)
    return pc.fill_null(text, "\\N")


def _csv_field(column: pa.Array) -> pa.Array:
    text = _as_text(column)
    doubled = pc.replace_substring(text, '"', '""')
    quoted = pc.binary_join_element_wise('"', doubled, '"', "")
    special = pc.match_substring_regex(text, '[",\r\n]|^$')
    return pc.fill_null(pc.if_else(special, quoted, text), "")


def _harmless_csv_field(column: pa.Array) -> pa.Array:
    """As `_csv_field`, with an apostrophe before text that a spreadsheet takes for a formula."""
    if pa.types.is_string(column.type):
        is_formula = pc.match_substring_regex(column, "^[=+@\t\r-]")
        column = pc.if_else(is_formula, pc.binary_join_element_wise("'", column, ""), column)
    return _csv_field(column)


def _write_lines(
    sink: BinaryIO,
    schema: pa.Schema,
    batches: Iterator[pa.RecordBatch],
    field: Callable[[pa.Array], pa.Array],
    separator: str,
) -> None:
    sink.write((separator.join(schema.names) + "\n").encode())
    for batch in batches:
        lines = pc.binary_join_element_wise(*map(field, batch.columns), separator)
        all_lines = pa.ListArray.from_arrays(pa.array([0, len(lines)], pa.int32()), lines)
        sink.write(pc.binary_join(all_lines, "\n")[0].as_buffer())
        sink.write(b"\n")


def _write(
    sink: BinaryIO, schema: pa.Schema, batches: Iterator[pa.RecordBatch], output: Output
) -> None:
    """Write the batches in the format of the output."""
    if output.format == "tsv":
        _write_lines(sink, schema, batches, _tsv_field, "\t")
    elif output.format == "csv":
        field = _csv_field if output.formulas else _harmless_csv_field
        _write_lines(sink, schema, batches, field, ",")
    elif output.format == "jsonl":
        for batch in batches:
            sink.write("".join(f"{_json(row)}\n" for row in batch.to_pylist()).encode())
    else:
        with pq.ParquetWriter(sink, schema) as writer:
            for batch in batches:
                writer.write_batch(batch)


def _remove_old_partials(target: Path) -> None:
    """Delete leftovers of exports to the same file that were killed at least a day ago."""
    limit = time.time() - LEFTOVER_AGE.total_seconds()
    for path in target.parent.glob(f".{glob.escape(target.name)}.*.partial"):
        with contextlib.suppress(FileNotFoundError):  # another export may be doing the same
            if path.stat().st_mtime < limit:
                path.unlink()


@dataclass(frozen=True)
class Output:
    """The file of an export.

    Attributes:
        path: path of the file.
        format: one of `FORMATS`.
        overwrite: whether to replace an existing file.
        formulas: whether csv leaves text like ``=1+1`` as it is. A spreadsheet would run it, so by
            default it gets a leading apostrophe.
    """

    path: str
    format: str
    overwrite: bool = False
    formulas: bool = False


def export(
    root: str, table: str, output: Output, *, version: int | None = None, where: str | None = None
) -> int:
    """Write the table's rows that satisfy the SQL condition `where` to a file.

    Memory holds a few batches. Return the number of rows.

    Raises:
        UserError: as `write_file`; also if the condition is not valid, or the table or version does
            not exist.
        JobFailed: there are no rows; no file is left.
    """
    schema = declaration(table).schema
    rows = write_file(output, schema, row_batches(root, table, version=version, where=where))
    if not rows:
        raise JobFailed(
            f"0 rows exported of {table}: "
            + (f"none satisfies where={where!r}" if where else "the table is empty")
            + "; no file was written"
        )
    return rows


def write_file(output: Output, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> int:
    """Write batches of rows to a file, which appears under its name when it is complete.

    The first batch is taken once the file is known to be writable. Return the number of rows;
    without any, no file is left.

    Raises:
        UserError: the file exists (without `overwrite`), is a device or cannot be written.
    """
    out = Path(output.path)
    if out.is_dir():
        raise UserError(f"out={out}: a folder; expected the name of a file")
    if out.exists() and not out.is_file():
        raise UserError(f"out={out}: a device or a pipe; expected the name of a file")
    if out.exists() and not output.overwrite:
        raise UserError(f"out={out} already exists; choose another name or overwrite=true")
    target = out.resolve()  # a link stays; the file that it points to is written
    if not target.parent.is_dir():
        raise UserError(f"out={target}: no folder {target.parent}; create it first")
    _remove_old_partials(target)
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    rows = 0

    def count_batches() -> Iterator[pa.RecordBatch]:
        nonlocal rows
        for batch in batches:
            rows += batch.num_rows
            yield batch

    try:
        with partial.open("wb") as stream:
            _write(stream, schema, count_batches(), output)
        if rows:
            partial.replace(target)
    except PermissionError as error:
        raise UserError(f"out={target}: {error.strerror}") from error
    finally:
        partial.unlink(missing_ok=True)
    return rows
