"""The rows that `analysis.artefacts` audits: each dataset's splits and the parts of its input."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from analysis.artefacts import Rows
from analysis.labels import ADEPT, PLANE
from conf import UserError
from etl.asp import DISCARD
from etl.lake import arrow

_SPLITS = ("random", "noun_disjoint", "adjective_disjoint")
_SCHEMES = ("published", "strict", "one_it", "in_distribution")


def _held_out(parts: Sequence[str | None]) -> str | None:
    """The part to score on: the test part where there is one (ADEPT's release keeps its own)."""
    return next((part for part in ("test", "val") if part in parts), None)


def adept(lake: str, edition: str) -> Iterator[Rows]:
    """ADEPT by each of its splits: the modifier, the noun and either sentence alone.

    Raises:
        UserError: no rows of the edition.
    """
    names = ["item_id", "sentence1", "sentence2", "modifier", "noun", "label"]
    columns = [*names, *(f"split_{name}" for name in _SPLITS)]
    table = arrow.read(lake, "adept", where=[("edition", "=", edition)], columns=columns)
    if not table.num_rows:
        raise UserError(f"edition={edition}: no rows of it in the table adept of {lake}")
    ids = table.column("item_id").to_pylist()
    labels = [ADEPT[label] for label in table.column("label").to_pylist()]
    inputs = {
        "modifier alone": table.column("modifier").to_pylist(),
        "noun alone": table.column("noun").to_pylist(),
        "sentence without the modifier": table.column("sentence1").to_pylist(),
        "sentence with the modifier": table.column("sentence2").to_pylist(),
    }
    for name in _SPLITS:
        parts = table.column(f"split_{name}").to_pylist()
        part = _held_out(parts)
        if part is None or "train" not in parts:
            continue
        yield Rows(
            dataset="adept",
            edition=edition,
            split=name,
            part=part,
            item_ids=ids,
            labels=labels,
            inputs=inputs,
            train=[at for at, own in enumerate(parts) if own == "train"],
            test=[at for at, own in enumerate(parts) if own == part],
        )


def _listed(
    lake: str, table: str, where: Sequence[tuple[str, str, str]], key: str
) -> tuple[list[str], list[str]]:
    """Ids of a split, and the part of each."""
    found = arrow.read(lake, table, where=where, columns=[key, "part"])
    return found.column(key).to_pylist(), found.column("part").to_pylist()


def _looked_up(
    lake: str, table: str, edition: str, ids: Sequence[str], columns: Sequence[str]
) -> pa.Table:
    """The rows of `ids`, in their order; ids that are not in the table are left out.

    The table is streamed, and only the rows asked for are kept.
    """
    wanted = pa.array(ids, pa.string())
    unique = pc.unique(wanted)
    stream = arrow.batches(
        lake, table, where=[("edition", "=", edition)], columns=["item_id", *columns]
    )
    kept = [batch.filter(pc.is_in(batch.column("item_id"), value_set=unique)) for batch in stream]
    if not kept:
        raise UserError(f"edition={edition}: no rows of it in the table {table} of {lake}")
    found = pa.Table.from_batches(kept)
    places = pc.index_in(wanted, value_set=found.column("item_id").combine_chunks())
    return found.take(places.drop_null())


def plane(lake: str, edition: str, fold: str = "1") -> Iterator[Rows]:
    """PLANE by each scheme that is trained on: the adjective, phrase or conclusion alone.

    Raises:
        UserError: no rows of the edition.
    """
    for scheme in _SCHEMES:
        where = [("edition", "=", edition), ("scheme", "=", scheme), ("fold", "=", fold)]
        ids, parts = _listed(lake, "plane_splits", where, "item_id")
        if not {"train", "test"} <= set(parts):
            continue
        names = ("adjective", "premise", "conclusion", "label")
        table = _looked_up(lake, "plane_items", edition, ids, names)
        known = dict(zip(table.column("item_id").to_pylist(), range(table.num_rows), strict=True))
        # A row that the split lists twice is there twice, as in training.
        rows = [(known[own], part) for own, part in zip(ids, parts, strict=True) if own in known]
        columns = {name: table.column(name).to_pylist() for name in names}
        yield Rows(
            dataset="plane",
            edition=edition,
            split=scheme,
            part="test",
            item_ids=table.column("item_id").to_pylist(),
            labels=[PLANE[label] for label in columns["label"]],
            inputs={
                "adjective alone": columns["adjective"],
                "phrase alone": columns["premise"],
                "conclusion alone": columns["conclusion"],
            },
            train=[at for at, part in rows if part == "train"],
            test=[at for at, part in rows if part == "test"],
        )


_TABLES = {"adjectives": "asp_entailment", "dimension": "asp_degree"}


def asp(lake: str, edition: str) -> Iterator[Rows]:
    """ASP by each round of fine-tuning: the premise or the hypothesis alone.

    Entailment against the rest. Scored is the part held out, on the tests that are trained on
    (ordering, dimension, argument) and, as ``all tests``, on all eight; ``ordering alone`` is of
    the one test among those trained on that has both labels. The release has no test rows of degree
    estimation by round: its validation rows stand in.

    Raises:
        UserError: no rows of the edition.
    """
    for scheme, table in _TABLES.items():
        for number in _rounds(lake, edition, scheme):
            yield from _round(lake, edition, scheme, table, number)


def _rounds(lake: str, edition: str, scheme: str) -> list[str]:
    trained = _tuning(lake, edition)
    where = [("edition", "=", trained), ("scheme", "=", scheme), ("part", "=", "train")]
    rounds = arrow.read(lake, "asp_splits", where=where, columns=["round"])
    return sorted(pc.unique(rounds.column("round")).to_pylist())


def _tuning(lake: str, edition: str) -> str:
    """Where the training rows of an edition are: published_tuning of the release, NAME_tuning of a
    build whose rounds are drawn, else the edition itself."""
    known = {dict(file.partition).get("edition") for file in arrow.files(lake, "asp_splits")}
    return f"{edition}_tuning" if f"{edition}_tuning" in known else edition


def _round(lake: str, edition: str, scheme: str, table: str, number: str) -> Iterator[Rows]:
    names = ("premise", "hypothesis", "label", "test")
    pieces: list[tuple[str, pa.Table]] = []
    for own in dict.fromkeys((_tuning(lake, edition), edition)):
        where = [("edition", "=", own), ("scheme", "=", scheme), ("round", "=", number)]
        ids, parts = _listed(lake, "asp_splits", where, "item_id")
        for name in sorted(set(parts)):
            wanted = [item for item, at in zip(ids, parts, strict=True) if at == name]
            pieces.append((name, _looked_up(lake, table, own, wanted, names)))
    part = _held_out([name for name, _ in pieces])
    if part is None:
        return
    rows = pa.concat_tables([found for _, found in pieces])
    parts = [name for name, found in pieces for _ in range(found.num_rows)]
    columns = {name: rows.column(name).to_pylist() for name in names}
    labels = columns["label"]
    train = [at for at, own in enumerate(parts) if own == "train" and labels[at] != DISCARD]
    test = [at for at, own in enumerate(parts) if own == part and labels[at] != DISCARD]
    tests = columns["test"]
    trained = {tests[at] for at in train}
    known = [at for at in test if tests[at] in trained]
    ordering = {
        name: [at for at in own if tests[at] == "ordering"]
        for name, own in (("train", train), ("test", known))
    }
    kind = table.removeprefix("asp_")
    scored = [
        ("", train, known),
        (", all tests", train, test),
        (", ordering alone", ordering["train"], ordering["test"]),
    ]
    done: list[tuple[int, int]] = []
    for suffix, learnt, asked in scored:
        sizes = len(learnt), len(asked)
        if not learnt or not asked or sizes in done:
            continue
        done.append(sizes)
        yield Rows(
            dataset="asp",
            edition=edition,
            split=f"{kind}, {scheme} {number}{suffix}",
            part=part,
            item_ids=rows.column("item_id").to_pylist(),
            labels=labels,
            inputs={
                "premise alone": columns["premise"],
                "hypothesis alone": columns["hypothesis"],
            },
            train=learnt,
            test=asked,
        )
