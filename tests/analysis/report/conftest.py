"""A small lake with three datasets and the answers of invented models, and their MLflow store."""

import math
import shutil
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from adnominal import conf
from adnominal.analysis import reporting
from adnominal.analysis.editions import open_lake
from adnominal.analysis.papers.exhibits import Section
from adnominal.etl.adept import LABELS as ADEPT
from adnominal.etl.asp import TESTS
from adnominal.etl.asp.gold import HUMAN, POLARITIES, PUBLISHED, rises
from adnominal.etl.lake import arrow
from adnominal.etl.sygns.generate import Sampler
from adnominal.etl.sygns.grammar import grammar
from adnominal.etl.sygns.job import record_batch
from adnominal.etl.sygns.splits import rows_of
from adnominal.training.finished_runs import find_runs
from tests.analysis.report.small_lake import SmallLake
from tests.rows import adept_row, rows, write

NOUNS = ("dog", "key", "leg", "leaf", "boat")
# The labels of an adjective with each noun; every adjective has three different ones.
LABELS = {
    "dead": (0, 1, 2, 0, 1),
    "false": (1, 2, 0, 1, 2),
    "old": (2, 3, 2, 1, 2),
    "red": (2, 2, 3, 4, 2),
    "female": (2, 1, 3, 2, 2),
}
VARIANTS = ("dead", "old", "red", "big")


def adept(lake: str) -> list[dict[str, Any]]:
    labelled = [
        adept_row(
            f"{adjective}-{noun}-{part}", adjective, noun, label, verb="falls", split_random=part
        )
        for part in ("train", "val")
        for adjective, labels in LABELS.items()
        for noun, label in zip(NOUNS, labels, strict=True)
    ]
    write(lake, "adept", labelled)
    variants = [
        (f"i-{adjective}", adjective, adjective == "dead", at, at == 1, f"A {adjective} dog barks.")
        for at, adjective in enumerate(VARIANTS)
    ]
    # In the edition own, all variants are chosen, and annotators have answered some.
    all_chosen = [(*cells[:4], True, cells[5]) for cells in variants]
    for edition, cells in (("demo", variants), ("own", all_chosen)):
        items = rows(
            "item_id adjective nonsubsective variant chosen modified_sentence",
            *cells,
            noun="dog",
            relation="CapableOf",
            predicate="bark",
            sentence="A dog barks.",
            edition=edition,
        )
        write(lake, "adept_items", items)
    frequencies = [(adjective, 10 + at) for at, adjective in enumerate(VARIANTS)]
    counts = rows("adjective count", *frequencies, nonsubsective=False)
    write(lake, "adept_entries", [{"noun": "dog", "adjectives": counts, "edition": "demo"}])
    write_annotations(lake, labelled)
    return labelled


def write_annotations(lake: str, labelled: list[dict[str, Any]]) -> None:
    """Answers of three simulated annotators to items, and of two experts and one more person to the
    rows of val."""
    val = [row for row in labelled if row["split_random"] == "val"]
    # One item is unanimous, two have a majority, and one has no agreement.
    main = {"dead": (0, 0, 0), "old": (2, 2, 1), "red": (2, 2, 3), "big": (0, 1, 2)}
    answers = [
        (f"i-{adjective}", f"simulated-{at}", label, "main", "context")
        for adjective, labels in main.items()
        for at, label in enumerate(labels)
    ]
    for at, row in enumerate(val):
        for expert, interval in (("one", 5), ("two", 3)):
            label = 2 if at % interval == 0 else row["label"]
            answers.append((row["item_id"], expert, label, "expert", "context"))
        # Two of fifteen answers are wrong with context, five of ten without.
        wrong = at in (1, 2) if at < 15 else at % 2 == 0
        label = (row["label"] + 2) % 5 if wrong else row["label"]
        condition = "context" if at < 15 else "no_context"
        answers.append((row["item_id"], "three", label, "human", condition))
    write(
        lake,
        "adept_annotations",
        [
            {"item_id": item, "annotator": who, "label": label, "kind": "item", "round": round}
            | {"condition": condition, "platform": "csv", "batch": round, "page": f"{round}-1"}
            for item, who, label, round, condition in answers
        ],
    )
    batches = [("main", "own"), ("expert", "published"), ("human", "published")]
    cells = [(name, name, name, f"{name}-1", edition) for name, edition in batches]
    write(lake, "adept_batches", rows("question_id batch round page edition", *cells))


def asp(lake: str) -> None:
    entailment, degree, splits = [], [], []
    for test in TESTS:
        for at in range(4):
            item = f"e-{test}-{at}"
            label = (
                "not_entailment" if test in ("dimension", "argument") or at % 2 else "entailment"
            )
            texts = [f"The ox is big {test} {at // 2}.", f"The ox is huge {test} {at // 2}."]
            premise, hypothesis = texts if at % 2 else texts[::-1]
            entailment.append((item, test, premise, hypothesis, label))
            splits.append((item, "leaking" if at == 3 else "test"))
        for group, polarity in enumerate(POLARITIES):
            degree += [_degree(test, polarity, group, float(z)) for z in range(60, 140, 2)]
    names, edition = "item_id test premise hypothesis label", "published"
    write(lake, "asp_entailment", rows(names, *entailment, edition=edition))
    write(lake, "asp_degree", degree)
    rounds: Any = {"scheme": "adjectives", "round": "published", "edition": edition}
    write(lake, "asp_splits", rows("item_id part", *splits, **rounds))
    people = []
    for test in HUMAN:
        for polarity in POLARITIES:
            threshold = PUBLISHED[test, polarity]
            sign = 1 if rises(test, polarity) else -1
            for z in range(60, 140, 2):
                share = 1 / (1 + math.exp(-sign * (z - threshold) / 4))
                people.append((test, polarity, float(z), share, share, threshold))
    names, constants = "test polarity z share fit threshold", {"source": "published"}
    write(lake, "asp_human", rows(names, *people, standard_error=0.5, **constants))


def _degree(test: str, polarity: str, group: int, z: float) -> dict[str, Any]:
    label = "not_entailment"
    if test in HUMAN:
        is_entailed = (z >= PUBLISHED[test, polarity]) == rises(test, polarity)
        label = "entailment" if is_entailed else "not_entailment"
    return {
        "item_id": f"d-{test}-{polarity}-{z:g}",
        "test": test,
        "variant": "base",
        "group": group,
        "dimension": "length",
        "unit": "cm",
        "polarity": polarity,
        "alpha": z,
        "z": z,
        "premise": "A 120 cm rod is long. A 80 cm rod is short.",
        "hypothesis": f"A {z:g} cm rod is {'long' if polarity == 'positive' else 'short'}.",
        "label": label,
        "edition": "published",
    }


def sygns(lake: str) -> list[dict[str, Any]]:
    records = {
        record.sentence_id: record
        for depth, size in ((0, 150), (1, 30), (2, 30))
        for record in Sampler(grammar("clean"), depth, seed=0).records(range(size))
    }
    schemes = ("systematicity", "productivity")
    sentences = record_batch(list(records.values()), "demo").to_pylist()
    splits = [split for row in sentences for split in rows_of(row, schemes, 0, "demo")]
    write(lake, "sygns", sentences)
    write(lake, "sygns_splits", splits)
    by_id = {row["sentence_id"]: row for row in sentences}
    return [by_id[split["sentence_id"]] | split for split in splits]


ADEPT_RUN = {
    "task.name": "adept",
    "task.edition": "published",
    "task.split": "random",
    "task.context": "true",
}
SYGNS_RUN = {
    "task.name": "sygns",
    "task.edition": "demo",
    "seq2seq.size": "10M",
    "train_size": "[]",
    "num_train_epochs": "25.0",
    "train_examples": "70",
    "seeds": "[0]",
}


class Store:
    """Writes runs to an MLflow store and their answers to a lake."""

    def __init__(self, folder: Path, lake: str) -> None:
        from mlflow import MlflowClient

        self.uri = f"sqlite:///{folder / 'mlflow.db'}"
        self.lake = lake
        self.client = MlflowClient(self.uri)
        self.experiment = self.client.create_experiment("runs", (folder / "mlruns").as_uri())
        self.clock = 1_000
        self.answers: list[dict[str, Any]] = []

    def run(self, job: str, params: dict[str, str], answers: list[dict[str, Any]]) -> str:
        from mlflow.entities import Param

        self.clock += 1_000
        group = str({key: value for key, value in params.items() if key != "seeds"})
        tags = {"job": job, "group": group}
        run = self.client.create_run(self.experiment, self.clock, tags)
        run_id = str(run.info.run_id)
        self.client.log_batch(run_id, params=[Param(k, v) for k, v in params.items()])
        self.client.set_terminated(run_id, "FINISHED", self.clock + 500)
        self.answers += [
            {"run_id": run_id, "model": params.get("model_name", "model"), **answer}
            for answer in answers
        ]
        return run_id

    def close(self) -> None:
        write(self.lake, "predictions", self.answers)


def _adept_answers(
    labelled: list[dict[str, Any]], wrong: int, classes: int
) -> list[dict[str, Any]]:
    """Gold labels for the rows of val, except that the first `wrong` rows with another label get
    `equally likely`."""
    answers = []
    for row in labelled:
        label = {5: (0, 1, 2, 3, 4), 3: (1, 1, 2, 3, 3)}[classes][row["label"]]
        if row["split_random"] == "val":
            missed = label != 2 and wrong > 0
            wrong -= missed
            answers.append((row["item_id"], ADEPT[label], ADEPT[2 if missed else label]))
    names, task = "item_id gold predicted", f"adept_{classes}"
    return rows(names, *answers, task=task, edition="published", scheme="random")


def _asp_answers(lake: str, threshold: float) -> list[dict[str, Any]]:
    """In degree estimation, entailment follows one threshold; elsewhere everything is entailed."""
    answers = []
    for name in ("asp_entailment", "asp_degree"):
        for row in arrow.read(lake, name).to_pylist():
            answer = "entailment"
            if name == "asp_degree":
                is_entailed = (row["z"] >= threshold) == rises(row["test"], row["polarity"])
                answer = "entailment" if is_entailed else "not_entailment"
            answers.append((row["item_id"], row["label"], answer))
    return rows("item_id gold predicted", *answers, task="asp", edition="published")


def _sygns_answers(
    sentences: list[dict[str, Any]], params: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Right meanings, except that those with a universal quantifier lose their last part."""
    scheme, primitive = params["task.scheme"], params.get("task.primitive", "")
    form, answers = params["task.form"], []
    for row in sentences:
        if (row["scheme"], row["primitive"]) != (scheme, primitive) or row["part"] == "train":
            continue
        gold = str(row[form])
        wrong = {"every", "all"} & set(str(row["sentence"]).split())
        short = gold.rsplit(" [SEP] " if form == "drs" else " ", 1)[0]
        answers.append((row["sentence_id"], gold, short if wrong else gold))
    run = {"task": f"sygns_{form}", "edition": "demo", "scheme": scheme, "fold": primitive}
    return rows("item_id gold text", *answers, **run)


@pytest.fixture(scope="module")
def small_lake(tmp_path_factory: pytest.TempPathFactory) -> SmallLake:
    """A lake with a few rows, for single pages."""
    return SmallLake(tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="session")
def report_inputs(tmp_path_factory: pytest.TempPathFactory, empty_store: Path) -> tuple[str, str]:
    """The lake and the address of the tracking store."""
    folder = tmp_path_factory.mktemp("report")
    shutil.copy(empty_store, folder)
    lake = str(folder / "lake")
    adept_rows, sygns_rows = adept(lake), sygns(lake)
    asp(lake)
    store = Store(folder, lake)
    for model, seed, wrong, classes in (
        ("owner/roberta-base", 0, 2, 5),
        ("owner/roberta-base", 1, 4, 5),
        ("MiniLM", 0, 13, 5),
        ("MiniLM", 0, 3, 3),
    ):
        params = {**ADEPT_RUN, "task.classes": str(classes), "model_name": model}
        answers = _adept_answers(adept_rows, wrong, classes)
        store.run("finetune", {**params, "seeds": f"[{seed}]"}, answers)
    store.run(
        "score",
        {"task.name": "asp", "model_name": "nli", "trained_on": "pairs_nli"}
        | {"trained_from": "microsoft/deberta-v3-base"},
        _asp_answers(lake, 101),
    )
    store.run(
        "finetune",
        {"task.name": "asp", "model_name": "bert-base-cased", "task.round": "published"}
        | {"task.full_stops": "kept", "seeds": "[0]"},
        _asp_answers(lake, 95),
    )
    primitive = {**SYGNS_RUN, "task.scheme": "systematicity", "task.primitive": "one"}
    small = {**primitive, "train_size": "[40]", "train_examples": "40"}
    deeper = {**SYGNS_RUN, "task.scheme": "productivity"}
    pairs = product(("fol", "drs", "vf"), ("gru", "transformer"))
    for settings, form, architecture in (
        *((primitive, *pair) for pair in pairs),
        (small, "fol", "gru"),
        (deeper, "drs", "gru"),
    ):
        params = settings | {"task.form": form, "seq2seq.architecture": architecture}
        store.run("finetune", params, _sygns_answers(sygns_rows, params))
    store.close()
    return lake, store.uri


@pytest.fixture(scope="session")
def built(report_inputs: tuple[str, str]) -> dict[str, Section]:
    """The sections of three papers, by their anchors."""
    lake, uri = report_inputs
    arguments = [f"lake={lake}", f"tracking={uri}", "pages=[adept,asp,sygns]"]
    settings = conf.load(reporting.Settings, arguments)
    pages = reporting.sections_of_pages(settings, open_lake(lake), find_runs(uri))
    return {section.anchor: section for _, sections in pages for section in sections}
