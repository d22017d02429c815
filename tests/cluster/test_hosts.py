"""A standalone cluster of three hosts by docs/cluster.md, and one host that is cut off."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from adnominal.conf import ROOT, load
from adnominal.etl.amod.job import extract
from adnominal.etl.amod.settings import Settings
from tests.cluster.hosts import Hosts
from tests.cluster.test_tables import sail_lake, steps  # noqa: F401
from tests.etl.amod.corpus import contents
from tests.spark.conftest import JAVA_OPTIONS
from tests.spark.test_cluster import until, write_corpus
from tests.spark.test_conformance import assert_same_lake

# For a machine with little memory; docs/cluster.md has the sizes for others.
SMALL = (
    f"--driver-memory 600m --executor-memory 512m --executor-cores 1 "
    f"--driver-java-options '{JAVA_OPTIONS}' --conf spark.sql.shuffle.partitions=2 "
    f"--conf 'spark.executor.extraJavaOptions={JAVA_OPTIONS}' --conf spark.ui.enabled=false"
)
DAEMONS = ("SPARK_DAEMON_MEMORY=256m", f"SPARK_DAEMON_JAVA_OPTS={JAVA_OPTIONS}")


def recipe() -> str:
    """The command of docs/cluster.md for a standalone cluster, up to the job's own settings."""
    text = (ROOT / "docs" / "cluster.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"### Standalone\n\n```\n(.*?)```", text, re.DOTALL)
    command = str(block).partition("source=")[0]
    assert "spark://HOST:7077" in command and "spark.cores.max=64" in command
    command = command.replace("spark://HOST", "spark://one").replace("cores.max=64", "cores.max=2")
    return command.replace("spark-submit ", f"spark-submit {SMALL} ")


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Hosts]:
    """A master on the first of three hosts, and a worker with a core on each of the others."""
    hosts = Hosts(tmp_path / "hosts", ("one", "two", "three"))
    try:
        hosts.start()
        one, *others = hosts.hosts
        path = "export PATH=/opt/adnominal/bin:$PATH; exec spark-class org.apache.spark.deploy"
        master = one.run(
            "master", f"{path}.master.Master --host one --port 7077", variables=DAEMONS
        )
        until(lambda: "Starting Spark master" in one.log("master"), "a master", master)
        for host in others:
            options = f"--host {host.name} --cores 1 --memory 600m --work-dir /tmp/work"
            command = f"{path}.worker.Worker {options} spark://one:7077"
            host.run("worker", command, variables=DAEMONS)
        yield hosts
    finally:
        hosts.stop()


def executors(hosts: Hosts, number: int) -> str:
    """The output of a host's executors so far."""
    logs = sorted((hosts.hosts[number].folder / "tmp" / "work").glob("app-*/*/stderr"))
    return "".join(log.read_text(errors="replace") for log in logs)


def test_three_hosts_give_the_tables_of_sail(
    cluster,
    steps: list[dict[str, Any]],  # noqa: F811
    sail_lake: Path,  # noqa: F811
    tmp_path,
):
    copied = yaml.safe_load(yaml.safe_dump(steps))
    for step in copied:
        for settings in step.values():
            for key in {"input", "conceptnet"} & settings.keys():
                for path in settings[key]:
                    (cluster.shared / Path(path).name).write_bytes(Path(path).read_bytes())
                settings[key] = [f"/mnt/{Path(path).name}" for path in settings[key]]
    (cluster.shared / "steps.yaml").write_text(yaml.safe_dump({"steps": copied}))
    command = recipe().replace("extract_amod.py", "pipeline.py")
    one = cluster.hosts[0]
    job = one.run("driver", f"{command} /mnt/steps.yaml lake=/mnt/lake engine=spark", str(ROOT))
    until(lambda: job.poll() is not None or None, "the job's end", one.processes[0])
    assert job.returncode == 0, one.log("driver")[-4000:]
    assert_same_lake(cluster.shared / "lake", sail_lake)
    for number in (1, 2):
        assert "compiled kernel" in executors(cluster, number)
        assert "code from /tmp/work/app-" in executors(cluster, number)


def test_a_host_cut_off_during_a_wave_changes_nothing(cluster, tmp_path):
    write_corpus(cluster.shared / "depcc")
    one, two, _ = cluster.hosts
    words = "source=depcc input='/mnt/depcc/*.gz' lake=/mnt/lake"
    job = one.run("driver", f"{recipe()} {words}", str(ROOT))
    until(lambda: "compiled kernel" in executors(cluster, 1), "the second host counts", job)
    two.cut_off()
    until(lambda: job.poll() is not None or None, "the job's end", one.processes[0])
    assert job.returncode == 0, one.log("driver")[-4000:]
    assert "Lost executor" in one.log("driver")
    local = ["source=depcc", f"input={cluster.shared}/depcc/*.gz", f"lake={tmp_path / 'local'}"]
    extract(load(Settings, local))
    assert contents(cluster.shared / "lake") == contents(tmp_path / "local")
