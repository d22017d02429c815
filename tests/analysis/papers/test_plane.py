import csv
import gzip
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from adnominal.analysis.editions import Lake
from adnominal.analysis.estimates import wilson
from adnominal.analysis.page import figures
from adnominal.analysis.papers.plane import dataset, fine_tuned, subwords
from adnominal.analysis.papers.plane.sources import FineTuned, Plane
from adnominal.analysis.papers.published import table as published
from adnominal.conf import UserError
from adnominal.etl.lake import arrow
from adnominal.training.finished_runs import Run, Runs
from tests.rows import rows, write
from tests.training.answering.test_matrix import rows as prediction_rows

ITEMS = pa.table(
    {
        "adjective": ["fake", "unreal", "red", "small", "small"],
        "noun": ["gun", "gunner", "car", "car", "gunner"],
        "hypernym": ["arm", "person", "person", "person", "person"],
        "class": ["O", "O", "I", "S", "S"],
    }
)
PIECES = {"unreal": ["un", "real"], "gunner": ["gun", "ner"], "small": ["sm", "ner"]}


def tokenize(word: str) -> list[str]:
    return PIECES.get(word, [word])


def items(*cells: tuple[str, int, int]) -> pa.RecordBatch:
    kinds, types, labels = zip(*cells, strict=True)
    return pa.RecordBatch.from_pydict(
        {"class": list(kinds), "inference_type": list(types), "label": list(labels)}
    )


def test_entailed_rows_are_counted_by_class_and_type():
    shares, sizes = dataset.entailed_shares(
        [items(("O", 3, 1), ("I", 1, 1)), items(("I", 1, 1), ("S", 3, 1), ("S", 3, 0))]
    )
    first, third = "AN entails N", "AN entails A h(N)"
    assert list(shares.items()) == [((first, "I"), 1), ((third, "S"), 0.5), ((third, "O"), 1)]
    assert list(sizes.values()) == [2, 2, 1]


def test_quantiles_of_pmi_are_by_class(tmp_path):
    cells = [("I", 3.0), ("I", 1.0), ("I", 16.0), ("O", 0.0)]
    write(tmp_path, "plane_association", rows("class pmi", *cells, corpus="web", edition="mine"))
    values = dataset.pmi_by_class(str(tmp_path), "mine", "web")
    assert {kind: list(pmi) for kind, pmi in values.items()} == {"I": [1, 3, 16], "O": [0]}
    of_class_i = dataset.pmi_quantiles(values["I"])
    assert of_class_i["median"] == 3 and list(of_class_i) == list(figures.QUANTILES)
    shape = dataset.pmi_shape(values["I"])
    assert (shape["share ≥ 15 bits"], shape["share ≤ 0 bits"]) == (1 / 3, 0)
    assert shape["skewness"] > 0
    assert "skewness" not in dataset.pmi_shape(values["O"])
    with pytest.raises(UserError, match="edition=mine corpus=news: no rows"):
        dataset.pmi_by_class(str(tmp_path), "mine", "news")


def test_accuracy_is_related_to_the_share_of_split_items():
    answers = {
        "fold": list("12112"),
        "gold": ["entailed"] * 5,
        "predicted": ["entailed", None, "entailed", "entailed", "not entailed"],
    }
    answered = pa.table({**{name: ITEMS[name] for name in ITEMS.column_names}, **answers})
    split = subwords.split_items(answered, tokenize)
    assert split["split_adjective"].to_list() == [False, True, False, True, True]
    assert split["split_noun"].to_list() == [False, True, False, False, True]
    by_class = subwords.by_class_and_fold(split)
    share, accuracy = "share of items with a word of several subwords", "accuracy"
    assert by_class["O"] == {
        ("fold 1", share): 0.0,
        ("fold 1", accuracy): wilson(1, 1),
        ("fold 2", share): 1.0,
        ("fold 2", accuracy): wilson(0, 1),
    }
    # All items of S are split and those of I are in one fold, so only O has a line.
    lines = {kind: subwords.line(cells) for kind, cells in by_class.items()}
    assert lines == {"I": None, "S": None, "O": (1.0, -1.0)}


def test_shared_subwords_are_counted_by_class():
    overlaps = {row["class"]: row for row in subwords.subword_overlap(ITEMS, tokenize).to_pylist()}
    assert overlaps["S"]["adjective_subwords"] == 2
    assert overlaps["S"]["with_nouns"] == 0.5  # "ner", of gunner
    assert overlaps["S"]["nouns_with_other_adjectives"] == 0.0
    assert (overlaps["I"]["with_nouns"], overlaps["O"]["with_S"], overlaps["O"]["with_O"]) == (
        None,
        0.0,
        None,
    )


def test_table_1_is_reproduced_from_the_release(shared_data):
    batches = []
    for name in ("ood_train_1", "ood_test_1", "one_it_train_1", "one_it_test_1"):
        with gzip.open(shared_data / "plane" / f"{name}.tsv.gz", "rt", encoding="utf-8") as lines:
            released = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
        cells = []
        for row in released:
            start = f"A {row['adjective']} {row['noun']} is a "
            conclusion = row["sentence"].removeprefix(start)
            ends = (row["noun"], row["hypernym"], f"{row['adjective']} {row['hypernym']}")
            kind = {"N": "S"}.get(row["adj_class"], row["adj_class"])
            cells.append((kind, ends.index(conclusion) + 1, int(row["label"])))
        batches.append(items(*cells))
    sizes: Any
    shares, sizes = dataset.entailed_shares(batches)
    assert shares == {cell: rule.value for cell, rule in published("plane", "table 1").items()}
    total = sum(sizes.values())
    assert total == sum(batch.num_rows for batch in batches) > 120_000
    assert 2 * sum(sizes[cell] for cell, share in shares.items() if share == 1) == total


def test_runs_on_the_release_are_preferred_to_newer_ones(tmp_path):
    root = str(tmp_path)

    def run(name: str, ended: int, **params: str) -> Run:
        arrow.append(
            root, "predictions", prediction_rows([("entailed", "entailed")], run=name), job="t"
        )
        task = {"task.name": "plane", "task.scheme": "one_it", "task.fold": "1", **params}
        return Run(name, "finetune", ended, {"model": "small", **task}, group=name)

    rebuilt = {"task.edition": "released_phrases"}
    folds = [run(f"fold {fold}", 5, **rebuilt, **{"task.fold": fold}) for fold in ("1", "2")]
    release = run("release", 4, **{"task.edition": "published"})
    answers = FineTuned(Lake(root, {"predictions": ()}), Runs((*folds, release)), "one_it")
    assert answers.runs == [release]
    assert [group.runs for group in answers.others] == [folds]
    paper_model = run("BERT", 3, model="bert-base-cased", **rebuilt)
    answers = replace(answers, stored_runs=Runs((*folds, release, paper_model)))
    assert answers.runs == [paper_model]
    five = [
        run(f"BERT {fold}", 2, model="bert-base-cased", **rebuilt, **{"task.fold": f"{fold}"})
        for fold in range(1, 6)
    ]
    newer = replace(paper_model, params={**paper_model.params, "num_train_epochs": "9.0"})
    answers = replace(answers, stored_runs=Runs((newer, *five)))
    assert answers.runs == five


def test_the_deviation_is_over_folds_not_over_seeds(tmp_path):
    root = str(tmp_path)
    right, wrong = ("entailed", "entailed"), ("entailed", "not entailed")
    # Fold 1 has .5 and 1, .75 on average; fold 2 has .25.
    answers = {
        ("1", "0"): [right, wrong, right, wrong],
        ("1", "1"): [right, right, right, right],
        ("2", "0"): [right, wrong, wrong, wrong],
    }
    items = [(str(at), "fake", "gun", "arm", "O") for at in range(4)]
    names = "item_id adjective noun hypernym class"
    write(root, "plane_items", rows(names, *items, edition="published"))
    runs = []
    for (fold, seed), pairs in answers.items():
        name = f"fold {fold} seed {seed}"
        arrow.append(root, "predictions", prediction_rows(pairs, run=name), job="t")
        params = {"task.name": "plane", "task.scheme": "one_it", "task.fold": fold}
        params |= {"model": "small", "seeds": f"[{seed}]"}
        runs.append(Run(name, "finetune", 1, params, group=fold))
    lake = Lake(root, {"predictions": ()})
    spread = fine_tuned.over_folds(FineTuned(lake, Runs(runs), "one_it"))
    assert spread is not None and spread.n == 2
    assert spread.estimate == pytest.approx(0.5)
    # (.25² + .25²) / (2 - 1) under the root
    assert spread.high - spread.estimate == pytest.approx(0.125**0.5)
    assert spread.kind == "± one standard deviation"
    assert fine_tuned.over_folds(FineTuned(lake, Runs(runs[:2]), "one_it")) is None


def test_nli_runs_on_the_two_shot_items_are_preferred(tmp_path):
    root = str(tmp_path)

    def run(name: str, ended: int, scheme: str) -> Run:
        answers = [("entailed", "entailed")]
        table = prediction_rows(answers, run=name, scheme=scheme, texts=["entailment"])
        arrow.append(root, "predictions", table, job="test")
        params = {"task.name": "plane", "task.scheme": scheme}
        return Run(name, "score", ended, params, group=name)

    newer, older = run("newer", 2, "one_it"), run("older", 1, "two_shot")
    lake = Lake(root, {"predictions": (), "plane_items": ("published",)})
    assert Plane(lake, Runs((newer, older))).nli[1] == [older]
    assert Plane(lake, Runs((newer,))).nli[1] == [newer]


def test_runs_are_shown_for_the_requested_edition_or_the_first_with_runs(tmp_path):
    root = str(tmp_path)
    editions = ("published", "clean", "demo")

    def run(name: str, job: str, edition: str, **params: str) -> Run:
        table = prediction_rows([("entailed", "entailed")], run=name, texts=["entailment"])
        place = table.schema.get_field_index("edition")
        table = table.set_column(place, "edition", pa.array([edition]))
        arrow.append(root, "predictions", table, job="test")
        common = {"task.name": "plane", "task.edition": edition, "model": "m"}
        return Run(name, job, 1, {**common, **params}, group=name)

    for edition in editions:
        write(root, "plane_items", rows("item_id class", ("0", "I"), edition=edition))
    runs = Runs(
        [
            run("prompt demo", "prompt", "demo", shots="2", model_name="one/model"),
            run("prompt", "prompt", "clean", shots="2", model_name="runs/one/model"),
            run("same model", "prompt", "clean", shots="2", model_name="/runs/one/model"),
            run("nli", "score", "published"),
            run("two-shot nli", "score", "demo", **{"task.scheme": "two_shot"}),
            run("clean", "finetune", "clean", **{"task.scheme": "one_it"}),
            run("release", "finetune", "published", **{"task.scheme": "one_it"}),
        ]
    )

    def shown(requested: str | None) -> list[list[str]]:
        page = Plane(Lake(root, {"plane_items": editions}, requested), runs)
        members = [list(page.prompted_runs("2"))]
        for read in (lambda: page.nli[1], lambda: page.fine_tuned["one_it"].runs):
            try:
                members.append(list(read()))
            except UserError as error:
                assert f"with answers to edition {requested} in this lake" in str(error)
                members.append([])
        return [[run.id for run in of_job] for of_job in members]

    assert shown(None) == [["prompt"], ["two-shot nli"], ["release"]]
    assert shown("published") == [[], ["nli"], ["release"]]
    assert shown("clean") == [["prompt"], [], ["clean"]]
    assert shown("demo") == [["prompt demo"], ["two-shot nli"], []]
