"""The release of ASP: tab-separated files of premise, hypothesis and (mostly) label.

``EntailmentInference/TEST.csv`` and ``DegreeEstimation/TEST.csv`` become edition ``published``;
``fine_tuning/{train,validation}/leave_*.csv`` edition ``published_tuning`` with its splits; the
curves of ``human/human_scale_curves.tsv`` the table asp_human, source ``published``. Sentences are
kept as they stand, missing full stops included (docs/asp.md).
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from conf import UserError
from etl.asp import CONTRADICTION, DISCARD, ENTAILMENT, NEUTRAL, NOT_ENTAILMENT, TESTS, labels
from etl.asp.gold import HUMAN, POLARITIES, Curve, Gold, published_gold
from etl.asp.judgements import human_rows
from etl.asp.lexicon import Lexicon, lexicon
from etl.asp.templates import item_id, parse
from etl.lake.tables import table
from etl.published.reading import EDITION, Reading

__all__ = ["TUNING", "read"]

TUNING = "published_tuning"
_FOLDERS = ("EntailmentInference", "DegreeEstimation")
_UNITS = {"m": "length", "cm": "length", "g": "mass", "kg": "mass", "°C": "temperature"}
_QUANTITY = r"(?:\$(?P<price>\d+)|(?P<size>\d+) ?(?P<unit>cm|m|kg|g|°[cC]))"
_ASKED = re.compile(rf"A {_QUANTITY} (?P<noun>.+?) is (?P<rest>.+?)\.?")
_NUMBER = re.compile(r"\$?(\d+)")
_FIRST = re.compile(rf"A {_QUANTITY} (?P<noun>.+?) is .+")
_MODIFIERS = {"booster": "very ", "diminisher": "relatively ", "negation": "not "}


def read(path: Path) -> Reading:
    """The rows of a release's folder, in the tables of ASP.

    Rows that are not of their test's templates are dropped by reason. The six degree files without
    labels get those of the human curves, where the release has them, else of their thresholds.

    Raises:
        UserError: no such folder, or neither of the two tasks in it.
    """
    if not any((path / folder).is_dir() for folder in _FOLDERS):
        raise UserError(
            f"asp={path}: no folder {' or '.join(_FOLDERS)}; expected the folder of the release"
        )
    words, reading = lexicon(), Reading()
    human = _human(path / "human" / "human_scale_curves.tsv")
    gold = published_gold()
    if human:
        reading.tables["asp_human"] = pa.Table.from_pylist(human, table("asp_human").schema)
        gold = Gold("sigmoid", {(r["test"], r["polarity"]): r["threshold"] for r in human})
    trained = _training_adjectives(path)
    entailment: list[dict[str, Any]] = []
    degree: list[dict[str, Any]] = []
    splits: list[dict[str, Any]] = []
    for test in TESTS:
        own = list(_entailment(path / _FOLDERS[0] / f"{test}.csv", test, words, reading))
        entailment += own
        for row in own:
            used = {row["adjective"], row["other_adjective"] or row["adjective"]}
            # Of the adjectives that the release tests, half stand in its training rows.
            part = "test" if used.isdisjoint(trained) else "leaking"
            splits.append(_split("adjectives", "published", part, row["item_id"], EDITION))
        degree += _degree(path / _FOLDERS[1] / f"{test}.csv", test, gold, reading)
    for file in sorted((path / "fine_tuning").glob("*/leave_*.csv")):
        part = {"train": "train", "validation": "val"}[file.parent.name]
        held = file.stem.removeprefix("leave_")
        scheme, target = ("adjectives", entailment) if held == "ei" else ("dimension", degree)
        seen = {row["item_id"] for row in target if row["edition"] == TUNING}
        for row in _tuning(file, words, gold, reading):
            if row["item_id"] not in seen:
                seen.add(row["item_id"])
                target.append(row)
            name = "published" if held == "ei" else held
            splits.append(_split(scheme, name, part, row["item_id"], TUNING))
    for name, rows in (
        ("asp_entailment", entailment),
        ("asp_degree", degree),
        ("asp_splits", splits),
    ):
        if rows:
            reading.tables[name] = pa.Table.from_pylist(rows, table(name).schema)
    return reading


def _training_adjectives(path: Path) -> set[str]:
    """The adjectives of the release's training rows of entailment inference."""
    found = set()
    for _, row in _rows(path / "fine_tuning" / "train" / "leave_ei.csv"):
        for text in (row["sentence1"], row["sentence2"]):
            found.add(text.rstrip(".").partition(" is ")[2])
    return found


def _split(scheme: str, number: str, part: str, item: str, edition: str) -> dict[str, str]:
    return {"scheme": scheme, "round": number, "part": part, "item_id": item, "edition": edition}


def _rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    if not path.exists():
        return
    with path.open(encoding="utf-8", newline="") as lines:
        reader = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        for row in reader:
            # The first row of a file without labels has no third column, and others none either.
            yield reader.line_num, {name: (value or "").strip() for name, value in row.items()}


def _human(path: Path) -> list[dict[str, Any]]:
    curves: dict[tuple[str, str], dict[float, float]] = {}
    for _, row in _rows(path):
        for test in HUMAN:
            for polarity in POLARITIES:
                share = row.get(f"{test}_{polarity[:3]}")
                if share:
                    own = curves.setdefault((test, polarity), {})
                    own[float(row["scale_value"])] = float(share)
    shares: Mapping[tuple[str, str], Curve] = curves
    return human_rows(shares, {}, "published")


def _entailment(
    path: Path, test: str, words: Lexicon, reading: Reading
) -> Iterator[dict[str, Any]]:
    seen: Counter[tuple[str, str]] = Counter()
    for line, row in _rows(path):
        where = f"{path.name}:{line} {row['premise']} {row['hypothesis']}"
        if row.get("label") not in (ENTAILMENT, NOT_ENTAILMENT):
            reading.drop("asp_entailment", "no label", where)
            continue
        texts = (row["premise"], row["hypothesis"])
        try:
            yield _entailment_row(test, texts, row["label"], words, seen[texts], EDITION)
        except ValueError as error:
            reading.drop("asp_entailment", str(error), where)
        seen[texts] += 1


def _entailment_row(
    test: str, texts: tuple[str, str], label: str, words: Lexicon, occurrence: int, edition: str
) -> dict[str, Any]:
    pair = parse(test, *texts, words)
    marked = test in ("booster", "diminisher")
    return {
        "item_id": item_id(test, *texts, occurrence),
        "test": test,
        "premise": texts[0],
        "hypothesis": texts[1],
        "label": label,
        "label3": labels.label3(test, label),
        "adjective": pair.adjective,
        "other_adjective": pair.other_adjective,
        "noun": pair.noun,
        "other_noun": pair.other_noun,
        "modifier": (pair.premise_mark or pair.hypothesis_mark) if marked else None,
        "adjective_type": words.standards.get(pair.adjective),
        "edition": edition,
    }


def _degree(path: Path, test: str, gold: Gold, reading: Reading) -> Iterator[dict[str, Any]]:
    seen: Counter[tuple[str, str]] = Counter()
    for number, (line, row) in enumerate(_rows(path)):
        texts = (row["premise"], row["hypothesis"])
        try:
            yield _degree_row(
                test, texts, row.get("label"), gold, seen[texts], number // 40, EDITION
            )
        except ValueError as error:
            reading.drop("asp_degree", str(error), f"{path.name}:{line} {' '.join(texts)}")
        seen[texts] += 1


def _degree_row(
    test: str,
    texts: tuple[str, str],
    label: str | None,
    gold: Gold,
    occurrence: int,
    group: int | None,
    edition: str,
) -> dict[str, Any]:
    premise, hypothesis = texts
    asked = _ASKED.fullmatch(hypothesis)
    numbers = [int(found) for found in _NUMBER.findall(premise)]
    sentences = premise.rstrip(".").split(". ")
    if asked is None or len(numbers) != 2 or len(sentences) != 2:
        raise ValueError("not of the form of degree estimation")
    adjective = asked["rest"].removeprefix(_MODIFIERS.get(test, ""))
    alpha = int(asked["price"] or asked["size"])
    unit = (
        "$"
        if asked["price"]
        else asked["unit"].replace("c", "C")
        if "°" in asked["unit"]
        else (asked["unit"])
    )
    # In superlative the forms are superlatives: the hypothesis's adjective is told by its letters.
    polarity, other = _polarity(test, adjective, sentences)
    a, b = (float(value) for value in numbers)
    if test == "superlative":
        # The premise has the end points, z = 138 and 60.
        step = (a - b) / 39
        a, b = b + 30 * step, b + 10 * step
    z = 80 + 40 * (alpha - b) / (a - b)
    z = round(z, 6)
    judged = (test, polarity) in gold.thresholds
    if not label:
        if not judged:
            raise ValueError("no label")
        label = labels.name(gold.entails(test, polarity, z))
    noun = _FIRST.fullmatch(sentences[0])
    own = noun["noun"] if noun else asked["noun"]
    return {
        "item_id": item_id(test, premise, hypothesis, occurrence),
        "test": test,
        "variant": "base",
        "group": group,
        "dimension": "price" if unit == "$" else _UNITS[unit],
        "unit": unit,
        "adjective": adjective,
        "other_adjective": other,
        "noun": own,
        "other_noun": asked["noun"] if asked["noun"] != own else None,
        "polarity": polarity,
        "positive_value": a,
        "negative_value": b,
        "alpha": float(alpha),
        "z": z,
        "premise": premise,
        "hypothesis": hypothesis,
        "label": label,
        "label3": labels.label3(test, label),
        "gold": gold.kind if judged else "rule",
        "extrapolated": judged and gold.extrapolated(test, polarity, z),
        "edition": edition,
    }


def _polarity(test: str, adjective: str, sentences: list[str]) -> tuple[str, str | None]:
    """Which of the two sentences the adjective is of, and the other's adjective."""
    if test == "superlative":
        # Tallest, heaviest, hottest, most expensive: the stem is the start of the form.
        stems = [s.split(" in the world")[0].removeprefix("The ") for s in sentences]
        start = adjective[:-1] if adjective.endswith("y") else adjective
        hits = [stem.removeprefix("most ").startswith(start) for stem in stems]
        other = None
    else:
        own = [re.split(r" (?:is|are) ", sentence)[-1] for sentence in sentences]
        hits = [name == adjective for name in own]
        other = own[0] if hits[1] else own[1]
    if sum(hits) != 1:
        raise ValueError("adjective is not of one sentence of the premise")
    return ("positive" if hits[0] else "negative"), other


def _tuning(path: Path, words: Lexicon, gold: Gold, reading: Reading) -> Iterator[dict[str, Any]]:
    seen: Counter[tuple[str, str]] = Counter()
    for line, row in _rows(path):
        texts, label = (row["sentence1"], row["sentence2"]), row["gold_label"]
        name = "asp_entailment" if path.stem == "leave_ei" else "asp_degree"
        try:
            yield _tuning_row(name, texts, label, words, gold, seen[texts])
        except ValueError as error:
            reading.drop(name, str(error), f"{path.name}:{line} {' '.join(texts)}")
        seen[texts] += 1


def _tuning_row(
    name: str,
    texts: tuple[str, str],
    label: str,
    words: Lexicon,
    gold: Gold,
    occurrence: int,
) -> dict[str, Any]:
    if label not in (ENTAILMENT, CONTRADICTION, NEUTRAL):
        raise ValueError("no label")
    two_way = ENTAILMENT if label == ENTAILMENT else NOT_ENTAILMENT
    # Neutral rows are of dimension or argument; which, the noun tells.
    tests = ("dimension", "argument") if label == NEUTRAL else ("ordering",)
    for test in tests:
        try:
            if name == "asp_entailment":
                row = _entailment_row(test, texts, two_way, words, occurrence, TUNING)
            else:
                row = _degree_row(test, texts, two_way, gold, occurrence, None, TUNING)
                if (test == "argument") != (row["other_noun"] is not None):
                    raise ValueError("not of the form of degree estimation")
        except ValueError:
            if test == tests[-1]:
                raise
        else:
            return row
    raise ValueError(f"a row of {DISCARD}")
