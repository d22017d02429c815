"""The rows of the lake that make up a dataset: its configurations, parts and columns, and files.

A whole edition is streamed. Configurations by split hold the rows of their splits in memory and
write them sorted by id, so that the same tables give the same files.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from adnominal.analysis.editions import rows_by_edition
from adnominal.conf import UserError
from adnominal.etl.declaration import Dataset, ItemTable, Scheme, Whole
from adnominal.etl.lake import arrow
from adnominal.etl.lake.tables import table as declared_table
from adnominal.etl.registry import dataset, way_to_edition

# Names of parts in the libraries that read them.
_PARTS = {"val": "validation"}
_ORDER = ("train", "val", "test", "leaking")

WHOLE = "full"
"""The name of the only part of an unsplit configuration."""

Batches = Callable[[], Iterator[pa.RecordBatch]]


@dataclass(frozen=True)
class Part:
    """Rows of one part, read on demand."""

    name: str
    schema: pa.Schema
    batches: Batches


@dataclass(frozen=True)
class Config:
    """A configuration, as loaded by ``load_dataset(folder, name)``."""

    name: str
    meaning: str
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Content:
    """A dataset's edition: configurations (the first is the default) and their tables.

    `classes` has the class names of columns that hold class numbers.
    """

    dataset: str
    edition: str
    configs: tuple[Config, ...]
    tables: tuple[str, ...]
    classes: Mapping[str, Sequence[str]] = field(default_factory=dict)


def content(lake: str, name: str, edition: str) -> Content:
    """The configurations of an edition of the dataset `name`.

    Raises:
        LakeError: the lake has no table of the dataset.
        UserError: the lake has no such edition (the message lists its editions), or splits name
            rows that their table does not have.
    """
    declaration = dataset(name)
    main = declaration.tables[0].name
    arrow.files(lake, main)  # raises the error for a missing table, which names its job
    editions = rows_by_edition(lake, main)
    if edition not in editions:
        way = way_to_edition(main, edition, editions, declared_table(main).built_by)
        raise UserError(
            f"edition={edition}: not in the table {main} of {lake}; there is "
            f"{', '.join(editions) or 'none'} ({way})"
        )
    rows = _Rows(lake, declaration, edition)
    tables = [table for table in declaration.tables if rows.has(table.name)]
    unsplit = [
        (rows.unsplit_config(table, table.whole), table.whole.first)
        for table in tables
        if table.whole
    ]
    first = [config for config, leads in unsplit if leads]
    last = [config for config, leads in unsplit if not leads]
    splits = rows.by_columns() if declaration.splits.table is None else rows.by_table()
    configs = (*first, *splits, *last)
    if not configs:
        raise UserError(f"edition={edition}: no configuration of {name} has rows")
    sources = [table.name for table in tables]
    if splits and declaration.splits.table is not None:
        sources.append(declaration.splits.table)
    labels = declaration.labels
    classes = {labels.column: labels.names} if labels is not None and labels.numbered else {}
    return Content(name, edition, configs, tuple(sources), classes)


def _is_polarity(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) and pa.types.is_struct(kind.value_type))


def _exported_batch(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The exported columns; polarities as ``word:direction``."""
    columns = []
    for target in schema:
        column = batch.column(target.name)
        if _is_polarity(column.type):
            column = pa.array(
                [
                    None if words is None else [f"{w['word']}:{w['direction']}" for w in words]
                    for words in column.to_pylist()
                ],
                target.type,
            )
        columns.append(column)
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _cached_batches(rows: pa.Table, schema: pa.Schema) -> Batches:
    return lambda: (
        _exported_batch(batch, schema) for batch in rows.to_batches(max_chunksize=65_536)
    )


def _part_name(part: str) -> str:
    return _PARTS.get(part, part)


@dataclass(frozen=True)
class _Rows:
    """The rows of an edition of a dataset, by export configuration."""

    lake: str
    dataset: Dataset
    edition: str

    def has(self, table: str) -> bool:
        """Whether a table has rows of the edition."""
        return table in arrow.tables(self.lake) and self.edition in rows_by_edition(
            self.lake, table
        )

    def schema(self, table: str) -> pa.Schema:
        """The exported columns with their comments, without edition and split, which are names."""
        dropped = ("edition", *self.dataset.splits.columns)
        texts = pa.list_(pa.string())
        return pa.schema(
            [
                column.with_type(texts) if _is_polarity(column.type) else column
                for column in declared_table(table).schema
                if column.name not in dropped
            ]
        )

    def unsplit_config(self, table: ItemTable, config: Whole) -> Config:
        """All items of a table, streamed."""
        schema = self.schema(table.name)

        def batches() -> Iterator[pa.RecordBatch]:
            where = [("edition", "=", self.edition)]
            for batch in arrow.batches(self.lake, table.name, where=where):
                yield _exported_batch(batch, schema)

        return Config(config.name, config.meaning, (Part(WHOLE, schema, batches),))

    def by_columns(self) -> list[Config]:
        """A configuration for each scheme, from columns of the item table."""
        main = self.dataset.tables[0]
        rows = arrow.read(self.lake, main.name, where=[("edition", "=", self.edition)])
        labels = self.dataset.labels
        keys = [main.item, *([labels.column] if labels is not None else [])]
        rows = rows.sort_by([(key, "ascending") for key in keys])
        schema = self.schema(main.name)
        configs = []
        for scheme in self.dataset.splits.schemes:
            column = rows.column(f"split_{scheme.name}")
            parts = tuple(
                Part(_part_name(part), schema, _cached_batches(members, schema))
                for part in ("train", "val", "test")
                if (members := rows.filter(pc.equal(column, part))).num_rows
            )
            if parts:
                configs.append(Config(scheme.name, scheme.meaning, parts))
        return configs

    def by_table(self) -> list[Config]:
        """A configuration for each scheme and fold, from the table of splits.

        A row that a split lists twice is exported twice.
        """
        splits = self.dataset.splits
        if splits.table is None or not self.has(splits.table):
            return []
        split_rows = arrow.read(self.lake, splits.table, where=[("edition", "=", self.edition)])
        schemes_of_table: dict[str, list[Scheme]] = {}
        for scheme in self._schemes_in(split_rows):
            table = self.dataset.table_of(scheme)
            schemes_of_table.setdefault(table.name, []).append(scheme)
        configs = []
        for _, schemes in sorted(schemes_of_table.items()):
            names = [scheme.name for scheme in schemes]
            rows_of_table = split_rows.filter(pc.field("scheme").isin(names))
            table = self.dataset.table_of(schemes[0])
            configs += self._configs(table, schemes, rows_of_table)
        return configs

    def _schemes_in(self, split_rows: pa.Table) -> list[Scheme]:
        """The schemes that have rows: the declared ones in their order, then others by name."""
        splits = self.dataset.splits
        present = set(pc.unique(split_rows.column("scheme")).to_pylist())
        declared = [scheme for scheme in splits.schemes if scheme.name in present]
        undeclared_names = sorted(present - set(splits.names))
        return [*declared, *(Scheme(name, name) for name in undeclared_names)]

    def _configs(
        self, table: ItemTable, schemes: Sequence[Scheme], split_rows: pa.Table
    ) -> list[Config]:
        """The configurations of the schemes that split one table."""
        key, fold = table.item, self.dataset.splits.fold
        names = declared_table(table.name).schema.names
        columns = [key, *(name for name in names if name != key)]
        rows = arrow.read_items(
            self.lake, table.name, pc.unique(split_rows.column(key)), columns, self.edition
        )
        ids = rows.column(key).combine_chunks()
        schema = self.schema(table.name)
        order = {scheme.name: place for place, scheme in enumerate(schemes)}

        def position(group: Mapping[str, str]) -> tuple[int, str, int, str]:
            part = group["part"]
            place = _ORDER.index(part) if part in _ORDER else len(_ORDER)
            return order[group["scheme"]], group[fold] if fold else "", place, part

        parts: dict[tuple[str, str], list[Part]] = {}
        groups = split_rows.group_by(list(self.dataset.splits.keys)).aggregate([(key, "list")])
        for group in sorted(groups.to_pylist(), key=position):
            words = (group["scheme"], group[fold].replace(",", "_") if fold else "")
            name = "_".join(filter(None, words))
            places = pc.index_in(pa.array(sorted(group[f"{key}_list"]), pa.string()), value_set=ids)
            if places.null_count:
                raise UserError(
                    f"{self.dataset.splits.table}, {name}: {places.null_count} rows are not in the "
                    f"table {table.name}, edition {self.edition}; build or import both again"
                )
            part = Part(
                _part_name(group["part"]), schema, _cached_batches(rows.take(places), schema)
            )
            parts.setdefault((group["scheme"], name), []).append(part)
        meanings = {scheme.name: scheme.meaning for scheme in schemes}
        return [
            Config(name, meanings[scheme], tuple(members))
            for (scheme, name), members in parts.items()
        ]


@dataclass(frozen=True)
class File:
    """A file: `path` within the export, rows, size in bytes, digest."""

    config: str
    part: str
    path: str
    schema: pa.Schema
    rows: int
    bytes: int
    sha256: str


def write(out: Path, configs: Iterable[Config]) -> list[File]:
    """Write every non-empty part as ``data/CONFIG/PART.parquet``, one batch at a time."""
    written = []
    for config in configs:
        for part in config.parts:
            path = f"data/{config.name}/{part.name}.parquet"
            target = out / path
            target.parent.mkdir(parents=True, exist_ok=True)
            rows = 0
            # This schema keeps the column comments and drops the metadata of pandas and Spark.
            with pq.ParquetWriter(target, part.schema, compression="zstd") as writer:
                for batch in part.batches():
                    writer.write_batch(batch)
                    rows += batch.num_rows
            if not rows:
                target.unlink()
                continue
            with target.open("rb") as stream:
                digest = hashlib.file_digest(stream, "sha256").hexdigest()
            size = target.stat().st_size
            written.append(File(config.name, part.name, path, part.schema, rows, size, digest))
    return written
