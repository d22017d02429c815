from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from benchmarks import jobs
from etl.lake import arrow
from etl.lake.tables import table

ROWS: dict[str, list[Any]] = {
    "corpus": ["c", "c"],
    "adjective": ["old", "new"],
    "noun": ["car", "car"],
    "count": [2, 1],
}


def lake_of(folder, rows, name="amod_pairs"):
    data = pa.Table.from_pydict(rows, schema=table(name).schema)
    arrow.append(str(folder), name, data, job="test")
    return folder


def test_the_digest_is_of_rows_whatever_their_order_and_files(tmp_path):
    one = lake_of(tmp_path / "one", ROWS)
    two = lake_of(tmp_path / "two", {name: values[1:] for name, values in ROWS.items()})
    assert jobs.table_digest(one, "amod_pairs") != jobs.table_digest(two, "amod_pairs")
    lake_of(two, {name: values[:1] for name, values in ROWS.items()})
    assert jobs.table_digest(one, "amod_pairs") == jobs.table_digest(two, "amod_pairs")
    assert jobs.table_digest(one, "dropped") is None


def test_counts_are_read_from_the_table(tmp_path):
    pairs = jobs.pairs_in(lake_of(tmp_path / "lake", ROWS))
    assert pairs == {("old", "car"): 2, ("new", "car"): 1}


def event(reason="Success", shuffled=7):
    return json.dumps(
        {
            "Event": "SparkListenerTaskEnd",
            "Task End Reason": {"Reason": reason},
            "Task Metrics": {
                "Executor CPU Time": 2_000_000_000,
                "Executor Deserialize CPU Time": 500_000_000,
                "Shuffle Write Metrics": {"Shuffle Bytes Written": shuffled},
            },
        },
        separators=(",", ":"),
    )


def test_tasks_are_summed_from_the_event_log(tmp_path):
    lines = ['{"Event":"SparkListenerLogStart"}', event(), event("TaskKilled"), event(shuffled=3)]
    (tmp_path / "local-1").write_text("\n".join(lines))
    assert jobs.tasks_of(tmp_path) == jobs.Tasks(2, 10, 5.0)


def test_an_event_log_that_tells_nothing_is_refused(tmp_path):
    with pytest.raises(ValueError, match="expected one event log, found 0"):
        jobs.tasks_of(tmp_path)
    (tmp_path / "local-1").write_text('{"Event":"SparkListenerLogStart"}\n')
    with pytest.raises(ValueError, match="no task"):
        jobs.tasks_of(tmp_path)


def test_the_command_names_master_and_event_log(tmp_path):
    command = jobs.submit(["source=depcc"], master="local[1]", events=tmp_path)
    assert command[0].endswith("spark-submit") and command[-1] == "source=depcc"
    assert command[1:3] == ["--master", "local[1]"]
    assert f"spark.eventLog.dir={tmp_path.as_uri()}" in command
