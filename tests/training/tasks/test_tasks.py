"""The datasets that tasks read from their tables, and what they refuse."""

import dataclasses

import numpy as np
import pyarrow as pa
import pytest

from adnominal import conf
from adnominal.conf import UserError
from adnominal.etl.lake.errors import LakeError
from adnominal.training.settings import Settings
from adnominal.training.tasks import TASKS, help_text, task
from tests.rows import write
from tests.training.tasks import lake as tables


def load(lake, **settings):
    loaded_task = task(settings)
    return loaded_task, loaded_task.load(lake)


def texts(column):
    return column.to_pylist()


# ADEPT


def test_adept_has_five_classes(task_lake):
    loaded_task, dataset = load(task_lake, name="adept")
    assert (dataset.task, dataset.scheme, dataset.fold) == ("adept_5", "random", "")
    assert dataset.labels == dataset.outcomes
    assert dataset.labels[2] == "equally likely"
    train = dataset.parts["train"]
    assert train.labels.tolist() == [0, 1, 2, 3, 4]
    assert texts(train.first)[0] == "A dog of a0 barks."
    assert texts(train.second)[0] == "A dead dog of a0 barks."
    val = dataset.parts["val"]
    assert texts(val.item_ids) == ["a5", "a6", "a7", "a7"]
    assert val.labels.tolist() == [0, 2, 2, 4]  # two labels of one sentence are sorted
    assert set(dataset.parts) == {"train", "val"}
    scores = loaded_task.evaluate(dataset, "val", np.array([0, 2, 2, 2]))
    assert (scores["accuracy"], scores["majority"]) == (0.75, 0.5)
    assert scores["accuracy/agreement.unanimous"] == 1.0
    assert scores["accuracy/agreement.majority"] == 0.5


def test_adept_in_three_classes_trained_or_collapsed(task_lake):
    _, trained = load(task_lake, name="adept", classes=3)
    assert trained.labels == trained.outcomes == ("less likely", "equally likely", "more likely")
    assert trained.parts["train"].labels.tolist() == [0, 0, 1, 2, 2]
    loaded_task, collapsed = load(task_lake, name="adept", classes="3", collapse="true")
    assert len(collapsed.labels) == 5
    assert collapsed.outcomes == trained.outcomes
    assert collapsed.parts["train"].labels.tolist() == [0, 1, 2, 3, 4]
    assert collapsed.parts["val"].gold.tolist() == [0, 1, 1, 2]
    # "Impossible" for "less likely" is wrong in five classes and right in three.
    scores = loaded_task.evaluate(collapsed, "val", np.array([1, 2, 2, 3]))
    assert (scores["accuracy"], scores["accuracy_labels"]) == (1.0, 0.5)


def test_adept_in_four_classes_has_no_impossible(task_lake):
    _, dataset = load(task_lake, name="adept", classes=4)
    assert dataset.labels[0] == "less likely"
    assert dataset.parts["train"].labels.tolist() == [0, 1, 2, 3]
    assert texts(dataset.parts["val"].item_ids) == ["a6", "a7", "a7"]


def test_adept_without_context_has_noun_and_adjective(task_lake):
    _, dataset = load(task_lake, name="adept", context=False)
    assert dataset.task == "adept_5_no_context"
    assert texts(dataset.parts["val"].first)[0] == "dog"
    assert texts(dataset.parts["val"].second)[0] == "dead"


# PLANE


def test_plane_reads_a_fold(task_lake):
    loaded_task, dataset = load(task_lake, name="plane")
    assert (dataset.scheme, dataset.fold, dataset.max_length) == ("published", "1", 12)
    assert {part: len(rows) for part, rows in dataset.parts.items()} == {"train": 19, "test": 9}
    test = dataset.parts["test"]
    assert "A fake oak is a fake tree" in texts(test.first)
    assert test.second is None
    right = loaded_task.evaluate(dataset, "test", test.labels)
    assert right["accuracy"] == right["accuracy/class.O"] == 1.0
    wrong_type = np.where(np.array(texts(test.groups["inference_type"])) == "3", 0, 1)
    scores = loaded_task.evaluate(dataset, "test", wrong_type)
    assert scores["accuracy/inference_type.3"] == pytest.approx(1 / 3)
    assert not any("noun" in name for name in scores)


def test_plane_can_be_read_as_pairs(task_lake):
    _, dataset = load(task_lake, name="plane", input="pair")
    test = dataset.parts["test"]
    at = texts(test.item_ids).index("fake-oak-3")
    assert (texts(test.first)[at], texts(test.second)[at]) == ("fake oak", "fake tree")


def test_validation_nouns_do_not_occur_in_training(task_lake):
    validation_nouns = {}
    for seed in range(20):
        try:
            _, dataset = load(task_lake, name="plane", validation=0.5, seed=seed)
        except UserError as error:
            assert "no rows of part" in str(error)  # both nouns are in one part
            continue
        nouns = [set(texts(dataset.parts[part].groups["noun"])) for part in ("train", "val")]
        assert not nouns[0] & nouns[1]
        assert len(dataset.parts["train"]) + len(dataset.parts["val"]) == 19
        validation_nouns[seed] = nouns[1]
    assert len({frozenset(nouns) for nouns in validation_nouns.values()}) == 2


# ASP

RELEASE = {"name": "asp", "edition": "published", "train_edition": "published_tuning"}


def test_asp_trains_on_three_labels_and_tests_on_two(task_lake):
    loaded_task, dataset = load(task_lake, **RELEASE, scheme="adjectives", round="published")
    assert dataset.labels == ("entailment", "neutral", "contradiction")
    assert dataset.outcomes == ("entailment", "not_entailment")
    assert dataset.parts["train"].labels.tolist() == [0, 2, 1]
    assert dataset.parts["train"].gold.tolist() == [0, 1, 1]
    test = dataset.parts["test"]
    assert test.labels is None
    assert test.gold.tolist() == [0, 1]
    editions = [dataset.sources[row].edition for row in test.origin]
    assert editions == ["published", "published"]
    assert dataset.sources[dataset.parts["train"].origin[0]].edition == "published_tuning"
    # Neutral and contradiction are one outcome.
    scores = loaded_task.evaluate(dataset, "test", np.array([0, 1]))
    assert scores["accuracy"] == 1.0
    assert scores["precision/not_entailment"] == 1.0
    together = loaded_task.combined_metrics(
        dataset, {"val": np.zeros(3), "test": np.array([0, 2]), "leaking": np.array([1])}
    )
    assert together["all/accuracy"] == pytest.approx(2 / 3)
    assert together["all/accuracy/test.entailment.ordering"] == 0.0
    assert loaded_task.combined_metrics(dataset, {"val": np.zeros(3)}) == {}


def test_a_round_of_asp_can_combine_both_tasks(task_lake):
    loaded_task, dataset = load(task_lake, name="asp", edition="clean", round=0)
    assert dataset.fold == "0+length"
    assert loaded_task.settings.folds() == {"adjectives": "0", "dimension": "length"}
    read_tables = {source.table for source in dataset.sources}
    assert read_tables == {"asp_entailment", "asp_degree", "asp_splits"}
    test = dataset.parts["test"]
    assert texts(test.groups["task"]) == ["entailment", "entailment", "degree"]
    tables_read = [dataset.sources[row].table for row in test.origin]
    assert tables_read == ["asp_entailment", "asp_entailment", "asp_degree"]
    scores = loaded_task.evaluate(dataset, "test", np.array([0, 0, 0]))
    assert scores["accuracy/task.degree"] == 1.0
    assert scores["accuracy/test.entailment.booster"] == 0.5


def test_the_release_tests_degrees_on_the_held_out_dimension(task_lake):
    _, dataset = load(task_lake, **RELEASE, scheme="dimension", dimension="mass")
    # One of the two rows about mass is discarded.
    assert texts(dataset.parts["test"].item_ids) == ["published-d1"]
    assert dataset.parts["test"].gold.tolist() == [0]


def test_full_stops_are_added_on_request(task_lake):
    settings = {"name": "asp", "scheme": "adjectives", "round": "0"}
    _, unchanged = load(task_lake, **settings)
    _, normalised = load(task_lake, **settings, full_stops="normalised")
    assert "The tea is scalding" in texts(unchanged.parts["train"].second)
    for column in (normalised.parts["train"].first, normalised.parts["train"].second):
        assert set(texts(column)) == {"The tea is hot.", "The tea is scalding."}


# Any pairs


def test_pairs_are_read_with_their_labels_in_the_requested_order(task_lake):
    loaded_task, dataset = load(task_lake, name="pairs", edition="snli")
    assert dataset.task == "pairs_nli"
    assert dataset.labels == ("contradiction", "entailment", "neutral")
    assert set(dataset.parts) == {"train", "val", "val_mismatched"}
    assert all(item.startswith("snli") for item in texts(dataset.parts["train"].item_ids))
    ordered = {"labels": ["entailment", "neutral", "contradiction"], "hypothesis": None}
    _, dataset = load(task_lake, name="pairs", **ordered)
    assert dataset.labels[0] == "entailment"
    assert dataset.parts["train"].second is None
    assert loaded_task.evaluate(dataset, "val", dataset.parts["val"].labels)["accuracy"] == 1.0


# SyGNS


def test_sygns_has_sentences_and_one_form(task_lake):
    loaded_task, dataset = load(task_lake, name="sygns", form="vf")
    assert (dataset.task, dataset.kind, dataset.fold) == ("sygns_vf", "seq2seq", "one")
    train, test = dataset.parts["train"], dataset.parts["test"]
    assert train.labels is None
    assert all(text.split(" ")[0].isupper() for text in texts(train.targets))
    answers = texts(test.targets)
    assert loaded_task.evaluate(dataset, "test", answers)["accuracy"] == 1.0
    universal = test.group("quantifier")["UNI"]
    for row in universal:
        answers[row] = "ALL"
    scores = loaded_task.evaluate(dataset, "test", answers)
    assert scores["accuracy/quantifier.UNI"] == 0.0
    assert scores["accuracy/quantifier.EXI"] == 1.0
    assert scores["accuracy"] == pytest.approx(1 - len(universal) / len(test))
    # No test sentence has the primitive that training introduces.
    assert not any("one" in text.split(" ") for text in texts(test.first))


@pytest.mark.parametrize(("form", "splitting"), [("fol", "formula"), ("drs", "words")])
def test_the_form_of_meanings_decides_how_targets_are_split(task_lake, form, splitting):
    _, dataset = load(task_lake, name="sygns", form=form)
    assert dataset.splitting == splitting


# Mistakes


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "no task.name: expected one of adept, plane, asp, sygns, pairs"),
        ({"name": "adep"}, "task.name=adep: expected one of"),
        ({"name": "adept", "clases": 3}, "'clases'; did you mean 'classes'"),
        ({"name": "adept", "classes": "six"}, "classes=six: expected a whole number"),
        ({"name": "adept", "classes": 2}, "classes=2: expected 5, 4 or 3"),
        ({"name": "adept", "collapse": True}, "expected classes=3 with it"),
        ({"name": "adept", "split": "noun"}, "split=noun: expected one of random"),
        ({"name": "adept", "split": "noun_disjoint"}, "no values in its column split_noun_dis"),
        ({"name": "adept", "edition": "mine"}, "edition=mine: .* there is published"),
        ({"name": "plane", "fold": 2}, "fold=2: .* there is '1'"),
        ({"name": "plane", "scheme": "one_it"}, "scheme=one_it: .* there is published, strict"),
        (
            {"name": "plane", "scheme": "strict", "fold": 2},
            "no rows of part train; there is test 1",
        ),
        ({"name": "plane", "validation": 0.9}, "expected 0 to 0.5"),
        ({"name": "asp", "round": "published"}, "expected dimension= with it"),
        ({"name": "asp", "edition": "published", "round": 1}, "round=1: .* there is 'published'"),
        (
            {"name": "asp", "edition": "published", "round": "published", "scheme": "adjectives"},
            "no rows of part train; there is leaking 1, test 2",
        ),
        ({"name": "sygns", "primitive": ""}, "expected one or two or every"),
        ({"name": "sygns", "primitive": None}, "expected one or two or every"),
        ({"name": "sygns", "scheme": "productivity"}, "expected primitive="),
        (
            {"name": "sygns", "scheme": "productivity", "primitive": ""},
            "scheme=productivity: .* there is systematicity",
        ),
        ({"name": "pairs", "table": "nlj"}, "table=nlj: expected one of amod_files"),
        ({"name": "pairs", "premise": "text"}, "premise=text: .* it has item_id, source"),
        ({"name": "pairs", "table": "dropped", "premise": "job"}, "hypothesis=hypothesis: not a"),
        (
            {"name": "pairs", "edition": "snli", "split": "label"},
            "split=label has no part train; .* got contradiction, ",
        ),
        ({"name": "pairs", "edition": "anli"}, "source=anli: .* there is mnli, snli"),
        ({"name": "pairs", "labels": ["yes", "no"]}, "label 'contradiction' of 3 row"),
    ],
)
def test_mistakes_are_reported(task_lake, settings, message):
    with pytest.raises(UserError, match=message):
        task(settings).load(task_lake)


def test_a_label_out_of_range_names_its_row(tmp_path):
    lake = str(tmp_path)
    tables.adept(lake, [("a0", "train", 1), ("a1", "val", 5)])
    with pytest.raises(
        UserError, match=r"label 5 of 1 row\(s\), such as item a1; expected one of 0, 1"
    ):
        task({"name": "adept"}).load(lake)
    tables.adept(lake, [("b0", "train", 1), ("b1", "val", None)], edition="mine")
    with pytest.raises(UserError, match="label None of 1 row"):
        task({"name": "adept", "edition": "mine"}).load(lake)


def test_a_row_without_a_text_is_named(tmp_path):
    row = {"source": "mine", "split": "train", "label": "yes"}
    texts_of_items = {"i0": "A dog runs.", "i1": None, "i2": "A dog sits."}
    write(
        lake := str(tmp_path),
        "nli",
        [{**row, "item_id": item, "premise": text} for item, text in texts_of_items.items()],
    )
    single = {"name": "pairs", "edition": "mine", "hypothesis": None, "labels": ["yes", "no"]}
    with pytest.raises(UserError, match="premise: 1 of 3 rows have no text, such as item i1"):
        task(single).load(lake)


def test_a_missing_table_is_reported_with_the_job_that_builds_it(tmp_path):
    with pytest.raises(LakeError, match=r"no table adept in lake=.*annotate_adept"):
        task({"name": "adept"}).load(str(tmp_path))


def test_splits_of_unknown_items_are_refused(tmp_path):
    lake = str(tmp_path)
    tables.plane(lake)
    gone = {"scheme": "published", "fold": "9", "part": "train", "item_id": "x"}
    write(lake, "plane_splits", [{**gone, "edition": "published"}])
    with pytest.raises(
        UserError, match="1 of 1 train rows of plane_splits, such as x, are not in the"
    ):
        task({"name": "plane", "fold": 9}).load(lake)


# All tasks


@pytest.mark.parametrize("name", TASKS)
def test_rows_are_sorted_by_id(task_lake, name):
    """A seed then gives the same training order, whatever files the tables consist of."""
    _, dataset = load(task_lake, name=name)
    for rows in dataset.parts.values():
        for origin in np.unique(rows.origin):
            ids = np.array(texts(rows.item_ids))[rows.origin == origin].tolist()
            assert ids == sorted(ids)


@pytest.mark.parametrize("name", TASKS)
def test_all_columns_have_one_length_and_rows_can_be_selected(task_lake, name):
    loaded_task, dataset = load(task_lake, name=name)
    assert loaded_task.name == loaded_task.settings.name == name
    assert dataclasses.asdict(loaded_task.settings)["name"] == name
    rows = dataset.parts["train"]
    subset = rows.take(np.array([2, 0]))
    for field in dataclasses.fields(rows):
        column = getattr(rows, field.name)
        if isinstance(column, pa.Array | np.ndarray):
            assert len(column) == len(rows)
            both = getattr(subset, field.name).tolist()
            assert both == [column.tolist()[2], column.tolist()[0]]
    assert subset.groups.keys() == rows.groups.keys()
    assert all(len(column) == 2 for column in subset.groups.values())


def test_a_task_accepts_its_settings_as_a_dataclass(task_lake):
    loaded_task = task(TASKS["adept"].Settings(classes=3))
    assert loaded_task.load(task_lake).task == "adept_3"


@pytest.mark.parametrize("edition", ["2024_01", "0123", "10:30", "1e3", "on", "1.10", "a: b"])
def test_names_keep_their_spelling(edition):
    words = ["task.name=pairs", f"task.edition={edition}", f"task.labels=['{edition}','a, b',true]"]
    settings = task(conf.load(Settings, words).task).settings
    assert (settings.edition, settings.labels) == (edition, [edition, "a, b", "true"])


def test_help_lists_the_settings_of_every_task():
    text = help_text()
    assert all(f"task.name={name}" in text for name in TASKS)
    assert "inference" in text and "primitive" in text
