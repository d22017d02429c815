"""Reading a task's tables without Spark, and what is checked before anything is trained.

Filters go down to the files; a table that may be large (all items of PLANE, say) is streamed and
only the rows asked for are kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from conf import UserError
from etl.lake import arrow
from etl.lake.tables import table as declaration
from training.tasks.dataset import Ids, Source, strings

__all__ = [
    "PARTITIONS",
    "by_split",
    "class_ids",
    "lookup",
    "partition",
    "partition_values",
    "rows",
    "source",
    "split_parts",
    "strings",
]

# The partition columns that tell one dataset of a table from another.
PARTITIONS = ("edition", "source", "corpus")


def source(lake: str, table: str, edition: str, column: str = "edition") -> Source:
    """The table's newest version, with `edition` in it.

    Everything of a run is read at this version, so that a build going on beside it is not mixed in.

    Raises:
        LakeError: no such table.
        UserError: no rows with `edition` in the partition `column`; lists those that there are.
    """
    known = partition_values(lake, table, column)
    if edition not in known:
        raise UserError(
            f"{column}={edition}: not in the table {table} of {lake}; there is "
            f"{', '.join(known) or 'nothing'} ({declaration(table).built_by} makes another)"
        )
    version = arrow.version(lake, table)
    assert version is not None  # its partitions have just been listed
    return Source(table, edition, version)


def partition_values(
    lake: str, table: str, column: str, where: Mapping[str, str] | None = None
) -> list[str]:
    """The values of a partition column, sorted, from the log alone; `where` as for `File`."""
    return sorted(
        {
            str(value)
            for file in arrow.files(lake, table)
            if file.lies_in(where or {})
            for name, value in file.partition
            if name == column and value is not None
        }
    )


def partition(table: str) -> str | None:
    """The column that tells one dataset of a declared table from another, if it has one."""
    return next((name for name in PARTITIONS if name in declaration(table).partition_by), None)


def rows(
    lake: str,
    of: Source,
    columns: Sequence[str],
    where: Sequence[tuple[str, str, str]] = (),
    column: str = "edition",
) -> pa.Table:
    """The rows of a source's edition for which `where` holds, at its version."""
    return arrow.read(
        lake,
        of.table,
        version=of.version,
        where=[(column, "=", of.edition), *where],
        columns=columns,
    )


def lookup(
    lake: str, of: Source, key: str, wanted: pa.StringArray, columns: Sequence[str], who: str
) -> pa.Table:
    """`columns` of the source's rows whose `key` is `wanted`, one for each of `wanted`, in order.

    The table is streamed, so that memory holds only the rows kept. Where it has a key twice, the
    first row counts.

    Raises:
        UserError: a key that the table does not have; `who` says what asked for it.
    """
    keys = pc.unique(wanted)
    batches = arrow.batches(
        lake,
        of.table,
        version=of.version,
        where=[("edition", "=", of.edition)],
        columns=[key, *(name for name in columns if name != key)],
    )
    kept = [batch.filter(pc.is_in(batch.column(key), value_set=keys)) for batch in batches]
    kept = [batch for batch in kept if batch.num_rows]
    missing, places = len(wanted), pa.nulls(len(wanted), pa.int32())
    if kept:
        table = pa.Table.from_batches(kept)
        # index_in gives the first of equal keys.
        places = pc.index_in(wanted, value_set=table.column(key).combine_chunks())
        missing = places.null_count
    if missing:
        first = wanted.filter(pc.is_null(places))[0].as_py()
        raise UserError(
            f"{missing} of {len(wanted)} {who}, as {first}, are not in the table {of.table}, "
            f"edition {of.edition}; build or import both again"
        )
    return table.take(places)


def split_parts(
    lake: str,
    table: str,
    edition: str,
    scheme: str,
    fold: tuple[str, str],
    key: str,
) -> tuple[Source, dict[str, pa.StringArray]]:
    """A split's item ids by part, each part sorted by id: the same whatever the files' order.

    `fold` is the column that numbers the folds of a scheme, and the one wanted. An id that stands
    twice in a part stays twice.

    Raises:
        UserError: no such edition, scheme or fold; lists those that there are.
    """
    of = source(lake, table, edition)
    schemes = partition_values(lake, table, "scheme", {"edition": edition})
    if scheme not in schemes:
        raise UserError(
            f"scheme={scheme}: not in the table {table}, edition {edition}; there is "
            f"{', '.join(schemes)}"
        )
    name, wanted = fold
    found = rows(lake, of, [name, "part", key], [("scheme", "=", scheme)])
    own = found.filter(pc.equal(found.column(name), wanted))
    if not own.num_rows:
        there = sorted(str(value) for value in pc.unique(found.column(name)).to_pylist())
        raise UserError(
            f"{name}={wanted}: not in the table {table}, edition {edition}, scheme {scheme}; "
            f"there is {', '.join(repr(value) for value in there)}"
        )
    own = own.sort_by([("part", "ascending"), (key, "ascending")])
    return of, {
        part: own.filter(pc.equal(own.column("part"), part)).column(key).combine_chunks()
        for part in pc.unique(own.column("part")).to_pylist()
    }


def by_split(
    lake: str,
    tables: tuple[str, str],
    edition: str,
    scheme: str,
    fold: tuple[str, str],
    columns: Sequence[str],
) -> tuple[Source, Source, dict[str, pa.Table]]:
    """The rows of each part of a split, and both tables as they were read.

    `tables` are that of splits and that of items, `columns` those of the items, the id first.

    Raises:
        UserError: as `split_parts` and `lookup`.
    """
    splits, ids = split_parts(lake, tables[0], edition, scheme, fold, columns[0])
    of = source(lake, tables[1], edition)
    found = {
        part: lookup(lake, of, columns[0], wanted, columns[1:], f"{part} rows of {tables[0]}")
        for part, wanted in ids.items()
    }
    return splits, of, found


def class_ids(
    values: pa.ChunkedArray | pa.Array, classes: Sequence[object], where: str, ids: pa.Array
) -> Ids:
    """The index in `classes` of each value.

    Raises:
        UserError: a value that is none of them, or null; names the first with its id in `ids`.
    """
    whole = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    found = pc.index_in(whole, value_set=pa.array(classes, whole.type))
    # index_in finds null nowhere in a set without null.
    if found.null_count:
        row = int(np.flatnonzero(pc.is_null(found).to_numpy(zero_copy_only=False))[0])
        raise UserError(
            f"{where}: label {whole[row].as_py()!r} of {found.null_count} row(s), as item "
            f"{ids[row].as_py()}; expected one of {', '.join(str(c) for c in classes)}"
        )
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.int64)
