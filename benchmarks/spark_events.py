"""Where the time of a Spark application went, by its event log.

    python -m benchmarks.spark_events LOG…

The log is written with ``--conf spark.eventLog.enabled=true`` (and ``spark.eventLog.compress`` and
``spark.eventLog.rolling.enabled`` ``false``). For each log: seconds in and outside of jobs, the
tasks' seconds in the JVM and in Python, and the stages that took longest.
"""

import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

Event = dict[str, Any]
# Seconds of all tasks together: a name of ours, and the place in a task's metrics with its unit.
METRICS = {
    "run": ("Executor Run Time", 1e3),
    "CPU in the JVM": ("Executor CPU Time", 1e9),
    "deserialisation": ("Executor Deserialize Time", 1e3),
    "garbage collection": ("JVM GC Time", 1e3),
}
# Milliseconds by Spark's own clock; `initialize` also counts the waits of workers that are reused.
PYTHON_TIME = re.compile(r"time to (start|run) Python workers")
LONGEST = 4


def events_of(log: Path) -> list[Event]:
    """The events of a log."""
    with log.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def named(events: Iterable[Event], name: str) -> list[Event]:
    """The events of a kind."""
    return [event for event in events if event["Event"] == f"SparkListener{name}"]


def covered(intervals: Iterable[tuple[int, int]]) -> int:
    """The length of the union of intervals."""
    length = 0
    end_so_far = 0
    for start, end in sorted(intervals):
        length += max(0, end - max(start, end_so_far))
        end_so_far = max(end, end_so_far)
    return length


def seconds_in_jobs(events: list[Event]) -> float:
    """The seconds in which at least one job ran."""
    ends = {event["Job ID"]: event["Completion Time"] for event in named(events, "JobEnd")}
    starts = {event["Job ID"]: event["Submission Time"] for event in named(events, "JobStart")}
    return covered((starts[job], end) for job, end in ends.items()) / 1e3


def seconds_of_tasks(tasks: Iterable[Event]) -> dict[str, float]:
    """Seconds of tasks by metric."""
    seconds: dict[str, float] = defaultdict(float)
    for task in tasks:
        for name, (metric, unit) in METRICS.items():
            seconds[name] += task["Task Metrics"][metric] / unit
        for sum_of_task in task["Task Info"]["Accumulables"]:
            if match := PYTHON_TIME.search(sum_of_task.get("Name") or ""):
                seconds[f"Python, to {match[1]}"] += int(sum_of_task["Update"]) / 1e3
    return seconds


def lines_of_seconds(seconds: dict[str, float]) -> str:
    """Seconds by metric, in one line."""
    return ", ".join(f"{name} {value:.1f} s" for name, value in seconds.items() if value >= 0.05)


def report(log: Path) -> list[str]:
    """The lines about a log."""
    events = events_of(log)
    times = [event["Timestamp"] for event in events if "Timestamp" in event]
    whole = (max(times) - min(times)) / 1e3
    in_jobs = seconds_in_jobs(events)
    tasks = named(events, "TaskEnd")
    stages = [event["Stage Info"] for event in named(events, "StageCompleted")]
    numbers = f"{len(named(events, 'JobStart'))} jobs, {len(stages)} stages, {len(tasks)} tasks"
    lines = [
        f"{log.name}: {whole:.1f} s, of which {in_jobs:.1f} s in jobs; {numbers}",
        f"  tasks: {lines_of_seconds(seconds_of_tasks(tasks))}",
    ]
    stages.sort(key=lambda stage: int(stage["Submission Time"]) - int(stage["Completion Time"]))
    for stage in stages[:LONGEST]:
        own_tasks = [task for task in tasks if task["Stage ID"] == stage["Stage ID"]]
        wall = (stage["Completion Time"] - stage["Submission Time"]) / 1e3
        seconds = lines_of_seconds(seconds_of_tasks(own_tasks))
        lines.append(f"  {wall:.1f} s, {len(own_tasks)} tasks: {seconds} ({stage['Stage Name']})")
    return lines


def main(words: list[str]) -> int:
    """Print what each log says."""
    for word in words:
        print("\n".join(report(Path(word))))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
