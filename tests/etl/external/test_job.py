"""The import as a whole: a command, files and a lake."""

import logging

import pytest

from adnominal import conf
from adnominal.conf import UserError
from adnominal.etl.external import is_external, matching
from adnominal.etl.external.job import import_predictions
from adnominal.etl.external.settings import Settings
from adnominal.etl.import_predictions import main
from adnominal.etl.lake import arrow
from tests.etl.external.test_files import GENERATED, LIKELIHOOD
from tests.rows import adept_row, plane_item, write

ITEMS = [
    adept_row("fixed0", "toy", "gun", 0, edition="mine", split_random="test"),
    adept_row("fixed1", "fake", "gun", 1, edition="mine", split_random="test"),
    adept_row("fixed2", "big", "gun", 2, edition="mine", split_random="test"),
    adept_row("fixed3", "red", "gun", 2, edition="mine", split_random="train"),
]


@pytest.fixture
def lake(tmp_path):
    folder = str(tmp_path / "lake")
    write(folder, "adept", ITEMS)
    return folder


def run(lake, *words):
    settings = conf.load(Settings, ["run=r", "task=adept", "edition=mine", f"lake={lake}", *words])
    import_predictions(settings)


def stored(lake):
    rows = arrow.read(lake, "predictions").to_pylist()
    return sorted(rows, key=lambda row: (row["run_id"], row["prompt"] or "", row["item_id"]))


def dropped(lake):
    rows = arrow.read(lake, "dropped").to_pylist()
    return {row["reason"]: row["count"] for row in rows}


def answers_file(tmp_path, text, name="answers.csv"):
    file = tmp_path / name
    file.write_text("item_id,answer\n" + text, encoding="utf-8")
    return f"file={file}"


def test_samples_of_the_harness_become_rows_with_the_lakes_labels(lake):
    run(lake, f"file=[{LIKELIHOOD},{GENERATED}]", "model=tiny", "scheme=random")
    rows = stored(lake)
    assert [(row["item_id"], row["gold"]) for row in rows[:3]] == [
        ("fixed0", "impossible"),
        ("fixed1", "less likely"),
        ("fixed2", "equally likely"),
    ]
    first, last = rows[0], rows[-1]
    assert (first["run_id"], first["task"], first["model"]) == ("external/r", "adept", "tiny")
    assert (first["edition"], first["scheme"], first["fold"]) == ("mine", "random", "")
    assert first["predicted"] == "impossible" and len(first["scores"]) == 5
    assert (last["predicted"], last["text"], last["scores"]) == (None, "[invalid]", None)
    assert (first["state"], last["state"]) == (None, "unparsable")
    assert is_external(first["run_id"])
    assert dropped(lake) == {}


def test_items_without_an_answer_are_counted(lake):
    run(lake, f"file={LIKELIHOOD}")
    assert dropped(lake) == {matching.MISSING: 1}


def test_a_repeated_import_changes_nothing(lake, tmp_path):
    file = answers_file(tmp_path, "fixed0,impossible\nfixed1,more likely\n")
    run(lake, file)
    version, rows = arrow.version(lake, "predictions"), stored(lake)
    run(lake, file)
    assert arrow.version(lake, "predictions") == version
    assert stored(lake) == rows


def test_other_answers_need_another_name(lake, tmp_path):
    run(lake, answers_file(tmp_path, "fixed0,impossible\n"))
    file = answers_file(tmp_path, "fixed0,more likely\n", "other.csv")
    with pytest.raises(UserError, match="run=r: the lake has 1 other answers of this name"):
        run(lake, file)
    run(lake, file, "run=s")
    assert [row["run_id"] for row in stored(lake)] == ["external/r", "external/s"]


def test_a_killed_import_is_completed_by_the_same_command(lake, tmp_path, monkeypatch):
    file = answers_file(tmp_path, "fixed0,impossible\nunknown,impossible\n")

    def kill(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("adnominal.etl.external.job.write_dropped", kill)
        with pytest.raises(KeyboardInterrupt):
            run(lake, file)
    run(lake, file)
    assert len(stored(lake)) == 1
    assert dropped(lake) == {matching.UNKNOWN: 1, matching.MISSING: 3}


def test_answers_to_no_item_are_refused_before_anything_is_written(lake, tmp_path):
    file = answers_file(tmp_path, "x,impossible\ny,impossible\n")
    with pytest.raises(UserError, match=r"2 no such item in the edition .*of mine"):
        run(lake, file)
    assert arrow.tables(lake) == ["adept"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("edition=clean", "edition=clean: no rows in adept of .*; expected one of mine"),
        ("task=plane", "no rows in plane_items"),
        ("file=gone.csv", "file=gone.csv: no such file"),
        ("scheme=noun_disjoint", "scheme=noun_disjoint fold= part=test: no items of edition mine"),
    ],
)
def test_an_edition_or_part_that_the_lake_lacks_is_refused(lake, words, message):
    with pytest.raises(UserError, match=message):
        run(lake, f"file={LIKELIHOOD}", *words.split())


def test_the_part_of_a_table_of_splits_is_what_was_asked(tmp_path):
    lake = str(tmp_path / "lake")
    items = [plane_item("red", "I", "dog", "animal", kind, edition="mine") for kind in (1, 2, 3)]
    write(lake, "plane_items", items)
    split = {"scheme": "strict", "fold": "1", "edition": "mine"}
    parts = [("test", "red-dog-1"), ("test", "red-dog-2"), ("train", "red-dog-3")]
    write(lake, "plane_splits", [{**split, "part": part, "item_id": i} for part, i in parts])
    file = answers_file(tmp_path, "red-dog-1,entailed\nred-dog-3,good\n")
    run(lake, file, "task=plane", "scheme=strict", "fold=1")
    (row,) = stored(lake)
    assert (row["item_id"], row["scheme"], row["fold"]) == ("red-dog-1", "strict", "1")
    assert dropped(lake) == {matching.NOT_ASKED: 1, matching.MISSING: 1}


def test_the_command_says_what_it_did_and_what_is_wrong(lake, tmp_path, capsys, caplog):
    file = answers_file(tmp_path, "fixed0,impossible\n")
    words = ["run=r", "task=adept", "edition=mine", f"lake={lake}"]
    with caplog.at_level(logging.INFO, logger="adnominal"):
        assert main([file, *words]) == 0
    assert "run external/r: 1 answers to 1 items of ADEPT, edition mine" in caplog.text
    wrong = answers_file(tmp_path, "fixed0,imposible\n", "wrong.csv")
    assert main([wrong, *words]) == 2
    message = capsys.readouterr().err
    assert "wrong.csv: line 2: the answer 'imposible' is no label; expected one of" in message
