"""Turn sorted pairs into rows of adept_entries and adept_items, thousands at a time.

A noun in a web corpus can have hundreds of thousands of adjectives. As a list in a Spark row, every
step would copy them whole; as sorted pairs they stream, and Arrow makes the list.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from adnominal.etl.adept.settings import Settings
from adnominal.etl.adept.variants import VariantRules, item_id, variants
from adnominal.etl.lake.tables import table

# Tens of MB of flat pairs.
ROWS = 200_000
# In the order of preference: sentences in people's own words precede those from templates.
PREDICATE = ("path", "rank", "sentence", "form", "relation", "predicate", "edge")
PREDICATE_TYPE = pa.struct(
    [(name, pa.int64() if name == "rank" else pa.string()) for name in PREDICATE]
)
PREDICATES = pa.schema(
    [
        ("noun", pa.string()),
        ("said", pa.list_(PREDICATE_TYPE)),
        ("different", pa.int64()),
        ("edges", pa.int64()),
    ]
)


def whole_nouns(batches: Iterator[pa.RecordBatch], min_rows: int = ROWS) -> Iterator[pa.Table]:
    """Join batches sorted by noun into tables of at least `min_rows` rows that split no noun."""
    pending: list[pa.RecordBatch] = []
    for batch in batches:
        if sum(part.num_rows for part in pending) >= min_rows and batch.num_rows:
            changed = pc.not_equal(batch.column("noun"), pending[-1].column("noun")[-1])
            place = pc.index(changed, True).as_py()
            if place >= 0:
                yield pa.Table.from_batches([*pending, batch.slice(0, place)])
                pending, batch = [], batch.slice(place)
        if batch.num_rows:
            pending.append(batch)
    if pending:
        yield pa.Table.from_batches(pending)


def predicates(rows: pa.Table, most: int) -> pa.Table:
    """Return the predicates of each noun (`PREDICATES`), one row per noun.

    The rows of a noun stand together, and within it those of a gist. So both begin where a column
    changes, and the lists are cut from flat columns at such places, without a loop over nouns.

    Args:
        rows: noun, gist and the columns of `PREDICATE`, sorted by all of these; the first sentence
            of a gist represents it.
        most: maximum number of predicates listed per noun, in the order of `PREDICATE`.
            ``different`` counts all of them, ``edges`` the rows.
    """
    rows = rows.select(["noun", "gist", *PREDICATE]).combine_chunks()
    nouns = rows.column("noun").combine_chunks()
    gists = rows.column("gist").combine_chunks()
    noun_starts = _starts(nouns)
    edge_counts = np.diff(np.append(noun_starts, len(nouns)))

    # The first sentence of each gist, with the number of its noun. A noun begins a gist, even where
    # the noun before it ends with the same one.
    gist_starts = np.union1d(noun_starts, _starts(gists))
    noun_numbers = np.searchsorted(noun_starts, gist_starts, side="right") - 1
    firsts = rows.take(pa.array(gist_starts)).append_column("number", pa.array(noun_numbers))
    preference = [(name, "ascending") for name in ("number", *PREDICATE)]
    firsts = firsts.take(pc.sort_indices(firsts, preference))

    # Of these the preferred ones are listed.
    counts = np.bincount(noun_numbers, minlength=len(noun_starts))
    ends = np.cumsum(counts)
    first_places = np.repeat(ends - counts, counts)
    places_in_noun = np.arange(len(firsts)) - first_places
    listed = firsts.filter(pa.array(places_in_noun < most))

    list_ends = np.cumsum(np.minimum(counts, most))
    list_bounds = np.concatenate([[0], list_ends])
    columns = [listed.column(name).combine_chunks() for name in PREDICATE]
    statements = pa.StructArray.from_arrays(columns, fields=list(PREDICATE_TYPE))
    lists = pa.ListArray.from_arrays(pa.array(list_bounds, pa.int32()), statements)
    return pa.table(
        [nouns.take(pa.array(noun_starts)), lists, counts, edge_counts], schema=PREDICATES
    )


def entries(pairs: pa.Table, edition: str) -> pa.Table:
    """Return rows of adept_entries, one for each noun.

    Args:
        pairs: noun, adjective, count, nonsubsective, grouped by noun in the order of the entry.
        edition: name of the edition.
    """
    schema = table("adept_entries").schema
    noun = pairs.column("noun").combine_chunks()
    starts = _starts(noun)
    kind = schema.field("adjectives").type
    names = [field.name for field in kind.value_type]
    listed = pa.ListArray.from_arrays(
        pa.array([*starts, len(noun)], pa.int32()),
        pa.StructArray.from_arrays([pairs.column(name).combine_chunks() for name in names], names),
    )
    return pa.table(
        [noun.take(pa.array(starts)), listed.cast(kind), pa.repeat(edition, len(starts))],
        schema=schema,
    )


def items(rows: pa.Table, settings: Settings) -> pa.Table:
    """Return rows of adept_items.

    Args:
        rows: noun, adjective, nonsubsective, said. The first row of each noun has its chosen
            predicates as a list and no adjective; its adjectives follow in an order that does not
            depend on the run. Nouns without the first row give no items.
    """
    schema = table("adept_items").schema
    names = ("noun", "said", "adjective", "nonsubsective")
    noun, statements, adjective, flag = (rows.column(name).combine_chunks() for name in names)
    rows_made: list[dict[str, Any]] = []
    bounds = [*_starts(noun).tolist(), len(noun)]
    for start, stop in pairwise(bounds):
        predicates = statements[start].as_py()
        if predicates is None:
            continue
        adjectives, flags = adjective[start + 1 : stop], flag[start + 1 : stop]
        pools = (
            adjectives.filter(pc.invert(flags)).to_pylist(),
            adjectives.filter(flags).to_pylist(),
        )
        for predicate in predicates:
            rows_made += _variants(noun[start].as_py(), predicate, pools, settings)
    return pa.Table.from_pylist(rows_made, schema=schema)


def _starts(noun: pa.StringArray) -> npt.NDArray[np.int64]:
    """Return the first row of each noun."""
    changed = pc.not_equal(noun[1:], noun[:-1]).to_numpy(zero_copy_only=False)
    return np.concatenate([[0], np.flatnonzero(changed) + 1])[: len(noun)].astype(np.int64)


def _variants(
    noun: str, predicate: dict[str, Any], pools: tuple[list[str], list[str]], settings: Settings
) -> list[dict[str, Any]]:
    """The rows of adept_items for one predicate of a noun: an item for each variant.

    `pools` are the noun's ordinary and its non-subsective adjectives, from which variants choose.
    """
    rules = VariantRules(
        settings.seed,
        settings.variants,
        settings.nonsubsective,
        "letter" if settings.article == "letter" else "sound",
        names=settings.rules == "clean",
    )
    columns = ("relation", "predicate", "sentence", "path", "edge")
    return [
        {
            **{name: predicate[name] for name in columns},
            "item_id": item_id(predicate["sentence"], variant.adjective, noun),
            "noun": noun,
            "adjective": variant.adjective,
            "nonsubsective": variant.nonsubsective,
            "variant": variant.number,
            "chosen": variant.chosen,
            "modified_sentence": variant.sentence,
            "edition": settings.name,
        }
        for variant in variants(predicate["sentence"], noun, predicate["form"], *pools, rules)
    ]
