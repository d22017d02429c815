from collections import Counter

import pytest

from adnominal.conf import UserError
from adnominal.etl.asp import TESTS, labels
from adnominal.etl.asp.lexicon import load_lexicon
from adnominal.etl.asp.templates import parse
from adnominal.etl.published.asp import read

pytest.importorskip("scipy")


def write(path, name, header, rows):
    file = path / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join("\t".join(r) for r in [header, *rows]) + "\n", encoding="utf-8")


def test_a_release_gives_items_splits_and_drops(tmp_path):
    header = ["premise", "hypothesis", "label"]
    rows = [[f"The bag {verb} big.", "The bag is huge", "not_entailment"] for verb in ("is", "was")]
    write(tmp_path, "EntailmentInference/ordering.csv", header, rows)
    premise = "A $120 mirror is expensive. A $80 mirror is cheap."
    write(
        tmp_path,
        "DegreeEstimation/booster.csv",
        header[:2],
        [[premise, "A $130 mirror is very expensive."], [premise, "A $60 mirror is very cheap."]],
    )
    write(
        tmp_path,
        "fine_tuning/train/leave_mass.csv",
        ["sentence1", "sentence2", "gold_label"],
        [[premise, "A $60 mirror is cheap.", "entailment"]],
    )
    reading = read(tmp_path)
    (row,) = reading.tables["asp_entailment"].to_pylist()
    assert (row["adjective"], row["other_adjective"]) == ("big", "huge")
    assert row["label3"] == "contradiction"
    first, second, tuned = reading.tables["asp_degree"].to_pylist()
    assert (first["noun"], first["unit"], first["z"], first["label"]) == (
        "mirror",
        "$",
        130,
        "entailment",
    )
    assert (second["polarity"], second["z"], second["label"]) == (
        "negative",
        60,
        "entailment",
    )
    assert (tuned["edition"], tuned["test"]) == ("published_tuning", "ordering")
    parts = {s["part"]: s["edition"] for s in reading.tables["asp_splits"].to_pylist()}
    assert parts == {"test": "published", "train": "published_tuning"}
    assert list(reading.dropped) == [("asp_entailment", "not of the form of ordering")]


@pytest.mark.parametrize("numbers", [("120", "9" * 400), ("9" * 400, "130")])
def test_a_number_beyond_floats_drops_the_row(tmp_path, numbers):
    premise = f"A ${numbers[0]} mirror is expensive. A $80 mirror is cheap."
    row = [premise, f"A ${numbers[1]} mirror is very expensive."]
    write(tmp_path, "DegreeEstimation/booster.csv", ["premise", "hypothesis"], [row])
    reading = read(tmp_path)
    assert list(reading.dropped) == [("asp_degree", "a number that is too large")]
    assert not reading.tables


def test_a_discarded_row_of_the_training_part_is_not_tested(tmp_path):
    premise = "A 120°C oven is hot. A 80°C oven is cold."
    discarded = [premise, "A 120°C room is hot."]
    header = ["sentence1", "sentence2", "gold_label"]
    write(tmp_path, "fine_tuning/train/leave_mass.csv", header, [[*discarded, "neutral"]])
    tests = [discarded, [premise, "A 118°C room is hot."]]
    write(tmp_path, "fine_tuning/test/temperature/argument.csv", ["premise", "hypothesis"], tests)
    reading = read(tmp_path)
    labels_by_z = {row["z"]: row["label"] for row in reading.tables["asp_degree"].to_pylist()}
    assert labels_by_z == {120: "not_entailment", 118: "not_entailment"}
    splits = Counter((s["round"], s["part"]) for s in reading.tables["asp_splits"].to_pylist())
    assert splits == {("mass", "train"): 1, ("temperature", "test"): 1}
    assert [note for note in reading.notes if note.startswith("1 test rows that their rule")]


def test_a_folder_without_a_release_is_refused(tmp_path):
    with pytest.raises(UserError, match="no folder EntailmentInference"):
        read(tmp_path)


def test_labels_and_counts_of_the_release(shared_data):
    reading = read(shared_data / "asp")
    assert reading.dropped == {}
    rows = [r for r in reading.tables["asp_entailment"].to_pylist() if r["edition"] == "published"]
    words = load_lexicon()
    entailments = {"dimension": 0, "argument": 0, "negation": 750, "comparative": 334}
    for test in TESTS:
        test_rows = [r for r in rows if r["test"] == test]
        assert len(test_rows) == 1000
        assert sum(r["label"] == "entailment" for r in test_rows) == entailments.get(test, 500)
        for r in test_rows:
            pair = parse(test, r["premise"], r["hypothesis"], words)
            assert labels.name(labels.entails(pair, words)) == r["label"]
    assert len({r["item_id"] for r in rows}) == 8000
    parts = Counter(
        r["part"]
        for r in reading.tables["asp_splits"].to_pylist()
        if (r["edition"], r["scheme"]) == ("published", "adjectives")
    )
    assert parts == {"test": 4914, "leaking": 3086}  # the figures of docs/asp.md
    # Ordering's premises have a full stop where nothing is entailed, and only there.
    ordering = [row for row in rows if row["test"] == "ordering"]
    labels_by_stop = {(row["premise"].endswith("."), row["label"]) for row in ordering}
    assert labels_by_stop == {(False, "entailment"), (True, "not_entailment")}
    degree = [r for r in reading.tables["asp_degree"].to_pylist() if r["edition"] == "published"]
    assert Counter(r["test"] for r in degree) == dict.fromkeys(TESTS, 2000)
    assert {r["z"] for r in degree} == {float(z) for z in range(60, 140, 2)}
    yes = Counter((r["test"], r["polarity"]) for r in degree if r["label"] == "entailment")
    assert yes == {
        ("ordering", "positive"): 350,
        ("ordering", "negative"): 300,
        ("booster", "positive"): 200,
        ("booster", "negative"): 175,
        ("diminisher", "positive"): 475,
        ("diminisher", "negative"): 400,
        ("negation", "positive"): 550,
        ("negation", "negative"): 575,
        ("comparative", "positive"): 250,
        ("comparative", "negative"): 250,
        ("superlative", "positive"): 475,
        ("superlative", "negative"): 400,
    }
