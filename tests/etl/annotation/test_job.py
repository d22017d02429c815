"""The verbs, on a lake: export -> simulated answers -> import -> finish, in each format."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest

import conf
from conf import ROOT, JobFailed, UserError
from etl.adept.splits import split_columns
from etl.annotation import job
from etl.annotation.job import export_batch, finish, import_answers, main, simulate_answers
from etl.annotation.settings import ExportSettings, FinishSettings, ImportSettings, SimulateSettings
from etl.annotation.simulate import true_label
from etl.draws import content_hash
from etl.lake import arrow, upkeep
from etl.lake.tables import table

NOUNS = ("dog", "key", "moon", "clock", "parrot", "knife", "baker", "engine", "river", "shoe")
ADJECTIVES = ("old", "false", "blue", "dead", "former", "sharp")


def items(edition="clean", is_chosen=True):
    rows = []
    for noun in NOUNS:
        for place, adjective in enumerate(ADJECTIVES):
            sentence = f"The {noun} moves {place}."
            item_id = content_hash(sentence, adjective, noun)
            row = {"item_id": item_id, "noun": noun, "adjective": adjective, "variant": 0}
            row |= {"nonsubsective": adjective in ("false", "former"), "chosen": is_chosen}
            row |= {"relation": "CapableOf", "predicate": "move", "sentence": sentence}
            row["modified_sentence"] = f"The {adjective} {noun} moves {place}."
            rows.append({**row, "edition": edition})
    return rows


def build(root, rows):
    schema = table("adept_items").schema
    arrow.append(root, "adept_items", pa.Table.from_pylist(rows, schema), job="test")


@pytest.fixture
def house(tmp_path):
    """A lake with sixty items, and shorthands for the verbs."""
    return House(tmp_path)


class House:
    def __init__(self, folder):
        self.folder = folder
        self.lake = str(folder / "lake")
        self.key = f"key={folder / 'key'}"
        build(self.lake, items())

    def export(self, name, *options, format="mturk"):
        path = self.folder / f"{name}.{'json' if format == 'label_studio' else 'csv'}"
        arguments = [f"batch={path}", f"format={format}", f"lake={self.lake}", *options]
        export_batch(conf.load(ExportSettings, arguments))
        return path

    def simulate(self, batch, *options):
        out = batch.with_name(f"answers_{batch.name}")
        arguments = [f"batch={batch}", f"out={out}", f"lake={self.lake}", *options]
        simulate_answers(conf.load(SimulateSettings, arguments))
        return out

    def take(self, path, *options):
        arguments = [f"batch={path}", f"lake={self.lake}", self.key, *options]
        import_answers(conf.load(ImportSettings, arguments))

    def finish(self, *options):
        report = self.folder / "report.json"
        arguments = [f"lake={self.lake}", f"report={report}", "models=[]", "samples=50", *options]
        finish(conf.load(FinishSettings, arguments))
        return json.loads(report.read_text(encoding="utf-8"))

    def rows(self, name):
        return arrow.read(self.lake, name).to_pylist()

    def annotate(self, name, *options, people=(), format="mturk"):
        path = self.export(name, *options, format=format)
        answers = self.simulate(path, *people)
        self.take(answers)
        return answers


@pytest.mark.parametrize("format", ["mturk", "label_studio", "csv"])
def test_a_round_trip(house, format):
    house.annotate("pilot", "round=pilot", "items=12", people=["answers=4"], format=format)
    answers = house.annotate("main", "gold=0.5", "attention=0.5", format=format)
    stored = house.rows("adept_annotations")
    kinds = Counter((row["round"], row["kind"]) for row in stored)
    assert kinds["pilot", "item"] == 4 * 12 and kinds["main", "item"] == 3 * 48
    assert kinds["main", "gold"] and kinds["main", "attention"] and not kinds["pilot", "gold"]
    assert {row["platform"] for row in stored} == {format}
    assert {row["seconds"] for row in stored} == {15.0}
    # Made-up annotators can be told from people, whose ids are 24 digits and nothing else.
    assert all(re.fullmatch("simulated-[0-9a-f]{24}", row["annotator"]) for row in stored)
    # The file of answers may be imported again.
    house.take(answers)
    assert house.rows("adept_annotations") == stored
    report = house.finish("answers=2", "attention_failures=1", "gold_share=0.5")
    rows = house.rows("adept")
    known = {row["item_id"]: row for row in items()}
    assert len(rows) > 40
    right = sum(true_label(0, row["item_id"]) == row["label"] for row in rows)
    assert right / len(rows) > 0.9
    for row in rows:
        item = known[row["item_id"]]
        words = (item["sentence"], item["modified_sentence"], item["adjective"], item["noun"])
        assert (row["sentence1"], row["sentence2"], row["modifier"], row["noun"]) == words
        splits = {key: value for key, value in row.items() if key.startswith("split_")}
        assert splits == split_columns(*words, seed=0)
    assert Counter(row["agreement"] for row in rows) == {
        "unanimous": report["labels"]["unanimous"],
        "majority": report["labels"]["majority"],
    }
    (record,) = arrow.history(house.lake, "adept")
    assert record.metadata["rules"] == "quality_v1" and record.rows == len(rows)
    dropped = {row["reason"]: row["count"] for row in house.rows("dropped")}
    assert dropped == report["dropped"]


def test_every_round_by_the_same_export_and_import(house):
    house.annotate("main", "gold=0", people=["careful=3", "noisy=0"])
    house.finish()
    dataset = {row["item_id"]: row for row in house.rows("adept")}
    val = {item for item, row in dataset.items() if row["split_random"] == "val"}
    ends = [row for row in dataset.values() if row["label"] in (0, 4)]
    two = ["careful=2", "noisy=0", "answers=2"]
    house.annotate("expert", "round=expert", "items=20", people=two, format="csv")
    one = ["careful=1", "noisy=0", "answers=1"]
    with_context = max(1, len(val) // 2)
    house.annotate("h1", "round=human", f"items={with_context}", people=one, format="csv")
    no_context = ["round=human", "condition=no_context", f"items={len(val) - with_context}"]
    house.annotate("h2", *no_context, people=one, format="csv")
    house.annotate("audit", "round=audit", people=one, format="label_studio")
    batch_rows: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in house.rows("adept_batches"):
        if row["kind"] == "item":
            batch_rows.setdefault((row["round"], row["condition"]), []).append(row)
    assert len(batch_rows["expert", "context"]) == 20
    people = [{row["item_id"] for row in batch_rows["human", c]} for c in ("context", "no_context")]
    assert people[0] | people[1] == val and not people[0] & people[1]
    for row in batch_rows["human", "no_context"]:
        labelled = dataset[row["item_id"]]
        assert row["sentence1"] == labelled["noun"]
        assert row["sentence2"] == f"{labelled['modifier']} {labelled['noun']}"
    audited = {row["item_id"]: row["expected"] for row in batch_rows["audit", "context"]}
    assert audited == {row["item_id"]: row["label"] for row in ends}
    old_rows = house.rows("adept")
    report = house.finish()
    assert house.rows("adept") == old_rows
    (pair,) = report["experts"]["pairs"]
    assert pair["items"] == 20 and 0.3 < pair["kappa"] <= 1
    assert len(report["experts"]["kappa with labels"]) == 2
    assert report["human"].keys() == {"context", "no_context"}
    assert report["human"]["context"]["answers"] == with_context
    shares = [labelled["share"] for labelled in report["audit"]["impossible"].values()]
    assert sum(shares) == pytest.approx(1)
    with pytest.raises(UserError, match=r"0 of [0-9]+ suitable items are left"):
        house.export("audit2", "round=audit")


def test_readings_of_the_rules_and_models_are_compared(house):
    pytest.importorskip("crowdkit")
    house.annotate("pilot", "round=pilot", "items=20", people=["answers=4"])
    house.annotate("main", "gold=1", "attention=1", people=["careful=5", "spammers=4"])
    report = house.finish("answers=2", "models=dawid_skene")
    readings = {(row["gold_of"], row["drop"]): row for row in report["readings"]}
    assert len(readings) == len(report["readings"]) == 4 and readings["gold", "answers"]["chosen"]
    assert readings["gold", "answers"]["items kept"] == len(house.rows("adept"))
    assert (
        readings["all", "answers"]["annotators excluded"]
        <= readings["gold", "answers"]["annotators excluded"]
    )
    assert report["models"]["dawid_skene"]["answers that count"]["same label"] > 0.7
    counted, all_answers = (report["agreement"][k] for k in ("answers that count", "all answers"))
    assert counted["alpha ordinal"]["value"] > all_answers["alpha ordinal"]["value"]


def test_one_answer_an_item_has_no_agreement(house):
    house.annotate("main", "gold=0", people=["careful=1", "noisy=0", "answers=1"])
    report = house.finish("answers=1", "agree=1")
    assert report["agreement"]["answers that count"] == {"items": 0}
    assert report["labels"]["unanimous"] == len(house.rows("adept")) == 60


def test_what_lacks_answers_is_asked_again(house):
    house.annotate("main", "gold=0", "attention=1", people=["careful=4", "spammers=2"])
    with pytest.raises(UserError, match="0 of 60 suitable items are left"):
        house.export("more", "gold=0")
    path = house.export("again", "gold=0", "attention=0.2", "lacking=1")
    # Its own answers may be on their way.
    with pytest.raises(UserError, match="0 of 0 suitable items"):
        house.export("thrice", "gold=0", "lacking=1")
    report = house.finish("answers=3")
    few = report["dropped"]["few_answers (items)"]
    fresh = ["careful=9", "answers=1", "seed=0"]
    house.take(house.simulate(path, *fresh))
    assert house.finish("answers=3")["dropped"].get("few_answers (items)", 0) < few


def filled(house, batch, labels):
    """The copies of a CSV batch that people filled in: the label of each question by its kind."""
    with open(batch, encoding="utf-8", newline="") as stream:
        questions = list(csv.DictReader(stream))
    kinds = {row["question_id"]: row["kind"] for row in house.rows("adept_batches")}
    path = batch.with_name(f"filled_{batch.name}")
    with open(path, "w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, questions[0])
        writer.writeheader()
        for person, labels_by_kind in labels.items():
            for row in questions:
                label = labels_by_kind.get(kinds[row["question_id"]])
                if label is not None:
                    writer.writerow({**row, "annotator": person, "label": label})
    return path


@pytest.mark.parametrize("second_batch", ["extra", "zextra"])
@pytest.mark.parametrize("compacted", [False, True])
def test_the_answer_of_the_earlier_batch_counts(house, second_batch, compacted):
    plain = ["gold=0", "attention=0"]
    first = house.export("main", "items=4", *plain, format="csv")
    house.take(filled(house, first, {"ann": {"item": 0}, "bob": {"item": 0}}))
    second = house.export(second_batch, "lacking=1", *plain, format="csv")
    house.take(filled(house, second, {"ann": {"item": 4}, "dan": {"item": 4}}))
    house.export("more", "items=4", *plain, format="csv")
    if compacted:
        upkeep.compact(house.lake, table("adept_batches"))
        assert len(arrow.files(house.lake, "adept_batches")) == 1
    report = house.finish()
    assert {row["label"] for row in house.rows("adept")} == {0}
    assert arrow.history(house.lake, "adept")[0].metadata["made_of"] == "Labels of 3 annotators."
    assert report["dropped"]["answered_twice (answers)"] == 4


def test_items_lack_answers_by_the_answers_of_their_own_edition(house):
    # The same three people answer the sixty items of each edition: no one is beyond the limit.
    others = [
        {**row, "edition": "other", "item_id": content_hash("other", row["item_id"])}
        for row in items()
    ]
    build(house.lake, others)
    for edition in ("clean", "other"):
        house.annotate(edition, f"edition={edition}", "gold=0", people=["careful=3", "noisy=0"])
        assert "beyond_limit (answers)" not in house.finish(f"edition={edition}")["dropped"]
    for count in (1, 2, 3):
        with pytest.raises(UserError, match="0 of 0 suitable items"):
            house.export("more", "edition=clean", "gold=0", f"lacking={count}")


def test_a_batch_is_written_once_and_again_on_request(house):
    path = house.export("main", "gold=0", "items=20")
    batch_rows = house.rows("adept_batches")
    text = path.read_text(encoding="utf-8")
    with pytest.raises(UserError, match=r"'main' was exported already \(round main, .*again=true"):
        house.export("main", "gold=0")
    path.unlink()
    house.export("main", "again=true")
    assert path.read_text(encoding="utf-8") == text and house.rows("adept_batches") == batch_rows
    with pytest.raises(UserError, match="no batch 'other'"):
        house.export("other", "again=true")
    (house.folder / "next.csv").write_text("mine")
    with pytest.raises(UserError, match=r"next\.csv already exists"):
        house.export("next", "gold=0")
    # The rest of the items, and no other.
    house.export("rest", "gold=0")
    ids = [row["item_id"] for row in house.rows("adept_batches") if row["kind"] == "item"]
    assert len(ids) == len(set(ids)) == 60
    assert not {p.suffix for p in house.folder.iterdir()} & {".part"}


def test_the_same_seed_the_same_batch(tmp_path):
    texts = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        seeded = House(tmp_path / name)
        texts.append(seeded.export("main", "gold=0", "items=20", f"seed={seed}").read_text())
    assert texts[0] == texts[1] != texts[2]


def test_other_items_than_those_that_were_asked(house):
    house.annotate("main", "gold=0", people=["careful=3", "noisy=0"])
    rows = [row for row in items() if row["noun"] != "dog"]
    new = pa.Table.from_pylist(rows, table("adept_items").schema)
    arrow.replace(house.lake, "adept_items", new, {"edition": "clean"}, job="test")
    assert house.finish()["dropped"]["item_gone (answers)"] == 18
    # An edition that shares items shares their answers.
    build(house.lake, [row for row in items("mine") if row["noun"] == "key"])
    house.finish("edition=mine")
    my_rows = [row for row in house.rows("adept") if row["edition"] == "mine"]
    assert my_rows and {row["noun"] for row in my_rows} == {"key"}


def test_only_chosen_variants_are_labelled(house):
    """Also where another edition has asked about the variants that this one did not choose."""
    house.annotate("main", "gold=0", people=["careful=3", "noisy=0"])
    rows = [row | {"chosen": row["adjective"] == "old"} for row in items("mine")]
    build(house.lake, rows)
    house.finish("edition=mine")
    mine = [row for row in house.rows("adept") if row["edition"] == "mine"]
    assert {row["modifier"] for row in mine} == {"old"}
    chosen = pa.Table.from_pylist(rows, table("adept_items").schema)
    clean = chosen.set_column(
        chosen.column_names.index("edition"), "edition", [["clean"] * chosen.num_rows]
    )
    arrow.replace(house.lake, "adept_items", clean, {"edition": "clean"}, job="test")
    assert house.finish()["dropped"]["item_gone (answers)"] == 150


def test_a_batch_that_cannot_be_written_is_not_exported(house):
    (house.folder / "file").write_text("")
    with pytest.raises(UserError, match=r"file/main\.csv: |file/main\.preview\.html: "):
        house.export("file/main", "gold=0")
    assert not arrow.tables(house.lake).count("adept_batches")
    house.export("main", "gold=0")


def test_only_chosen_variants_are_asked(house):
    build(house.lake, items("other", is_chosen=False))
    with pytest.raises(UserError, match="edition=other: 0 of 0 suitable items are left"):
        house.export("main", "gold=0", "edition=other")
    with pytest.raises(
        UserError, match=r"round=pilot .*: 60 of 60 suitable items are left .*; expected 61"
    ):
        house.export("pilot", "round=pilot", "items=61")


def test_items_of_a_file_in_its_order(house):
    build(house.lake, items("other"))
    rows = items()
    path = house.folder / "uncertain.tsv"
    lines = [f"{row['item_id']}\tclean\t0.9" for row in rows[40:10:-1]]
    lines.insert(0, f"{rows[55]['item_id']}\tother\t0.99")
    lines.insert(1, "gone\tclean\t0.98")
    path.write_text("\n".join(["item_id\tedition\tentropy", *lines, lines[3]]) + "\n")
    house.export("pilot", "round=pilot", "items=2", "attention=0", f"ids={path}")

    def batch_items() -> set[str]:
        return {r["item_id"] for r in house.rows("adept_batches") if r["kind"] == "item"}

    assert batch_items() == {row["item_id"] for row in rows[39:41]}
    # Those that were asked are not asked again.
    house.export("main", "gold=0", "attention=0", f"ids={path}")
    assert batch_items() == {row["item_id"] for row in rows[11:41]}
    with pytest.raises(UserError, match="0 of 30 suitable items are left"):
        house.export("again", "gold=0", f"ids={path}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "No such file or directory"),
        ("", "line 1 has no column item_id, it has nothing"),
        ("id,label\na,1\n", "line 1 has no column item_id, it has id, label"),
        ("item_id,edition\na,clean\n,clean\n", "line 3 has no item_id"),
        ("item_id,edition\na,other\n", "no item of edition=clean"),
        (f"item_id\n{'a' * 200_000}\n", "line 2: field larger than field limit"),
        ("item_id\na,b\n", "line 2: more fields than the 1 columns"),
    ],
)
def test_files_of_items_that_are_none(house, text, message):
    path = house.folder / "ids.csv"
    if text is not None:
        path.write_text(text)
    with pytest.raises(UserError, match=rf"ids={path}: {message}"):
        house.export("main", "gold=0", f"ids={path}")


def test_more_items_than_there_are(house):
    with pytest.raises(
        UserError, match=r"60 of 60 suitable items are left \(0 are already in batches"
    ):
        house.export("main", "gold=0", "items=61")


def test_what_is_not_there_yet(house):
    with pytest.raises(UserError, match="no gold items; expected answers of a pilot"):
        house.export("main")
    with pytest.raises(UserError, match=r"edition=none: not in adept_items .* one of clean"):
        house.export("main", "edition=none")
    with pytest.raises(UserError, match="no table adept in lake"):
        house.export("expert", "round=expert")
    with pytest.raises(UserError, match="edition=clean: no answers of round pilot or main"):
        house.finish()
    path = house.folder / "in.csv"
    path.write_text("question_id,annotator,label\nq,ann,1\n")
    with pytest.raises(UserError, match="no batch was exported from it"):
        house.take(path)
    batch = house.export("main", "gold=0")
    with pytest.raises(UserError, match="line 2: question 'q' is in no batch"):
        house.take(path)
    assert arrow.version(house.lake, "adept_annotations") is None
    with pytest.raises(UserError, match=r"(\d+) of its \1 pages were not exported"):
        House(house.folder / "b").simulate(batch)


def test_the_key_must_be_the_same(house):
    path = house.export("main", "gold=0", format="csv")
    answers = house.simulate(path)
    house.take(answers)
    other = house.folder / "other"
    with pytest.raises(UserError, match="the key file of the earlier imports"):
        house.take(answers, f"key={other}")
    other.write_text("another key of many bytes")
    with pytest.raises(UserError, match="not the key of the earlier imports"):
        house.take(answers, f"key={other}")
    with pytest.raises(UserError, match="is in lake="):
        house.take(answers, f"key={house.lake}/key")


def test_answers_that_come_by_and_by(house):
    path = house.export("main", "gold=0", format="csv")
    answers = house.simulate(path)
    lines = answers.read_text(encoding="utf-8").splitlines(keepends=True)
    half = house.folder / "half.csv"
    half.write_text("".join(lines[:40]), encoding="utf-8")
    house.take(half)
    assert len(house.rows("adept_annotations")) == 39
    house.take(answers)
    assert len(house.rows("adept_annotations")) == len(lines) - 1
    with half.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    rows[3]["label"] = str((int(rows[3]["label"]) + 1) % 5)
    with half.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    with pytest.raises(UserError, match=r"line 5: question .* in an earlier import"):
        house.take(half)


def test_two_imports_at_once(house, monkeypatch):
    answers = house.simulate(house.export("main", "gold=0", format="csv"))
    house.take(answers)
    # The second one planned before the first one was through.
    monkeypatch.setattr(job, "_stored_labels", lambda lake: {})
    monkeypatch.setattr(job, "_transaction_number", lambda base: 0)
    with pytest.raises(JobFailed, match="another import ran at the same time"):
        house.take(answers)


def test_rules_that_leave_nothing(house):
    house.annotate("main", "gold=0", people=["careful=3"])
    with pytest.raises(JobFailed, match=r"the rules leave no item .*few_answers"):
        house.finish("answers=4")
    assert arrow.version(house.lake, "adept") is None


@pytest.mark.parametrize(
    ("cls", "arguments", "message"),
    [
        (ExportSettings, ["batch=b.txt"], "expected a name that ends in .csv"),
        (ExportSettings, ["batch=b.csv", "items=0"], "items=0: expected 1 or more"),
        (ExportSettings, ["batch=b.csv", "gold=2"], "expected a share"),
        (ExportSettings, ["batch=b.csv", "condition=no_context"], "expected round=human"),
        (ExportSettings, ["batch=b.csv", "round=audit", "gold=1"], "expected gold=0"),
        (ExportSettings, ["batch=b.csv", "round=pilot", "lacking=1"], "round=main"),
        (ExportSettings, ["batch=b.csv", "lacking=4"], "expected 1 to 3"),
        (FinishSettings, ["agree=4"], "agree=4: expected answers=3 or fewer"),
        (FinishSettings, ["rounds=[]"], "expected pilot or main"),
        (FinishSettings, ["gold_share=2"], "expected a share"),
        (FinishSettings, ["samples=0"], "samples=0: expected 1 or more"),
        (SimulateSettings, ["batch=b.csv", "out=o.csv", "noisy=-1"], "noisy=-1: expected 0"),
    ],
)
def test_mistakes_of_the_user(cls, arguments, message):
    with pytest.raises(UserError, match=message):
        conf.load(cls, arguments)


def test_verbs(capsys):
    assert main(["--help"]) == 0
    assert "simulate" in capsys.readouterr().out
    assert main(["finish", "--help"]) == 0
    assert "gold_of  (gold|all; default 'gold')" in capsys.readouterr().out
    for words, got in (([], "got no verb"), (["drop"], "got 'drop'")):
        assert main(words) == 2
        assert got in capsys.readouterr().err


def test_the_script_runs_from_any_folder_without_spark(house, tmp_path):
    code = (
        "import sys, runpy; sys.argv = sys.argv[1:]\n"
        "try: runpy.run_path(sys.argv[0], run_name='__main__')\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        "assert 'pyspark' not in sys.modules and 'torch' not in sys.modules"
    )
    script = str(ROOT / "etl" / "annotate_adept.py")
    words = [script, "export", "batch=main.csv", "gold=0", f"lake={house.lake}"]
    run = subprocess.run([sys.executable, "-c", code, *words], cwd=tmp_path, check=False)
    assert run.returncode == 0 and (tmp_path / "main.html").exists()
