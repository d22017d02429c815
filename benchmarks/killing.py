"""Commands that are killed with kill -9 and given again until they end well."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyspark

from benchmarks.processes import kill_tree
from benchmarks.results import Figures
from conf import ROOT
from tests.ports import free_port

# Runs after which a case is given up: each goes on where the one before it stopped.
RUNS = 5
WAITED = 900.0


@dataclass(frozen=True)
class Command:
    """A command of the repository, and the file that its output goes to.

    `processes` above 1 are started by DeepSpeed's launcher.
    """

    words: Sequence[str]
    output: Path
    processes: int = 0

    def start(self) -> subprocess.Popen[bytes]:
        """Begin to run it, the Python process as the driver of local Spark."""
        # What a job on local Spark needs to run with this interpreter and its Spark.
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
        """An error with the end of the output."""
        return RuntimeError(f"{text}:\n{self.output.read_text()[-2000:]}")

    def run(self, watch: Callable[[float], object] = lambda seconds: None) -> float:
        """Run it to its end; seconds. `watch` is called meanwhile, with the seconds so far.

        Raises:
            RuntimeError: it failed, or did not end in time.
        """
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
        """Run it and kill it when `ready` is true; how many processes died, 0 if it had ended."""
        process = self.start()
        while process.poll() is None:
            if not ready():
                time.sleep(0.01)
            elif not driver_alone:
                return kill_tree(process)
            else:
                process.kill()
                process.wait()
                return 1
        return 0

    def killed_at(self, moment: float, *, driver_alone: bool = False) -> int:
        """Run it and kill it after `moment` seconds; as `killed_when`."""
        end = time.monotonic() + moment
        return self.killed_when(lambda: time.monotonic() >= end, driver_alone=driver_alone)

    def killed_and_run_again(
        self,
        moment: float,
        *,
        driver_alone: bool = False,
        prepare: Callable[[], object] = lambda: None,
        inspect: Callable[[], Figures] = dict,
    ) -> Figures:
        """Kill it `moment` seconds after its start, then run it until it ends well.

        `prepare` is called before the run to be killed; again, with an earlier moment, where that
        run has ended by then. `inspect` adds figures of what the killed run has left.

        moment     seconds after the start at which it was killed
        processes  how many processes died
        runs       runs of the command until it ended well, the killed one not counted
        """
        prepare()
        while not (processes := self.killed_at(moment, driver_alone=driver_alone)):
            moment *= 0.8
            prepare()
        figures = {"moment": moment, "processes": processes, **inspect()}
        return figures | {"runs": self.until_it_ends_well()}

    def until_it_ends_well(self) -> int:
        """Run it again and again until it ends well; how many runs that took.

        Raises:
            RuntimeError: `RUNS` runs failed.
        """
        for number in range(1, RUNS + 1):
            process = self.start()
            try:
                if process.wait(WAITED) == 0:
                    return number
            except subprocess.TimeoutExpired:
                kill_tree(process)
        raise self.error(f"{RUNS} runs after the kill failed")


def stored(path: Path, measure: Callable[[], Figures]) -> Figures:
    """What a finished measurement has left in `path`, or what it gives now, kept there."""
    if not path.exists():
        path.write_text(json.dumps(measure()))
    figures: Figures = json.loads(path.read_text())
    return figures


def moment_in(begin: float, end: float, share: tuple[int, int], seed: str) -> float:
    """When to kill: random within a share, the n-th of m, of the time from `begin` to `end`."""
    number, parts = share
    return begin + (end - begin) / parts * (number + random.Random(seed).random())


def emptied(folder: Path) -> Path:
    """The folder, new and empty."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
