from __future__ import annotations

import pytest

from benchmarks import jobs
from benchmarks.harness import page
from benchmarks.kill import (
    CASE,
    TABLES,
    Settings,
    commits_in,
    differing,
    figures_of,
    job_arguments,
    make_input,
    moment_of,
)
from conf import UserError, load
from tests.benchmarks.test_jobs import ROWS, lake_of

PEACE = {"wall": 30.0, "ready": 10.0, "commits": 20, "digests": dict.fromkeys(TABLES, "x")}


def test_moments_are_spread_over_the_work_and_repeatable():
    moments = [moment_of(PEACE, number, "sail/2", Settings()) for number in range(5)]
    assert moments == [moment_of(PEACE, number, "sail/2", Settings()) for number in range(5)]
    assert moments[0] >= 9 and moments == sorted(moments) and moments[-1] < 30
    assert moments != [moment_of(PEACE, number, "sail/7", Settings()) for number in range(5)]


def test_tables_that_differ_are_named(tmp_path):
    one = {name: jobs.table_digest(lake_of(tmp_path / "a", ROWS), name) for name in TABLES}
    assert differing(one, dict(one)) == []
    more = {**ROWS, "count": [2, 2]}
    two = {name: jobs.table_digest(lake_of(tmp_path / "b", more), name) for name in TABLES}
    assert differing(two, one) == ["amod_pairs"]
    assert commits_in(tmp_path / "a") == len(TABLES)


def test_the_input_is_two_files_a_wave_and_has_a_duplicate(tmp_path):
    settings = Settings(files=3, megabytes=0.01)
    parts = sorted(make_input(tmp_path / "input", settings).iterdir())
    contents = [part.read_bytes() for part in parts]
    assert contents[0] == contents[2] != contents[1]
    words = job_arguments(tmp_path / "input", settings, "sail", 7)
    arguments = dict(word.split("=") for word in words)
    assert arguments["partitions"] == "7"
    assert int(arguments["wave_bytes"]) == 2 * max(map(len, contents))


def test_the_page_tells_what_differs():
    case = {"engine": "sail", "partitions": 2, "moment": 12.0, "commits": 7, "killed": "tree"}
    case |= {"processes": 9, "runs": 1, "differing": [], "left": 0}
    wrong = {**case, "moment": 15.0, "commits": 9, "killed": "driver", "processes": 1}
    wrong |= {"differing": ["amod_counts"], "left": 3}
    text = page(CASE, figures_of({"sail 2": PEACE}, [case, wrong], Settings()))
    assert "**1 of 2 cases" in text
    assert "| sail | 2 | 12.0 s | 7 of 20 | all 9 processes | 1 | none |" in text
    assert "| sail | 2 | 15.0 s | 9 of 20 | Python driver alone | 1 | amod_counts |" in text


def test_mistakes_are_told():
    with pytest.raises(UserError, match="kills=0"):
        load(Settings, ["kills=0"])
