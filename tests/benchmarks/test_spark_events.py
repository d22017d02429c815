"""What an event log of Spark says, on a log of two jobs."""

import json
from pathlib import Path

from benchmarks.spark_events import covered, main

METRICS = {
    "Executor Run Time": 3000,
    "Executor CPU Time": 1_500_000_000,
    "Executor Deserialize Time": 200,
    "JVM GC Time": 0,
}
PYTHON = [{"Name": "time to run Python workers", "Update": "2500"}, {"ID": 7, "Update": "1"}]
STAGE = {"Stage ID": 0, "Stage Name": "save", "Submission Time": 1500, "Completion Time": 4500}
EVENTS = [
    {"Event": "SparkListenerApplicationStart", "Timestamp": 0},
    {"Event": "SparkListenerJobStart", "Job ID": 0, "Submission Time": 1000},
    {"Event": "SparkListenerJobStart", "Job ID": 1, "Submission Time": 2000},
    {
        "Event": "SparkListenerTaskEnd",
        "Stage ID": 0,
        "Task Info": {"Accumulables": PYTHON},
        "Task Metrics": METRICS,
    },
    {"Event": "SparkListenerStageCompleted", "Stage Info": STAGE},
    {"Event": "SparkListenerJobEnd", "Job ID": 1, "Completion Time": 4000},
    {"Event": "SparkListenerJobEnd", "Job ID": 0, "Completion Time": 5000},
    {"Event": "SparkListenerApplicationEnd", "Timestamp": 10_000},
]


def test_covered_counts_overlaps_once():
    assert covered([(5, 8), (0, 4), (1, 2), (3, 6)]) == 8


def test_report_of_a_log(tmp_path: Path, capsys):
    log = tmp_path / "log"
    log.write_text("".join(f"{json.dumps(event)}\n" for event in EVENTS))
    assert main([str(log)]) == 0
    seconds = "run 3.0 s, CPU in the JVM 1.5 s, deserialisation 0.2 s, Python, to run 2.5 s"
    assert capsys.readouterr().out.splitlines() == [
        "log: 10.0 s, of which 4.0 s in jobs; 2 jobs, 1 stages, 1 tasks",
        f"  tasks: {seconds}",
        f"  3.0 s, 1 tasks: {seconds} (save)",
    ]
