"""Read the rows of a split: from the lake, or from a file for each part.

A split is stored in a table of splits, or in a column ``split_SCHEME`` of the items
(`etl.declaration.Splits`). Either way `read_parts` gives each item its part and fold, and
`read_split` adds columns of the items, in the form that `etl.checks.splits.check` takes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from adnominal.conf import UserError
from adnominal.conf.texts import first_line, other_content
from adnominal.etl.declaration import Dataset
from adnominal.etl.lake import arrow

NO_FOLD = "-"
"""The fold of splits without folds."""


@dataclass(frozen=True)
class SplitTables:
    """The tables that hold a split.

    Attributes:
        items: the table of items.
        splits: the table of splits; None if the items have a column for each scheme.
        key: the column of item ids, which both tables have.
        fold: the column of the table of splits that identifies the fold, if there is one.
    """

    items: str
    splits: str | None = None
    key: str = "item_id"
    fold: str | None = None


def declared_tables(dataset: Dataset, scheme: str) -> SplitTables:
    """Return the tables that hold a scheme of a dataset."""
    (declared_scheme,) = [entry for entry in dataset.splits.schemes if entry.name == scheme]
    items = dataset.table_of(declared_scheme)
    return SplitTables(items.name, dataset.splits.table, items.item, dataset.splits.fold)


def read_parts(
    lake: str, tables: SplitTables, edition: str, scheme: str, fold: str | None = None
) -> pa.Table:
    """Return the part of each item of a scheme: the column of ids, ``part`` and ``fold``.

    With `fold`, only that fold. Items outside the split have no row, and an item that the table of
    splits lists twice has two. There are no rows if the edition does not have the scheme.
    """
    where = [("edition", "=", edition)]
    if tables.splits is None:
        part_column = f"split_{scheme}"
        parts = arrow.read(lake, tables.items, where=where, columns=[tables.key, part_column])
        parts = parts.filter(pc.is_valid(parts[part_column]))
        parts = parts.rename_columns([tables.key, "part"])
        return parts.append_column("fold", pa.repeat(NO_FOLD, parts.num_rows))
    where.append(("scheme", "=", scheme))
    fold_column = tables.fold or "scheme"
    if fold is not None:
        where.append((fold_column, "=", fold))
    columns = [tables.key, "part", fold_column]
    parts = arrow.read(lake, tables.splits, where=where, columns=columns)
    return parts.rename_columns([tables.key, "part", "fold"])


def with_items(
    lake: str, tables: SplitTables, edition: str, parts: pa.Table, columns: Sequence[str]
) -> pa.Table:
    """Return the rows of `read_parts` with these columns of their items, in no particular order.

    Rows whose item the table of items lacks are dropped; `check_complete` refuses them.
    """
    ids = parts[tables.key].unique()
    other_columns = [column for column in columns if column != tables.key]
    item_columns = list(dict.fromkeys([tables.key, *other_columns]))
    items = arrow.read_items(lake, tables.items, ids, item_columns, edition)
    return parts.join(items, tables.key, join_type="inner")


def check_complete(tables: SplitTables, parts: pa.Table, rows: pa.Table) -> None:
    """Raise `UserError` if `with_items` found fewer items than the split has."""
    split_ids = parts[tables.key].unique()
    item_ids = rows[tables.key].unique()
    if len(item_ids) < len(split_ids):
        raise UserError(
            f"{tables.items}: {len(item_ids)} of the {len(split_ids)} items of "
            f"{tables.splits or tables.items}; expected both tables from one build, and the column "
            "that they share (key=)"
        )


def read_rows(path: Path) -> pa.Table:
    """Read a file of rows under a header, every column as text.

    It is tab-separated without quotes, or comma-separated with quotes if the name has ``.csv``.
    Files that end in ``.gz``, ``.bz2`` or ``.zst`` are decompressed.

    Raises:
        UserError: the file does not exist, is a pickle, or has lines that do not fit the header.
    """
    if any(suffix in (".pkl", ".pickle", ".p") for suffix in path.suffixes):
        raise UserError(
            f"{path}: a pickle, which could run any code when it is read; ask its source for "
            "tab-separated text"
        )
    comma = ".csv" in path.suffixes
    parse = pa_csv.ParseOptions(
        delimiter="," if comma else "\t", quote_char='"' if comma else False
    )
    # Only without threads, an error has the number of its row.
    reading = pa_csv.ReadOptions(use_threads=False)
    try:
        with pa_csv.open_csv(path, reading, parse) as stream:
            kinds = {name: pa.string() for name in stream.schema.names}
        rows = pa_csv.read_csv(path, reading, parse, pa_csv.ConvertOptions(column_types=kinds))
    except (OSError, pa.ArrowInvalid, UnicodeDecodeError) as error:
        fault = first_line(error)
        if path.is_file() and path.suffix not in (".gz", ".bz2", ".zst"):
            fault = other_content(path) or fault
        raise UserError(f"{path}: not readable as rows under a header: {fault}") from error
    names = rows.column_names
    repeated = dict.fromkeys(name for name in names if names.count(name) > 1)
    if repeated:
        raise UserError(f"{path}: more than one column {', '.join(repeated)}; rename all but one")
    return rows
