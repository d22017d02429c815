"""The job on a standalone cluster that gets its code shipped and loses a worker during a wave."""

import contextlib
import gzip
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

import adnominal
from adnominal.conf import ROOT, UserError, load
from adnominal.etl.amod.job import extract
from adnominal.etl.amod.kernel import available_implementations
from adnominal.etl.amod.settings import Settings
from adnominal.etl.engine.spark import check_java
from tests.commands import SECONDS, run_python
from tests.etl.amod.corpus import contents, depcc_part

FOLDERS = ("conf", "etl", "training", "analysis")
KERNELS = ("etl/amod/_kernel", "etl/parsing/fast/_fast")
FILES = 8
REPEATS = 15  # of a block of a megabyte, so that a task can be killed while it counts

# Without these variables, workers can import only shipped code.
REMOVED_VARIABLES = ("PYTHONPATH", "SPARK_HOME", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON")

T = TypeVar("T")


def wait_until(probe: Callable[[], T | None], event: str, alive: subprocess.Popen[bytes]) -> T:
    """The first true result of `probe`; fails if the process `alive` ends before it, or after
    `SECONDS`."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        result = probe()
        if result:
            return result
        assert alive.poll() is None, f"process ended (exit {alive.returncode}) before: {event}"
        time.sleep(0.02)
    raise AssertionError(f"not within {SECONDS:.0f} s: {event}")


class Cluster:
    """A master and two workers with one core each, all in process groups with their children."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "no-defaults").mkdir(parents=True)
        self.environment = {
            **{k: v for k, v in os.environ.items() if k not in REMOVED_VARIABLES},
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "SPARK_CONF_DIR": str(folder / "no-defaults"),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_DAEMON_MEMORY": "256m",
        }
        self.processes: list[subprocess.Popen[bytes]] = []
        self.workers: dict[str, subprocess.Popen[bytes]] = {}
        self.url = ""

    def start(self) -> None:
        """Start all three on free ports.

        The job waits for the cores it requests, so the workers may still be starting.
        """
        options = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
        master = self.run(
            "master", ["spark-class", "org.apache.spark.deploy.master.Master"], options
        )
        started = re.compile(r"Starting Spark master at (spark://\S+)")
        self.url = wait_until(lambda: started.search(self.log("master")), "a master", master)[1]
        for name in ("one", "two"):
            self.workers[name] = self.run(
                name,
                ["spark-class", "org.apache.spark.deploy.worker.Worker"],
                [*options, "--cores", "1", "--memory", "600m", "--work-dir", self.work(name)],
                [self.url],
            )

    def run(
        self, name: str, *command: list[str], cwd: Path | None = None
    ) -> subprocess.Popen[bytes]:
        """Start a command in a new process group; its output goes to a file."""
        with (self.folder / f"{name}.log").open("wb") as out:
            process = subprocess.Popen(
                [word for words in command for word in words],
                cwd=cwd or self.folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.processes.append(process)
        return process

    def log(self, name: str) -> str:
        """The output of the master, a worker or the driver so far."""
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def work(self, worker: str) -> str:
        """The folder in which the executors of a worker run."""
        return str(self.folder / f"work-{worker}")

    def executors(self, worker: str) -> str:
        """The output of a worker's executors and of their Python workers so far."""
        logs = sorted(Path(self.work(worker)).glob("app-*/*/stderr"))
        return "".join(log.read_text(errors="replace") for log in logs)

    def kill(self, process: subprocess.Popen[bytes]) -> None:
        """kill -9 a process and, for a worker, its executors.

        Python workers end when the pipe to their executor closes.
        """
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def stop(self) -> None:
        """End all processes, the last ones first, so that none is restarted."""
        for process in reversed(self.processes):
            self.kill(process)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    try:
        check_java()
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
    except UserError as error:
        pytest.skip(str(error))
    except OSError as error:
        pytest.skip(f"no port on loopback: {error}")
    cluster = Cluster(tmp_path / "cluster")
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


def write_corpus(folder: Path) -> None:
    """Write parts of about 15 MB that are small on disk, because they repeat an archive member."""
    folder.mkdir()
    for part in range(FILES):
        pairs = [(f"adjective{part}", f"noun{n % 50}") for n in range(5_000)]
        document = depcc_part(pairs, f"http://example.org/{part}")
        (folder / f"part-{part:02d}.gz").write_bytes(gzip.compress(document, 1) * REPEATS)


@pytest.mark.slow
def test_a_worker_killed_during_a_wave_changes_nothing(cluster, spark, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    write_corpus(elsewhere / "parts")
    lake = elsewhere / "lake"
    driver = cluster.run(
        "driver",
        ["spark-submit", "--master", cluster.url],
        ["--properties-file", str(ROOT / "conf" / "spark" / "standalone.conf")],
        ["--driver-memory", "600m", "--executor-memory", "512m", "--executor-cores", "1"],
        ["--conf", "spark.cores.max=2", "--conf", f"spark.pyspark.python={sys.executable}"],
        ["--conf", "spark.sql.shuffle.partitions=2", "--conf", "spark.ui.enabled=false"],
        [str(ROOT / "etl" / "extract_amod.py"), "source=depcc", "input=parts/*.gz", "lake=lake"],
        cwd=elsewhere,
    )
    # The worker is killed when it has begun to count, before most files are committed.
    counting = re.compile(r"part-\d\d\.gz: (\w+) kernel")
    wait_until(lambda: counting.search(cluster.executors("one")), "worker one counting", driver)
    cluster.kill(cluster.workers["one"])
    attempts = list(lake.glob("_staging/*/0-*"))
    finished = list(lake.glob("_staging/*/0-*/_temporary/0/task_*"))
    assert len(attempts) == 1 and not attempts[0].with_name(f"{attempts[0].name}.complete").exists()
    assert len(finished) < FILES

    wait_until(lambda: driver.poll() is not None or None, "the job's end", cluster.processes[0])
    driver_log = cluster.log("driver")
    assert driver.returncode == 0, driver_log[-4000:]
    assert "Lost executor" in driver_log

    for name in ("one", "two"):
        logged = cluster.executors(name)
        assert {match[1] for match in counting.finditer(logged)} == {available_implementations()[0]}
        assert f"code from {cluster.work(name)}/app-" in logged

    words = ["source=depcc", f"input={elsewhere}/parts/*.gz", f"lake={tmp_path / 'local'}"]
    extract(load(Settings, words))
    expected = contents(tmp_path / "local")
    assert len(expected["amod_counts"]) == FILES * 50
    assert contents(lake) == expected


# Prints the hash of a word, which the compiled parser computes, after loading both modules.
LOAD_KERNELS = """
import importlib.util, sys
for path in sys.argv[1:]:
    name = path.rpartition("/")[2].partition(".")[0]
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
print(module.word_hash(b"key"))
"""


def pythons() -> list[str]:
    """This Python, and the later versions that are installed here."""
    later = [f"python3.{minor}" for minor in range(sys.version_info.minor + 1, 20)]
    programs = [path for path in map(shutil.which, later) if path]
    # A version manager may have names of versions that it does not run.
    answers = {path: subprocess.run([path, "-V"], capture_output=True) for path in programs}
    return [sys.executable, *(path for path in programs if answers[path].returncode == 0)]


def check_kernels(wheel: Path, folder: Path) -> None:
    """Load the compiled modules of a wheel in every installed version of Python."""
    zipfile.ZipFile(wheel).extractall(folder)
    kernels = [folder / "adnominal" / f"{module}.abi3.so" for module in KERNELS]
    assert [kernel for kernel in kernels if not kernel.exists()] == []
    hashes = {
        run_python("-c", LOAD_KERNELS, *kernels, python=python, cwd=folder).stdout
        for python in pythons()
    }
    assert len(hashes) == 1


@pytest.mark.slow
def test_the_wheel_has_code_settings_and_the_compiled_kernel(tmp_path):
    checkout = tmp_path / "checkout"
    for name in ("adnominal", *FOLDERS):
        # Without the results of earlier builds, the wheel must build its own.
        build_results = shutil.ignore_patterns("__pycache__", "*.so")
        shutil.copytree(ROOT / name, checkout / name, ignore=build_results, symlinks=True)
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, checkout / name)
    build = ("-m", "pip", "wheel", ".", "--no-deps", "--no-build-isolation")
    run_python(*build, "--wheel-dir", tmp_path, cwd=checkout)
    (wheel,) = tmp_path.glob("adnominal-*.whl")
    # For Python 3.11 and all later versions.
    assert wheel.name.startswith(f"adnominal-{adnominal.__version__}-cp311-abi3-")
    names = set(zipfile.ZipFile(wheel).namelist())
    installed = {name.partition("/")[0] for name in names if ".dist-info/" not in name}
    assert installed == {"adnominal"}
    expected = {
        f"adnominal/{path.relative_to(checkout).as_posix()}"
        for package in FOLDERS
        for path in (checkout / package).rglob("*")
        if path.is_file() and (package == "conf" or path.suffix == ".py")
    }
    assert expected - names == set()
    if available_implementations()[0] == "compiled":
        check_kernels(wheel, tmp_path / "unpacked")
