import pytest

from adnominal.conf import UserError, load
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
from tests.benchmarks.test_jobs import ROWS, lake_of

UNINTERRUPTED = {"wall": 30.0, "ready": 10.0, "commits": 20, "digests": dict.fromkeys(TABLES, "x")}


def test_kill_moments_are_spread_over_the_run_and_follow_the_seed():
    def moments(case: str) -> list[float]:
        return [moment_of(UNINTERRUPTED, number, case, Settings()) for number in range(5)]

    first, *_, last = moments("sail/2")
    assert moments("sail/2") == sorted(moments("sail/2")) != moments("sail/7")
    assert first >= 9 and last < 30


def test_tables_that_differ_are_named(tmp_path):
    expected = {name: jobs.table_digest(lake_of(tmp_path / "a", ROWS), name) for name in TABLES}
    assert differing(expected, dict(expected)) == []
    changed_rows = {**ROWS, "count": [2, 2]}
    digests = {
        name: jobs.table_digest(lake_of(tmp_path / "b", changed_rows), name) for name in TABLES
    }
    assert differing(digests, expected) == ["amod_pairs"]
    assert commits_in(tmp_path / "a") == len(TABLES)


def test_the_input_has_two_files_per_wave_and_a_duplicate(tmp_path):
    settings = Settings(files=3, megabytes=0.01)
    parts = sorted(make_input(tmp_path / "input", settings).iterdir())
    contents = [part.read_bytes() for part in parts]
    assert contents[0] == contents[2] != contents[1]
    words = job_arguments(tmp_path / "input", settings, "sail", 7)
    arguments = dict(word.split("=") for word in words)
    assert arguments["partitions"] == "7"
    assert int(arguments["wave_bytes"]) == 2 * max(map(len, contents))


def test_the_page_names_the_tables_that_differ():
    case = {"engine": "sail", "partitions": 2, "moment": 12.0, "commits": 7, "killed": "tree"}
    case |= {"processes": 9, "runs": 1, "differing": [], "left": 0}
    wrong = {**case, "moment": 15.0, "commits": 9, "killed": "driver", "processes": 1}
    wrong |= {"differing": ["amod_counts"], "left": 3}
    text = page(CASE, figures_of({"sail 2": UNINTERRUPTED}, [case, wrong], Settings()))
    assert "**1 of 2 cases" in text
    assert "| sail | 2 | 12.0 s | 7 of 20 | all 9 processes | 1 | none |" in text
    assert "| sail | 2 | 15.0 s | 9 of 20 | Python driver alone | 1 | amod_counts |" in text


def test_the_number_of_kills_must_be_positive():
    with pytest.raises(UserError, match="kills=0"):
        load(Settings, ["kills=0"])
