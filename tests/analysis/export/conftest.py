"""A small lake with a few rows of each dataset."""

from typing import Any

import pytest

from adnominal.etl.plane import TYPES
from tests.rows import adept_row, plane_item, write

EDITION = "mine"


def put(lake: str, name: str, rows: list[dict[str, Any]]) -> None:
    write(lake, name, [{"edition": EDITION, **row} for row in rows])


def adept(item: str, modifier: str, label: int, part: str, **more: Any) -> dict[str, Any]:
    more |= {"split_random": part, "split_noun_disjoint": "train", "edition": EDITION}
    return adept_row(item, modifier, "gun", label, verb="kills", **more)


SYGNS = {
    "depth": 0,
    "fol": "exists x1.(two(x1) & dog(x1) & -run(x1))",
    "drs": "b1 REF x1 [SEP] b1 two x1 [SEP] b1 dog x1 [SEP] b1 NOT b2 [SEP] b2 run x1",
    "vf": "TWO DOG NOT RUN",
    "polarity_fol": [
        {"word": "two", "direction": "up"},
        {"word": "dog", "direction": "up"},
        {"word": "run", "direction": "down"},
    ],
    "polarity_vf": [
        {"word": "dog", "direction": "up"},
        {"word": "run", "direction": "down"},
    ],
    "phenomena": ["sbj_quant", "negation"],
}


@pytest.fixture(scope="session")
def small_lake(tmp_path_factory) -> str:
    lake = str(tmp_path_factory.mktemp("small") / "lake")
    put(
        lake,
        "adept",
        [
            adept("c", "toy", 0, "val"),
            adept("a", "fake", 1, "train", agreement="unanimous"),
            adept("b", "big", 2, "train"),
        ],
    )
    put(
        lake,
        "plane_items",
        [
            plane_item("unfair", "S", "gun", "weapon", at, item_id=f"x{at}", distance=1)
            | {"group_id": "x", "sentence": "An unfair gun is a gun.", "edition": EDITION}
            for at in TYPES
        ],
    )
    splits = [("train", "x2"), ("train", "x1"), ("train", "x2"), ("test", "x3"), ("test", "x1")]
    put(
        lake,
        "plane_splits",
        [{"scheme": "strict", "fold": "1", "part": p, "item_id": i} for p, i in splits],
    )
    pair = {"adjective": "big", "noun": "rod"}
    put(
        lake,
        "asp_entailment",
        [
            {"item_id": "e1", "test": "booster", "premise": "The rod is very big.", **pair}
            | {"hypothesis": "The rod is big.", "label": "entailment"},
            {"item_id": "e2", "test": "negation", "premise": "The rod is big.", **pair}
            | {"hypothesis": "The rod is not small.", "label": "not_entailment"},
        ],
    )
    number = {
        "test": "argument",
        "variant": "base",
        "premise": "A 120 cm rod is long. An 80 cm rod is short.",
        "z": 120.0,
        "group": 0,
    }
    put(
        lake,
        "asp_degree",
        [
            {**number, "item_id": "d1", "hypothesis": "A 90 cm pole is long."}
            | {"label": "not_entailment"},
            {**number, "item_id": "d2", "hypothesis": "A 120 cm pole is long."}
            | {"label": "discard"},
        ],
    )
    put(
        lake,
        "asp_splits",
        [
            {"scheme": "adjectives", "round": "0", "part": "leaking", "item_id": "e2"},
            {"scheme": "dimension", "round": "length", "part": "test", "item_id": "d1"},
        ],
    )
    put(
        lake,
        "sygns",
        [
            {**SYGNS, "sentence_id": "s1", "sentence": "two dogs did not run"},
            {**SYGNS, "sentence_id": "s2", "sentence": "two dogs did not come", "depth": 1},
        ],
    )
    split = {"scheme": "systematicity", "primitive": "one,two,every", "part": "train"}
    put(lake, "sygns_splits", [{**split, "sentence_id": "s1"}])
    return lake
