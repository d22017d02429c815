"""The release of ADEPT: ``train.json``, ``val.json`` and ``test.json``, arrays of objects.

Rows are kept unchanged, including repeated and conflicting ones (docs/adept.md), unless
``duplicates="merge"`` keeps each pair of sentences once. The published split is ``split_random``;
the other two split columns are computed here.
"""

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa

from adnominal.conf import UserError
from adnominal.conf.delimited import text_of
from adnominal.conf.texts import NO_TEXT, is_text, json_value
from adnominal.etl.adept import LABELS
from adnominal.etl.adept.splits import PARTS, merge_copies, repetitions, split_columns
from adnominal.etl.adept.variants import item_id
from adnominal.etl.lake.tables import table
from adnominal.etl.published.reading import EDITION, Reading

TEXTS = ("sentence1", "sentence2", "modifier", "noun")
DUPLICATES = ("keep", "merge")


def read(path: Path, duplicates: str = "keep") -> Reading:
    """The rows of the splits in the folder, with a report in `Reading.notes`.

    Objects without one of the four texts, or with a label outside 0..4, are dropped by reason.

    Raises:
        UserError: no such folder, none of the three files, or one that is not a JSON array.
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
    occurrences: Counter[tuple[str, ...]] = Counter()
    for part, file in files.items():
        counts = reading.rows_of(file.name)
        for number, entry in enumerate(_objects(file), 1):
            fault = _fault(entry)
            if fault:
                sample = f"{file.name}, object {number}: {entry}"
                reading.drop("adept", fault, sample, file.name)
                continue
            counts.read += 1
            texts = tuple(entry[name] for name in TEXTS)
            sentence1, sentence2, modifier, noun = texts
            rows.append(
                {
                    "item_id": item_id(sentence1, modifier, noun, occurrences[texts]),
                    **dict(zip(TEXTS, texts, strict=True)),
                    "label": entry["label"],
                    "agreement": None,
                    **split_columns(sentence1, sentence2, modifier, noun),
                    "split_random": part,
                    "edition": EDITION,
                }
            )
            occurrences[texts] += 1
    if not rows:
        raise UserError(
            f"adept={path}: no object with {', '.join(TEXTS)} and label in its files: "
            f"{reading.reasons() or 'they are empty'}"
        )
    reading.pass_over_others(path, set(files.values()))
    reading.notes += report(rows)
    if duplicates == "merge":
        deduplicated = merge_copies(rows)
        rows = [dict(row) for row in deduplicated.rows]
        for reason, left_out in deduplicated.dropped.items():
            for row in left_out:
                reading.drop("adept", reason, f"{row['sentence1']} {row['sentence2']}")
    reading.tables["adept"] = pa.Table.from_pylist(rows, table("adept").schema)
    return reading


def _objects(file: Path) -> list[Any]:
    """The entries of a file's JSON array."""
    try:
        entries = json_value(text_of(file, str(file)))
    except ValueError as error:
        raise UserError(
            f"{file}: not readable as JSON: {error}; expected one array of objects"
        ) from error
    if not isinstance(entries, list):
        raise UserError(f"{file}: expected a JSON array of objects, got {type(entries).__name__}")
    return entries


def _fault(entry: Any) -> str | None:
    """Why an entry is no row; None if it is one."""
    if not isinstance(entry, dict):
        return "not an object"
    for name in TEXTS:
        if not isinstance(entry.get(name), str) or not entry[name].strip():
            return f"no {name}"
        if not is_text(entry[name]):
            return NO_TEXT
    label = entry.get("label")
    if isinstance(label, bool) or not isinstance(label, int) or not 0 <= label < len(LABELS):
        return f"label is not one of 0 to {len(LABELS) - 1}"
    return None


def report(rows: list[dict[str, Any]]) -> list[str]:
    """A report: rows of each part by label, repeated rows, and rows in more than one part."""
    lines = []
    for part in PARTS:
        label_counts = Counter(row["label"] for row in rows if row["split_random"] == part)
        if label_counts:
            labels = ", ".join(f"{label_counts[i]} {name}" for i, name in enumerate(LABELS))
            lines.append(f"{part}: {label_counts.total()} rows: {labels}")
    repeats = repetitions(rows)
    lines.append(
        f"sentence pairs: {repeats.repeated} occur more than once, {repeats.conflicting} of them "
        f"with different labels, {repeats.leaking} in more than one part"
    )
    lines.append(
        f"in more than one part: {repeats.sentences} first sentences, {repeats.pairs} pairs of "
        "noun and modifier"
    )
    lines += [
        f"{part}: {trained_on} of its {nouns} nouns are trained on"
        for part, (nouns, trained_on) in repeats.nouns_seen.items()
    ]
    return lines
