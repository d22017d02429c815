"""The same tables from every engine that can be had here, with its seconds and CPU.

    python -m tests.cluster.compare [ENGINE…] [BUILD…]

An extraction of the demo's corpus as ``corpus=Zürich``, the import and the four builds run on each
engine, in a process of its own; the tables have to be those of the embedded engine, row by row. The
table that is printed has the seconds of each step, and the CPU seconds of all processes, those of a
cluster included. Names of builds (``build_plane``) choose some of them. An engine whose jars or
environment are missing is named with the reason.
"""

import re
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from adnominal.etl.lake import arrow
from benchmarks.processes import run_measured
from tests.cluster.hadoop import LOCAL_PYTHON, Hadoop
from tests.cluster.standalone import Standalone
from tests.cluster.submitting import copy_of_store, spark_3_5, submit_variables
from tests.cluster.test_tables import EXTRACTION, S3_PROPERTIES, run_steps
from tests.etl.test_object_store import running_store
from tests.jars import jars
from tests.spark.test_conformance import assert_same_lake, pipeline

Steps = list[dict[str, Any]]
LOG = "log"  # of the job, in the folder of its engine


def steps_of(folder: Path, builds: list[str]) -> Steps:
    """The extraction, the import and the builds of these names."""
    import_step, *build_steps = pipeline(folder / "input")[5:]
    chosen = [step for step in build_steps if step.keys() & set(builds)]
    return [{"extract_amod": EXTRACTION}, import_step, *chosen]


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


def run_one(name: str, folder: Path, builds: list[str]) -> int:
    """Run the steps on an engine in this process; 3 if something that it needs is missing."""
    try:
        ENGINES[name][1](steps_of(folder, builds), folder)
    except pytest.skip.Exception as reason:
        (folder / LOG).write_text(str(reason))
        return 3
    return 0


def compare(name: str, root: Path, builds: list[str]) -> str:
    """A row of the table: an engine, its seconds and whether its tables are those of Sail."""
    folder = root / name
    folder.mkdir()
    try:
        words = [sys.executable, "-m", "tests.cluster.compare", "--one", name, str(folder), *builds]
        usage = run_measured(words, env={"PYTHONUNBUFFERED": "1"})
    except RuntimeError as error:
        log = folder / LOG
        reason = log.read_text() if log.exists() else str(error)
        return f"| {ENGINES[name][0]} | {reason.splitlines()[-1]} |"
    log_text = (folder / LOG).read_text()
    seconds = dict(re.findall(r"== step \d+ of \d+, (\w+): done in (.+?);", log_text))
    lake = folder / "lake"
    if name != "sail":
        assert_same_lake(lake, root / "sail" / "lake")
    rows = sum(arrow.row_count(str(lake), table) for table in arrow.tables(str(lake)))
    times = [seconds.get(step, "?") for step in columns(builds)]
    cells = [ENGINES[name][0], *times, f"{usage.wall:.0f}", f"{usage.cpu:.0f}", f"{rows:,}"]
    return f"| {' | '.join(cells)} |"


def columns(builds: list[str]) -> list[str]:
    """The names of the steps."""
    return ["extract_amod", "import_knowledge", *builds]


def main(words: list[str]) -> int:
    """Print the table."""
    if words[:1] == ["--one"]:
        return run_one(words[1], Path(words[2]), words[3:])
    builds = [build for build in BUILDS if build in words] or list(BUILDS)
    names = [name for name in ENGINES if name in words] or list(ENGINES)
    if "sail" not in names:
        names.insert(0, "sail")
    header = ["engine", *columns(builds), "seconds", "CPU", "equal rows"]
    print(f"| {' | '.join(header)} |")
    print(f"| --- {'| --: ' * (len(header) - 1)}|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            print(compare(name, Path(folder), builds), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
