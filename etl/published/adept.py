"""The release of ADEPT: ``train.json``, ``val.json`` and ``test.json``, arrays of objects.

Rows are kept as they stand, repeated and conflicting ones included (docs/adept.md), unless
``duplicates="merge"`` asks for each pair of sentences once. The published split is
``split_random``; the other two columns are made here.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa

from conf import UserError
from etl.adept import LABELS
from etl.adept.splits import PARTS, merged, repetitions, split_columns
from etl.adept.variants import item_id
from etl.lake.tables import table
from etl.published.reading import EDITION, Reading

__all__ = ["DUPLICATES", "read"]

TEXTS = ("sentence1", "sentence2", "modifier", "noun")
DUPLICATES = ("keep", "merge")


def read(path: Path, duplicates: str = "keep") -> Reading:
    """The rows of the splits that the folder has, and a report of them in `Reading.notes`.

    Objects without one of the four texts, or with a label outside 0..4, are dropped by reason.

    Raises:
        UserError: no such folder, none of the three files, or one that is no JSON array.
    """
    files = {part: path / f"{part}.json" for part in PARTS if (path / f"{part}.json").is_file()}
    if not files:
        raise UserError(
            f"adept={path}: none of {', '.join(f'{part}.json' for part in PARTS)} there; expected "
            "the folder of the release"
        )
    reading, rows = Reading(), []
    absent = [f"{part}.json" for part in PARTS if part not in files]
    if absent:
        without = " (no training rows)" if "train" not in files else ""
        reading.notes.append(f"not in this folder: {', '.join(absent)}{without}")
    seen: Counter[tuple[str, ...]] = Counter()
    for part, file in files.items():
        counts = reading.rows_of(file.name)
        for number, found in enumerate(_objects(file), 1):
            fault = _fault(found)
            if fault:
                sample = f"{file.name}, object {number}: {found}"
                reading.drop("adept", fault, sample, file.name)
                continue
            counts.read += 1
            texts = tuple(found[name] for name in TEXTS)
            sentence1, sentence2, modifier, noun = texts
            rows.append(
                {
                    "item_id": item_id(sentence1, modifier, noun, seen[texts]),
                    **dict(zip(TEXTS, texts, strict=True)),
                    "label": found["label"],
                    "agreement": None,
                    **split_columns(sentence1, sentence2, modifier, noun),
                    "split_random": part,
                    "edition": EDITION,
                }
            )
            seen[texts] += 1
    if not rows:
        raise UserError(f"adept={path}: no object with {', '.join(TEXTS)} and label in its files")
    reading.pass_over_others(path, set(files.values()))
    reading.notes += report(rows)
    if duplicates == "merge":
        once = merged(rows)
        rows = [dict(row) for row in once.rows]
        for reason, left_out in once.dropped.items():
            for row in left_out:
                reading.drop("adept", reason, f"{row['sentence1']} {row['sentence2']}")
    reading.tables["adept"] = pa.Table.from_pylist(rows, table("adept").schema)
    return reading


def _objects(file: Path) -> list[Any]:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise UserError(f"{file}: not readable as JSON: {error}") from error
    if not isinstance(found, list):
        raise UserError(f"{file}: expected a JSON array of objects, got {type(found).__name__}")
    return found


def _fault(found: Any) -> str | None:
    if not isinstance(found, dict):
        return "no object"
    for name in TEXTS:
        if not isinstance(found.get(name), str) or not found[name].strip():
            return f"no {name}"
    label = found.get("label")
    if isinstance(label, bool) or not isinstance(label, int) or not 0 <= label < len(LABELS):
        return f"label is not one of 0 to {len(LABELS) - 1}"
    return None


def report(rows: list[dict[str, Any]]) -> list[str]:
    """Lines that say how many rows the parts have by label, and what is repeated or leaks."""
    lines = []
    for part in PARTS:
        own = Counter(row["label"] for row in rows if row["split_random"] == part)
        if own:
            labels = ", ".join(f"{own[i]} {name}" for i, name in enumerate(LABELS))
            lines.append(f"{part}: {own.total()} rows: {labels}")
    found = repetitions(rows)
    lines.append(
        f"sentence pairs: {found.repeated} occur more than once, {found.conflicting} of them with "
        f"different labels, {found.leaking} in more than one part"
    )
    lines.append(
        f"in more than one part: {found.sentences} first sentences, {found.pairs} pairs of noun "
        "and modifier"
    )
    lines += [
        f"{part}: {seen} of its {nouns} nouns are trained on"
        for part, (nouns, seen) in found.nouns_seen.items()
    ]
    return lines
