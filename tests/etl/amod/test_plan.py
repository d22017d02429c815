"""Waves: their files, what a later run adds, and what it refuses."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adnominal.conf import JobFailed, UserError
from adnominal.etl.amod.plan import (
    DONE,
    FAILED,
    PLANNED,
    Entry,
    pending_waves,
    plan,
    refuse_failed,
    updated_ledger,
)
from adnominal.etl.corpora.inputs import InputFile

WHEN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def file(path: str, size: int = 10) -> InputFile:
    return InputFile(path, size, WHEN)


def all_done(entries: list[Entry]) -> list[Entry]:
    return [replace(entry, status=DONE) for entry in entries]


def test_a_wave_ends_before_it_exceeds_its_size():
    planned = plan([], [file("b", 6), file("a", 6), file("c", 4), file("d", 100)], 10)
    assert [(e.path, e.wave, e.status) for e in planned] == [
        ("a", 0, PLANNED),
        ("b", 1, PLANNED),
        ("c", 1, PLANNED),
        ("d", 2, PLANNED),
    ]


def test_new_files_become_further_waves():
    first = all_done(plan([], [file("b")], 100))
    second = plan(first, [file("a"), file("b"), file("c")], 100)
    assert [(e.path, e.wave, e.status) for e in second] == [
        ("b", 0, DONE),
        ("a", 1, PLANNED),
        ("c", 1, PLANNED),
    ]
    assert plan(second, [file("a"), file("b"), file("c")], 100) == second


def test_a_file_read_before_need_not_be_named_again():
    first = all_done(plan([], [file("a")], 100))
    assert [e.path for e in plan(first, [file("b")], 100)] == ["a", "b"]


@pytest.mark.parametrize("change", [{"bytes": 11}, {"modified": WHEN + timedelta(seconds=1)}])
@pytest.mark.parametrize("status", [DONE, PLANNED])
def test_a_changed_file_is_refused_with_advice(change, status):
    ledger = [Entry("a", 10, WHEN, 0, status)]
    with pytest.raises(UserError, match=r"a has changed .* restart=true"):
        plan(ledger, [replace(file("a"), **change)], 100)


def test_a_failed_file_is_read_again_even_if_it_has_changed():
    ledger = [Entry("a", 10, WHEN, 0, FAILED, reason="truncated"), Entry("b", 10, WHEN, 0, DONE)]
    replanned = plan(ledger, [file("a", 12), file("b")], 100)
    assert [(e.path, e.wave, e.status, e.reason) for e in replanned] == [
        ("b", 0, DONE, None),
        ("a", 1, PLANNED, None),
    ]


def test_a_file_keeps_the_path_by_which_it_was_read(tmp_path):
    (tmp_path / "real").mkdir()
    for name in ("a", "b"):
        (tmp_path / "real" / name).write_text(name)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    by_link = [file(f"{tmp_path}/link/a")]
    ledger = all_done(plan([], by_link, 100))
    replanned = plan(ledger, [file(f"{tmp_path}/real/a"), file(f"{tmp_path}/real/b")], 100)
    assert [(e.path, e.status) for e in replanned] == [
        (f"{tmp_path}/link/a", DONE),
        (f"{tmp_path}/real/b", PLANNED),
    ]


def test_a_run_fails_only_for_its_own_files(caplog):
    ledger = [Entry("a", 10, WHEN, 0, FAILED, reason="truncated"), Entry("b", 10, WHEN, 0, DONE)]
    with pytest.raises(JobFailed, match=r"1 of 2 files failed and are not counted: a: truncated"):
        refuse_failed(ledger, "table amod_files", {"a", "b"})
    refuse_failed(ledger, "table amod_files", {"b"})
    assert "not counted: 1 file of earlier runs that failed, such as a" in caplog.text


def test_a_planned_file_must_be_among_those_named():
    ledger = plan([], [file("a"), file("b")], 100)
    with pytest.raises(JobFailed, match=r"a was planned .* not in input="):
        plan(ledger, [file("b")], 100)


def test_outcomes_update_the_ledger_and_its_pending_waves():
    ledger = plan([], [file("a"), file("b"), file("c")], 20)
    assert [(wave, [e.path for e in entries]) for wave, entries in pending_waves(ledger)] == [
        (0, ["a", "b"]),
        (1, ["c"]),
    ]
    outcomes = [
        replace(ledger[0], status=DONE, pairs=7),
        replace(ledger[1], status=FAILED, reason="cut short"),
    ]
    new_ledger = updated_ledger(ledger, outcomes)
    assert [(e.status, e.pairs, e.reason) for e in new_ledger] == [
        (DONE, 7, None),
        (FAILED, 0, "cut short"),
        (PLANNED, 0, None),
    ]
    assert [wave for wave, _ in pending_waves(new_ledger)] == [1]


@given(st.dictionaries(st.text("abc", min_size=1), st.integers(1, 50), min_size=1), st.data())
def test_every_file_is_in_one_wave_and_no_wave_exceeds_the_limit(sizes, data):
    limit = data.draw(st.integers(1, 100))
    files = [file(path, size) for path, size in sizes.items()]
    planned = plan([], data.draw(st.permutations(files)), limit)
    assert planned == plan([], files, limit)
    assert sorted(entry.path for entry in planned) == sorted(sizes)
    for _, entries in pending_waves(planned):
        assert sum(e.bytes for e in entries) <= limit or len(entries) == 1
