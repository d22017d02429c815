"""The verbs, on a lake: export -> simulated answers -> import -> finish, in each format."""

import re
import subprocess
import sys
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest

from adnominal import conf
from adnominal.conf import ROOT, JobFailed, UserError
from adnominal.etl.adept.annotation_task import ADEPT
from adnominal.etl.adept.splits import split_columns
from adnominal.etl.annotation.job import main
from adnominal.etl.annotation.settings import ExportSettings, FinishSettings, SimulateSettings
from adnominal.etl.annotation.simulate import true_label
from adnominal.etl.draws import content_hash
from adnominal.etl.lake import arrow
from adnominal.etl.lake.tables import table
from tests.etl.annotation.study import Study, items, read_csv, write_csv
from tests.rows import write


@pytest.mark.parametrize("format", ["mturk", "label_studio", "csv"])
def test_answers_make_a_round_trip_in_every_format(study, format):
    study.annotate("pilot", "round=pilot", "items=12", people=["answers=4"], format=format)
    answers = study.annotate("main", "gold=0.5", "attention=0.5", format=format)
    stored = study.rows("adept_annotations")
    kinds = Counter((row["round"], row["kind"]) for row in stored)
    assert kinds["pilot", "item"] == 4 * 12 and kinds["main", "item"] == 3 * 48
    assert kinds["main", "gold"] and kinds["main", "attention"] and not kinds["pilot", "gold"]
    assert {row["platform"] for row in stored} == {format}
    assert {row["seconds"] for row in stored} == {15.0}
    # Simulated annotators are distinguishable from people, whose ids are 24 digits only.
    assert all(re.fullmatch("simulated-[0-9a-f]{24}", row["annotator"]) for row in stored)
    # The file of answers may be imported again.
    study.import_answers(answers)
    assert study.rows("adept_annotations") == stored
    report = study.finish("answers=2", "attention_failures=1", "gold_share=0.5")
    rows = study.rows("adept")
    known = {row["item_id"]: row for row in items()}
    assert len(rows) > 40
    right = sum(true_label(ADEPT, 0, row["item_id"]) == row["label"] for row in rows)
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
    _check_votes(study, rows)
    (record,) = arrow.history(study.lake, "adept")
    assert record.metadata["rules"] == "quality_v4" and record.rows == len(rows)
    dropped = {row["reason"]: row["count"] for row in study.rows("dropped")}
    assert dropped == report["dropped"]


def _check_votes(study, rows):
    """The votes of each item are those of its annotators, who are simulated."""
    votes: dict[str, Counter[str]] = {row["item_id"]: Counter() for row in rows}
    for row in study.rows("label_votes"):
        assert (row["dataset"], row["edition"]) == ("adept", "clean")
        assert row["source"] == "simulated-annotators"
        votes[row["item_id"]][row["label"]] += row["votes"]
    for row in rows:
        of_item = votes[row["item_id"]]
        assert of_item.total() >= 2
        assert of_item.most_common(1)[0][0] == ADEPT.labels[row["label"]]
        assert (len(of_item) == 1) == (row["agreement"] == "unanimous")


def test_all_rounds_use_the_same_export_and_import(study):
    study.annotate("main", "gold=0", people=["careful=3", "noisy=0"])
    study.finish()
    dataset = {row["item_id"]: row for row in study.rows("adept")}
    val = {item for item, row in dataset.items() if row["split_random"] == "val"}
    ends = [row for row in dataset.values() if row["label"] in (0, 4)]
    two_people = ["careful=2", "noisy=0", "answers=2"]
    study.annotate("expert", "round=expert", "items=20", people=two_people, format="csv")
    one_person = ["careful=1", "noisy=0", "answers=1"]
    with_context = max(1, len(val) // 2)
    study.annotate("h1", "round=human", f"items={with_context}", people=one_person, format="csv")
    no_context = ["round=human", "condition=no_context", f"items={len(val) - with_context}"]
    study.annotate("h2", *no_context, people=one_person, format="csv")
    study.annotate("audit", "round=audit", people=one_person, format="label_studio")
    batch_rows: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in study.rows("adept_batches"):
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
    old_rows = study.rows("adept")
    study.finish()
    assert study.rows("adept") == old_rows
    stored = Counter(
        (row["round"], row["condition"], row["kind"]) for row in study.rows("adept_annotations")
    )
    assert stored["expert", "context", "item"] == 2 * 20
    assert stored["human", "context", "item"] == with_context
    assert stored["human", "no_context", "item"] == len(val) - with_context
    assert stored["audit", "context", "item"] == len(ends)
    with pytest.raises(UserError, match=r"0 of [0-9]+ suitable items are left"):
        study.export("audit2", "round=audit")


def test_an_audit_takes_both_extreme_labels_in_turn(study):
    labels = {f"i{at}": 0 for at in range(40)} | dict.fromkeys("abc", 4) | {"x": 2}
    texts = {"sentence1": "s", "sentence2": "t", "modifier": "old", "noun": "dog"}
    rows = [{**texts, "item_id": item, "label": label} for item, label in labels.items()]
    write(study.lake, "adept", [{**row, "edition": "clean"} for row in rows])
    study.export("audit", "round=audit", "items=4")
    assert Counter(row["expected"] for row in study.rows("adept_batches")) == {0: 2, 4: 2}


def test_the_rules_improve_agreement_and_models_agree_with_the_majority(study):
    study.annotate("pilot", "round=pilot", "items=20", people=["answers=4"])
    study.annotate("main", "gold=1", "attention=1", people=["careful=5", "spammers=4"])
    report = study.finish("answers=2", "models=dawid_skene")
    assert report["models"]["dawid_skene"]["answers that count"]["same label"] > 0.7
    counted, all_answers = (report["agreement"][k] for k in ("answers that count", "all answers"))
    assert counted["alpha ordinal"] > all_answers["alpha ordinal"]
    assert report["labels"]["unanimous"] + report["labels"]["majority"] == len(study.rows("adept"))


def test_one_answer_per_item_has_no_agreement(study):
    study.annotate("main", "gold=0", people=["careful=1", "noisy=0", "answers=1"])
    report = study.finish("answers=1", "agree=1")
    assert report["agreement"]["answers that count"] == {"items": 0}
    assert report["labels"]["unanimous"] == len(study.rows("adept")) == 60


def filled(study, batch, label, people):
    """Write a CSV batch as people fill it in, with one label for everything; its path."""
    rows = []
    for person in people:
        for row in read_csv(batch):
            labels = {name: label for name in row if name.startswith("label_")}
            rows.append({**row, **labels, "annotator": person})
    return write_csv(batch.with_name(f"filled_{batch.name}"), rows)


def test_another_annotator_of_the_same_batch_replaces_lost_answers(study):
    batch = study.export("main", "items=4", "gold=0", "attention=0", format="csv")
    study.import_answers(filled(study, batch, 0, ["ann", "bob"]))
    with pytest.raises(JobFailed, match=r"the rules leave no item \(4 few_answers"):
        study.finish()
    study.import_answers(filled(study, batch, 0, ["dan"]))
    assert study.finish()["labels"]["unanimous"] == 4
    assert {row["label"] for row in study.rows("adept")} == {0}
    assert arrow.history(study.lake, "adept")[0].metadata["made_of"] == "Labels of 3 annotators."


def test_limits_hold_for_the_items_of_each_edition(study):
    # The same three people answer the sixty items of each edition, which exceeds nobody's limit.
    others = [
        {**row, "edition": "other", "item_id": content_hash("other", row["item_id"])}
        for row in items()
    ]
    write(study.lake, "adept_items", others)
    for edition in ("clean", "other"):
        study.annotate(edition, f"edition={edition}", "gold=0", people=["careful=3", "noisy=0"])
        assert "beyond_limit (answers)" not in study.finish(f"edition={edition}")["dropped"]


def test_a_batch_is_written_once_and_again_on_request(study):
    path = study.export("main", "gold=0", "items=20")
    batch_rows = study.rows("adept_batches")
    text = path.read_text(encoding="utf-8")
    with pytest.raises(UserError, match=r"'main' was exported already \(round main, .*again=true"):
        study.export("main", "gold=0")
    path.unlink()
    study.export("main", "again=true")
    assert path.read_text(encoding="utf-8") == text and study.rows("adept_batches") == batch_rows
    for word in ("format=csv", "round=pilot"):
        with pytest.raises(UserError, match=f"{word} again=true: the batch 'main' was exported"):
            study.export("main", "again=true", word)
    with pytest.raises(UserError, match="no batch 'other'"):
        study.export("other", "again=true")
    (study.folder / "next.csv").write_text("mine")
    with pytest.raises(UserError, match=r"next\.csv already exists"):
        study.export("next", "gold=0")
    # The next batch has the other items and none of these.
    study.export("rest", "gold=0")
    ids = [row["item_id"] for row in study.rows("adept_batches") if row["kind"] == "item"]
    assert len(ids) == len(set(ids)) == 60
    assert not {p.suffix for p in study.folder.iterdir()} & {".part"}


def test_the_same_seed_gives_the_same_batch(tmp_path):
    texts = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        seeded = Study(tmp_path / name)
        texts.append(seeded.export("main", "gold=0", "items=20", f"seed={seed}").read_text())
    assert texts[0] == texts[1] != texts[2]


def test_answers_count_for_the_items_that_an_edition_has_now(study):
    study.annotate("main", "gold=0", people=["careful=3", "noisy=0"])
    rows = [row for row in items() if row["noun"] != "dog"]
    new = pa.Table.from_pylist(rows, table("adept_items").schema)
    arrow.replace(study.lake, "adept_items", new, {"edition": "clean"}, job="test")
    assert study.finish()["dropped"]["item_gone (answers)"] == 18
    # An edition that shares items shares their answers.
    write(study.lake, "adept_items", [row for row in items("mine") if row["noun"] == "key"])
    study.finish("edition=mine")
    my_rows = [row for row in study.rows("adept") if row["edition"] == "mine"]
    assert my_rows and {row["noun"] for row in my_rows} == {"key"}


def test_only_chosen_variants_are_labelled(study):
    """Other variants are not, even if another edition has answers to them."""
    study.annotate("main", "gold=0", people=["careful=3", "noisy=0"])
    rows = [row | {"chosen": row["adjective"] == "old"} for row in items("mine")]
    write(study.lake, "adept_items", rows)
    study.finish("edition=mine")
    mine = [row for row in study.rows("adept") if row["edition"] == "mine"]
    assert {row["modifier"] for row in mine} == {"old"}
    variants = pa.Table.from_pylist(rows, table("adept_items").schema)
    clean = variants.set_column(
        variants.column_names.index("edition"), "edition", [["clean"] * variants.num_rows]
    )
    arrow.replace(study.lake, "adept_items", clean, {"edition": "clean"}, job="test")
    assert study.finish()["dropped"]["item_gone (answers)"] == 150


def test_a_batch_that_cannot_be_written_is_not_exported(study):
    (study.folder / "file").write_text("")
    for folder in (study.folder / "file", "/proc"):
        with pytest.raises(UserError, match=r"batch=.*/main\.csv: .*; expected a file in a folder"):
            study.export(f"{folder}/main", "gold=0")
    assert not arrow.tables(study.lake).count("adept_batches")
    batch = study.export("main", "gold=0")
    with pytest.raises(UserError, match=r"out=/proc/answers\.csv: .*; expected a file"):
        study.simulate(batch, "out=/proc/answers.csv")
    with pytest.raises(UserError, match="report=/proc: a folder; expected the name of a file"):
        study.finish("report=/proc")


def test_only_chosen_variants_are_exported(study):
    write(study.lake, "adept_items", items("other", is_chosen=False))
    with pytest.raises(UserError, match="edition=other: 0 of 0 suitable items are left"):
        study.export("main", "gold=0", "edition=other")
    message = "round=pilot .*: 60 of 60 suitable items are left .*; expected 61"
    with pytest.raises(UserError, match=message):
        study.export("pilot", "round=pilot", "items=61")


def test_more_items_than_are_left_are_refused(study):
    message = r"60 of 60 suitable items are left \(0 are already in batches"
    with pytest.raises(UserError, match=message):
        study.export("main", "gold=0", "items=61")


def test_missing_tables_batches_and_questions_are_reported(study):
    with pytest.raises(UserError, match=r"no gold items .*expected answers of a pilot"):
        study.export("main")
    with pytest.raises(UserError, match=r"edition=none: not in adept_items .* one of clean"):
        study.export("main", "edition=none")
    with pytest.raises(UserError, match="no table adept in lake"):
        study.export("expert", "round=expert")
    with pytest.raises(UserError, match="edition=clean: no answers of round pilot or main"):
        study.finish()
    path = study.folder / "in.csv"
    path.write_text("question_1,annotator,label_1\nq,ann,1\n")
    with pytest.raises(UserError, match="no batch was exported from it"):
        study.import_answers(path)
    batch = study.export("main", "gold=0")
    with pytest.raises(UserError, match="line 2: question 'q' is in no batch"):
        study.import_answers(path)
    assert arrow.version(study.lake, "adept_annotations") is None
    with pytest.raises(UserError, match="no batch 'main' was exported from lake="):
        Study(study.folder / "b").simulate(batch)


def test_rules_that_leave_no_item_fail(study):
    study.annotate("main", "gold=0", people=["careful=3"])
    with pytest.raises(JobFailed, match=r"the rules leave no item .*few_answers"):
        study.finish("answers=4")
    assert arrow.version(study.lake, "adept") is None


@pytest.mark.parametrize(
    ("cls", "arguments", "message"),
    [
        (ExportSettings, ["batch=b.txt"], "expected a name that ends in .csv"),
        (ExportSettings, ["batch=b.csv", "items=0"], "items=0: expected 1 or more"),
        (ExportSettings, ["batch=b.csv", "gold=2"], "expected a share"),
        (ExportSettings, ["batch=b.csv", "condition=no_context"], "expected round=human"),
        (ExportSettings, ["batch=b.csv", "round=audit", "gold=1"], "expected gold=0"),
        (ExportSettings, ["batch=b.csv", "gold=1", "per_page=1"], "no room for items"),
        (FinishSettings, ["agree=4"], "agree=4: expected answers=3 or fewer"),
        (FinishSettings, ["gold_share=2"], "expected a share"),
        (FinishSettings, ["per_person=0"], "per_person=0: expected 1 or more"),
        (SimulateSettings, ["batch=b.csv", "out=o.csv", "noisy=-1"], "noisy=-1: expected 0"),
    ],
)
def test_wrong_settings_are_refused(cls, arguments, message):
    with pytest.raises(UserError, match=message):
        conf.load(cls, arguments)


def test_help_lists_verbs_and_settings(capsys):
    assert main(["--help"]) == 0
    assert "simulate" in capsys.readouterr().out
    assert main(["finish", "--help"]) == 0
    assert "gold_share  (number; default 0.1)" in capsys.readouterr().out
    for words, message in (([], "got no verb"), (["drop"], "got 'drop'")):
        assert main(words) == 2
        assert message in capsys.readouterr().err


def test_the_script_runs_from_any_folder_without_spark(study, tmp_path):
    code = (
        "import sys, runpy; sys.argv = sys.argv[1:]\n"
        "try: runpy.run_path(sys.argv[0], run_name='__main__')\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        "assert 'pyspark' not in sys.modules and 'torch' not in sys.modules"
    )
    script = str(ROOT / "etl" / "annotate_adept.py")
    words = [script, "export", "batch=main.csv", "gold=0", f"lake={study.lake}"]
    run = subprocess.run([sys.executable, "-c", code, *words], cwd=tmp_path, check=False)
    assert run.returncode == 0 and (tmp_path / "main.html").exists()


def test_consent_and_contact_may_be_files(study, tmp_path):
    (tmp_path / "consent.txt").write_text("I take part.\n", encoding="utf-8")
    (tmp_path / "empty.txt").write_text("\n", encoding="utf-8")
    consent = f"consent={tmp_path / 'consent.txt'}"
    path = study.export("main", "gold=0", consent, "contact=Ask ann@example.org.")
    layout = path.with_suffix(".html")
    assert "<p>I take part.</p>" in layout.read_text(encoding="utf-8")
    layout.unlink()
    study.export("main", "gold=0", "again=true", "contact=Ask bob@example.org.")
    text = layout.read_text(encoding="utf-8")
    assert "I take part." not in text and "Ask bob@example.org." in text
    for value, message in (("empty.txt", "an empty file"), ("gone.txt", "No such file")):
        with pytest.raises(UserError, match=f"consent=.*{value}: {message}"):
            study.export("more", "gold=0", f"consent={tmp_path / value}")
    with pytest.raises(UserError, match="contact= with format=csv: a table has no page"):
        study.export("more", "gold=0", "contact=Ask ann.", format="csv")
