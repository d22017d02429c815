"""The same tables from every engine that can be had here, with its seconds and CPU.

    python -m tests.cluster.compare [folder=DIR] [ENGINE…] [BUILD…]

The steps of ``conf/demo/pipeline.yaml``, and its DepCC part once more as ``corpus=Zürich``, run on
each engine, in a process of its own; the tables have to be those of the embedded engine, row by
row. The table that is printed has the seconds of each step, and in parentheses the CPU seconds of
all processes, those of a cluster included. Names of builds (``build_plane``) choose some of them,
``build_none`` none. An engine whose jars or environment are missing is named with the reason. With
`folder`, what an engine gave stays there, and is not run again.
"""

import json
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
import yaml

from adnominal.conf import ROOT
from adnominal.etl.lake import arrow
from benchmarks.processes import Sample, run_measured
from tests.cluster.hadoop import LOCAL_PYTHON, Hadoop
from tests.cluster.standalone import Standalone
from tests.cluster.submitting import (
    EXTRACTION,
    S3_PROPERTIES,
    Steps,
    copy_of_store,
    run_steps,
    spark_3_5,
    submit_variables,
)
from tests.etl.test_object_store import running_store
from tests.jars import jars
from tests.spark.test_conformance import DEMO, assert_same_lake

LOG = "log"  # of the job, in the folder of its engine
ROW = "row.json"  # of the table, beside it
STEP_DONE = re.compile(
    r"(\d\d):(\d\d):(\d\d) == step \d+ of \d+, \w+: done in (?:(\d+) min )?(\d+) s"
)
START = re.compile(r"(\d\d):(\d\d):(\d\d) == step 1 of \d+, \w+\n")
SECONDS_A_DAY = 86_400


def steps_of(builds: list[str]) -> Steps:
    """The steps of the demo, with the extraction as ``Zürich`` and the builds of these names."""
    text = (DEMO / "pipeline.yaml").read_text(encoding="utf-8")
    steps: Steps = []
    for step in yaml.safe_load(text)["steps"]:
        (job,) = step
        if job.startswith("build_") and job not in builds:
            continue
        if job == "import_knowledge":
            steps.append({"extract_amod": EXTRACTION})
        for key in step[job].keys() & {"input", "conceptnet"}:
            step[job][key] = [str(ROOT / path) for path in step[job][key]]
        steps.append(step)
    return steps


def step_names(builds: list[str]) -> list[str]:
    """The heads of the steps' columns."""
    names = []
    for step in steps_of(builds):
        ((job, settings),) = step.items()
        names.append(settings.get("corpus", job))
    return names


def run_here(steps: Steps, folder: Path, python: str, variables: Mapping[str, str]) -> None:
    """Run the steps in a process on this machine."""
    engine = "sail" if folder.name == "sail" else "spark"
    lake = str(folder / "lake")
    log = run_steps(steps, lake, folder / "steps.yaml", python, dict(variables), engine)
    (folder / LOG).write_text(log)


def on_sail(steps: Steps, folder: Path) -> None:
    run_here(steps, folder, sys.executable, {})


def on_spark(steps: Steps, folder: Path) -> None:
    run_here(steps, folder, sys.executable, submit_variables(""))


def on_spark_with_connector(steps: Steps, folder: Path) -> None:
    run_here(steps, folder, sys.executable, submit_variables(jars("delta")))


def on_spark_3_5(steps: Steps, folder: Path) -> None:
    python = spark_3_5()
    run_here(steps, folder, python, submit_variables("", python))


def on_spark_3_5_with_connector(steps: Steps, folder: Path) -> None:
    python = spark_3_5()
    run_here(steps, folder, python, submit_variables(jars("delta-3.5"), python))


def on_s3(steps: Steps, folder: Path) -> None:
    jar_files = jars("s3")
    with running_store() as store:
        endpoint = {"spark.hadoop.fs.s3a.endpoint": store["AWS_ENDPOINT_URL"]}
        variables = submit_variables(jar_files, properties={**S3_PROPERTIES, **endpoint})
        lake, file = "s3://bucket/lake", folder / "steps.yaml"
        log = run_steps(steps, lake, file, sys.executable, variables)
        (folder / LOG).write_text(log)
        copy_of_store(lake, folder / "lake")


def on_three_hosts(steps: Steps, folder: Path) -> None:
    cluster = Standalone(folder / "hosts")
    try:
        cluster.start()
        file = cluster.share_steps(steps)
        job = cluster.submit("pipeline.py", f"{file} lake=/mnt/lake engine=spark")
        (folder / LOG).write_text(cluster.finish(job))
    finally:
        cluster.stop()
    (folder / "lake").symlink_to(cluster.shared / "lake")


def on_yarn(steps: Steps, folder: Path) -> None:
    jars("yarn")
    (folder / "hadoop").mkdir()
    hadoop = Hadoop(folder / "hadoop")
    try:
        hadoop.start()
        lake, file = f"{hadoop.address}/lake", folder / "steps.yaml"
        file.write_text(yaml.safe_dump({"steps": steps}), encoding="utf-8")
        words = [str(file), f"lake={lake}", "engine=spark"]
        job = hadoop.submit("pipeline.py", *words, options=LOCAL_PYTHON)
        (folder / LOG).write_text(hadoop.finish(job))
        copy_of_store(lake, folder / "lake")
    finally:
        hadoop.stop()


ENGINES: dict[str, tuple[str, Callable[[Steps, Path], None]]] = {
    "sail": ("Sail", on_sail),
    "spark": ("Spark 4.1, delta-rs", on_spark),
    "connector": ("Spark 4.1, delta-spark", on_spark_with_connector),
    "spark-3.5": ("Spark 3.5, delta-rs", on_spark_3_5),
    "connector-3.5": ("Spark 3.5, delta-spark", on_spark_3_5_with_connector),
    "s3": ("Spark 4.1 on S3", on_s3),
    "hosts": ("Spark 4.1 on three hosts", on_three_hosts),
    "yarn": ("Spark 4.1 on YARN and HDFS", on_yarn),
}
BUILDS = ("build_adept", "build_plane", "build_asp", "build_sygns")
NO_BUILD = "build_none"


def run_one(name: str, folder: Path, builds: list[str]) -> int:
    """Run the steps on an engine in this process; 3 if something that it needs is missing."""
    try:
        ENGINES[name][1](steps_of(builds), folder)
    except pytest.skip.Exception as reason:
        (folder / LOG).write_text(str(reason))
        return 3
    return 0


def second_of_day(moment: float) -> float:
    """The second of the local day at a time."""
    local = time.localtime(moment)
    return local.tm_hour * 3600 + local.tm_min * 60 + local.tm_sec + moment % 1


def cpu_of_steps(log: str, course: list[Sample]) -> list[float]:
    """CPU seconds of each step, of which the log has the moments of the start and the end."""
    moments = [START.search(log), *STEP_DONE.finditer(log)]
    hours_minutes_seconds = [
        [int(word) for word in match.groups()[:3]] for match in moments if match
    ]
    seconds = np.array(hours_minutes_seconds) @ (3600, 60, 1)
    begun = second_of_day(course[0].time)
    since_begin = (seconds - begun) % SECONDS_A_DAY
    sampled = [sample.time - course[0].time for sample in course]
    cpu = np.interp(since_begin, sampled, [sample.cpu for sample in course])
    return list(np.diff(cpu))


def cells_of(log: str, course: list[Sample]) -> list[str]:
    """Seconds of each step, and its CPU seconds."""
    cells = []
    cpu_seconds = cpu_of_steps(log, course)
    for match, cpu in zip(STEP_DONE.finditer(log), cpu_seconds, strict=True):
        minutes, seconds = match.groups()[3:]
        wall = 60 * int(minutes or 0) + int(seconds)
        cells.append(f"{wall} ({cpu:.0f})")
    return cells


def measure(name: str, folder: Path, builds: list[str]) -> list[str]:
    """The cells of an engine that runs the steps; its last line if it fails."""
    words = [sys.executable, "-m", "tests.cluster.compare", "--one", name, str(folder), *builds]
    try:
        usage = run_measured(words, env={"PYTHONUNBUFFERED": "1"}, light=True)
    except RuntimeError as error:
        log = folder / LOG
        reason = log.read_text() if log.exists() else str(error)
        return [reason.splitlines()[-1]]
    cells = cells_of((folder / LOG).read_text(), usage.course)
    return [*cells, f"{usage.wall:.0f} ({usage.cpu:.0f})"]


def compare(name: str, root: Path, builds: list[str]) -> str:
    """A row of the table: an engine, its seconds and whether its tables are those of Sail."""
    folder = root / name
    file = folder / ROW
    if not file.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        cells = measure(name, folder, builds)
        if len(cells) == 1:
            return f"| {ENGINES[name][0]} | {cells[0]} |"
        lake = folder / "lake"
        if name != "sail":
            assert_same_lake(lake, root / "sail" / "lake")
        rows = sum(arrow.row_count(str(lake), table) for table in arrow.tables(str(lake)))
        file.write_text(json.dumps([*cells, f"{rows:,}"]))
    return f"| {' | '.join([ENGINES[name][0], *json.loads(file.read_text())])} |"


def main(words: list[str]) -> int:
    """Print the table."""
    if words[:1] == ["--one"]:
        return run_one(words[1], Path(words[2]), words[3:])
    chosen_builds = [build for build in BUILDS if build in words]
    builds = chosen_builds if NO_BUILD in words else chosen_builds or list(BUILDS)
    names = [name for name in ENGINES if name in words] or list(ENGINES)
    if "sail" not in names:
        names.insert(0, "sail")
    header = ["engine", *step_names(builds), "whole process", "equal rows"]
    print(f"| {' | '.join(header)} |")
    print(f"| --- {'| --: ' * (len(header) - 1)}|", flush=True)
    folders = [word.removeprefix("folder=") for word in words if word.startswith("folder=")]
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(*folders or [temporary])
        for name in names:
            print(compare(name, root, builds), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
