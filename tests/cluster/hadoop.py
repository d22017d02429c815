"""YARN and HDFS on loopback, and jobs that are submitted to them by conf/spark/yarn.conf."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import psutil
import pyspark

from adnominal.conf import ROOT
from tests.commands import SECONDS
from tests.jars import FOLDER
from tests.spark.conftest import JAVA_OPTIONS
from tests.spark.test_cluster import wait_until

SPARK_JARS = Path(pyspark.__file__).parent / "jars"
OPENED = [
    f"--add-opens=java.base/java.{name}=ALL-UNNAMED" for name in ("lang", "util", "io", "nio")
]
SMALL = {
    "spark.driver.extraJavaOptions": JAVA_OPTIONS,
    "spark.executor.extraJavaOptions": JAVA_OPTIONS,
    "spark.yarn.am.extraJavaOptions": JAVA_OPTIONS,
    "spark.ui.enabled": "false",
    "spark.driver.memory": "700m",
    "spark.driver.memoryOverhead": "300m",
    "spark.executor.cores": "1",
    "spark.executor.memory": "700m",
    "spark.executor.memoryOverhead": "500m",
    "spark.executor.instances": "2",
    "spark.sql.shuffle.partitions": "2",
    "spark.yarn.maxAppAttempts": "1",
    # The containers are on this machine, so that nothing has to be uploaded.
    "spark.yarn.jars": f"local:{SPARK_JARS}/*",
}


class Hadoop:
    """YARN and HDFS in one process.

    Attributes:
        folder: its configuration, and its containers below ``target``.
        address: the address of HDFS, once it has started.
        web_address: the address of its files through its web server.
        process: the process of both.
        variables: with them, jobs find both.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.variables = {"HADOOP_CONF_DIR": str(folder), "SPARK_LAUNCHER_OPTS": JAVA_OPTIONS}
        program = Path(__file__).with_name("MiniCluster.java")
        # log4j is Spark's, as the cluster's own jars lack it.
        logging_jars = SPARK_JARS.glob("log4j-*.jar")
        classpath = ["-cp", ":".join([f"{FOLDER / 'yarn'}/*", *map(str, logging_jars)])]
        with (folder / "log").open("wb") as out:
            self.process = subprocess.Popen(
                ["java", "-Xmx1g", *JAVA_OPTIONS.split(), *OPENED, *classpath, program, folder],
                cwd=folder,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.address = self.web_address = ""
        self._jobs: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        """Wait until both are ready."""
        ready = wait_until(self._ready, "YARN is ready", self.process)
        self.address = ready[0]
        self.web_address = f"webhdfs://localhost:{ready[1]}"

    def _ready(self) -> list[str] | None:
        """The address of HDFS and the port of its web server, once they are there."""
        lines = (self.folder / "log").read_text(errors="replace").splitlines()
        ready = [line.split()[1:] for line in lines if line.startswith("ready ")]
        return ready[0] if ready else None

    def submit(
        self, script: str, *words: str, options: Sequence[str] = (), mode: str = "client"
    ) -> subprocess.Popen[bytes]:
        """Start a job; its output goes to a file."""
        command = ["spark-submit", "--master", "yarn", "--deploy-mode", mode, *options]
        command += ["--properties-file", str(ROOT / "conf" / "spark" / "yarn.conf")]
        for name, value in SMALL.items():
            command += ["--conf", f"{name}={value}"]
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        removed = ("PYTHONPATH", "SPARK_HOME", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON")
        variables = {name: value for name, value in os.environ.items() if name not in removed}
        with (self.folder / "driver.log").open("wb") as out:
            job = subprocess.Popen(
                [*command, str(ROOT / "etl" / script), *words],
                cwd=self.folder,
                env={**variables, "PATH": path, **self.variables},
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._jobs.append(job)
        return job

    def finish(self, job: subprocess.Popen[bytes]) -> str:
        """The output of a job that ends well."""
        code = job.wait(SECONDS)
        output = (self.folder / "driver.log").read_text(errors="replace")
        assert code == 0, output[-6000:]
        return output

    def counting_executor(self) -> psutil.Process | None:
        """An executor that has begun to count a file."""
        for log in self.folder.glob("target/**/stderr"):
            if "compiled kernel" not in log.read_text(errors="replace"):
                continue
            for process in psutil.process_iter(["cmdline"]):
                words = " ".join(process.info["cmdline"] or [])
                is_executor = "YarnCoarseGrainedExecutorBackend" in words
                if is_executor and log.parent.name in words and "/bin/java" in words:
                    return process
        return None

    def stop(self) -> None:
        """End it, the containers that it has started, and jobs."""
        for process in psutil.Process(self.process.pid).children(recursive=True):
            process.kill()
        for started in (*self._jobs, self.process):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(started.pid, signal.SIGKILL)
            started.wait()


# Workers of the same Python as the driver, without a packed environment.
LOCAL_PYTHON = ["--conf", f"spark.pyspark.python={sys.executable}"]
