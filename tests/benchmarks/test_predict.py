"""The prediction benchmark: its rows, its rates and its page."""

import os
import subprocess
import sys

import pytest

from adnominal.conf import UserError
from adnominal.etl.lake import arrow
from benchmarks import harness, predict, results


def test_the_table_has_the_requested_number_of_distinct_rows(tmp_path, monkeypatch):
    monkeypatch.setattr("benchmarks.train.DATA", tmp_path)
    lake = os.fspath(tmp_path / "lake")
    predict.fill(lake, 250, piece=100)
    rows = arrow.read(lake, "adept_items")
    assert rows.num_rows == 250
    assert len(set(rows["item_id"].to_pylist())) == 250
    assert rows["sentence"].null_count == rows["modified_sentence"].null_count == 0
    assert rows["edition"].unique().to_pylist() == ["bench"]
    log = tmp_path / "lake" / "adept_items" / "_delta_log"
    assert sum(map(predict.committed_rows, log.glob("*.json"))) == 250


def test_rates_are_measured_from_the_first_to_the_last_reading():
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        side = predict.Side(process)
    side.note(100, 10.0, 12.0)
    with pytest.raises(UserError, match="too short to measure"):
        side.rates()
    for rows, active, cpu in ((100, 11.0, 13.0), (200, 12.0, 14.0), (400, 14.0, 18.0)):
        side.note(rows, active, cpu)
    assert side.rates() == {"rows": 300, "rows_per_second": 75.0, "rows_per_cpu_second": 50.0}


def test_the_part_speed_keeps_the_recorded_figures_of_the_part_same(monkeypatch):
    monkeypatch.setattr(predict, "device_name", lambda: "cpu")
    monkeypatch.setattr(predict, "speed", lambda settings: {"table_rows": 7})
    recorded = results.recorded()["predict"]["cpu"]
    (measure,) = predict.measurements(predict.Settings(parts=["speed"])).values()
    assert measure() == {"table_rows": 7, "same": recorded["same"]}


def test_the_page_shows_the_recorded_figures():
    side = {"rows": 60_000, "rows_per_second": 200.0, "rows_per_cpu_second": 180.0}
    figures = {
        "table_rows": 1_000_000,
        "chunk": 2048,
        "staging_seconds": 10.0,
        "seconds": 600.0,
        "job": side,
        "bare": {**side, "rows_per_cpu_second": 200.0},
        "load": 1.0,
        "same": {
            "rows": 2000,
            "complete": True,
            "two processes": True,
            "killed at": 500,
            "killed": False,
        },
    }
    text = harness.page(predict.CASE, {"cpu": figures})
    assert "0.900 of the bare forward pass a CPU second (1.000 a second of its turns); met" in text
    assert "at this rate 84 minutes" in text
    assert "by two processes the same predictions" in text
    assert "started again OTHER predictions" in text
