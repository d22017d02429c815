import json
from collections import Counter
from statistics import fmean

import pytest

from adnominal import conf
from adnominal.conf import UserError
from adnominal.conf.texts import NO_TEXT
from adnominal.etl.adept.baselines import label_of, majority, normative_rule
from adnominal.etl.adept.variants import insert
from adnominal.etl.knowledge.lexicons import nonsubsective_adjectives
from adnominal.etl.lake import arrow
from adnominal.etl.published.adept import read
from adnominal.etl.published.job import Settings, import_published

ROW = {
    "sentence1": "A leg has one foot.",
    "sentence2": "A dead leg has one foot.",
    "modifier": "dead",
    "noun": "leg",
    "label": 2,
    "idx": 4,
}


def write(folder, name, rows):
    (folder / name).write_text(rows if isinstance(rows, str) else json.dumps(rows))


def test_rows_get_ids_and_splits_and_repetitions_are_noted_or_merged(tmp_path):
    write(tmp_path, "train.json", [ROW, {**ROW, "idx": 5, "label": 0}])
    write(tmp_path, "test.json", [{**ROW, "noun": "arm", "sentence1": "An arm."}])
    reading = read(tmp_path)
    rows = reading.tables["adept"].to_pylist()
    assert [(r["split_random"], r["label"], r["edition"], r["agreement"]) for r in rows] == [
        ("train", 2, "published", None),
        ("train", 0, "published", None),
        ("test", 2, "published", None),
    ]
    assert len({r["item_id"] for r in rows}) == 3
    assert {r["split_noun_disjoint"] for r in rows} <= {"train", "val", "test"}
    assert reading.notes[-2:] == [
        "in more than one part: 0 first sentences, 0 pairs of noun and modifier",
        "test: 0 of its 1 nouns are trained on",
    ]
    merged = read(tmp_path, "merge")
    assert merged.tables["adept"].num_rows == 1
    sample = f"{ROW['sentence1']} {ROW['sentence2']}"
    assert merged.dropped == {("adept", "conflicting labels"): (2, sample)}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"noun": None}, "no noun"),
        ({"sentence2": " "}, "no sentence2"),
        ({"label": 5}, "label is not one of 0 to 4"),
        ({"label": True}, "label is not one of 0 to 4"),
        ({"label": "2"}, "label is not one of 0 to 4"),
        ({"sentence1": "A leg \ud800."}, NO_TEXT),
    ],
)
def test_invalid_rows_are_dropped_by_reason(tmp_path, change, reason):
    write(tmp_path, "val.json", [ROW, {**ROW, **change}])
    reading = read(tmp_path)
    assert reading.tables["adept"].num_rows == 1
    ((key, (count, sample)),) = reading.dropped.items()
    assert (key, count, sample[:19]) == (("adept", reason), 1, "val.json, object 2:")
    assert sample.encode()


def test_a_byte_order_mark_is_skipped(tmp_path):
    write(tmp_path, "val.json", "\ufeff" + json.dumps([ROW]))
    assert read(tmp_path).tables["adept"].num_rows == 1


def test_folders_without_readable_rows_are_refused(tmp_path):
    with pytest.raises(UserError, match=r"none of train\.json, val\.json, test\.json there"):
        read(tmp_path)
    write(tmp_path, "train.json", "{")
    with pytest.raises(UserError, match=r"train\.json: not readable as JSON"):
        read(tmp_path)
    write(tmp_path, "train.json", {"rows": []})
    with pytest.raises(UserError, match="expected a JSON array of objects, got dict"):
        read(tmp_path)
    write(tmp_path, "train.json", [3])
    with pytest.raises(UserError, match="no object with sentence1"):
        read(tmp_path)


def test_an_import_writes_rows_and_drops(spark, tmp_path):
    write(tmp_path, "train.json", [ROW, {**ROW, "label": 9}])
    lake = str(tmp_path / "lake")
    import_published(conf.load(Settings, [f"adept={tmp_path}", f"lake={lake}"]))
    (row,) = arrow.read(lake, "adept").to_pylist()
    assert (row["edition"], row["modifier"]) == ("published", "dead")
    (dropped,) = arrow.read(lake, "dropped").to_pylist()
    assert (dropped["job"], dropped["count"]) == ("import_published/adept", 1)


@pytest.fixture(scope="module")
def release(shared_data):
    return read(shared_data / "adept")


@pytest.fixture(scope="module")
def rows(release):
    return release.tables["adept"].to_pylist()


def test_counts_of_the_release(release, rows):
    counts = {
        part: [n for _, n in sorted(Counter(
            r["label"] for r in rows if r["split_random"] == part).items())]
        for part in ("train", "val")
    }  # fmt: skip
    assert counts == {"train": [1762, 1504, 8633, 928, 65], "val": [236, 186, 1070, 102, 17]}
    assert len({r["item_id"] for r in rows}) == len(rows) == 14_503
    assert release.dropped == {}
    assert release.notes[0] == "not in this folder: test.json"
    assert release.notes[3:] == [
        "sentence pairs: 11 occur more than once, 6 of them with different labels, 4 in more than "
        "one part",
        "in more than one part: 201 first sentences, 408 pairs of noun and modifier",
        "val: 901 of its 1030 nouns are trained on",
    ]


@pytest.mark.parametrize(
    ("classes", "by_majority", "by_rule"),
    [(5, 66.42, 63.63), (4, 77.82, 72.07), (3, 66.42, 70.14)],
)
def test_baselines_on_the_release(rows, classes, by_majority, by_rule):
    words = nonsubsective_adjectives()
    train = [r["label"] for r in rows if r["split_random"] == "train"]
    labelled = [
        (r["modifier"], label_of(r["label"], classes)) for r in rows if r["split_random"] == "val"
    ]
    val = [(modifier, label) for modifier, label in labelled if label is not None]
    most_frequent = majority(train, classes)
    by_label = 100 * fmean(label == most_frequent for _, label in val)
    assert by_label == pytest.approx(by_majority, abs=0.006)
    by_word = 100 * fmean(normative_rule(word, words, classes) == label for word, label in val)
    assert by_word == pytest.approx(by_rule, abs=0.006)


# Sentences of the release that do not follow its own rule: a name keeps its capital, a noun is
# inside another word, or the sentence was corrected or replaced by hand.
EXCEPTIONS = {
    "John words his feelings well.", "John is speaking nonsence.", "John sails a boat.",
    "John cuts through the steak.", "John hits a baseball with a bat.",
    "An i-beam is used for building skyscrapers.", "An i-beam is for structural support.",
    "You use an i-beam to support a floor or roof.", "We-blocker is stupid and highly inaccurate.",
    "Something a thing can do is cauterize.", "'use' is better than'utilise'.",
    "A captain is for disrecting people.", "Warning.",
}  # fmt: skip


def test_sentences_of_the_release_follow_the_rule_of_insertion(rows):
    deviating = {
        row["sentence1"]
        for row in rows
        if insert(row["sentence1"], row["modifier"], row["noun"], "letter") != row["sentence2"]
    }
    assert deviating == EXCEPTIONS
    assert len(EXCEPTIONS) / len(rows) < 0.001
