"""Kills are spread over a run, and differing tables are named."""

from typing import Any

import pyarrow as pa
import pytest

from adnominal.conf import UserError, load
from adnominal.etl.lake import arrow
from adnominal.etl.lake.tables import table
from benchmarks.faults import (
    CASE,
    PARTS,
    Settings,
    job_settings,
    measurements,
    moment_of,
    table_digest,
    write_parts,
)
from tests.benchmarks.page import page

ROWS: dict[str, list[Any]] = {
    "corpus": ["c", "c"],
    "adjective": ["old", "new"],
    "noun": ["car", "car"],
    "count": [2, 1],
}


def lake_of(folder, rows):
    data = pa.Table.from_pydict(rows, schema=table("amod_pairs").schema)
    arrow.append(str(folder), "amod_pairs", data, job="test")
    return folder


def test_the_digest_depends_neither_on_row_order_nor_on_files(tmp_path):
    one_file = lake_of(tmp_path / "one", ROWS)
    two_files = lake_of(tmp_path / "two", {name: values[1:] for name, values in ROWS.items()})
    assert table_digest(one_file, "amod_pairs") != table_digest(two_files, "amod_pairs")
    lake_of(two_files, {name: values[:1] for name, values in ROWS.items()})
    assert table_digest(one_file, "amod_pairs") == table_digest(two_files, "amod_pairs")
    assert table_digest(one_file, "dropped") == ""


def test_kills_are_spread_over_the_run_and_follow_the_seed():
    moments = [moment_of(number, 5, 30.0, "1/sail/2") for number in range(5)]
    assert moments == sorted(moments) and moments == [
        moment_of(n, 5, 30.0, "1/sail/2") for n in range(5)
    ]
    assert all(6 * number <= moment < 6 * (number + 1) for number, moment in enumerate(moments))
    assert moments != [moment_of(number, 5, 30.0, "1/sail/7") for number in range(5)]


def test_the_input_has_two_files_per_wave_and_a_duplicate(tmp_path, monkeypatch):
    monkeypatch.setattr("benchmarks.faults.MEGABYTES", 0.01)
    folder = write_parts(tmp_path / "parts")
    contents = [part.read_bytes() for part in sorted(folder.iterdir())]
    assert len(contents) == PARTS and contents[0] == contents[-1] != contents[1]
    words = dict(word.split("=") for word in job_settings(folder, "sail", 7))
    assert (words["engine"], words["partitions"]) == ("sail", "7")
    assert int(words["wave_bytes"]) == 2 * max(map(len, contents))


def test_the_page_names_the_tables_that_differ():
    run = {"wall": 30.0, "kills": 5, "runs": 6, "differing": []}
    wrong = {**run, "differing": ["dropped", "amod_counts", "dropped"]}
    text = page(CASE, {"sail 1": run, "spark 7": wrong})
    assert "| sail 1 | 30 | 5 | 6 | none |" in text
    assert "| spark 7 | 30 | 5 | 6 | dropped, amod_counts |" in text
    assert "uninterrupted run (missed: none differs)" in text


def test_engines_and_the_number_of_kills_are_checked():
    with pytest.raises(UserError, match="kills=0"):
        load(Settings, ["kills=0"])
    with pytest.raises(UserError, match="engines="):
        load(Settings, ["engines=[flink]"])
    assert list(measurements(Settings(partitions=[2]))) == ["sail 2", "spark 2"]


@pytest.mark.slow
def test_a_killed_extraction_is_finished_by_the_same_command(tmp_path, monkeypatch):
    # Two waves of two small files.
    monkeypatch.setattr("benchmarks.faults.PARTS", 4)
    monkeypatch.setattr("benchmarks.faults.MEGABYTES", 0.05)
    settings = Settings(kills=1, folder=str(tmp_path))
    figures = measurements(settings)["sail 2"]()
    assert figures["differing"] == [] and figures["runs"] >= figures["kills"] == 1
