"""Rows for small tables of a lake, written without an engine."""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from adnominal.etl.lake import arrow
from adnominal.etl.lake.tables import table
from adnominal.etl.plane import rules


def rows(names: str, *cells: Sequence[Any], **constants: Any) -> list[dict[str, Any]]:
    """A row for each of `cells`, the values of the columns `names`, plus columns with one value."""
    columns = names.split()
    return [{**dict(zip(columns, values, strict=True)), **constants} for values in cells]


def adept_row(
    item_id: str, adjective: str, noun: str, label: int, *, verb: str = "barks", **more: Any
) -> dict[str, Any]:
    """A row of adept, by default published, whose sentences are *A NOUN VERB.* and *A ADJECTIVE
    NOUN VERB.*"""
    return {
        "item_id": item_id,
        "sentence1": f"A {noun} {verb}.",
        "sentence2": f"A {adjective} {noun} {verb}.",
        "modifier": adjective,
        "noun": noun,
        "label": label,
        "edition": "published",
        **more,
    }


def plane_item(
    adjective: str, kind: str, noun: str, hypernym: str, inference: int, **more: Any
) -> dict[str, Any]:
    """A row of plane_items, by default published, with the texts and the label of the rules."""
    return {
        "item_id": f"{adjective}-{noun}-{inference}",
        "group_id": f"{adjective}-{noun}",
        "adjective": adjective,
        "class": kind,
        "noun": noun,
        "hypernym": hypernym,
        "inference_type": inference,
        "premise": f"{adjective} {noun}",
        "conclusion": rules.conclusion(inference, adjective, noun, hypernym),
        "label": rules.label(kind, inference),
        "sentence": rules.sentence("paper", inference, adjective, noun, hypernym),
        "edition": "published",
        **more,
    }


def write(lake: str | Path, name: str, records: Iterable[Mapping[str, Any]]) -> None:
    """Append rows to a table; missing columns are null."""
    data = pa.Table.from_pylist(list(records), table(name).schema)
    arrow.append(os.fspath(lake), name, data, job="test")
