"""A standalone cluster of three hosts, and jobs on it by the command of docs/cluster.md."""

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from adnominal.conf import ROOT
from tests.cluster.hosts import Hosts
from tests.spark.conftest import JAVA_OPTIONS
from tests.spark.test_cluster import wait_until

# For a machine with little memory; docs/cluster.md has the sizes for others.
SMALL = (
    f"--driver-memory 600m --executor-memory 512m --executor-cores 1 "
    f"--driver-java-options '{JAVA_OPTIONS}' --conf spark.sql.shuffle.partitions=2 "
    f"--conf 'spark.executor.extraJavaOptions={JAVA_OPTIONS}' --conf spark.ui.enabled=false"
)
LAUNCHER = f"SPARK_LAUNCHER_OPTS={JAVA_OPTIONS}"
DAEMONS = (LAUNCHER, "SPARK_DAEMON_MEMORY=256m", f"SPARK_DAEMON_JAVA_OPTS={JAVA_OPTIONS}")


def recipe() -> str:
    """The command of docs/cluster.md for a standalone cluster, up to the job's own settings."""
    text = (ROOT / "docs" / "cluster.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"### Standalone\n\n```\n(.*?)```", text, re.DOTALL)
    command = str(block).partition("source=")[0]
    assert "spark://HOST:7077" in command and "spark.cores.max=64" in command
    command = command.replace("spark://HOST", "spark://one").replace("cores.max=64", "cores.max=2")
    return command.replace("spark-submit ", f"spark-submit {SMALL} ")


class Standalone(Hosts):
    """A master on the first of three hosts, and a worker with a core on each of the others."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, ("one", "two", "three"))

    def start(self) -> None:
        """Start the hosts, the master and the workers."""
        super().start()
        one, *others = self.hosts
        path = "export PATH=/opt/adnominal/bin:$PATH; exec spark-class org.apache.spark.deploy"
        command = f"{path}.master.Master --host one --port 7077"
        master = one.run("master", command, variables=DAEMONS)
        wait_until(lambda: "Starting Spark master" in one.log("master"), "a master", master)
        for host in others:
            options = f"--host {host.name} --cores 1 --memory 600m --work-dir /tmp/work"
            command = f"{path}.worker.Worker {options} spark://one:7077"
            host.run("worker", command, variables=DAEMONS)

    def submit(self, script: str, words: str) -> subprocess.Popen[bytes]:
        """Start a job from the checkout's folder on the first host."""
        command = recipe().replace("extract_amod.py", script)
        return self.hosts[0].run("driver", f"{command} {words}", str(ROOT), (LAUNCHER,))

    def finish(self, job: subprocess.Popen[bytes]) -> str:
        """The output of a job that ends well."""
        one = self.hosts[0]
        wait_until(lambda: job.poll() is not None or None, "the job's end", one.processes[0])
        assert job.returncode == 0, one.log("driver")[-4000:]
        return one.log("driver")

    def executors(self, number: int) -> str:
        """The output of a host's executors so far."""
        logs = sorted((self.hosts[number].folder / "tmp" / "work").glob("app-*/*/stderr"))
        return "".join(log.read_text(errors="replace") for log in logs)

    def share_steps(self, steps: Sequence[dict[str, Any]]) -> str:
        """Copy a pipeline and its inputs to the shared folder; the path of the pipeline there."""
        copied = yaml.safe_load(yaml.safe_dump(list(steps)))
        for step in copied:
            (settings,) = step.values()
            for key in settings.keys() & {"input", "conceptnet"}:
                paths = [Path(path) for path in settings[key]]
                for path in paths:
                    (self.shared / path.name).write_bytes(path.read_bytes())
                settings[key] = [f"/mnt/{path.name}" for path in paths]
        (self.shared / "steps.yaml").write_text(yaml.safe_dump({"steps": copied}))
        return "/mnt/steps.yaml"
