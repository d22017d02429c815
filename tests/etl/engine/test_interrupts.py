"""Ctrl-C during a stage of the embedded engine ends the job at once, but not the engine."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from adnominal.conf import ROOT

# A job whose stage takes a minute unless the file `quick` exists. In a worker process it yields
# nothing before its end, like a parser; compiled, it yields batches on the way, like the kernel.
JOB = """
import sys, time
from dataclasses import dataclass
from pathlib import Path
from adnominal import conf
from adnominal.conf import exiting
from adnominal.etl import engine

# Like the scripts of the project.
exiting.is_own_command = lambda: True

@dataclass(frozen=True)
class Settings:
    folder: str
    compiled: bool = False
    again: bool = False

def job(settings):
    folder, compiled = Path(settings.folder), settings.compiled

    def stage(batches):
        for batch in batches:
            for _ in range(600 if compiled else 1):
                (folder / "running").touch()
                if not (folder / "quick").exists():
                    time.sleep(0.1 if compiled else 60)
                yield batch

    frame = engine.start("test").spark.range(1000).repartition(8)
    rows = engine.map_arrow(frame, stage, "id long", compiled=compiled)
    try:
        print("rows", rows.count())
    except KeyboardInterrupt:
        if not settings.again:
            raise
        (folder / "quick").touch()
        print("rows", rows.count())

sys.exit(conf.run(Settings, job))
"""


@pytest.fixture
def job(tmp_path: Path) -> list[str]:
    program = tmp_path / "job.py"
    program.write_text(JOB)
    return [sys.executable, str(program), f"folder={tmp_path}"]


def start(command: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def interrupt_job(command: list[str], folder: Path) -> tuple[int, str, str]:
    """Exit code and both outputs of a job that gets Ctrl-C while its stage runs."""
    process = start(command)
    try:
        deadline = time.monotonic() + 60
        while not (folder / "running").exists():
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.05)
        time.sleep(0.5)
        os.killpg(process.pid, signal.SIGINT)
        output, errors = process.communicate(timeout=20)
        return process.returncode, output, errors
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("compiled", ["true", "false"])
def test_an_interrupted_job_ends_and_the_same_command_finishes(job, tmp_path, compiled):
    command = [*job, f"compiled={compiled}"]
    code, _, errors = interrupt_job(command, tmp_path)
    assert code == 130
    line = "error: interrupted; run the same command again to continue"
    assert errors.splitlines()[-1] == line and "Traceback" not in errors and "RETRIES" not in errors
    (tmp_path / "quick").touch()
    process = start(command)
    output, errors = process.communicate(timeout=60)
    assert (process.returncode, output.split()[0]) == (0, "rows"), errors


def test_the_engine_works_after_an_interrupt(job, tmp_path):
    code, output, errors = interrupt_job([*job, "again=true"], tmp_path)
    assert (code, output) == (0, "rows 1000\n"), errors
