"""One pair: its counts, example sentences, its items in the datasets, what models said of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from etl.lake import arrow

_MOST_ITEMS = 50  # of a table that are shown
_MOST_EXAMPLES = 20
_MOST_PREDICTIONS = 500


@dataclass(frozen=True)
class _Dataset:
    """Where a dataset has its items with an adjective and a noun, and what is shown of them."""

    name: str
    table: str
    adjective: str
    first: str
    second: str


_DATASETS = (
    _Dataset("ADEPT", "adept", "modifier", "sentence1", "sentence2"),
    _Dataset("PLANE", "plane_items", "adjective", "premise", "conclusion"),
    _Dataset("ASP", "asp_entailment", "adjective", "premise", "hypothesis"),
    _Dataset("ASP degrees", "asp_degree", "adjective", "premise", "hypothesis"),
)


Pair: TypeAlias = tuple[str, str]


def pair(lake: str, adjective: str, noun: str) -> dict[str, Any]:
    """Examples, items and predictions of a pair; each is empty where its table is not there.

    Items are those of every edition, at most fifty a table.
    """
    found = dict(pairs(lake, {(adjective, noun)}))
    return found.get((adjective, noun), {"examples": [], "items": [], "predictions": []})


def pairs(lake: str, wanted: Collection[Pair]) -> Iterator[tuple[Pair, dict[str, Any]]]:
    """What `pair` gives, of each of the pairs (adjective, noun) that has anything.

    Tables are streamed; one pair is looked up by the statistics of files and row groups.
    """
    tables = arrow.tables(lake)
    examples: defaultdict[Pair, list[dict[str, Any]]] = defaultdict(list)
    if "amod_examples" in tables:
        names = ["adjective", "noun", "corpus", "document", "sentence"]
        for row in _rows(lake, "amod_examples", names, wanted):
            examples[row["adjective"], row["noun"]].append(
                {name: row[name] for name in ("corpus", "sentence", "document")}
            )
    items: defaultdict[Pair, list[dict[str, Any]]] = defaultdict(list)
    for dataset in _DATASETS:
        if dataset.table in tables:
            for key, found in _items(lake, dataset, wanted).items():
                items[key] += found
    predictions: Mapping[str, list[dict[str, Any]]] = {}
    if items and "predictions" in tables:
        ids = {item["item_id"] for found in items.values() for item in found}
        predictions = _predictions(lake, ids)
    for key in sorted(examples.keys() | items.keys()):
        sentences = sorted(
            examples[key], key=lambda row: (row["corpus"], row["document"] or "", row["sentence"])
        )
        answers = [row for item in items[key] for row in predictions.get(item["item_id"], [])]
        yield (
            key,
            {
                "examples": sentences[:_MOST_EXAMPLES],
                "items": items[key],
                "predictions": answers[:_MOST_PREDICTIONS],
            },
        )


def _rows(
    lake: str, table: str, columns: list[str], wanted: Collection[Pair]
) -> Iterator[dict[str, Any]]:
    """Rows with the wanted pairs, whose adjective and noun are the first two columns."""
    adjective, noun = columns[:2]
    words = [sorted({key[place] for key in wanted}) for place in (0, 1)]
    where: list[tuple[str, str, Any]]
    if len(wanted) == 1:
        where = [(adjective, "=", words[0][0]), (noun, "=", words[1][0])]
    else:
        where = [(adjective, "in", words[0]), (noun, "in", words[1])]
    for batch in arrow.batches(lake, table, where=where, columns=columns):
        for row in batch.to_pylist():
            if (row[adjective], row[noun]) in wanted:
                yield row


def _items(
    lake: str, dataset: _Dataset, wanted: Collection[Pair]
) -> dict[Pair, list[dict[str, Any]]]:
    names = [dataset.adjective, "noun", "edition", dataset.first, dataset.second]
    found: defaultdict[Pair, list[dict[str, Any]]] = defaultdict(list)
    for row in _rows(lake, dataset.table, [*names, "label", "item_id"], wanted):
        found[row[dataset.adjective], row["noun"]].append(
            {
                "dataset": dataset.name,
                "edition": row["edition"],
                "first": row[dataset.first],
                "second": row[dataset.second],
                "label": str(row["label"]),
                "item_id": row["item_id"],
            }
        )
    order = ("edition", "first", "second", "item_id")
    return {
        key: sorted(rows, key=lambda row: [row[name] for name in order])[:_MOST_ITEMS]
        for key, rows in found.items()
    }


def _predictions(lake: str, items: Collection[str]) -> dict[str, list[dict[str, Any]]]:
    names = ["item_id", "model", "task", "run_id", "gold", "predicted"]
    found: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    where = [("item_id", "in", sorted(items))]
    for batch in arrow.batches(lake, "predictions", where=where, columns=names):
        for row in batch.to_pylist():
            found[row["item_id"]].append(row)
    return {
        item: sorted(rows, key=lambda row: (row["model"] or "", row["task"], row["run_id"]))
        for item, rows in found.items()
    }
