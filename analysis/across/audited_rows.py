"""The rows that `analysis.across.artefacts` audits: splits and parts of the input, by dataset."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from analysis.across.artefacts import Rows
from analysis.rows import distinct, lists
from conf import UserError
from etl.declaration import Dataset
from etl.lake import arrow
from etl.registry import DATASETS


def _held_out(parts: Sequence[str | None]) -> str | None:
    """The part to score on: the test part where there is one (ADEPT's release keeps its own)."""
    return next((part for part in ("test", "val") if part in parts), None)


def _labels(dataset: Dataset, table: pa.Table) -> list[str]:
    """The names of the items' labels."""
    assert dataset.labels is not None
    values = table.column(dataset.labels.column).to_pylist()
    return [dataset.labels.names[value] for value in values] if dataset.labels.numbered else values


def _inputs(dataset: Dataset) -> Mapping[str, str]:
    assert dataset.report is not None
    return dataset.report.audited


def adept(lake: str, edition: str) -> Iterator[Rows]:
    """ADEPT by each of its splits: the modifier, the noun and either sentence alone.

    Raises:
        UserError: no rows of the edition.
    """
    dataset = DATASETS["adept"]
    inputs, splits = _inputs(dataset), dataset.splits
    columns = ["item_id", "label", *inputs.values(), *splits.columns]
    table = arrow.read(lake, "adept", where=[("edition", "=", edition)], columns=columns)
    if not table.num_rows:
        raise UserError(f"edition={edition}: no rows of it in the table adept of {lake}")
    for name, column in zip(splits.names, splits.columns, strict=True):
        parts = table.column(column).to_pylist()
        part = _held_out(parts)
        if part is not None and "train" in parts:
            yield Rows(
                dataset="adept",
                edition=edition,
                split=name,
                part=part,
                item_ids=table.column("item_id").to_pylist(),
                labels=_labels(dataset, table),
                inputs=dict(zip(inputs, lists(table, *inputs.values()), strict=True)),
                train=[at for at, own_part in enumerate(parts) if own_part == "train"],
                test=[at for at, own_part in enumerate(parts) if own_part == part],
            )


def _listed(lake: str, table: str, **where: str) -> tuple[list[str], list[str]]:
    """Ids of a split, and the part of each."""
    conditions = [(column, "=", value) for column, value in where.items()]
    rows = arrow.read(lake, table, where=conditions, columns=["item_id", "part"])
    ids, parts = lists(rows, "item_id", "part")
    return ids, parts


def _looked_up(
    lake: str, table: str, edition: str, ids: Sequence[str], columns: Sequence[str]
) -> pa.Table:
    """The rows of `ids`, in their order; ids that are not in the table are left out.

    The table is streamed, and only the rows asked for stay in memory.
    """
    keys = pa.array(ids, pa.string())
    unique = pc.unique(keys)
    where = [("edition", "=", edition)]
    stream = arrow.batches(lake, table, where=where, columns=["item_id", *columns])
    batches = [
        batch.filter(pc.is_in(batch.column("item_id"), value_set=unique)) for batch in stream
    ]
    if not batches:
        raise UserError(f"edition={edition}: no rows of it in the table {table} of {lake}")
    rows = pa.Table.from_batches(batches)
    places = pc.index_in(keys, value_set=rows.column("item_id").combine_chunks())
    return rows.take(places.drop_null())


def plane(lake: str, edition: str, fold: str = "1") -> Iterator[Rows]:
    """PLANE by each scheme that is trained on: the adjective, phrase or conclusion alone.

    Raises:
        UserError: no rows of the edition.
    """
    dataset = DATASETS["plane"]
    inputs = _inputs(dataset)
    for scheme in dataset.splits.names:
        ids, parts = _listed(lake, "plane_splits", edition=edition, scheme=scheme, fold=fold)
        if not {"train", "test"} <= set(parts):
            continue
        table = _looked_up(lake, "plane_items", edition, ids, ("label", *inputs.values()))
        known = dict(zip(table.column("item_id").to_pylist(), range(table.num_rows), strict=True))
        # A row that the split lists twice is scored twice, as in training.
        rows = [(known[item], part) for item, part in zip(ids, parts, strict=True) if item in known]
        yield Rows(
            dataset="plane",
            edition=edition,
            split=scheme,
            part="test",
            item_ids=table.column("item_id").to_pylist(),
            labels=_labels(dataset, table),
            inputs=dict(zip(inputs, lists(table, *inputs.values()), strict=True)),
            train=[at for at, part in rows if part == "train"],
            test=[at for at, part in rows if part == "test"],
        )


def asp(lake: str, edition: str) -> Iterator[Rows]:
    """ASP by each round of fine-tuning: the premise or the hypothesis alone.

    Entailment against the rest. Scored is the part held out, on the tests that are trained on
    (ordering, dimension, argument) and, as ``all tests``, on all eight; ``ordering alone`` is of
    the one test among those trained on that has both labels. The release has no test rows of degree
    estimation by round: its validation rows stand in.

    Raises:
        UserError: no rows of the edition.
    """
    for scheme in DATASETS["asp"].splits.schemes:
        trained = _tuning(lake, edition)
        where = [("edition", "=", trained), ("scheme", "=", scheme.name), ("part", "=", "train")]
        rounds = arrow.read(lake, "asp_splits", where=where, columns=["round"])
        for number in distinct(rounds, "round"):
            yield from _round(lake, edition, scheme.name, str(scheme.table), number)


def _tuning(lake: str, edition: str) -> str:
    """Where the training rows of an edition are: published_tuning of the release, NAME_tuning of a
    build whose rounds are drawn, else the edition itself."""
    known = {dict(file.partition).get("edition") for file in arrow.files(lake, "asp_splits")}
    return f"{edition}_tuning" if f"{edition}_tuning" in known else edition


def _round(lake: str, edition: str, scheme: str, table: str, number: str) -> Iterator[Rows]:
    dataset = DATASETS["asp"]
    inputs = _inputs(dataset)
    pieces: list[tuple[str, pa.Table]] = []
    for name in dict.fromkeys((_tuning(lake, edition), edition)):
        ids, parts = _listed(lake, "asp_splits", edition=name, scheme=scheme, round=number)
        for part in sorted(set(parts)):
            members = [item for item, at in zip(ids, parts, strict=True) if at == part]
            columns = ("label", "test", *inputs.values())
            pieces.append((part, _looked_up(lake, table, name, members, columns)))
    held_out = _held_out([part for part, _ in pieces])
    if held_out is None:
        return
    rows = pa.concat_tables([piece for _, piece in pieces])
    part_of = [part for part, piece in pieces for _ in range(piece.num_rows)]
    labels = _labels(dataset, rows)
    texts = dict(zip(inputs, lists(rows, *inputs.values()), strict=True))
    (item_ids,) = lists(rows, "item_id")
    kind = table.removeprefix("asp_")
    for suffix, train, test in _scored(dataset, lists(rows, "test")[0], part_of, labels, held_out):
        split = f"{kind}, {scheme} {number}{suffix}"
        yield Rows("asp", edition, split, held_out, item_ids, labels, texts, train, test)


def _scored(
    dataset: Dataset,
    tests: Sequence[str],
    parts: Sequence[str],
    labels: Sequence[str],
    held_out: str,
) -> Iterator[tuple[str, list[int], list[int]]]:
    """(suffix, rows to learn from, rows to score on) of a round; each pair of sizes once."""
    assert dataset.labels is not None
    answerable = [at for at, label in enumerate(labels) if label not in dataset.labels.unanswerable]
    train = [at for at in answerable if parts[at] == "train"]
    test = [at for at in answerable if parts[at] == held_out]
    trained = {tests[at] for at in train}
    known = [at for at in test if tests[at] in trained]
    ordering = [[at for at in members if tests[at] == "ordering"] for members in (train, known)]
    sizes: set[tuple[int, int]] = set()
    scored = [("", train, known), (", all tests", train, test)]
    for suffix, learnt, tested in [*scored, (", ordering alone", ordering[0], ordering[1])]:
        size = len(learnt), len(tested)
        if learnt and tested and size not in sizes:
            sizes.add(size)
            yield suffix, learnt, tested
