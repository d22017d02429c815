"""The extraction job as a user starts it: `spark-submit`, its event log, what its tables hold."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyspark

from benchmarks.processes import Usage, measured
from conf import ROOT
from etl.lake import arrow

SPARK_HOME = Path(pyspark.__file__).parent


@dataclass(frozen=True)
class Tasks:
    """Sums over the tasks of a job that ended well, from Spark's event log.

    shuffled         bytes written to be exchanged between tasks, as compressed by Spark
    executor_seconds CPU seconds of the JVM's task threads (Python workers not included)
    """

    count: int
    shuffled: int
    executor_seconds: float


def environment() -> dict[str, str]:
    """What `spark-submit` needs to run with this interpreter and its Spark."""
    return {
        "SPARK_HOME": str(SPARK_HOME),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }


def submit(arguments: Sequence[str], *, master: str, events: Path | None = None) -> list[str]:
    """The command line of the extraction job under `spark-submit`.

    With `events` Spark keeps its event log in that folder, in one file that is not compressed.
    """
    properties = {}
    if events is not None:
        properties = {
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": events.absolute().as_uri(),
            "spark.eventLog.rolling.enabled": "false",
            "spark.eventLog.compress": "false",
        }
    return [
        str(SPARK_HOME / "bin" / "spark-submit"),
        *("--master", master),
        *(word for key, value in properties.items() for word in ("--conf", f"{key}={value}")),
        str(ROOT / "etl" / "extract_amod.py"),
        *arguments,
    ]


def run(
    arguments: Sequence[str],
    *,
    master: str,
    events: Path | None = None,
    cores: Collection[int] | None = None,
) -> Usage:
    """Run the job to its end; `RuntimeError` with its last lines if it fails."""
    command = submit(arguments, master=master, events=events)
    return measured(command, env=environment(), cores=cores).checked()


def tasks_of(events: Path) -> Tasks:
    """What the one event log in the folder `events` says of its tasks.

    Raises `ValueError` unless there is exactly one log, with at least one task.
    """
    logs = [path for path in sorted(events.iterdir()) if path.is_file()]
    if len(logs) != 1:
        raise ValueError(f"{events}: expected one event log, found {len(logs)}")
    count = shuffled = 0
    seconds = 0.0
    with logs[0].open(encoding="utf-8") as lines:
        for line in lines:
            if not line.startswith('{"Event":"SparkListenerTaskEnd"'):
                continue
            event = json.loads(line)
            metrics = event.get("Task Metrics")
            if event["Task End Reason"]["Reason"] == "Success" and metrics:
                count += 1
                shuffled += metrics["Shuffle Write Metrics"]["Shuffle Bytes Written"]
                seconds += metrics["Executor CPU Time"] / 1e9
                seconds += metrics["Executor Deserialize CPU Time"] / 1e9
    if not count:
        raise ValueError(f"{logs[0]}: no task ended well in it")
    return Tasks(count, shuffled, seconds)


def table_digest(lake: Path, table: str) -> str | None:
    """SHA-256 of a table's rows, whatever their order and files; None where there is no table."""
    if arrow.version(str(lake), table) is None:
        return None
    rows = arrow.read(str(lake), table)
    rows = rows.sort_by([(name, "ascending") for name in rows.schema.names]).combine_chunks()
    sink = hashlib.sha256(str(rows.schema.remove_metadata()).encode())
    for row in rows.to_pylist():
        sink.update(repr(tuple(row.values())).encode())
    return sink.hexdigest()


def pairs_in(lake: Path) -> Counter[tuple[str, str]]:
    """The counts of ``amod_pairs``."""
    columns = ["adjective", "noun", "count"]
    rows: pa.Table = arrow.read(str(lake), "amod_pairs", columns=columns)
    adjectives, nouns, counts = (rows.column(name).to_pylist() for name in columns)
    return Counter({(a, n): int(c) for a, n, c in zip(adjectives, nouns, counts, strict=True)})


def ledger_sums(lake: Path) -> dict[str, int]:
    """Sums of the ledger (``amod_files``); `RuntimeError` if a file is not done."""
    names = ["sentences", "tokens", "pairs", "rejected_lines", "bytes"]
    rows = arrow.read(str(lake), "amod_files", columns=["path", "status", *names])
    undone = [row["path"] for row in rows.to_pylist() if row["status"] != "done"]
    if undone:
        raise RuntimeError(f"files not read: {', '.join(undone)}")
    return {name: sum(rows.column(name).to_pylist()) for name in names}


def all_cores() -> list[int]:
    """The cores that this process may run on."""
    return sorted(os.sched_getaffinity(0))
