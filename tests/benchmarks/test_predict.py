"""The prediction benchmark: its rows, its rates and its page."""

import sys

from adnominal.etl.lake import arrow
from benchmarks import predict
from tests import fork_server
from tests.benchmarks.page import page


def test_the_table_has_the_requested_number_of_distinct_rows(tmp_path, shared_data):
    predict.write_items(tmp_path / "lake", 250)
    rows = arrow.read(str(tmp_path / "lake"), "adept_items")
    assert rows.num_rows == 250 == len(set(rows["item_id"].to_pylist()))
    assert rows["sentence"].null_count == rows["modified_sentence"].null_count == 0
    assert rows["edition"].unique().to_pylist() == ["bench"]


def test_the_job_and_the_bare_pass_cover_the_same_rows(tmp_path, shared_data, monkeypatch):
    # By processes that have the libraries.
    monkeypatch.setattr(sys, "executable", fork_server.python())
    predict.write_model(tmp_path / "model")
    usage = predict.run_job(tmp_path, 20)
    assert usage.cpu > 0
    lake = str(tmp_path / "lake-20")
    assert arrow.row_count(lake, "predictions") == 20
    assert predict.run_job(tmp_path, 20).cpu > 0
    assert arrow.row_count(lake, "predictions") == 20
    assert predict.forward_pass_rates(str(tmp_path), 20)["rows_per_cpu_second"] > 0


def test_the_page_shows_the_recorded_figures():
    side = {"rows_per_second": 200.0, "rows_per_cpu_second": 180.0}
    figures = {"rows": 20_000, "rounds": 3, "job": side, "load": 1.0}
    figures["bare"] = {**side, "rows_per_cpu_second": 200.0}
    text = page(predict.CASE, {"cpu": figures})
    assert "| training/predict.py on cpu | 200.0 | 180.0 |" in text
    assert "0.900 as fast a CPU second as the bare pass (met: at least 0.9), 1.000 a second" in text
