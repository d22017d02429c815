"""The rows to classify, read once from a pinned version and laid down in chunks.

A row's chunk follows from its item alone, by a hash; so the chunks are the same whatever the order
in which the table is read, and however many processes share them out. They lie in a folder of
their own until the run is finished: what is built or vacuumed meanwhile does not touch it.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads

from conf import UserError
from conf.progress import Progress
from etl.lake import arrow
from etl.lake.show import sql_where
from training import launch
from training.predicting.columns import Columns

_SCHEMA = pa.schema([(name, pa.string()) for name in ("item_id", "edition", "first", "second")])
_CHUNK = pa.field("chunk", pa.int32())
# Hashes in memory beside those that are drawn.
_BUFFER = 500_000
_Hashes = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Query:
    """Rows of a table at a version: those of `where`, with the columns asked for."""

    lake: str
    table: str
    version: int
    columns: Columns
    where: str | None = None

    def stream(self, *, texts: bool = True, limit: int | None = None) -> Iterator[pa.RecordBatch]:
        """Batches of item_id, edition and, with `texts`, first and second; none of them without.

        Raises:
            LakeError: no such table or version; a condition that is not SQL.
        """
        own = self.columns
        names = {"item_id": own.item, "edition": own.edition}
        if texts:
            names |= {"first": own.first, "second": own.second}
        chosen = [
            f"CAST(NULL AS STRING) AS {alias}" if name is None else f'"{name}" AS {alias}'
            for alias, name in names.items()
        ]
        sql = f"SELECT {', '.join(chosen)} FROM ({self._all()}) WHERE {self._whole()}"
        if limit is not None:
            sql += f" LIMIT {limit}"
        schema = pa.schema([_SCHEMA.field(alias) for alias in names])
        for batch in arrow.query(self.lake, self.table, sql, version=self.version):
            yield batch.cast(schema)

    def counts(self) -> tuple[int, int]:
        """How many rows there are, and how many of them have an id and texts."""
        sql = (
            f'SELECT count(*) AS "rows", count(*) FILTER (WHERE {self._whole()}) AS "whole" '
            f"FROM ({self._all()})"
        )
        (batch,) = arrow.query(self.lake, self.table, sql, version=self.version)
        return batch.column("rows")[0].as_py(), batch.column("whole")[0].as_py()

    def _all(self) -> str:
        return f"SELECT * FROM {self.table}{sql_where(self.where)}"

    def _whole(self) -> str:
        names = (self.columns.item, *self.columns.texts)
        return " AND ".join(f'"{name}" IS NOT NULL' for name in names)


@dataclass(frozen=True)
class Staged:
    """What was laid down: rows of each chunk, rows left out by reason, editions seen."""

    sizes: list[int]
    left_out: dict[str, int]
    editions: list[str]


def check(query: Query) -> None:
    """Raise `UserError` where the query is not understood or finds nothing; reads a row."""
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
    """Lay the rows down in `folder`, in chunks of about `chunk` rows; memory holds a part of them.

    With `limit` that many rows are drawn: those whose hashes with the seed are the smallest.

    Raises:
        UserError: no rows.
    """
    check(query)
    rows, whole = query.counts()
    wanted = whole if limit is None else min(limit, whole)
    left_out = {"no id or no text": rows - whole} if rows > whole else {}
    if wanted < whole:
        left_out["not drawn (limit)"] = whole - wanted
    highest = _threshold(query, seed, wanted) if wanted < whole else None
    sizes = np.zeros(-(-wanted // chunk), dtype=np.int64)
    editions: set[str] = set()
    fresh = folder.with_name(f"{folder.name}.new")
    for leftover in (fresh, folder):
        shutil.rmtree(leftover, ignore_errors=True)
    fresh.mkdir(parents=True)

    def batches() -> Iterator[pa.RecordBatch]:
        nonlocal sizes
        drawn = 0
        for batch in query.stream():
            hashes = _hashes(batch, seed)
            if highest is not None:
                # Rows that are there twice have one hash; so no more than wanted.
                kept = np.flatnonzero(hashes <= highest)[: wanted - drawn]
                batch, hashes = batch.take(pa.array(kept)), hashes[kept]
            drawn += batch.num_rows
            places = (hashes % np.uint64(len(sizes))).astype(np.int32)
            sizes += np.bincount(places, minlength=len(sizes))
            editions.update(value for value in pc.unique(batch["edition"]).to_pylist() if value)
            progress.advance(batch.num_rows)
            yield batch.append_column(_CHUNK.name, pa.array(places))

    with Progress(
        f"reading {query.table}", wanted, unit="rows", silent=launch.rank() != 0
    ) as progress:
        pads.write_dataset(
            batches(),
            fresh,
            schema=_SCHEMA.append(_CHUNK),
            format="ipc",
            partitioning=pads.partitioning(pa.schema([_CHUNK])),
            max_partitions=max(1024, len(sizes)),
            min_rows_per_group=1024,
        )
    fresh.rename(folder)
    return Staged(sizes.tolist(), left_out, sorted(editions))


def _hashes(batch: pa.RecordBatch, seed: int) -> _Hashes:
    keys = zip(batch["edition"].to_pylist(), batch["item_id"].to_pylist(), strict=True)
    digests = b"".join(
        hashlib.blake2b(f"{seed}\x1f{edition}\x1f{item}".encode(), digest_size=8).digest()
        for edition, item in keys
    )
    return np.frombuffer(digests, dtype="<u8")


def _threshold(query: Query, seed: int, wanted: int) -> np.uint64:
    """The hash that `wanted` rows do not exceed; the ids are streamed, no more hashes kept."""
    kept = np.zeros(0, dtype=np.uint64)
    for batch in query.stream(texts=False):
        kept = np.concatenate([kept, _hashes(batch, seed)])
        if len(kept) > 2 * wanted + _BUFFER:
            kept = np.partition(kept, wanted - 1)[:wanted]
    highest: np.uint64 = np.partition(kept, wanted - 1)[wanted - 1]
    return highest


def read(folder: Path, chunk: int) -> pa.Table:
    """The rows of a chunk that was laid down, in an order that depends on nothing but them."""
    rows = pads.dataset(folder / str(chunk), format="ipc").to_table()
    return rows.sort_by([(name, "ascending") for name in _SCHEMA.names])
