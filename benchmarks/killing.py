"""Commands that are killed with kill -9 and repeated until they succeed."""

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyspark

from adnominal.conf import ROOT
from benchmarks.processes import kill_tree
from benchmarks.results import Figures
from tests.ports import free_port

# Maximum number of runs of a case; each continues where the one before it stopped.
RUNS = 5
WAITED = 900.0


@dataclass(frozen=True)
class Command:
    """A command of the repository, and the file for its output; several `processes` are started by
    DeepSpeed's launcher."""

    words: Sequence[str]
    output: Path
    processes: int = 0

    def start(self) -> subprocess.Popen[bytes]:
        """Start it, with the Python process as the driver of local Spark."""
        # Makes a job on local Spark use this interpreter and its Spark.
        spark = {"SPARK_HOME": str(Path(pyspark.__file__).parent)}
        spark |= dict.fromkeys(("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"), sys.executable)
        environment = {**os.environ, **spark}
        words = [sys.executable, *self.words]
        if self.processes > 1:
            launcher = Path(sys.executable).with_name("deepspeed")
            ranks = [f"--num_gpus={self.processes}", f"--master_port={free_port()}"]
            words = [str(launcher), *ranks, *self.words]
            environment["DS_ACCELERATOR"] = "cpu"
        with self.output.open("ab") as file:
            return subprocess.Popen(
                words, cwd=ROOT, stdout=file, stderr=file, env=environment, start_new_session=True
            )

    def error(self, text: str) -> RuntimeError:
        """An error that includes the end of the output."""
        return RuntimeError(f"{text}:\n{self.output.read_text()[-2000:]}")

    def run(self, watch: Callable[[float], object] = lambda seconds: None) -> float:
        """Run it to its end and time it; `RuntimeError` if it failed, or did not end in time.
        `watch` is called regularly with the seconds so far."""
        began = time.monotonic()
        process = self.start()
        while process.poll() is None:
            watch(time.monotonic() - began)
            if time.monotonic() - began > WAITED:
                kill_tree(process)
            time.sleep(0.05)
        if process.returncode:
            raise self.error("the uninterrupted run failed")
        return time.monotonic() - began

    def killed_when(self, ready: Callable[[], bool], *, driver_alone: bool = False) -> int:
        """Run it, kill it when `ready` is true, and return how many processes died (0 if ended)."""
        process = self.start()
        while process.poll() is None:
            if ready():
                if not driver_alone:
                    return kill_tree(process)
                process.kill()
                process.wait()
                return 1
            time.sleep(0.01)
        return 0

    def killed_and_run_again(
        self,
        moment: float,
        *,
        driver_alone: bool = False,
        prepare: Callable[[], object] = lambda: None,
        inspect: Callable[[], Figures] = dict,
    ) -> Figures:
        """Kill it `moment` seconds after its start, then run it until it succeeds.

        `prepare` is called before the run to be killed; if that run ends too early, both are
        repeated with an earlier moment. `inspect` adds figures on what the killed run left.

        moment     seconds after the start at which it was killed
        processes  number of killed processes
        runs       runs of the command until it succeeded, not counting the killed one
        """

        def killed() -> int:
            prepare()
            end = time.monotonic() + moment
            return self.killed_when(lambda: time.monotonic() >= end, driver_alone=driver_alone)

        while not (processes := killed()):
            moment *= 0.8
        figures = {"moment": moment, "processes": processes, **inspect()}
        return figures | {"runs": self.until_it_ends_well()}

    def until_it_ends_well(self) -> int:
        """Repeat it until it succeeds; return the number of runs. `RuntimeError` if `RUNS` fail."""
        for number in range(1, RUNS + 1):
            process = self.start()
            try:
                if process.wait(WAITED) == 0:
                    return number
            except subprocess.TimeoutExpired:
                kill_tree(process)
        raise self.error(f"{RUNS} runs after the kill failed")


def stored(path: Path, measure: Callable[[], Figures]) -> Figures:
    """The figures stored in `path`, or else those of `measure`, which are then stored."""
    if not path.exists():
        path.write_text(json.dumps(measure()))
    figures: Figures = json.loads(path.read_text())
    return figures


def moment_in(begin: float, end: float, share: tuple[int, int], seed: str) -> float:
    """A random moment in the n-th of m equal shares of the time from `begin` to `end`."""
    number, parts = share
    return begin + (end - begin) / parts * (number + random.Random(seed).random())
