"""A lake with a few rows of each dataset, and the runs of some models with their answers."""

import json
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.pre_tokenizers import Whitespace

from adnominal import conf
from adnominal.analysis.external import external_runs
from adnominal.etl.external.job import import_predictions
from adnominal.etl.external.settings import Settings
from adnominal.etl.plane import TYPES
from adnominal.etl.registry import DATASETS
from adnominal.training.finished_runs import Run, Runs
from tests.rows import adept_row, plane_item, rows, write

ADEPT = DATASETS["adept"].label_names
PLANE = DATASETS["plane"].label_names

EDITION = "published"
CLASS = {"red": "I", "dead": "I", "big": "S", "small": "S", "fake": "O", "former": "O"}
TRAINED = ("red", "big", "fake")
HYPERNYM = {"car": "object", "gun": "weapon", "key": "object"}
# item, adjective, test, label, edition, part
ASP = [
    ("e0", "tall", "ordering", "entailment", "published_tuning", "train"),
    ("e1", "tall", "ordering", "entailment", "published", "leaking"),
    ("e2", "short", "ordering", "not_entailment", "published", "test"),
    ("e3", "short", "booster", "entailment", "published", "test"),
]
# item, dimension, label, part (the row of the held-out dimension is in no part)
DEGREE = [("d0", "mass", "entailment", "train"), ("d1", "mass", "entailment", "val")]
HELD_OUT = ("d2", "length", "not_entailment", None)


def _items() -> Iterator[dict[str, Any]]:
    for adjective, kind in CLASS.items():
        for noun, hypernym in HYPERNYM.items():
            for inference in TYPES:
                yield plane_item(adjective, kind, noun, hypernym, inference)


def tokenizer(folder: Path) -> str:
    """Save a tokenizer that splits *former* and *weapon*; the folder."""
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
    write(root, "plane_items", items)
    constants = {"fold": "1", "edition": EDITION}
    splits = []
    for item in items:
        trained = item["adjective"] in TRAINED
        part = "train" if trained and item["noun"] == "car" else "test"
        if trained == (part == "train"):
            row = {**constants, "part": part, "item_id": item["item_id"]}
            splits.append({**row, "scheme": "published"})
            if item["inference_type"] == 3:
                splits.append({**row, "scheme": "one_it"})
    write(root, "plane_splits", splits)
    phrases = [(kind, float(at)) for kind in "ISO" for at in range(4)]
    write(root, "plane_association", rows("class pmi", *phrases, corpus="web", edition=EDITION))
    return [item for item in items if item["adjective"] not in TRAINED]


def _adept(root: str) -> list[dict[str, Any]]:
    items = []
    words = list(CLASS)
    for at in range(24):
        word, noun = words[at % 6], list(HYPERNYM)[at % 3]
        parts = {
            "split_random": "train" if at < 16 else "val",
            "split_noun_disjoint": "val" if noun == "key" else "train",
        }
        label = 0 if CLASS[word] == "O" else 2
        items.append(adept_row(f"a{at}", word, noun, label, verb=f"is here, {at}", **parts))
    write(root, "adept", items)
    return items


def _asp(root: str) -> None:
    sentences = [(*row[:5], f"The dog is {row[1]}.") for row in ASP]
    names = "item_id adjective test label edition premise"
    write(root, "asp_entailment", rows(names, *sentences, noun="dog", hypothesis="It is."))
    numbers = [
        (item, item, dimension, label, "published" if part is None else "published_tuning")
        for item, dimension, label, part in [*DEGREE, HELD_OUT]
    ]
    names, constants = "item_id premise dimension label edition", {"hypothesis": "It is."}
    write(root, "asp_degree", rows(names, *numbers, test="ordering", group=0, **constants))
    splits = [("adjectives", "published", part, item, edition) for item, *_, edition, part in ASP]
    splits += [("dimension", "length", part, i, "published_tuning") for i, _, _, part in DEGREE]
    write(root, "asp_splits", rows("scheme round part item_id edition", *splits))


def _corpus(root: str) -> None:
    cells = [
        (word, noun, 2 ** (at + to), float(at - to))
        for at, word in enumerate(CLASS)
        for to, noun in enumerate(HYPERNYM)
        if (word, noun) != ("dead", "gun")
    ]
    write(root, "amod_association", rows("adjective noun count pmi", *cells, corpus="web"))
    counts = [row[:3] for row in cells]
    write(root, "amod_pairs", rows("adjective noun count", *counts, corpus="web"))


def _answers(
    task: str, scheme: str, fold: str, cells: Sequence[tuple[str, ...]], edition: str = EDITION
) -> list[dict[str, Any]]:
    """Rows of predictions from item, gold label, predicted label and, if there is one, text."""
    names = " ".join(("item_id", "gold", "predicted", "text")[: len(cells[0])])
    return rows(names, *cells, task=task, scheme=scheme, fold=fold, edition=edition)


class SmallLake:
    """The lake with its runs."""

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
        self._asked(adept)
        self._scored(tested, adept)
        self._sentences(adept)
        write(self.root, "predictions", self.rows)
        self._imported(folder)

    @property
    def all(self) -> Runs:
        """The runs, newest first."""
        return Runs(sorted(self.runs, key=lambda run: -run.ended))

    def run(self, name: str, job: str, answers: list[dict[str, Any]], **params: str) -> None:
        """Add a run with its answers."""
        group = str({key: value for key, value in params.items() if key != "seeds"})
        self.runs.append(Run(name, job, len(self.runs), params, group=group))
        constants = {"run_id": name, "seed": int(params.get("seeds", "[0]").strip("[]"))}
        constants["model"] = params.get("model_name", params["model"])
        self.rows += [{**constants, **row} for row in answers]

    def _supervised(self, folder: Path, tested: list[Any], adept: list[Any]) -> None:
        """Runs that are wrong only for O adjectives in type 1 (PLANE), one modifier (ADEPT) and
        items that are not entailed (ASP)."""

        def plane(scheme: str, items: list[Any]) -> list[dict[str, Any]]:
            answers = []
            for item in items:
                wrong = item["class"] == "O" and item["inference_type"] == 1
                guess = PLANE[1 if wrong else item["label"]]
                answers.append((item["item_id"], PLANE[item["label"]], guess))
            return _answers("plane", scheme, "1", answers)

        common = {"task.edition": EDITION, **dict.fromkeys(("model", "model_name"), self.base)}
        for seed in ("[0]", "[1]"):
            params = {**common, "task.name": "plane", "task.scheme": "published", "seeds": seed}
            self.run(f"plane {seed}", "finetune", plane("published", tested), **params)
        one_it = plane("one_it", [item for item in tested if item["inference_type"] == 3])
        params = {**common, "task.name": "plane", "task.scheme": "one_it"}
        self.run("one_it", "finetune", one_it, **params)
        for length in ("6", "12"):
            params = {**common, "task.name": "plane", "task.scheme": "in_distribution"}
            answers_in_part = plane("in_distribution", tested if length == "12" else tested[:6])
            self.run(f"length {length}", "finetune", answers_in_part, **params, max_length=length)

        def answers(scheme: str, wrong: str) -> list[dict[str, Any]]:
            cells = []
            for row in adept:
                if row[f"split_{scheme}"] == "val":
                    guess = ADEPT[4 if row["modifier"] == wrong else row["label"]]
                    cells.append((row["item_id"], ADEPT[row["label"]], guess))
            return _answers("adept_5", scheme, "", cells)

        common |= {"task.name": "adept", "task.classes": "5"}
        common |= {"task.context": "true", "seeds": "[0]"}
        random_split = {"task.split": "random"}
        self.run("base", "finetune", answers("random", "red"), **common, **random_split)
        split = {"task.split": "noun_disjoint", "train_examples": "16"}
        self.run("disjoint", "finetune", answers("noun_disjoint", "big"), **common, **split)
        # A model trained on from PLANE's run.
        weights = folder / "runs" / "plane" / "model"
        common |= dict.fromkeys(("model", "model_name"), str(weights))
        self.run("again", "finetune", answers("random", "none"), **common, **random_split)

        asp_cells = [(item, label, "entailment") for item, _, _, label, *_ in ASP[1:]]
        entailed = _answers("asp", "adjectives", "published", asp_cells)
        common = {"model": self.base, "task.name": "asp", "task.edition": "published"}
        common |= {"task.train_edition": "published_tuning"}
        fold_params = {"task.scheme": "adjectives", "task.round": "published"}
        self.run("asp", "finetune", entailed, **common, **fold_params)
        seen_dimension = [("d1", "entailment", "entailment")]
        held_out = [("d2", "not_entailment", "entailment")]
        numbers = _answers("asp", "dimension", "length", seen_dimension, edition="published_tuning")
        numbers += _answers("asp", "dimension", "length", held_out)
        fold_params = {"task.scheme": "dimension", "task.dimension": "length", "task.round": "0"}
        self.run("asp degree", "finetune", numbers, **common, **fold_params)

    def _prompted(self, tested: list[Any]) -> None:
        """Runs of a model to which the positive word is always likelier; its first token is right
        for I adjectives and another word for others."""
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
            orders = (f"{one},{other}", f"{other},{one}")
            for prompt in ("plane/internal@1", "plane/external@1"):
                answer = {**row, "prompt": prompt}
                zero.append({**answer, "scheme": "zero_shot", "verbaliser": "conversion"})
                pairs = product(("good/poor", "true/false"), orders)
                two += rows("verbaliser premise_order", *pairs, **answer, scheme="two_shot")
        common = {"model": "bert-base-cased", "model_name": "bert-base-cased", "task.name": "plane"}
        self.run("two", "prompt", two, **common, shots="2")
        self.run("zero", "prompt", zero, **common, shots="0")

    def _asked(self, adept: list[Any]) -> None:
        """A model that answers all of ADEPT's questions with *impossible*, in writing."""
        cells = [(row["item_id"], ADEPT[row["label"]]) for row in adept]
        constants = {"task": "adept", "edition": EDITION, "prompt": "adept/rating@1"}
        answer = {"predicted": ADEPT[0], "text": "Answer: impossible", "state": "parsed"}
        answers = rows("item_id gold", *cells, **constants, **answer)
        params = {"task.name": "adept", "part": "val", "shots": "5", "form": "generate"}
        self.run("asked", "prompt", answers, model="smollm2", **params)

    def _scored(self, tested: list[Any], adept: list[Any]) -> None:
        """Runs of a model for NLI with one answer per class of adjectives, and of a model for ADEPT
        to which everything is equally likely."""

        def plane_answers(text: dict[str, str], outcome: dict[str, int]) -> list[dict[str, Any]]:
            answers = []
            for item in tested:
                gold, kind = PLANE[item["label"]], item["class"]
                answers.append((item["item_id"], gold, PLANE[outcome[kind]], text[kind]))
            return _answers("plane", "published", "1", answers)

        text = {"I": "entailment", "S": "neutral", "O": "contradiction"}
        params = {"model": "FacebookAI/roberta-large-mnli", "task.name": "plane"}
        self.run("nli", "score", plane_answers(text, {"I": 1, "S": 0, "O": 0}), **params)
        name = "runs/adept/model"
        params = {"model": name, "model_name": name, "trained_on": "adept_5"}
        equal = plane_answers(dict.fromkeys("ISO", ADEPT[2]), dict.fromkeys("ISO", 1))
        self.run("adept on plane", "score", equal, **params, **{"task.name": "plane"})
        cells = [(row["item_id"], ADEPT[row["label"]], ADEPT[2], ADEPT[2]) for row in adept[16:]]
        equal = _answers("adept_5", "random", "", cells)
        self.run("adept on adept", "score", equal, **params, **{"task.name": "adept"})

    def _imported(self, folder: Path) -> None:
        """Runs of a model that was asked elsewhere; its answers are in tables."""
        answers = {
            "adept": ["a0,impossible", "a1,impossible", "a2,equally likely"],
            "plane": ["dead-car-1,entailed", "dead-car-2,entailed", "small-car-3,entailed"],
            "asp": ["e2,not_entailment", "e3,Yes", "d2,entailment"],
        }
        for task, lines in answers.items():
            file = folder / f"{task}.csv"
            file.write_text("\n".join(["item_id,answer", *lines]) + "\n")
            values = [f"file={file}", f"run={task}", f"task={task}", f"edition={EDITION}"]
            values += ["model=asked", f"lake={self.root}"]
            import_predictions(conf.load(Settings, values))
        self.runs += external_runs(self.root)

    def _sentences(self, adept: list[Any]) -> None:
        """A run that gives every second sentence of ADEPT less, and people's votes on items."""
        texts = json.dumps([[["A", 0, -1.0]], [["A", 0, -2.0]]])
        cells = [(row["item_id"], [-1.0, -2.0], texts) for row in adept[16:]]
        constants = {"task": "adept", "scheme": "logprob", "edition": EDITION}
        answers = rows("item_id scores text", *cells, **constants)
        self.run("sentences", "logprob", answers, model="gpt2", table="adept")
        votes = [(row["item_id"], ADEPT[row["label"]], 3) for row in adept]
        constants = {"dataset": "adept", "edition": EDITION, "source": "people"}
        write(self.root, "label_votes", rows("item_id label votes", *votes, **constants))
