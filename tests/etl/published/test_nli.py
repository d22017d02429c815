import json

import pytest

from adnominal.conf import UserError
from adnominal.conf.texts import NO_TEXT
from adnominal.etl.published.nli import item_id, read, read_addone

ROW = {"gold_label": "neutral", "sentence1": "A dog barks. ", "sentence2": "A big dog barks."}
ADDED = "A <b><u>big</u></b> dog &amp; a cat"
SPLITS = ("train", "dev_matched", "dev_mismatched")


def jsonl(path, *rows):
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def tsv(path, rows, columns=("index", "sentence1", "sentence2", "gold_label")):
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = ["\t".join(columns), *("\t".join(row.get(c, "0") for c in columns) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def rows(reading):
    return reading.tables["nli"].to_pylist()


def test_snli_rows_get_ids_and_undecided_ones_are_dropped(tmp_path):
    jsonl(tmp_path / "snli_1.0_train.jsonl", ROW, {**ROW, "gold_label": "-"})
    jsonl(tmp_path / "snli_1.0_test.jsonl", {**ROW, "gold_label": "contradiction"})
    reading = read(tmp_path)
    test, train = rows(reading)
    assert train == {
        "item_id": item_id("snli", "A dog barks.", "A big dog barks.", 1),
        "source": "snli",
        "premise": "A dog barks.",
        "hypothesis": "A big dog barks.",
        "label": "neutral",
        "split": "train",
    }
    assert (test["split"], test["label"]) == ("test", "contradiction")
    assert test["item_id"] == item_id("snli", "A dog barks.", "A big dog barks.")
    ((_, (count, sample)),) = reading.dropped.items()
    assert count == 1 and sample.startswith("snli_1.0_train.jsonl:2 A dog barks.")
    assert list(reading.dropped) == [("nli", "annotators disagree")]


@pytest.mark.parametrize("name", ["multinli_1.0_{}.txt", "MNLI/{}.tsv"])
def test_multinli_has_two_validation_parts(tmp_path, name):
    for split in SPLITS:
        tsv(tmp_path / name.format(split), [{**ROW, "sentence2": f'A "{split} dog.'}])
    hypotheses = {row["split"]: row["hypothesis"] for row in rows(read(tmp_path))}
    assert hypotheses == {
        "train": 'A "train dog.',
        "val": 'A "dev_matched dog.',
        "val_mismatched": 'A "dev_mismatched dog.',
    }


def test_jsonl_has_priority_over_txt(tmp_path):
    jsonl(tmp_path / "multinli_1.0_train.jsonl", ROW)
    tsv(tmp_path / "multinli_1.0_train.txt", [ROW, ROW])
    assert len(rows(read(tmp_path))) == 1


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"gold_label": "hidden"}, "no label"),
        ({"gold_label": "maybe"}, "label 'maybe'"),
        ({"sentence2": " "}, "empty sentence"),
        ({"sentence1": None}, "empty sentence"),
        ({"sentence1": ["A big dog"]}, "empty sentence"),
        ({"gold_label": None}, "no label"),
        ({"sentence2": "A \ud800."}, NO_TEXT),
    ],
)
def test_invalid_rows_are_dropped_by_reason(tmp_path, change, reason):
    jsonl(tmp_path / "snli_1.0_dev.jsonl", ROW, {**ROW, **change})
    reading = read(tmp_path)
    assert len(rows(reading)) == 1
    assert list(reading.dropped) == [("nli", reason)]
    assert all(sample.encode() for _, sample in reading.dropped.values())


def test_folders_without_a_release_are_refused(tmp_path):
    with pytest.raises(UserError, match="no such folder"):
        read(tmp_path / "absent")
    (tmp_path / "train.tsv").write_text("gold_label\tsentence1\tsentence2\n")
    with pytest.raises(UserError, match="no file of MultiNLI"):
        read(tmp_path)
    with pytest.raises(UserError, match=r"none of data\.train"):
        read_addone(tmp_path)


def test_faults_are_reported_with_file_and_line(tmp_path):
    (tmp_path / "snli_1.0_dev.jsonl").write_text(json.dumps(ROW) + '\n{"gold_la')
    with pytest.raises(UserError, match=r"snli_1.0_dev.jsonl: line 2: not JSON"):
        read(tmp_path)
    tsv(tmp_path / "other" / "snli_1.0_dev.txt", [ROW], columns=("sentence1", "gold_label"))
    with pytest.raises(UserError, match=r"snli_1.0_dev.txt: line 1 has no column sentence2"):
        read(tmp_path / "other")


def addone(folder, split, *scores, line="{}\tyes\tid-1\tbig\tdog\tA dog\t" + ADDED):
    text = "".join(line.format(score) + "\n" for score in scores)
    (folder / f"data.{split}").write_text(text, encoding="utf-8")


def test_addone_scores_become_labels(tmp_path):
    addone(tmp_path, "train", 4.0, 3.0, 3.5)
    addone(tmp_path, "test", 3.5, 3.4)
    reading = read_addone(tmp_path)
    labels_by_split = [(row["split"], row["label"]) for row in rows(reading)]
    assert labels_by_split == [
        ("train", "entailment"),
        ("train", "not_entailment"),
        ("test", "entailment"),
        ("test", "not_entailment"),
    ]
    assert {row["hypothesis"] for row in rows(reading)} == {"A big dog & a cat"}
    assert len({row["item_id"] for row in rows(reading)}) == 4
    assert list(reading.dropped) == [("nli", "score between 3 and 4")]


def test_addone_scores_become_three_labels(tmp_path):
    addone(tmp_path, "train", 4.0, 3.0, 3.5, 2.6, 2.5, 1.0)
    addone(tmp_path, "test", 3.5, 3.4)
    reading = read_addone(tmp_path, labels="three")
    labels_by_split = [(row["split"], row["label"]) for row in rows(reading)]
    assert labels_by_split == [
        ("train", "entailment"),
        ("train", "neutral"),
        ("train", "neutral"),
        ("train", "contradiction"),
        ("train", "contradiction"),
        ("test", "entailment"),
        ("test", "neutral"),
    ]
    assert {row["source"] for row in rows(reading)} == {"addone_three"}
    # The rows are those of two labels.
    two = [(row["premise"], row["hypothesis"], row["split"]) for row in rows(read_addone(tmp_path))]
    three = [(row["premise"], row["hypothesis"], row["split"]) for row in rows(reading)]
    assert two == three


def test_unicode_line_separators_in_addone_are_text(tmp_path):
    line = "{}\tyes\tid\tbig\tdog\tA\x85 dog\tA\u2028 <b>big</b> dog\x0c\r"
    addone(tmp_path, "dev", 4.0, 1.0, line=line)
    assert {row["hypothesis"] for row in rows(read_addone(tmp_path))} == {"A big dog"}


def test_copies_of_a_split_of_addone_and_other_files_are_counted_as_not_read(tmp_path):
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        addone(tmp_path / name, "train", 4.0)
    (tmp_path / "notes.csv").write_text("a\n", encoding="utf-8")
    reading = read_addone(tmp_path)
    assert len(rows(reading)) == 1
    assert {name: counts.reason for name, counts in reading.files.items()} == {
        "first/data.train": "",
        "second/data.train": "the same split is read from first/data.train",
        "notes.csv": "not a file of the release's layout",
    }


def test_empty_lines_of_addone_are_skipped_and_empty_sentences_dropped(tmp_path):
    addone(tmp_path, "train", 4.0, line="{}\tyes\tid\tbig\tdog\tA dog\tA big dog\n\n")
    addone(tmp_path, "dev", 4.0, line="{}\tyes\tid\tbig\tdog\tA dog\t<b></b>")
    reading = read_addone(tmp_path)
    assert [row["split"] for row in rows(reading)] == ["train"]
    assert list(reading.dropped) == [("nli", "empty sentence")]


@pytest.mark.parametrize("line", ["4.0\tyes\tid", "x\t1\t2\t3\t4\t5\t6", "7\t1\t2\t3\t4\t5\t6"])
def test_a_line_of_another_format_is_refused(tmp_path, line):
    addone(tmp_path, "dev", 4.0, line=line)
    with pytest.raises(UserError, match=r"data.dev:1: expected 7 columns"):
        read_addone(tmp_path)
