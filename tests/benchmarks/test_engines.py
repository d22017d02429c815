import pytest

from adnominal.conf import UserError, load
from benchmarks.engines import CASE, CASES, Settings, measurements, seconds_to_write
from benchmarks.harness import page
from tests.benchmarks.test_jobs import ROWS, lake_of

RUN = {"wall": 2.0, "cpu": 3.0, "memory": 400.0, "runs": 3, "load": 0.1}


def test_the_page_has_a_row_per_figure_and_marks_missed_targets():
    figures = {
        "treebank-sail": RUN,
        "counting-sail": RUN | {"kernel": 0.5, "polars": RUN | {"wall": 1.0}},
        "many-spark": RUN
        | {"gigabytes": 6.0, "start": 20.0, "kernel_a_gb": 1.0, "cpu_a_gb": 1.4}
        | {"writing_a_gb": 0.25},
        "adept-1-sail": RUN | {"cpu": 0.2, "rows": 1234},
        "adept-10-sail": RUN | {"rows": 12345},
        "sygns-1-sail": RUN | {"rows": 1000},
        "sygns-5-sail": RUN | {"cpu": 20.0, "rows": 5000},
        "adept-10-spark": RUN | {"rows": 12345, "wall": 8.0},
        "plane-50-sail": {"failed": "no memory left"},
    }
    text = page(CASE, figures)
    assert "| treebank | sail | 2.0 | 3.0 | 400 | - |" in text
    assert "| adept 10 M | spark | 8.0 | 3.0 | 400 | 12,345 |" in text
    assert "| plane 50 M | sail | failed | - | - | no memory left |" in text
    assert "Treebank: 2.0 s (met: at most 5)" in text
    assert "2.0 s beside 1.0 of the polars script (missed: at most as long)" in text
    assert "6.0 GB, spark: 1.40 CPU s a GB, 1.40 times the kernel's 1.00 (met: at most 1.5)" in text
    assert "with the kernel that is 1.25 times the kernel's, before anything is summed" in text
    assert "adept: Sail's seconds over Spark's 0.25 (10 M)" in text
    assert "adept, growth on Sail: 10 times the size take 15.0 times the CPU time (missed:" in text
    assert "5 times the size take 6.7 times the CPU time (missed: at most 5.5)" in text
    assert "plane, growth" not in text


def test_rewriting_a_table_is_timed(tmp_path):
    lake_of(tmp_path, ROWS)
    assert 0 < seconds_to_write(tmp_path, "amod_pairs") < 5


def test_parts_and_engines_are_chosen_by_name():
    with pytest.raises(UserError, match=r"parts=\['trees'\]: expected some of treebank"):
        load(Settings, ["parts=[trees]"])
    with pytest.raises(UserError, match=r"engines=\['flink'\]: expected some of sail, spark"):
        load(Settings, ["engines=[flink]"])
    names = {name.split("-")[0] for name in measurements(Settings())}
    assert names == set(CASES)
