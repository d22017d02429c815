"""Extraction and a build on YARN, with a container killed in the middle; HDFS beside it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from adnominal.conf import ROOT
from adnominal.etl.lake import arrow
from tests.jars import FOLDER, jars
from tests.spark.test_conformance import DEMO, assert_same_lake, run_elsewhere

SECONDS = 900
CLASS = Path(__file__).with_name("MiniCluster.java")
OPENED = [
    f"--add-opens=java.base/java.{name}=ALL-UNNAMED" for name in ("lang", "util", "io", "nio")
]
EXTRACTION = {"source": "depcc", "input": [str(DEMO / "depcc-part.gz")], "corpus": "Zürich"}
SMALL = {
    "spark.driver.memory": "700m",
    "spark.driver.memoryOverhead": "300m",
    "spark.executor.cores": "1",
    "spark.executor.memory": "700m",
    "spark.executor.memoryOverhead": "500m",
    "spark.executor.instances": "2",
    "spark.sql.shuffle.partitions": "2",
    "spark.yarn.maxAppAttempts": "1",
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Variables with which spark-submit finds the cluster; HDFS is its default file system."""
    jars("yarn")
    folder = tmp_path_factory.mktemp("yarn")
    command = ["java", "-Xmx1g", *OPENED, "-cp", f"{FOLDER / 'yarn'}/*", str(CLASS), str(folder)]
    log = (folder / "log").open("w")
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True
    )
    try:
        assert process.stdout is not None
        address = next((line for line in process.stdout if line.startswith("ready ")), "")
        assert address, (folder / "log").read_text()[-3000:]
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        yield {
            **os.environ,
            "PATH": path,
            "HADOOP_CONF_DIR": str(folder),
            "HDFS": address.split()[1],
            "PYSPARK_PYTHON": sys.executable,
        }
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        log.close()


def submit(
    cluster: dict[str, str], script: str, *words: str, mode: str = "client"
) -> subprocess.Popen[str]:
    """Start a job by conf/spark/yarn.conf."""
    command = ["spark-submit", "--master", "yarn", "--deploy-mode", mode]
    command += ["--properties-file", str(ROOT / "conf" / "spark" / "yarn.conf")]
    python = {
        "spark.pyspark.python": sys.executable,
        "spark.executorEnv.PYTHONPATH": "",
        "spark.yarn.appMasterEnv.PYSPARK_PYTHON": sys.executable,
        "spark.yarn.appMasterEnv.PYTHONPATH": str(ROOT),
    }
    for name, value in (SMALL | python).items():
        command += ["--conf", f"{name}={value}"]
    return subprocess.Popen(
        [*command, str(ROOT / "etl" / script), *words],
        env=cluster,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def extract(lake: str) -> list[str]:
    words = ["source=depcc", *(f"input={path}" for path in EXTRACTION["input"])]
    return [*words, "corpus=Zürich", f"lake={lake}"]


def kill_an_executor(cluster: dict[str, str]) -> None:
    """Kill the first container of an executor that starts a Python worker."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        for process in psutil.process_iter(["cmdline"]):
            words = " ".join(process.info["cmdline"] or [])
            is_executor = "YarnCoarseGrainedExecutorBackend" in words and "bin/java" in words
            if is_executor and str(cluster["HADOOP_CONF_DIR"]) in words:
                process.kill()
                return
        time.sleep(0.2)
    raise AssertionError("no executor was seen")


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The lake that the embedded engine writes."""
    lake = tmp_path_factory.mktemp("lakes") / "sail"
    run_elsewhere([{"extract_amod": EXTRACTION}], lake, "sail")
    return lake


@pytest.mark.parametrize("mode", ["client", "cluster"])
def test_extraction_on_yarn(cluster, expected, tmp_path, mode):
    lake = tmp_path / "lake"
    job = submit(cluster, "extract_amod.py", *extract(str(lake)), mode=mode)
    if mode == "client":
        kill_an_executor(cluster)
    text, _ = job.communicate(timeout=SECONDS)
    assert job.returncode == 0, text[-4000:]
    assert_same_lake(lake, expected)


def test_a_lake_on_hdfs(cluster, expected):
    lake = f"{cluster['HDFS']}/lake"
    job = submit(cluster, "extract_amod.py", *extract(lake))
    text, _ = job.communicate(timeout=SECONDS)
    assert job.returncode == 0, text[-4000:]
    rows = arrow.read(lake, "amod_pairs").sort_by(
        [("noun", "ascending"), ("adjective", "ascending")]
    )
    assert rows.equals(
        arrow.read(str(expected), "amod_pairs").sort_by(
            [("noun", "ascending"), ("adjective", "ascending")]
        )
    )
