"""Imports of answers into a lake that has some already."""

import logging

import pytest

from adnominal.conf import JobFailed, UserError
from adnominal.etl.lake import arrow
from tests.etl.annotation.study import as_mturk, read_csv, write_csv


def test_all_imports_must_use_the_same_key(study):
    path = study.export("main", "gold=0", format="csv")
    answers = study.simulate(path)
    study.import_answers(answers)
    other = study.folder / "other"
    with pytest.raises(UserError, match="the key file of the earlier imports"):
        study.import_answers(answers, f"key={other}")
    other.write_text("another key of many bytes")
    with pytest.raises(UserError, match="not the key of the earlier imports"):
        study.import_answers(answers, f"key={other}")
    with pytest.raises(UserError, match="is in lake="):
        study.import_answers(answers, f"key={study.lake}/key")


def test_answers_can_be_imported_in_several_files(study):
    path = study.export("main", "gold=0", format="csv")
    rows = read_csv(study.simulate(path))
    study.import_answers(write_csv(study.folder / "half.csv", rows[:10]))
    assert len(study.rows("adept_annotations")) == 10 * 4
    whole = write_csv(study.folder / "whole.csv", rows)
    study.import_answers(whole)
    assert len(study.rows("adept_annotations")) == len(rows) * 4
    rows[3]["label_2"] = str((int(rows[3]["label_2"]) + 1) % 5)
    with pytest.raises(UserError, match=r"line 5: question .* in an earlier import"):
        study.import_answers(write_csv(whole, rows))


def test_answers_of_pages_that_are_rejected_later_are_removed(study, caplog):
    caplog.set_level(logging.INFO, "adnominal")
    answers = as_mturk(study.simulate(study.export("main", "gold=0")), "Submitted")
    submitted = answers.read_text(encoding="utf-8")
    study.import_answers(answers)
    stored = study.rows("adept_annotations")
    *first, last_page = submitted.splitlines(keepends=True)
    rejected = "".join([*first, last_page.replace("Submitted", "Rejected")])
    answers.write_text(rejected, encoding="utf-8")
    for left in (4, 0):  # a second import changes nothing
        study.import_answers(answers)
        assert f"1 page rejected or cancelled ({left} stored answers removed)" in caplog.text
        assert len(study.rows("adept_annotations")) == len(stored) - 4
    # A rejection that is taken back.
    answers.write_text(submitted.replace("Submitted", "Approved"), encoding="utf-8")
    study.import_answers(answers)
    assert sorted(study.rows("adept_annotations"), key=str) == sorted(stored, key=str)


def test_one_of_two_concurrent_imports_fails(study, monkeypatch):
    answers = study.simulate(study.export("main", "gold=0", format="csv"))
    study.import_answers(answers)
    # The second import was planned before the first one finished.
    version = arrow.version

    def version_before(lake, table):
        return None if table == "adept_annotations" else version(lake, table)

    monkeypatch.setattr(arrow, "version", version_before)
    with pytest.raises(JobFailed, match="another import ran at the same time"):
        study.import_answers(answers)


def test_an_import_that_is_stopped_between_rounds_is_completed_by_the_next(study, monkeypatch):
    batches = [study.export("pilot", "round=pilot", "items=8"), study.export("main", "gold=0")]
    rows = [row for batch in batches for row in read_csv(study.simulate(batch))]
    answers = write_csv(study.folder / "both.csv", rows)
    replace = arrow.replace
    commits: list[object] = []

    def replace_once(*arguments, **options):
        if commits:
            raise KeyboardInterrupt
        commits.append(replace(*arguments, **options))
        return commits[-1]

    monkeypatch.setattr(arrow, "replace", replace_once)
    with pytest.raises(KeyboardInterrupt):
        study.import_answers(answers)
    assert 0 < len(study.rows("adept_annotations")) < 4 * len(rows)
    monkeypatch.undo()
    study.import_answers(answers)
    assert len(study.rows("adept_annotations")) == 4 * len(rows)
