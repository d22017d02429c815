"""Read a task's tables without Spark, and check them before training.

Filters are pushed down to the files; a table that may be large (such as all items of PLANE) is
streamed, and only the requested rows are kept.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from adnominal.conf import UserError
from adnominal.etl.declaration import Dataset, Labels
from adnominal.etl.lake import arrow
from adnominal.etl.lake.errors import LakeError
from adnominal.etl.lake.tables import table as declared_table
from adnominal.etl.registry import way_to_edition
from adnominal.training.tasks.dataset import Ids, Source, strings

# The partition columns that distinguish the datasets of a table.
PARTITIONS = ("edition", "source", "corpus")


def source(lake: str, table: str, edition: str, column: str = "edition") -> Source:
    """Return the table's newest version, which must contain `edition`.

    A run reads everything at this version, so that a concurrent build is not mixed in.

    Raises:
        LakeError: the table does not exist.
        UserError: the partition `column` has no `edition`; the message lists the existing ones.
    """
    built_by = declared_table(table).built_by
    try:
        known = arrow.partition_values(lake, table, column)
    except LakeError as error:
        if edition != "published" or arrow.version(lake, table) is not None:
            raise
        raise LakeError(f"{error}; {way_to_edition(table, edition, (), built_by)}") from error
    if edition not in known:
        way = way_to_edition(table, edition, known, built_by)
        raise UserError(
            f"{column}={edition}: not in the table {table} of {lake}; there is "
            f"{', '.join(known) or 'nothing'} ({way})"
        )
    version = arrow.version(lake, table)
    assert version is not None  # its partitions have just been listed
    return Source(table, edition, version)


def partition(table: str) -> str | None:
    """Return the column that distinguishes the datasets of a declared table, if there is one."""
    return next((name for name in PARTITIONS if name in declared_table(table).partition_by), None)


def rows(
    lake: str,
    source: Source,
    columns: Sequence[str],
    where: Sequence[tuple[str, str, str]] = (),
    column: str = "edition",
) -> pa.Table:
    """Read the rows of a source's edition for which `where` holds, at its version."""
    return arrow.read(
        lake,
        source.table,
        version=source.version,
        where=[(column, "=", source.edition), *where],
        columns=columns,
    )


def lookup(
    lake: str,
    source: Source,
    key: str,
    ids: pa.StringArray,
    columns: Sequence[str],
    wanted_by: str,
) -> pa.Table:
    """Read `columns` of the source's rows with `key` in `ids`: one for each of `ids`, in order.

    The table is streamed, so that memory holds only the matching rows. Of repeated keys, the first
    counts.

    Raises:
        UserError: the table lacks a key; `wanted_by` says where the key comes from.
    """
    names = [key, *(name for name in columns if name != key)]
    table = arrow.read_items(
        lake,
        source.table,
        pc.unique(ids),
        names,
        source.edition,
        version=source.version,
    )
    # index_in returns the first of equal keys.
    places = pc.index_in(ids, value_set=table.column(key).combine_chunks())
    if places.null_count:
        first = ids.filter(pc.is_null(places))[0].as_py()
        raise UserError(
            f"{places.null_count} of {len(ids)} {wanted_by}, such as {first}, are not in the table "
            f"{source.table}, edition {source.edition}; build or import both again"
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
    """Return a split's item ids by part, sorted by id, so that file order has no effect.

    `fold` has the column that numbers the folds of a scheme, and the requested fold. Repeated ids
    are kept.

    Raises:
        UserError: the edition, scheme or fold does not exist; the message lists the existing ones.
    """
    table_source = source(lake, table, edition)
    schemes = arrow.partition_values(lake, table, "scheme", {"edition": edition})
    if scheme not in schemes:
        raise UserError(
            f"scheme={scheme}: not in the table {table}, edition {edition}; there is "
            f"{', '.join(schemes)}"
        )
    name, value = fold
    splits = rows(lake, table_source, [name, "part", key], [("scheme", "=", scheme)])
    of_fold = splits.filter(pc.equal(splits.column(name), value))
    if not of_fold.num_rows:
        folds = sorted(str(fold) for fold in pc.unique(splits.column(name)).to_pylist())
        raise UserError(
            f"{name}={value}: not in the table {table}, edition {edition}, scheme {scheme}; "
            f"there is {', '.join(map(repr, folds))}"
        )
    of_fold = of_fold.sort_by([("part", "ascending"), (key, "ascending")])
    parts = parts_of(of_fold, "part")
    return table_source, {part: rows[key].combine_chunks() for part, rows in parts.items()}


def parts_of(table: pa.Table, column: str) -> dict[str, pa.Table]:
    """Return the rows of each value of a column, by first occurrence, without null and ""."""
    values = strings(table[column])
    parts = pc.unique(values).to_pylist()
    return {part: table.filter(pc.equal(values, part)) for part in parts if part}


def by_scheme(
    lake: str,
    dataset_spec: Dataset,
    edition: str,
    scheme: str,
    columns: Sequence[str],
    fold: str = "",
) -> tuple[tuple[Source, ...], dict[str, pa.Table]]:
    """Return labelled items of each part of a scheme, with their ids, and the source tables.

    Items are in the order of their ids, so that parts do not depend on the order of the files; an
    item that a split names twice is repeated.

    Raises:
        UserError: the edition, scheme or fold does not exist, or the table lacks an item of the
            split; the message lists what exists.
    """
    splits, items = dataset_spec.splits, dataset_spec.tables[0]
    names = list(dict.fromkeys([items.item, *columns]))
    if splits.table is None:
        item_rows = source(lake, items.name, edition)
        return (item_rows,), _by_column(lake, dataset_spec, item_rows, f"split_{scheme}", names)
    key = (splits.fold or "fold", fold)
    split_source, ids = split_parts(lake, splits.table, edition, scheme, key, items.item)
    item_rows = source(lake, items.name, edition)
    tables = {
        part: lookup(
            lake, item_rows, items.item, members, names[1:], f"{part} rows of {splits.table}"
        )
        for part, members in ids.items()
    }
    return (item_rows, split_source), tables


def _by_column(
    lake: str, dataset_spec: Dataset, source: Source, column: str, names: Sequence[str]
) -> dict[str, pa.Table]:
    """The items of each part, as a column of the item table says; the usual parts come first."""
    table = rows(lake, source, list(dict.fromkeys([*names, column])))
    if table.column(column).null_count == table.num_rows:
        raise UserError(
            f"{dataset_spec.splits.setting}={column.removeprefix('split_')}: table {source.table}, "
            f"edition {source.edition} has no values in its column {column}"
        )
    keys = [dataset_spec.tables[0].item]
    # Items may repeat with another label, so rows are also sorted by label.
    if dataset_spec.labels is not None and dataset_spec.labels.column in names:
        keys.append(dataset_spec.labels.column)
    table = table.sort_by([(key, "ascending") for key in keys])
    parts = parts_of(table, column)
    usual_parts = [part for part in ("train", "val", "test") if part in parts]
    return {part: parts[part] for part in [*usual_parts, *sorted(parts.keys() - {*usual_parts})]}


def label_ids(table: pa.Table, labels: Labels, source: Source, item: str) -> Ids:
    """Return the number of each row's label among the declared ones.

    Raises:
        UserError: a label is unknown or missing; the message names the first such row.
    """
    where = f"table {source.table}, edition {source.edition}"
    if labels.column != "label":
        where += f", {labels.column}"
    return class_ids(table[labels.column], labels.values, where, table[item])


def class_ids(
    values: pa.ChunkedArray | pa.Array, classes: Sequence[object], where: str, ids: pa.Array
) -> Ids:
    """Return the index in `classes` of each value.

    Raises:
        UserError: a value is null or not a class; the message names the first with its id in `ids`.
    """
    array = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    numbers = pc.index_in(array, value_set=pa.array(classes, array.type))
    # index_in does not find null in a set without null.
    if numbers.null_count:
        row = int(np.flatnonzero(pc.is_null(numbers).to_numpy(zero_copy_only=False))[0])
        raise UserError(
            f"{where}: label {array[row].as_py()!r} of {numbers.null_count} row(s), such as item "
            f"{ids[row].as_py()}; expected one of {', '.join(str(c) for c in classes)}"
        )
    return np.asarray(numbers.to_numpy(zero_copy_only=False), dtype=np.int64)
