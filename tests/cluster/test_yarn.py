"""Jobs on YARN by conf/spark/yarn.conf, with a packed environment, a killed container, and HDFS."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import psutil
import pyarrow.fs as pa_fs
import pytest
import yaml

from adnominal.conf import ROOT, load
from adnominal.etl.amod.job import extract
from adnominal.etl.amod.settings import Settings
from adnominal.etl.lake.storage import Store
from tests.cluster.test_tables import EXTRACTION, sail_lake, steps  # noqa: F401
from tests.etl.amod.corpus import contents
from tests.jars import FOLDER, jars
from tests.spark.test_cluster import until, write_corpus
from tests.spark.test_conformance import assert_same_lake, run_elsewhere

SECONDS = 1200.0
# docs/cluster.md says how it is packed; `make build/engines/packed.tar.gz` does so.
PACKED = Path(os.environ.get("ADNOMINAL_PACKED", ROOT / "build" / "engines" / "packed.tar.gz"))
OPENED = [
    f"--add-opens=java.base/java.{name}=ALL-UNNAMED" for name in ("lang", "util", "io", "nio")
]
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


class Hadoop:
    """YARN and HDFS in one process.

    Attributes:
        folder: its configuration, and its containers below ``target``.
        address: the address of HDFS.
        process: the process of both.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        program = Path(__file__).with_name("MiniCluster.java")
        classpath = ["-cp", f"{FOLDER / 'yarn'}/*"]
        with (folder / "log").open("wb") as out:
            self.process = subprocess.Popen(
                ["java", "-Xmx1g", *OPENED, *classpath, str(program), str(folder)],
                cwd=folder,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.address = until(self._address, "YARN is ready", self.process)

    def _address(self) -> str | None:
        lines = (self.folder / "log").read_text(errors="replace").splitlines()
        ready = [line.split()[1] for line in lines if line.startswith("ready ")]
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
            return subprocess.Popen(
                [*command, str(ROOT / "etl" / script), *words],
                cwd=self.folder,
                env={**variables, "PATH": path, "HADOOP_CONF_DIR": str(self.folder)},
                stdout=out,
                stderr=subprocess.STDOUT,
            )

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
        """End it, and the containers that it has started."""
        for process in psutil.Process(self.process.pid).children(recursive=True):
            process.kill()
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


@pytest.fixture(scope="module")
def hadoop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hadoop]:
    jars("yarn")
    hadoop = Hadoop(tmp_path_factory.mktemp("hadoop"))
    yield hadoop
    hadoop.stop()


# Workers of the same Python as the driver, without a packed environment.
LOCAL_PYTHON = ["--conf", f"spark.pyspark.python={sys.executable}"]


def test_a_container_killed_during_a_wave_changes_nothing(hadoop, tmp_path):
    write_corpus(tmp_path / "parts")
    words = ["source=depcc", f"input={tmp_path}/parts/*.gz"]
    lake = tmp_path / "lake"
    job = hadoop.submit("extract_amod.py", *words, f"lake={lake}", options=LOCAL_PYTHON)
    until(hadoop.counting_executor, "an executor counts", job).kill()
    output = hadoop.finish(job)
    assert "Lost executor" in output or "exited" in output
    extract(load(Settings, [*words, f"lake={tmp_path / 'local'}"]))
    assert contents(lake) == contents(tmp_path / "local")


def test_a_packed_environment_in_cluster_mode(hadoop, tmp_path):
    if not PACKED.exists():
        pytest.skip(f"no packed environment in {PACKED} (make build/engines/packed.tar.gz)")
    lake = tmp_path / "lake"
    words = ["source=depcc", f"input={EXTRACTION['input'][0]}", "corpus=Zürich", f"lake={lake}"]
    archive = ["--archives", f"{PACKED}#environment"]
    hadoop.finish(hadoop.submit("extract_amod.py", *words, options=archive, mode="cluster"))
    expected = tmp_path / "expected"
    run_elsewhere([{"extract_amod": EXTRACTION}], expected, "sail")
    assert_same_lake(lake, expected)


def test_a_lake_on_hdfs_has_the_tables_of_sail(
    hadoop,
    steps: list[dict[str, Any]],  # noqa: F811
    sail_lake: Path,  # noqa: F811
    tmp_path,
):
    file = tmp_path / "steps.yaml"
    file.write_text(yaml.safe_dump({"steps": steps}), encoding="utf-8")
    lake = f"{hadoop.address}/lake"
    words = [str(file), f"lake={lake}", "engine=spark"]
    hadoop.finish(hadoop.submit("pipeline.py", *words, options=LOCAL_PYTHON))
    local = tmp_path / "lake"
    pa_fs.copy_files("", str(local), source_filesystem=pa_fs.PyFileSystem(Store(lake)))
    assert_same_lake(local, sail_lake)
