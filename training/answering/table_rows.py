"""The rows of a table to classify, read once from a pinned version and written in chunks.

A row's chunk is a hash of its item, so the chunks depend neither on the order in which the table is
read nor on the number of processes. They stay in the run's folder until the run is finished, so
that concurrent builds or vacuums of the table do not affect the run.
"""

import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads

from adnominal.conf import UserError
from adnominal.conf.help import spelling_hint
from adnominal.conf.progress import Progress
from adnominal.etl.declaration import ItemTable
from adnominal.etl.draws import Keys, keys_of
from adnominal.etl.lake import arrow, tables
from adnominal.etl.looking.show import sql_where
from adnominal.etl.registry import ITEM_TABLES
from adnominal.training import launch
from adnominal.training.answering.answers import Chunk
from adnominal.training.answering.classifier import texts
from adnominal.training.files import replace_json
from adnominal.training.models.loading import ModelSource
from adnominal.training.tasks import Source, reading
from adnominal.training.tasks.dataset import with_full_stop
from adnominal.training.tracking import Run

_SCHEMA = pa.schema([(name, pa.string()) for name in ("item_id", "edition", "first", "second")])
_CHUNK = pa.field("chunk", pa.int32())
_FACTS = "staged.json"


# Tables outside the datasets that models can classify.
_FURTHER_TABLES = {
    "nli": ItemTable("nli", "pairs", pair=("premise", "hypothesis")),
    "sentences": ItemTable("sentences", "sentences", item="sentence_id", single="text"),
    "minimal_pairs": ItemTable(
        "minimal_pairs", "minimal pairs", item="pair_id", pair=("good", "bad")
    ),
}


@dataclass(frozen=True)
class Columns:
    """The columns of a table that a model reads; `second` is None for single texts.

    `edition` is the partition column that predictions call edition, or None. `full_stops` adds
    missing final full stops.
    """

    item: str
    edition: str | None
    first: str
    second: str | None
    full_stops: bool = False

    @property
    def texts(self) -> tuple[str, ...]:
        """The text columns."""
        return (self.first,) if self.second is None else (self.first, self.second)


def columns(
    table: str,
    source: ModelSource | None,
    *,
    item: str | None = None,
    first: str | None = None,
    second: str | None = None,
) -> Columns:
    """Return the columns that the model was trained on, or the named ones.

    Without a `source`, they are the columns of the table's texts, for a model that reads any.

    Raises:
        UserError: the table or column does not exist, a column is not text, no columns are known
            for the table, or one text is given to a model of two or vice versa.
    """
    known = _known_texts(table)
    item = item or (known.item if known is not None else "item_id")
    if first is None:
        first, second = _texts_for(table, source, known)
    elif source is not None and source.pair not in (None, second is not None):
        raise UserError(
            f"first={first}{f' second={second}' if second else ''}: {source.name} was trained on "
            f"{'two texts' if source.pair else 'one text'}; expected "
            f"{'second= too' if source.pair else 'first= alone'}"
        )
    for name, column in (("item", item), ("first", first), ("second", second)):
        _check(table, tables.table(table).schema, name, column)
    full_stops = _task_of(source).get("full_stops") == "normalised"
    return Columns(item, reading.partition(table), first, second, full_stops)


def _task_of(source: ModelSource | None) -> Mapping[str, Any]:
    """Return the settings of the task that the model was trained on, if they are known."""
    if source is None or source.trained is None:
        return {}
    return source.trained.task


def _known_texts(table: str) -> ItemTable | None:
    if table not in tables.TABLES:
        names = ", ".join(tables.TABLES)
        hint = spelling_hint(table, tables.TABLES)
        raise UserError(f"table={table}: expected one of {names}{hint}")
    return ITEM_TABLES.get(table) or _FURTHER_TABLES.get(table)


def _texts_for(
    table: str, source: ModelSource | None, items: ItemTable | None
) -> tuple[str, str | None]:
    """Return the columns of the one or two texts of a table that a model reads."""
    if items is None:
        names = ", ".join(tables.table(table).schema.names)
        raise UserError(
            f"table={table}: its texts are not known; expected first= (and second=), of {names}"
        )
    if source is None:
        return items.pair or (str(items.single), None)
    if _task_of(source).get("context") is False and items.without_context:
        return items.without_context
    if source.pair is None and items.pair is not None and items.single is not None:
        raise UserError(
            f"table={table}: unknown whether {source.name} takes one text or two; expected "
            f"first={items.single}, or first={items.pair[0]} second={items.pair[1]}"
        )
    pair = source.pair if source.pair is not None else items.pair is not None
    if pair and items.pair is not None:
        return items.pair
    if not pair and items.single is not None:
        return items.single, None
    raise UserError(
        f"table={table}: {source.name} was trained on {'two texts' if pair else 'one text'}, the "
        f"table has {'one' if pair else 'two'}; expected first={' and second=' if pair else ''}"
    )


def _check(table: str, schema: pa.Schema, name: str, column: str | None) -> None:
    if column is None:
        return
    if column not in schema.names:
        raise UserError(
            f"{name}={column}: not a column of {table}; expected one of {', '.join(schema.names)}"
        )
    if schema.field(column).type != pa.string():
        raise UserError(
            f"{name}={column}: a column of {schema.field(column).type}; expected one of text"
        )


@dataclass(frozen=True)
class Query:
    """A query on a version of a table: the rows of `where` with the given columns."""

    lake: str
    table: str
    version: int
    columns: Columns
    where: str | None = None

    def stream(self, *, texts: bool = True, limit: int | None = None) -> Iterator[pa.RecordBatch]:
        """Yield batches of item_id, edition and, with `texts`, first and second, all present.

        Raises:
            LakeError: the table or version does not exist, or the condition is not valid SQL.
        """
        columns = self.columns
        names = {"item_id": columns.item, "edition": columns.edition}
        if texts:
            names |= {"first": columns.first, "second": columns.second}
        selected = [
            f"CAST(NULL AS STRING) AS {alias}" if name is None else f'"{name}" AS {alias}'
            for alias, name in names.items()
        ]
        sql = f"SELECT {', '.join(selected)} FROM ({self._all()}) WHERE {self._complete()}"
        if limit is not None:
            sql += f" LIMIT {limit}"
        schema = pa.schema([_SCHEMA.field(alias) for alias in names])
        for batch in arrow.query(self.lake, self.table, sql, version=self.version):
            yield batch.cast(schema)

    def counts(self) -> tuple[int, int]:
        """Return the number of rows, and the number of those with an id and texts."""
        sql = (
            f'SELECT count(*) AS "rows", count(*) FILTER (WHERE {self._complete()}) AS "whole" '
            f"FROM ({self._all()})"
        )
        (batch,) = arrow.query(self.lake, self.table, sql, version=self.version)
        return batch.column("rows")[0].as_py(), batch.column("whole")[0].as_py()

    def values(self, column: str) -> list[tuple[str, Any]]:
        """Return the item and the value of a column for each row that `stream` yields."""
        sql = (
            f'SELECT "{self.columns.item}" AS item_id, "{column}" AS "value" '
            f"FROM ({self._all()}) WHERE {self._complete()}"
        )
        pairs: list[tuple[str, Any]] = []
        for batch in arrow.query(self.lake, self.table, sql, version=self.version):
            items, values = batch["item_id"].to_pylist(), batch["value"].to_pylist()
            pairs += zip(items, values, strict=True)
        return pairs

    def _all(self) -> str:
        return f"SELECT * FROM {self.table}{sql_where(self.where)}"

    def _complete(self) -> str:
        names = (self.columns.item, *self.columns.texts)
        return " AND ".join(f'"{name}" IS NOT NULL' for name in names)


@dataclass(frozen=True)
class Staged:
    """The staged rows: counts of each chunk, counts of dropped rows by reason, and editions."""

    sizes: list[int]
    left_out: dict[str, int]
    editions: list[str]


def check(query: Query) -> None:
    """Raise `UserError` if the query is invalid or finds nothing; reads one row."""
    if next(query.stream(limit=1), None) is None:
        where = f" where {query.where}" if query.where else ""
        raise UserError(
            f"table={query.table}: no row of version {query.version} has "
            f"{' and '.join((query.columns.item, *query.columns.texts))}{where}; "
            "expected one or more"
        )


def stage(
    query: Query, folder: Path, *, chunk: int, seed: int = 0, limit: int | None = None
) -> Staged:
    """Write the rows to `folder`, in chunks of about `chunk` rows, unless they are there.

    Memory holds only some rows. With `limit`, that many rows are drawn: those with the smallest
    hashes of seed and id.
    """
    if (folder / _FACTS).exists():
        return TableRows(folder, query).staged
    rows, complete_rows = query.counts()
    size = complete_rows if limit is None else min(limit, complete_rows)
    left_out = {"no id or no text": rows - complete_rows} if rows > complete_rows else {}
    if size < complete_rows:
        left_out["not drawn (limit)"] = complete_rows - size
    highest = _threshold(query, seed, size) if size < complete_rows else None
    sizes = np.zeros(-(-size // chunk), dtype=np.int64)
    editions: set[str] = set()
    new_folder = folder.with_name(f"{folder.name}.new")
    for leftover in (new_folder, folder):
        shutil.rmtree(leftover, ignore_errors=True)
    new_folder.mkdir(parents=True)

    def batches() -> Iterator[pa.RecordBatch]:
        nonlocal sizes
        staged_count = 0
        for batch in query.stream():
            hashes = _hashes(batch, seed)
            if highest is not None:
                # Repeated rows have the same hash, so this cuts at `limit`.
                selected = np.flatnonzero(hashes <= highest)[: size - staged_count]
                batch, hashes = batch.take(pa.array(selected)), hashes[selected]
            staged_count += batch.num_rows
            places = (hashes % np.uint64(len(sizes))).astype(np.int32)
            sizes += np.bincount(places, minlength=len(sizes))
            editions.update(value for value in pc.unique(batch["edition"]).to_pylist() if value)
            progress.advance(batch.num_rows)
            yield batch.append_column(_CHUNK.name, pa.array(places))

    with Progress(
        f"reading {query.table}", size, unit="rows", silent=launch.rank() != 0
    ) as progress:
        pads.write_dataset(
            batches(),
            new_folder,
            schema=_SCHEMA.append(_CHUNK),
            format="ipc",
            partitioning=pads.partitioning(pa.schema([_CHUNK])),
            max_partitions=max(1024, len(sizes)),
            min_rows_per_group=1024,
        )
    staged = Staged(sizes.tolist(), left_out, sorted(editions))
    replace_json(new_folder / _FACTS, asdict(staged))
    new_folder.rename(folder)
    return staged


def _hashes(batch: pa.RecordBatch, seed: int) -> Keys:
    keys = zip(batch["edition"].to_pylist(), batch["item_id"].to_pylist(), strict=True)
    return keys_of(f"{seed}\x1f{edition}\x1f{item}" for edition, item in keys)


def _threshold(query: Query, seed: int, size: int) -> np.uint64:
    """Return the hash that `size` rows do not exceed; memory holds eight bytes a row."""
    hashes = np.concatenate([_hashes(batch, seed) for batch in query.stream(texts=False)])
    highest: np.uint64 = np.partition(hashes, size - 1)[size - 1]
    return highest


@dataclass(frozen=True)
class TableRows:
    """The staged rows of a query, as chunks to answer; all processes see their `folder`."""

    folder: Path
    query: Query

    @cached_property
    def staged(self) -> Staged:
        return Staged(**json.loads((self.folder / _FACTS).read_text(encoding="utf-8")))

    @property
    def sizes(self) -> list[int]:
        return self.staged.sizes

    def read(self, chunk: int) -> Chunk:
        """Return a chunk; texts get final full stops where the model was trained with them."""
        table, columns = read(self.folder, chunk), self.query.columns
        first, second = table["first"].combine_chunks(), table["second"].combine_chunks()
        if columns.full_stops:
            first, second = with_full_stop(first), with_full_stop(second)
        known = {"item_id": table["item_id"], "edition": table["edition"]}
        examples = texts(first, second if columns.second else None)
        return Chunk(examples, {**known, "table_version": self.query.version})


def read(folder: Path, chunk: int) -> pa.Table:
    """Return the rows of a staged chunk, in an order that depends only on the rows."""
    rows = pads.dataset(folder / str(chunk), format="ipc").to_table()
    return rows.sort_by([(name, "ascending") for name in _SCHEMA.names])


def staged_rows(
    query: Query, folder: Path, run: Run, *, chunk: int, seed: int, limit: int | None
) -> TableRows:
    """Stage the rows, in the first process, unless an earlier start has; `run` records them."""
    if launch.rank() == 0:
        staged = stage(query, folder, chunk=chunk, seed=seed, limit=limit)
        run.parameters({"rows": sum(staged.sizes), "left_out": staged.left_out})
        editions = staged.editions or [""]
        run.inputs(query.lake, [Source(query.table, name, query.version) for name in editions])
    launch.barrier()
    return TableRows(folder, query)
