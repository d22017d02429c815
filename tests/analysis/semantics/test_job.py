import json
from typing import Any

import pytest

from adnominal import conf
from adnominal.analysis.semantics.job import Settings, run_form, run_items, score, text_items
from adnominal.conf import UserError
from adnominal.etl.sygns.generate import Record, Sampler
from adnominal.etl.sygns.grammar import grammar
from adnominal.etl.sygns.job import record_batch
from tests import fork_server
from tests.commands import run_python
from tests.rows import rows, write

GOLD = (
    "sentence_id\tsentence\tdepth\tphenomena\tvf\n"
    'a\tevery wild cat ran\t0\t["sbj_quant", "adjective"]\tALL AND CAT WILD RUN\n'
    "b\ttwo dogs ran\t0\t[]\tTWO DOG RUN\n"
)


def sentences(depth: int) -> list[Record]:
    return list(Sampler(grammar("clean", 5, 5), depth, seed=0).records(range(3)))


@pytest.fixture
def files(tmp_path):
    gold, predicted = tmp_path / "gold.tsv", tmp_path / "predicted.txt"
    gold.write_text(GOLD)
    predicted.write_text("ALL CAT RUN\nTWO DOG RUN\n")
    return gold, predicted


def test_meanings_of_two_files_are_scored(files, tmp_path, capsys):
    gold, predicted = files
    arguments = [f"gold={gold}", f"predicted={predicted}", "form=vf", "prover=none"]
    score(conf.load(Settings, [*arguments, f"out={tmp_path}/out"]))
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].split() == ["class", "items", "exact", "F", "up", "F", "down"]
    assert printed[1].split() == ["all", "2", "50.0", "100.0", "66.7"]
    assert {line.split("  ")[0] for line in printed[1:]} >= {"quantifier UNI", "modifier ADJ"}
    summaries = json.loads((tmp_path / "out" / "scores.json").read_text())
    assert summaries[0]["exact"] == 0.5
    rows = [json.loads(line) for line in (tmp_path / "out" / "items.jsonl").open()]
    assert [row["item_id"] for row in rows] == ["a", "b"]


def test_byte_order_marks_are_ignored(files):
    gold, predicted = files
    for file in files:
        file.write_text("\ufeff" + file.read_text(), encoding="utf-8")
    assert text_items(gold, predicted, "vf")[0].predicted == "ALL CAT RUN"


def test_plain_lines_have_no_classes(tmp_path, capsys):
    for name in ("gold.txt", "predicted.txt"):
        (tmp_path / name).write_text("b1 REF x1 [SEP] b1 dog x1\n")
    score(
        conf.load(
            Settings,
            [f"gold={tmp_path}/gold.txt", f"predicted={tmp_path}/predicted.txt", "form=drs"],
        )
    )
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["all", "1", "100.0", "100.0", "100.0", "100.0", "100.0", "0"]
    assert len(lines) == 2


def test_tags_of_the_release_are_understood(tmp_path):
    (tmp_path / "gold.tsv").write_text(
        "id\tdepth\tsentence\tvf\ttags\n1\t0\tann ran\tEXIST ANN RUN\tnegation:no;adverb:yes\n"
    )
    (tmp_path / "predicted.txt").write_text("EXIST ANN RUN\n")
    (item,) = text_items(tmp_path / "gold.tsv", tmp_path / "predicted.txt", "vf")
    assert (item.item_id, item.phenomena, item.depth) == ("1", ("adverb",), 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("form=vf", "expected either gold=FILE"),
        ("form=vf gold={gold} predicted={predicted} run=7", "expected either gold=FILE"),
        ("form=amr gold={gold} predicted={predicted}", "expected one of fol, drs, vf"),
        ("form=fol gold={gold} predicted={predicted}", "no column 'fol'; it has sentence_id"),
        ("form=vf gold={gold} predicted=nowhere", "nowhere: no such file"),
        ("form=vf gold={gold} predicted={gold}", "2 meanings, .* 3; expected as many"),
        ("form=vf gold={gold} predicted={predicted} prover=spass", "expected some of eprover"),
        ("gold={gold} predicted={predicted}", "form is missing: expected form= with one of fol"),
        ("form=vf gold={gold} predicted={predicted} seconds=0", "expected more than 0"),
        ("form=fol gold={predicted} predicted={predicted}", "a gold meaning cannot be read"),
        ("form=vf gold={gold} predicted={predicted} workers=-1", "workers=-1: expected 1 or more"),
        ("form=vf gold={gold} predicted={predicted} rounding=-1", "rounding=-1: expected 0 or"),
    ],
)
def test_mistakes_are_reported(files, arguments, message):
    gold, predicted = files
    words = arguments.format(gold=gold, predicted=predicted).split()
    with pytest.raises(UserError, match=message):
        score(conf.load(Settings, words))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("b\ttwo dogs ran\t0\t[]\t", "b\ttwo dogs ran\t", "line 3: 3 cells; expected 5, as in the"),
        (
            "[]",
            "[bad",
            r"line 3: phenomenon '\[bad'; expected a JSON list, or names with commas, of",
        ),
        ("[]", "quantity", "line 3: phenomenon 'quantity'"),
        ("[]", "[7]", "line 3: phenomenon 7"),
        ("ran\t0\t[]", "ran\t0.0\t[]", "line 3: depth '0.0'; expected a whole number"),
        ("two", "tw\xf6", "not UTF-8 at byte 115"),
    ],
)
def test_broken_lines_are_reported_by_number(files, old, new, message):
    gold, predicted = files
    gold.write_bytes(GOLD.replace(old, new).encode("latin-1"))
    with pytest.raises(UserError, match=message):
        text_items(gold, predicted, "vf")


def test_quoted_cells_are_read(files):
    import pandas as pd

    gold, predicted = files
    items = text_items(gold, predicted, "vf")
    frame = pd.read_csv(gold, sep="\t")
    frame.to_csv(gold, sep="\t", index=False)
    assert '"[""sbj_quant"", ""adjective""]"' in gold.read_text()
    assert text_items(gold, predicted, "vf") == items


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["\u2028", "\x85", "\x0b", "\x0c"])
def test_lines_end_only_at_line_feeds(files, mark, end):
    gold, predicted = files
    predicted.write_bytes(f"ALL CAT{mark}RUN{end}TWO DOG RUN{end}".encode())
    gold.write_bytes(GOLD.replace("CAT WILD", f"CAT{mark}WILD").replace("\n", end).encode())
    assert [(item.gold, item.predicted) for item in text_items(gold, predicted, "vf")] == [
        (f"ALL AND CAT{mark}WILD RUN", f"ALL CAT{mark}RUN"),
        ("TWO DOG RUN", "TWO DOG RUN"),
    ]


def test_an_output_folder_that_is_a_file_is_reported_before_work_starts(files, monkeypatch):
    gold, predicted = files
    monkeypatch.setattr(
        "adnominal.analysis.semantics.job.evaluate", lambda *_, **__: pytest.fail("worked")
    )
    arguments = [f"gold={gold}", f"predicted={predicted}", "form=vf", f"out={gold}"]
    with pytest.raises(UserError, match="File exists"):
        score(conf.load(Settings, arguments))


def test_predictions_of_a_run_are_read(tmp_path):
    lake = str(tmp_path / "lake")
    first, second, *_ = records = sentences(depth=1)
    write(lake, "sygns", record_batch(records, "clean").to_pylist())
    predictions = rows(
        "run_id item_id text predicted",
        ("r1", first.sentence_id, first.vf, None),
        ("r1", second.sentence_id, None, "ALL DOG RUN"),
        ("r2", "0123", None, None),
        task="sygns",
        edition="clean",
    )
    write(lake, "predictions", predictions)
    items = run_items(lake, "r1", "vf")
    assert {(i.gold, i.predicted) for i in items} == {
        (first.vf, first.vf),
        (second.vf, "ALL DOG RUN"),
    }
    assert {i.depth for i in items} == {1}
    with pytest.raises(UserError, match="item 0123 is not in the table sygns"):
        run_items(lake, "r2", "vf")
    with pytest.raises(UserError, match="run=r3: no rows"):
        run_items(lake, "r3", "vf")
    with pytest.raises(UserError, match="run=r1: predictions of sygns; expected a run on SyGNS"):
        run_form(lake, "r1")


def test_parts_of_a_run_are_scored_separately(tmp_path, capsys):
    lake = str(tmp_path / "lake")
    records = sentences(depth=0)
    write(lake, "sygns", record_batch(records, "clean").to_pylist())
    split: Any = {"scheme": "systematicity", "edition": "clean"}
    for record, part in zip(records, ("test", "val", "test"), strict=True):
        item = record.sentence_id
        parts = [("one", part, item), ("two", "train", item)]
        write(lake, "sygns_splits", rows("primitive part sentence_id", *parts, **split))
        answer = ("r1", "sygns_vf", "one", item, record.vf)
        write(lake, "predictions", rows("run_id task fold item_id text", answer, **split))
    sizes = {part: len(run_items(lake, "r1", "vf", part)) for part in ("test", "val", "all")}
    assert sizes == {"test": 2, "val": 1, "all": 3}
    items = run_items(lake, "r1", "vf", "test")
    assert [item.item_id for item in items] == sorted(item.item_id for item in items)
    with pytest.raises(UserError, match="part=train: run=r1 has none; its rows are of test, val"):
        run_items(lake, "r1", "vf", "train")
    with pytest.raises(UserError, match="form=fol: run=r1 predicted vf; write form=vf"):
        run_items(lake, "r1", "fol")
    assert run_form(lake, "r1") == "vf"
    score(conf.load(Settings, ["run=r1", f"lake={lake}", "prover=none"]))
    assert capsys.readouterr().out.splitlines()[1].split()[:3] == ["all", "2", "100.0"]


def test_the_command_line_scores_and_reports_mistakes(files):
    gold, predicted = files
    command = ("-m", "analysis.semantics", "form=vf", f"gold={gold}")
    python = fork_server.python("libraries")
    words = (*command, f"predicted={predicted}", "prover=none")
    assert "all" in run_python(*words, python=python).stdout
    refused = run_python(*command, python=python, code=2)
    assert refused.stderr.startswith("error: expected either gold=FILE")
