"""A small lake with the tables of the demo, made by the datasets' rules without Spark."""

from itertools import product
from typing import Any

from adnominal.etl.adept.splits import split_columns
from adnominal.etl.asp import TESTS
from adnominal.etl.asp.degree import NUMBERS
from adnominal.etl.asp.job import Recipe
from adnominal.etl.asp.settings import Settings as Asp
from adnominal.etl.plane import TYPES, rules
from adnominal.etl.sygns.generate import Sampler, sample
from adnominal.etl.sygns.grammar import grammar
from adnominal.etl.sygns.job import record_batch
from adnominal.etl.sygns.splits import SCHEMES, rows_of
from tests.rows import adept_row, plane_item, write

EDITION = "demo"
CORPUS = "demo-wikipedia"
NOUNS = {"key": ("device", "instrument"), "bridge": ("structure", "artifact"), "coat": ("garment",)}
ADJECTIVES = {"wooden": "I", "red": "I", "small": "S", "old": "S", "false": "O", "fake": "O"}


def fill(root: str) -> None:
    """Write every table that a notebook reads."""
    pairs(root)
    adept(root)
    plane(root)
    asp(root)
    sygns(root)


def pairs(root: str) -> None:
    counted = [
        {"corpus": CORPUS, "adjective": adjective, "noun": noun, "count": 1 + at % 5}
        for at, (noun, adjective) in enumerate(product(NOUNS, ADJECTIVES))
    ]
    write(root, "amod_pairs", counted)
    totals = {"adjective_count": 9, "noun_count": 12, "pmi": 1.5, "npmi": 0.2, "log_dice": 9.0}
    write(root, "amod_association", [{**pair, **totals} for pair in counted])
    write(root, "amod_by_adjective", [{**pair, **totals} for pair in counted])
    example = {"sentence": "A false key opens no door.", "document": "Key"}
    write(root, "amod_examples", [{**pair, **example} for pair in counted if pair["noun"] == "key"])
    dropped = {"job": "extract_amod/demo-wikipedia", "table": "amod_counts", "sample": "line 7"}
    write(root, "dropped", [{**dropped, "reason": "head_not_noun", "count": 3}])


def adept(root: str) -> None:
    items: list[dict[str, Any]] = [
        {
            "item_id": f"{noun}-{adjective}",
            "noun": noun,
            "relation": "HasA",
            "predicate": "has parts",
            "adjective": adjective,
            "nonsubsective": ADJECTIVES[adjective] == "O",
            "variant": at,
            "chosen": True,
            "sentence": f"A {noun} has parts.",
            "modified_sentence": f"A {adjective} {noun} has parts.",
            "edition": EDITION,
        }
        for noun in NOUNS
        for at, adjective in enumerate(ADJECTIVES)
    ]
    write(root, "adept_items", items)
    write(root, "adept_entries", [{"noun": noun, "edition": EDITION} for noun in NOUNS])
    labelled = []
    for item in items:
        words, label = (item["adjective"], item["noun"]), 0 if item["nonsubsective"] else 2
        splits = split_columns(item["sentence"], item["modified_sentence"], *words)
        more = {"agreement": "unanimous", "edition": EDITION, **splits}
        labelled.append(adept_row(item["item_id"], *words, label, verb="has parts", **more))
    write(root, "adept", labelled)


def plane(root: str) -> None:
    items, splits = [], []
    for (noun, above), (adjective, kind) in product(NOUNS.items(), ADJECTIVES.items()):
        for (distance, hypernym), inference in product(enumerate(above, 1), TYPES):
            words = (adjective, noun, hypernym)
            item = rules.item_id(EDITION, inference, *words)
            more = {"item_id": item, "group_id": rules.group_id(*words), "distance": distance}
            more |= {"sentence": rules.sentence("clean", inference, *words), "edition": EDITION}
            items.append(plane_item(adjective, kind, noun, hypernym, inference, **more))
            if noun == "key":
                membership = {"scheme": "two_shot", "fold": "1", "part": "test", "item_id": item}
                splits.append({**membership, "edition": EDITION})
    write(root, "plane_items", items)
    write(root, "plane_splits", splits)
    phrases = [
        {"corpus": CORPUS, "adjective": a, "class": kind, "noun": noun, "count": 1}
        | {"pmi": float(at % 4), "edition": EDITION}
        for at, (noun, (a, kind)) in enumerate(product(NOUNS, ADJECTIVES.items()))
    ]
    write(root, "plane_association", phrases)


def asp(root: str) -> None:
    """Write the tables of ASP and the answers of a run, all of which are right."""
    recipe = Recipe(Asp(preset="demo"))
    entailment, degree = recipe.entailment(), recipe.degree()
    edition = {"edition": EDITION}
    rows = [row._asdict() | edition for test in TESTS for row in entailment.rows(test, 0, 12)]
    write(root, "asp_entailment", rows)
    numbers = [
        row._asdict() | edition
        for test in TESTS
        for at in range(160 // NUMBERS)
        for row in degree.rows(degree.group(test, at))
    ]
    write(root, "asp_degree", numbers)
    run = {"run_id": "r1", "task": "asp", "scheme": "dimension", "fold": "length", "model": "tiny"}
    answers = [
        {
            **run,
            **edition,
            "item_id": row["item_id"],
            "gold": row["label"],
            "predicted": row["label"],
        }
        for row in numbers
        if row["label"] != "discard"
    ]
    write(root, "predictions", answers)


def sygns(root: str) -> None:
    records = [
        record
        for depth, size in ((0, 150), (1, 10))
        for record in sample(Sampler(grammar("clean", 10, 10), depth, seed=0), size)
    ]
    sentences = record_batch(records, EDITION).to_pylist()
    splits = [split for row in sentences for split in rows_of(row, SCHEMES, 0, EDITION)]
    write(root, "sygns", sentences)
    write(root, "sygns_splits", splits)
