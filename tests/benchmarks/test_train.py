"""The training benchmark: its rows, its rates and its page."""

import sys

from adnominal.etl.lake import arrow
from benchmarks import train
from tests import fork_server
from tests.benchmarks.page import page


def test_rows_are_those_of_the_release(tmp_path, shared_data):
    rows = train.adept_pairs(30_000)
    assert len(rows) == 30_000 and len(set(rows)) > 10_000
    assert {label for *_, label in rows} == set(range(5))
    train.write_adept(tmp_path / "lake", rows[:100])
    parts = arrow.read(str(tmp_path / "lake"), "adept")["split_random"].to_pylist()
    assert (parts.count("train"), parts.count("val")) == (100, train.VALIDATION_ROWS)


def test_the_job_runs(shared_data, monkeypatch):
    # By a process that has the libraries.
    monkeypatch.setattr(sys, "executable", fork_server.python())
    usage = train.run_job(train.BATCH)
    assert usage.wall > 0 and usage.cpu > 0


def test_the_page_shows_the_recorded_figures():
    side = {"rows_per_second": 30.0, "rows_per_cpu_second": 31.0}
    run = {"rows": 1600, "rounds": 3, "job": side, "grouped": side, "load": 0.5}
    run["ratios"] = [1.4, 0.9, 1.1]
    text = page(train.CASE, {"cpu": run, "GPU": run})
    assert "| training/finetune.py on cpu | 30.0 | 31.0 |" in text
    assert "by round: 1.40, 0.90, 1.10 (met: at least as many in the median)" in text
    assert "1,600 rows of ADEPT on GPU" in text
