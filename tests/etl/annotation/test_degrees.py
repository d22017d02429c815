"""People's judgements of ASP's degrees: from the questions to the fitted curves."""

import json

import pytest

from adnominal import conf
from adnominal.conf import UserError
from adnominal.etl.annotation.degrees import (
    DegreeExportSettings,
    DegreeFinishSettings,
    export_degrees,
    finish_degrees,
    import_degrees,
    main,
)
from adnominal.etl.annotation.settings import ImportSettings
from adnominal.etl.asp import NOT_ENTAILMENT
from adnominal.etl.asp.degree import Degree
from adnominal.etl.asp.gold import published_gold
from adnominal.etl.asp.lexicon import load_lexicon
from adnominal.etl.lake import arrow
from tests.etl.annotation.study import as_mturk, read_csv, write_csv
from tests.rows import write

GOLD = published_gold()
TESTED = ("ordering", "negation", "dimension")


@pytest.fixture
def lake(tmp_path):
    root = str(tmp_path / "lake")
    source = Degree(load_lexicon(), 0, GOLD)
    rows = [
        row._asdict() | {"edition": "clean"}
        for test in TESTED
        for number in range(3)
        for row in source.rows(source.group(test, number))
    ]
    write(root, "asp_degree", rows)
    return root


def export(lake, tmp_path, *options):
    path = tmp_path / "degrees.csv"
    words = [f"batch={path}", f"lake={lake}", *options]
    export_degrees(conf.load(DegreeExportSettings, words))
    return path


def answer_by_rule(lake, path, names=("ann", "bob", "cem"), wrong=()):
    """Answers by the published thresholds; those of people in `wrong` are the opposite."""
    labels = {row["item_id"]: row["label"] for row in arrow.read(lake, "asp_degree").to_pylist()}
    questions = {q["question_id"]: q for q in arrow.read(lake, "asp_batches").to_pylist()}
    rows = []
    for page in read_csv(path):
        for name in names:
            row = dict(page)
            for column, question_id in page.items():
                if column.startswith("question_"):
                    question = questions[question_id]
                    answer = question["expected"]
                    if question["kind"] == "item":
                        answer = int(labels[question["item_id"]] != NOT_ENTAILMENT)
                    if name in wrong:
                        answer = 1 - answer
                    row[column.replace("question", "label")] = str(answer)
            rows.append(row | {"annotator": name, "seconds": "60"})
    return as_mturk(write_csv(path.with_name("answers.csv"), rows))


def import_file(lake, tmp_path, path):
    words = [f"batch={path}", f"lake={lake}", f"key={tmp_path / 'key'}"]
    import_degrees(conf.load(ImportSettings, words))


def test_judgements_give_back_the_thresholds(lake, tmp_path):
    pytest.importorskip("scipy")
    batch = export(lake, tmp_path)
    items = [q for q in arrow.read(lake, "asp_batches").to_pylist() if q["kind"] == "item"]
    assert len(items) == 2 * 2 * 40  # two judged tests, two premises, forty numbers
    form = batch.with_suffix(".html").read_text(encoding="utf-8")
    assert "Would you say so?" in form and ">yes</label>" in form
    import_file(lake, tmp_path, answer_by_rule(lake, batch))
    report = tmp_path / "report.json"
    words = ["source=mine", f"lake={lake}", f"report={report}", "models=[]"]
    finish_degrees(conf.load(DegreeFinishSettings, words))
    rows = arrow.read(lake, "asp_human").to_pylist()
    assert {row["n"] for row in rows} == {3} and {row["source"] for row in rows} == {"mine"}
    thresholds = {(row["test"], row["polarity"]): row["threshold"] for row in rows}
    assert len(thresholds) == 4
    for key, threshold in thresholds.items():
        assert threshold == pytest.approx(GOLD.thresholds[key], abs=2.0)
    figures = json.loads(report.read_text(encoding="utf-8"))
    assert figures["agreement"]["all answers"]["alpha nominal"] == 1
    assert "disagreements" not in figures["agreement"]["all answers"]


def test_who_fails_the_checks_does_not_count(lake, tmp_path):
    pytest.importorskip("scipy")
    batch = export(lake, tmp_path)
    names = ("ann", "bob", "cem", "careless")
    import_file(lake, tmp_path, answer_by_rule(lake, batch, names, wrong=("careless",)))
    words = ["source=mine", f"lake={lake}", "models=[]", "per_person=159"]
    finish_degrees(conf.load(DegreeFinishSettings, words))
    rows = arrow.read(lake, "asp_human").to_pylist()
    assert len(rows) == 159 and {row["n"] for row in rows} == {3}
    dropped = arrow.read(lake, "dropped").to_pylist()
    assert {row["reason"]: row["count"] for row in dropped} == {
        "attention_failed (answers)": 159,
        "beyond_limit (answers)": 4,
        "few_answers (items)": 1,
    }


def test_too_few_answers_are_reported(lake, tmp_path):
    batch = export(lake, tmp_path)
    words = ["source=mine", f"lake={lake}", "models=[]"]
    with pytest.raises(UserError, match=r"no answers of round .* in asp_annotations"):
        finish_degrees(conf.load(DegreeFinishSettings, words))
    import_file(lake, tmp_path, answer_by_rule(lake, batch, ("ann", "bob")))
    with pytest.raises(UserError, match=r"the rules leave no question .*expected 3 answers"):
        finish_degrees(conf.load(DegreeFinishSettings, words))


@pytest.mark.parametrize(
    ("settings", "words", "message"),
    [
        (DegreeExportSettings, ["batch=a.csv", "groups=3"], "groups=3: expected an even number"),
        (DegreeExportSettings, ["batch=a.csv", "round=human"], "round=human"),
        (DegreeFinishSettings, ["source=published"], "source=published: expected another name"),
        (DegreeFinishSettings, [], "expected source=NAME"),
    ],
)
def test_bad_settings_are_refused(settings, words, message):
    with pytest.raises(UserError, match=message):
        conf.load(settings, words)


def test_verbs_are_listed(capsys):
    assert main(["--help"]) == 0
    assert "annotate_asp.py VERB" in capsys.readouterr().out
    assert main(["judge"]) == 2
