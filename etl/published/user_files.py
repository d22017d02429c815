"""The rows of users' own files of any format, by the columns that a command names."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from adnominal.conf import UserError
from adnominal.conf.delimited import read_rows
from adnominal.conf.texts import json_lines

KINDS = (".csv", ".tsv", ".jsonl", ".parquet")


def file_rows(file: Path, columns: Sequence[str]) -> Iterator[tuple[int, Mapping[str, Any], bool]]:
    """Line (in Parquet, number) and fields of each row, and whether it has surplus fields.

    Raises:
        UserError: the file does not exist, has another format, or cannot be read; there is no such
            column, or more than one.
    """
    name, kind = f"file={file}", file.suffix.lower()
    if not file.is_file() or kind not in KINDS:
        got = "no such file" if not file.is_file() else f"a file {file.suffix or 'without ending'}"
        raise UserError(f"{name}: {got}; expected one of {', '.join(KINDS)}")
    if kind in (".csv", ".tsv"):
        yield from read_rows(file, name, columns, tabs=kind == ".tsv")
    elif kind == ".jsonl":
        for number, row in json_lines(file, name):
            check_columns(row, columns, f"{name}: line {number}")
            yield number, row, False
    else:
        yield from _parquet_rows(file, columns, name)


def _parquet_rows(
    file: Path, columns: Sequence[str], name: str
) -> Iterator[tuple[int, Mapping[str, Any], bool]]:
    """The rows of a Parquet file with their numbers from 1; none has surplus fields."""
    try:
        names = pq.read_schema(file).names
        check_columns(names, columns, name)
        repeated = [column for column in columns if names.count(column) > 1]
        if repeated:
            raise UserError(f"{name}: more than one column {', '.join(repeated)}")
        wanted = list(dict.fromkeys(columns))
        # Folders like split=train are no columns.
        rows = pq.read_table(file, columns=wanted, partitioning=None).to_pylist()
    except (OSError, ValueError, OverflowError, KeyError) as error:
        # The last two: dates and time zones that Python does not have.
        raise UserError(f"{name}: not readable: {error}") from error
    for number, row in enumerate(rows, 1):
        yield number, row, False


def check_columns(names: Iterable[str], columns: Sequence[str], where: str) -> None:
    missing = [name for name in columns if name not in names]
    if missing:
        raise UserError(f"{where} has no column {', '.join(missing)}, it has {', '.join(names)}")
