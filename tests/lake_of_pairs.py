"""A small lake with all that the explorer shows, made by hand and written without an engine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from etl.amod.association import ADJECTIVES, Adjectives, association_of
from etl.amod.kernel import PAIRS
from etl.lake import arrow
from etl.lake.tables import table

SCRIPT = "<script>document.title = 'run'</script> The false key opened <b>no</b> door."

COUNTS: dict[str, Sequence[tuple[str, str, int]]] = {
    "news": [
        ("false", "key", 4),
        ("old", "key", 9),
        ("small", "key", 2),
        ("old", "door", 5),
        ("wooden", "door", 7),
        ("false", "name", 3),
        ("naïve", "question", 2),
    ],
    "web": [("false", "key", 1), ("public", "key", 8), ("wooden", "door", 2)],
}


def _put(root: str, name: str, rows: Sequence[dict[str, Any]]) -> None:
    schema = table(name).schema
    full = [{field: row.get(field) for field in schema.names} for row in rows]
    arrow.append(root, name, pa.Table.from_pylist(full, schema=schema), job="test")


def association(corpus: str, counts: Sequence[tuple[str, str, int]]) -> pa.Table:
    """Measured rows of a corpus by noun."""
    ordered = sorted(counts, key=lambda one: (one[1], one[0]))
    pairs = pa.table(list(map(list, zip(*ordered, strict=True))), schema=PAIRS)
    sums: dict[str, list[int]] = {}
    for adjective, _, count in counts:
        sums.setdefault(adjective, []).append(count)
    adjectives = pa.table(
        [
            list(sums),
            [sum(counts_of_word) for counts_of_word in sums.values()],
            [len(counts_of_word) for counts_of_word in sums.values()],
        ],
        schema=ADJECTIVES,
    )
    schema = table("amod_association").schema
    return association_of(pairs, Adjectives.of(adjectives), corpus).cast(schema)


def write_lake(folder: Path) -> Path:
    """Write the lake into a folder; the folder."""
    root = str(folder)
    for corpus, counts in COUNTS.items():
        rows = association(corpus, counts)
        arrow.append(root, "amod_association", rows, job="test")
        by_adjective = rows.sort_by([("adjective", "ascending"), ("noun", "ascending")])
        arrow.append(root, "amod_by_adjective", by_adjective, job="test")
        pairs = rows.select(["corpus", "adjective", "noun", "count"])
        arrow.append(root, "amod_pairs", pairs, job="test")
    pair = {"adjective": "false", "noun": "key"}
    _put(
        root,
        "amod_examples",
        [
            {**pair, "corpus": "news", "sentence": SCRIPT, "document": "http://example.org/1"},
            {**pair, "corpus": "web", "sentence": "A false key.", "document": "two"},
        ],
    )
    classes = (("false", "O"), ("old", "S"), ("small", "S"), ("wooden", "I"))
    _put(
        root,
        "adjective_classes",
        [{"adjective": word, "class": one, "source": "test"} for word, one in classes],
    )
    _put(
        root,
        "adept",
        [
            {
                "item_id": "a1",
                "sentence1": "A key opens a door.",
                "sentence2": "A false key opens a door.",
                "modifier": "false",
                "noun": "key",
                "label": 1,
                "edition": "demo",
            }
        ],
    )
    _put(
        root,
        "plane_items",
        [
            {
                **pair,
                "item_id": "p1",
                "class": "O",
                "premise": "false key",
                "conclusion": "key",
                "label": 0,
                "edition": "demo",
            }
        ],
    )
    _put(
        root,
        "asp_entailment",
        [
            {
                "item_id": "s1",
                "test": "argument",
                "premise": "The old key is red.",
                "hypothesis": "The key is red.",
                "label": "entailment",
                "adjective": "old",
                "noun": "key",
                "edition": "demo",
            }
        ],
    )
    _put(
        root,
        "predictions",
        [
            {
                "run_id": "r1",
                "task": "plane",
                "edition": "demo",
                "item_id": "p1",
                "gold": "0",
                "predicted": "1",
                "model": "tiny",
            }
        ],
    )
    return folder
