"""One pair: its counts, example sentences, its items in the datasets, and their predictions."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from adnominal.etl.adept.words import forms
from adnominal.etl.declaration import ItemTable
from adnominal.etl.external import is_external
from adnominal.etl.lake import arrow
from adnominal.etl.looking.pair import Words, examples_of, rows_of_pairs
from adnominal.etl.registry import DATASETS

_MOST_ITEMS = 50  # items shown per table
_MOST_EXAMPLES = 20
_MOST_PREDICTIONS = 500


def pair(lake: str, adjective: str, noun: str) -> dict[str, Any]:
    """Examples, items and predictions of a pair; each is empty if its table does not exist.

    Items are those of all editions, at most fifty per table.
    """
    by_pair = dict(pairs(lake, {(adjective, noun)}))
    nothing: dict[str, Any] = {"examples": [], "items": [], "predictions": []}
    nothing |= {"examples_total": 0, "noun_forms": [noun]}
    return by_pair.get((adjective, noun), nothing)


def pairs(lake: str, wanted_pairs: Collection[Words]) -> Iterator[tuple[Words, dict[str, Any]]]:
    """What `pair` returns for each (adjective, noun), sorted; pairs without anything are omitted.

    Tables are streamed; a single pair is looked up through file and row-group statistics.
    """
    tables = arrow.tables(lake)
    examples = examples_of(lake, wanted_pairs)
    items: defaultdict[Words, list[dict[str, Any]]] = defaultdict(list)
    for dataset in DATASETS.values():
        for table in dataset.tables:
            names_pairs = table.pair and "adjective" in table.words
            if table.name in tables and names_pairs:
                for key, rows in _items(lake, table, wanted_pairs).items():
                    items[key] += rows
    predictions: Mapping[str, list[dict[str, Any]]] = {}
    if items and "predictions" in tables:
        ids = {item["item_id"] for rows in items.values() for item in rows}
        predictions = _predictions(lake, ids)
    for key in sorted(examples.keys() | items.keys()):
        _, noun = key
        sentences = examples.get(key, [])
        answers: list[dict[str, Any]] = []
        for item in items[key]:
            answers += predictions.get(item["item_id"], [])
        details = {
            "examples": sentences[:_MOST_EXAMPLES],
            "examples_total": len(sentences),
            "noun_forms": [noun, *forms(noun, "NNS")],
            "items": items[key],
            "predictions": answers[:_MOST_PREDICTIONS],
        }
        yield key, details


def _items(
    lake: str, table: ItemTable, wanted_pairs: Collection[Words]
) -> dict[Words, list[dict[str, Any]]]:
    """The items of a table that have one of the pairs, at most `_MOST_ITEMS` a pair, sorted."""
    assert table.pair is not None
    adjective, noun = table.words["adjective"], table.words["noun"]
    names = [adjective, noun, "edition", *table.pair, "label", table.item]
    rows_by_pair: defaultdict[Words, list[dict[str, Any]]] = defaultdict(list)
    for row in rows_of_pairs(lake, table.name, names, wanted_pairs):
        first, second = (row[name] for name in table.pair)
        item = {"dataset": table.title, "edition": row["edition"], "first": first}
        item |= {"second": second, "label": str(row["label"]), "item_id": row[table.item]}
        rows_by_pair[row[adjective], row[noun]].append(item)
    order = ("edition", "first", "second", "item_id")
    return {
        key: sorted(rows, key=lambda row: [row[name] for name in order])[:_MOST_ITEMS]
        for key, rows in rows_by_pair.items()
    }


def _predictions(lake: str, items: Collection[str]) -> dict[str, list[dict[str, Any]]]:
    """The predictions on each item, sorted by model, task and run."""
    names = ["item_id", "model", "task", "run_id", "gold", "predicted"]
    rows_by_item: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    where = [("item_id", "in", sorted(items))]
    for batch in arrow.batches(lake, "predictions", where=where, columns=names):
        for row in batch.to_pylist():
            row["external"] = is_external(row["run_id"])
            rows_by_item[row["item_id"]].append(row)
    return {
        item: sorted(rows, key=lambda row: (row["model"] or "", row["task"], row["run_id"]))
        for item, rows in rows_by_item.items()
    }
