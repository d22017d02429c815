"""Which rows of the lake make up a dataset: its configurations, their parts, their columns.

A whole edition is streamed. Configurations that follow splits hold, while they are made, the rows
that the splits name, and give them sorted by id, so that the same tables give the same files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from analysis import labels
from conf import UserError
from etl.lake import arrow
from etl.lake.tables import table as declaration

# Names of parts as the libraries that read them call them.
_PARTS = {"val": "validation"}
_ORDER = ("train", "val", "test", "leaking")
# The columns of a table that are not exported: what they say is in the folder's own names.
_LEFT_OUT = ("edition", "split_random", "split_noun_disjoint", "split_adjective_disjoint")
_POLARITY = ("polarity_fol", "polarity_vf")
# Schemes of splits in the order of their configurations, and what each holds apart.
_SCHEMES = {
    "published": "adjectives and nouns of the test stand in no training row (as released)",
    "strict": "adjectives, nouns and hypernyms of the test stand in no training row",
    "one_it": "the same, with inference type 3 alone",
    "in_distribution": "words of the test are trained on, their combinations are not",
    "two_shot": "items of the prompting experiments",
    "adjectives": "entailment inference; half of the adjectives held out",
    "dimension": "degree estimation; one physical dimension held out",
    "systematicity": "tested on quantifiers with modifiers that they were not trained with",
    "quantifier_negation": "tested on quantifiers with negation that they were not trained with",
    "productivity": "trained on depths 0 and 1, tested on deeper sentences",
    "embedded_quantifiers": "trained on one, two, every below depth 0, tested on a, three, all",
}

Batches = Callable[[], Iterator[pa.RecordBatch]]


@dataclass(frozen=True)
class Part:
    """Rows of one part, read when asked for."""

    name: str
    schema: pa.Schema
    batches: Batches


@dataclass(frozen=True)
class Config:
    """A configuration: what ``load_dataset(folder, name)`` gives."""

    name: str
    meaning: str
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Content:
    """A dataset's edition: configurations (the first is the default) and the tables they are of.

    `classes` names the classes of columns that hold their numbers.
    """

    dataset: str
    edition: str
    configs: tuple[Config, ...]
    tables: tuple[str, ...]
    classes: Mapping[str, Sequence[str]] = field(default_factory=dict)


def content(lake: str, dataset: str, edition: str) -> Content:
    """The configurations of an edition.

    Raises:
        UserError: the lake has no such edition (lists those that it has); splits that name rows
            which their table does not have.
    """
    made = DATASETS[dataset](lake, edition)
    if not made.configs:
        raise UserError(f"edition={edition}: no configuration of {dataset} has rows")
    return made


def _editions(lake: str, table: str) -> list[str]:
    return sorted(
        {
            str(value)
            for file in arrow.files(lake, table)
            for name, value in file.partition
            if name == "edition" and value is not None
        }
    )


def _check(lake: str, table: str, edition: str) -> None:
    known = _editions(lake, table)
    if edition not in known:
        raise UserError(
            f"edition={edition}: not in the table {table} of {lake}; there is "
            f"{', '.join(known) or 'none'} ({declaration(table).built_by} makes another)"
        )


def _schema(table: str) -> pa.Schema:
    """The columns exported, with their comments; polarity as ``word:direction``."""
    fields = [own for own in declaration(table).schema if own.name not in _LEFT_OUT]
    return pa.schema(
        [own.with_type(pa.list_(pa.string())) if own.name in _POLARITY else own for own in fields]
    )


def _exported(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    columns = []
    for own in schema:
        column = batch.column(own.name)
        if own.name in _POLARITY:
            column = pa.array(
                [
                    None if words is None else [f"{w['word']}:{w['direction']}" for w in words]
                    for words in column.to_pylist()
                ],
                own.type,
            )
        columns.append(column)
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _whole(lake: str, table: str, edition: str) -> Batches:
    schema = _schema(table)

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in arrow.batches(lake, table, where=[("edition", "=", edition)]):
            yield _exported(batch, schema)

    return batches


def _held(rows: pa.Table, schema: pa.Schema) -> Batches:
    return lambda: (_exported(batch, schema) for batch in rows.to_batches(max_chunksize=65_536))


def _part_name(part: str) -> str:
    return _PARTS.get(part, part)


def _adept(lake: str, edition: str) -> Content:
    _check(lake, "adept", edition)
    rows = arrow.read(lake, "adept", where=[("edition", "=", edition)])
    rows = rows.sort_by([("item_id", "ascending"), ("label", "ascending")])
    schema = _schema("adept")
    configs = []
    for scheme, meaning in (
        ("random", "split over instances, as published"),
        ("noun_disjoint", "no noun in two parts"),
        ("adjective_disjoint", "no adjective in two parts"),
    ):
        column = rows.column(f"split_{scheme}")
        parts = tuple(
            Part(_part_name(part), schema, _held(own, schema))
            for part in ("train", "val", "test")
            if (own := rows.filter(pc.equal(column, part))).num_rows
        )
        if parts:
            configs.append(Config(scheme, meaning, parts))
    return Content("adept", edition, tuple(configs), ("adept",), {"label": labels.ADEPT})


def _by_split(
    lake: str, edition: str, splits: str, key: str, number: str, sources: Mapping[str, str | None]
) -> list[Config]:
    """A configuration for each scheme and number; `sources` has the table of each scheme, None that
    of every other one.

    A row that a split names twice is there twice.
    """
    if splits not in arrow.tables(lake) or edition not in _editions(lake, splits):
        return []
    named = arrow.read(lake, splits, where=[("edition", "=", edition)])
    configs = []
    tables = dict(sources)
    for table in sorted({str(name) for name in tables.values()}):
        schemes = [
            scheme
            for scheme in pc.unique(named.column("scheme")).to_pylist()
            if tables.get(scheme, tables.get("*")) == table
        ]
        own = named.filter(
            pc.is_in(named.column("scheme"), value_set=pa.array(schemes, pa.string()))
        )
        wanted = pc.unique(own.column(key))
        kept = [
            batch.filter(pc.is_in(batch.column(key), value_set=wanted))
            for batch in arrow.batches(lake, table, where=[("edition", "=", edition)])
        ]
        rows = pa.Table.from_batches(kept, declaration(table).schema)
        ids = rows.column(key).combine_chunks()
        schema = _schema(table)
        parts: dict[str, list[Part]] = {}
        meanings: dict[str, str] = {}
        groups = own.group_by(["scheme", number, "part"]).aggregate([(key, "list")])
        for group in sorted(groups.to_pylist(), key=_place):
            places = pc.index_in(pa.array(sorted(group[f"{key}_list"]), pa.string()), value_set=ids)
            name = "_".join(filter(None, (group["scheme"], group[number].replace(",", "_"))))
            if places.null_count:
                raise UserError(
                    f"{splits}, {name}: {places.null_count} rows are not in the table {table}, "
                    f"edition {edition}; build or import both again"
                )
            part = Part(_part_name(group["part"]), schema, _held(rows.take(places), schema))
            parts.setdefault(name, []).append(part)
            meanings[name] = _SCHEMES.get(group["scheme"], group["scheme"])
        configs += [Config(name, meanings[name], tuple(own)) for name, own in parts.items()]
    return configs


def _place(group: Mapping[str, str]) -> tuple[int, str, str, int, str]:
    scheme, part = group["scheme"], group["part"]
    number = next(value for name, value in group.items() if name in ("fold", "round", "primitive"))
    known = list(_SCHEMES)
    return (
        known.index(scheme) if scheme in known else len(known),
        scheme,
        number,
        _ORDER.index(part) if part in _ORDER else len(_ORDER),
        part,
    )


def _plane(lake: str, edition: str) -> Content:
    _check(lake, "plane_items", edition)
    splits = _by_split(lake, edition, "plane_splits", "item_id", "fold", {"*": "plane_items"})
    schema = _schema("plane_items")
    whole = Part("full", schema, _whole(lake, "plane_items", edition))
    items = Config("items", "every item of the edition, not split", (whole,))
    return Content(
        "plane",
        edition,
        (*splits, items),
        ("plane_items", "plane_splits") if splits else ("plane_items",),
        {"label": labels.PLANE},
    )


def _asp(lake: str, edition: str) -> Content:
    _check(lake, "asp_entailment", edition)
    configs = []
    tables = []
    for table, name in (("asp_entailment", "entailment"), ("asp_degree", "degree")):
        if table in arrow.tables(lake) and edition in _editions(lake, table):
            tables.append(table)
            part = Part("test", _schema(table), _whole(lake, table, edition))
            configs.append(Config(name, "all eight tests", (part,)))
    configs += _by_split(
        lake,
        edition,
        "asp_splits",
        "item_id",
        "round",
        {"adjectives": "asp_entailment", "dimension": "asp_degree"},
    )
    return Content("asp", edition, tuple(configs), tuple(tables))


def _sygns(lake: str, edition: str) -> Content:
    _check(lake, "sygns", edition)
    whole = Part("full", _schema("sygns"), _whole(lake, "sygns", edition))
    sentences = Config("sentences", "every sentence of the edition, not split", (whole,))
    splits = _by_split(lake, edition, "sygns_splits", "sentence_id", "primitive", {"*": "sygns"})
    return Content(
        "sygns",
        edition,
        (sentences, *splits),
        ("sygns", "sygns_splits") if splits else ("sygns",),
    )


DATASETS: Mapping[str, Callable[[str, str], Content]] = {
    "adept": _adept,
    "plane": _plane,
    "asp": _asp,
    "sygns": _sygns,
}
