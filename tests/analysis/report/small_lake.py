"""A lake of a few rows of each dataset, with what some models answered, and the runs of these."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.pre_tokenizers import Whitespace

from etl.lake import arrow
from etl.lake.tables import table
from etl.plane.rules import HOLDS
from etl.registry import DATASETS
from training.finished_runs import Run, Runs

ADEPT = DATASETS["adept"].label_names
PLANE = DATASETS["plane"].label_names

EDITION = "published"
CLASS = {"red": "I", "dead": "I", "big": "S", "small": "S", "fake": "O", "former": "O"}
TRAINED = ("red", "big", "fake")
HYPERNYM = {"car": "object", "gun": "weapon", "key": "object"}
# item, premise, hypothesis, test, label, edition, part
ASP = [
    ("e0", "tall", "ordering", "entailment", "published_tuning", "train"),
    ("e1", "tall", "ordering", "entailment", "published", "leaking"),
    ("e2", "short", "ordering", "not_entailment", "published", "test"),
    ("e3", "short", "booster", "entailment", "published", "test"),
]
# item, dimension, label, part (the row of the dimension held out is in no part)
DEGREE = [("d0", "mass", "entailment", "train"), ("d1", "mass", "entailment", "val")]
HELD_OUT = ("d2", "length", "not_entailment", None)


def _write(root: str, name: str, rows: list[dict[str, Any]]) -> None:
    schema = table(name).schema
    arrow.append(root, name, pa.Table.from_pylist(rows, schema), job="t")


def _items() -> Iterator[dict[str, Any]]:
    for adjective, kind in CLASS.items():
        for noun, hypernym in HYPERNYM.items():
            ends = (noun, hypernym, f"{adjective} {hypernym}")
            for inference, end in enumerate(ends, 1):
                yield {
                    "item_id": f"{adjective} {noun} {inference}",
                    "group_id": f"{adjective} {noun}",
                    "adjective": adjective,
                    "class": kind,
                    "noun": noun,
                    "hypernym": hypernym,
                    "inference_type": inference,
                    "premise": f"{adjective} {noun}",
                    "conclusion": end,
                    "label": int(HOLDS[kind][inference - 1]),
                    "edition": EDITION,
                }


def tokenizer(folder: Path) -> str:
    """A folder with a tokenizer that splits *former* and *weapon*."""
    words = [word for word in (*CLASS, *HYPERNYM, "object") if word != "former"]
    vocabulary = {
        word: at for at, word in enumerate(["[UNK]", *words, "for", "##mer", "weap", "##on"])
    }
    word_pieces = Tokenizer(WordPiece(vocabulary, unk_token="[UNK]"))
    word_pieces.pre_tokenizer = Whitespace()
    folder.mkdir(parents=True)
    word_pieces.save(str(folder / "tokenizer.json"))
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "unk_token": "[UNK]"}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return str(folder)


def _plane(root: str) -> list[dict[str, Any]]:
    items = list(_items())
    _write(root, "plane_items", items)
    of = {"fold": "1", "edition": EDITION}
    splits = []
    for item in items:
        trained = item["adjective"] in TRAINED
        part = "train" if trained and item["noun"] == "car" else "test"
        if trained == (part == "train"):
            row = {**of, "part": part, "item_id": item["item_id"]}
            splits.append({**row, "scheme": "published"})
            if item["inference_type"] == 3:
                splits.append({**row, "scheme": "one_it"})
    _write(root, "plane_splits", splits)
    _write(
        root,
        "plane_association",
        [
            {"corpus": "web", "class": kind, "pmi": float(at), "edition": EDITION}
            for kind in "ISO"
            for at in range(4)
        ],
    )
    return [item for item in items if item["adjective"] not in TRAINED]


def _adept(root: str) -> list[dict[str, Any]]:
    rows = []
    words = list(CLASS)
    for at in range(24):
        word, noun = words[at % 6], list(HYPERNYM)[at % 3]
        rows.append(
            {
                "item_id": f"a{at}",
                "sentence1": f"A {noun} is here, {at}.",
                "sentence2": f"A {word} {noun} is here, {at}.",
                "modifier": word,
                "noun": noun,
                "label": 0 if CLASS[word] == "O" else 2,
                "split_random": "train" if at < 16 else "val",
                "split_noun_disjoint": "val" if noun == "key" else "train",
                "edition": EDITION,
            }
        )
    _write(root, "adept", rows)
    return rows


def _asp(root: str) -> None:
    _write(
        root,
        "asp_entailment",
        [
            {
                "item_id": item,
                "test": test,
                "premise": f"The dog is {word}.",
                "hypothesis": "It is.",
                "adjective": word,
                "noun": "dog",
                "label": label,
                "edition": edition,
            }
            for item, word, test, label, edition, _ in ASP
        ],
    )
    _write(
        root,
        "asp_degree",
        [
            {
                "item_id": item,
                "test": "ordering",
                "group": 0,
                "dimension": dimension,
                "premise": f"{item}",
                "hypothesis": "It is.",
                "label": label,
                "edition": "published" if part is None else "published_tuning",
            }
            for item, dimension, label, part in [*DEGREE, HELD_OUT]
        ],
    )
    splits = [
        ("adjectives", "published", part, item, values) for item, _, _, _, values, part in ASP
    ]
    splits += [("dimension", "length", part, i, "published_tuning") for i, _, _, part in DEGREE]
    names = ("scheme", "round", "part", "item_id", "edition")
    _write(root, "asp_splits", [dict(zip(names, values, strict=True)) for values in splits])


def _corpus(root: str) -> None:
    rows = []
    for at, word in enumerate(CLASS):
        for to, noun in enumerate(HYPERNYM):
            if (word, noun) != ("dead", "gun"):
                row = {"corpus": "web", "adjective": word, "noun": noun, "count": 2 ** (at + to)}
                rows.append({**row, "pmi": float(at - to)})
    _write(root, "amod_association", rows)
    _write(root, "amod_pairs", [{k: v for k, v in row.items() if k != "pmi"} for row in rows])


class SmallLake:
    """The lake's root and its runs, newest first."""

    def __init__(self, folder: Path) -> None:
        self.root = str(folder / "lake")
        self.base = tokenizer(folder / "models" / "tiny")
        self.runs: list[Run] = []
        self.rows: list[dict[str, Any]] = []
        tested = _plane(self.root)
        adept = _adept(self.root)
        _asp(self.root)
        _corpus(self.root)
        self._supervised(folder, tested, adept)
        self._prompted(tested)
        self._scored(tested, adept)
        _write(self.root, "predictions", self.rows)

    @property
    def all(self) -> Runs:
        return Runs(sorted(self.runs, key=lambda run: -run.ended))

    def run(self, name: str, job: str, rows: list[dict[str, Any]], **params: str) -> None:
        """A run with its answers."""
        self.runs.append(Run(name, job, len(self.runs), params))
        same = {"run_id": name, "seed": int(params.get("seeds", "[0]").strip("[]"))}
        same["model"] = params.get("model_name", params["model"])
        self.rows += [{**same, **row} for row in rows]

    def _supervised(self, folder: Path, tested: list[Any], adept: list[Any]) -> None:
        """Answers that are right, but for O adjectives of type 1 (PLANE) and red ones (ADEPT)."""

        def plane(scheme: str, items: list[Any]) -> list[dict[str, Any]]:
            return [
                {
                    "task": "plane",
                    "edition": EDITION,
                    "scheme": scheme,
                    "fold": "1",
                    "item_id": item["item_id"],
                    "gold": PLANE[item["label"]],
                    "predicted": PLANE[
                        1 if item["class"] == "O" and item["inference_type"] == 1 else item["label"]
                    ],
                }
                for item in items
            ]

        of: dict[str, str] = {"model": self.base, "model_name": self.base, "task.edition": EDITION}
        for seed in ("[0]", "[1]"):
            params = {**of, "task.name": "plane", "task.scheme": "published", "seeds": seed}
            self.run(f"plane {seed}", "finetune", plane("published", tested), **params)
        one_it = plane("one_it", [item for item in tested if item["inference_type"] == 3])
        self.run(
            "one_it",
            "finetune",
            one_it,
            **{**of, "task.name": "plane"},
            **{"task.scheme": "one_it"},
        )
        for length in ("6", "12"):
            params = {**of, "task.name": "plane", "task.scheme": "in_distribution"}
            rows = plane("in_distribution", tested if length == "12" else tested[:6])
            self.run(f"length {length}", "finetune", rows, **params, max_length=length)

        def answers(scheme: str, wrong: str) -> list[dict[str, Any]]:
            return [
                {
                    "task": "adept_5",
                    "edition": EDITION,
                    "scheme": scheme,
                    "fold": "",
                    "item_id": row["item_id"],
                    "gold": ADEPT[row["label"]],
                    "predicted": ADEPT[4 if row["modifier"] == wrong else row["label"]],
                }
                for row in adept
                if row[f"split_{scheme}"] == "val"
            ]

        of = {
            **of,
            "task.name": "adept",
            "task.classes": "5",
            "task.context": "true",
            "seeds": "[0]",
        }
        self.run("base", "finetune", answers("random", "red"), **of, **{"task.split": "random"})
        apart = {"task.split": "noun_disjoint", "train_examples": "16"}
        self.run("disjoint", "finetune", answers("noun_disjoint", "big"), **of, **apart)
        # The same, started from PLANE's run: its folder says which that was.
        weights = folder / "runs" / "plane" / "model"
        weights.mkdir(parents=True)
        (weights.parent / "mlflow.json").write_text(json.dumps({"run_id": "plane [0]"}))
        of |= {"model": str(weights), "model_name": str(weights)}
        self.run("again", "finetune", answers("random", "none"), **of, **{"task.split": "random"})

        labels = [("e1", "entailment"), ("e2", "entailment"), ("e3", "entailment")]
        gold = {item: label for item, _, _, label, _, _ in ASP}
        rows = [
            {
                "task": "asp",
                "edition": "published",
                "scheme": "adjectives",
                "fold": "published",
                "item_id": item,
                "gold": gold[item],
                "predicted": guess,
            }
            for item, guess in labels
        ]
        of = {"model": self.base, "task.name": "asp", "task.edition": "published"}
        of |= {"task.train_edition": "published_tuning"}
        fold_params = {"task.scheme": "adjectives", "task.round": "published"}
        self.run("asp", "finetune", rows, **of, **fold_params)
        rows = [
            {
                "task": "asp",
                "edition": edition,
                "scheme": "dimension",
                "fold": "length",
                "item_id": item,
                "gold": label,
                "predicted": "entailment",
            }
            for item, label, edition in [
                ("d1", "entailment", "published_tuning"),
                ("d2", "not_entailment", "published"),
            ]
        ]
        fold_params = {"task.scheme": "dimension", "task.dimension": "length", "task.round": "0"}
        self.run("asp degree", "finetune", rows, **of, **fold_params)

    def _prompted(self, tested: list[Any]) -> None:
        """A model that always finds the positive word likelier, and says a third one first."""
        two, zero = [], []
        for item in tested:
            row = {
                "task": "plane",
                "edition": EDITION,
                "fold": "1",
                "item_id": item["item_id"],
                "gold": PLANE[item["label"]],
                "predicted": PLANE[1] if item["class"] == "I" else None,
                "scores": [0.4, 0.6],
                "text": "good" if item["class"] == "I" else "big",
            }
            one, other = (at for at in (1, 2, 3) if at != item["inference_type"])
            for prompt in ("plane/internal@1", "plane/external@1"):
                zero.append(
                    {**row, "scheme": "zero_shot", "prompt": prompt, "verbaliser": "conversion"}
                )
                two += [
                    {
                        **row,
                        "scheme": "two_shot",
                        "prompt": prompt,
                        "verbaliser": verbaliser,
                        "premise_order": order,
                    }
                    for verbaliser in ("good/poor", "true/false")
                    for order in (f"{one},{other}", f"{other},{one}")
                ]
        of = {"model": "bert-base-cased", "model_name": "bert-base-cased", "task.name": "plane"}
        self.run("two", "prompt", two, **of, shots="2")
        self.run("zero", "prompt", zero, **of, shots="0")

    def _scored(self, tested: list[Any], adept: list[Any]) -> None:
        """A model for NLI that says entailment of red things, and is neutral of the others; and
        one of ADEPT that finds everything equally likely."""
        of_plane = {"task": "plane", "edition": EDITION, "scheme": "published", "fold": "1"}

        def rows_of(text: dict[str, str], outcome: dict[str, int]) -> list[dict[str, Any]]:
            return [
                {
                    **of_plane,
                    "item_id": item["item_id"],
                    "gold": PLANE[item["label"]],
                    "predicted": PLANE[outcome[item["class"]]],
                    "text": text[item["class"]],
                }
                for item in tested
            ]

        text = {"I": "entailment", "S": "neutral", "O": "contradiction"}
        rows = rows_of(text, {"I": 1, "S": 0, "O": 0})
        params = {"model": "FacebookAI/roberta-large-mnli", "task.name": "plane"}
        self.run("nli", "score", rows, **params)
        equal = dict.fromkeys("ISO", "equally likely")
        adept_params = {
            "model": "runs/adept/model",
            "model_name": "runs/adept/model",
            "trained_on": "adept_5",
        }
        rows = rows_of(equal, dict.fromkeys("ISO", 1))
        self.run("adept on plane", "score", rows, **adept_params, **{"task.name": "plane"})
        rows = [
            {
                "task": "adept_5",
                "edition": EDITION,
                "scheme": "random",
                "fold": "",
                "item_id": row["item_id"],
                "gold": ADEPT[row["label"]],
                "predicted": ADEPT[2],
                "text": ADEPT[2],
            }
            for row in adept[16:]
        ]
        self.run("adept on adept", "score", rows, **adept_params, **{"task.name": "adept"})
