"""Run commands and functions in separate processes, and measure what they use. Linux only.

The usual accounting loses the CPU time of a process whose parent does not wait for it, and Spark's
Python daemon does not always wait for its workers. All processes of a command are therefore polled
several times a second, and the last values of each are added up.
"""

import importlib
import json
import logging
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple

import psutil

from adnominal.conf import ROOT

EVERY = 0.1  # seconds between two polls
MEMORY_EVERY = 5  # polls between two readings of the memory, which take longer
COURSE_EVERY = 20  # polls between two samples of the course
LIGHT_EVERY = 1.0  # seconds between two polls that take no memory


class Sample(NamedTuple):
    """A moment of a command: time of day, CPU seconds so far, the highest memory since the previous
    sample (10^6 bytes), and bytes of the files in the watched folder."""

    time: float
    cpu: float
    memory: float
    disk: float


@dataclass(frozen=True)
class Usage:
    """What a command and all its processes used.

    Attributes:
        wall: seconds from start to end.
        cpu: CPU seconds, user and system.
        memory: the peak memory of all together, in 10^6 bytes; shared pages are counted once.
        course: a sample every two seconds.
    """

    wall: float
    cpu: float
    memory: float
    course: list[Sample]


def run_measured(
    command: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    cores: Collection[int] | None = None,
    folder: Path | None = None,
    light: bool = False,
) -> Usage:
    """Run a command from the repository's root to its end, and report what it used.

    `env` adds to the environment, `cores` restricts the command to some cores, and the size of
    `folder` is a part of the course. Polls take a third of a core where a command has many
    processes; with `light`, there is one per second, each is a sample, and the memory stays 0.

    Raises:
        RuntimeError: the command failed; the message has its last lines.
    """
    with tempfile.TemporaryFile() as output:
        begun = time.monotonic()
        waited_before = seconds_of_children()
        process = start(command, output, env, cores)
        watcher = Watcher(process.pid, folder)
        while process.poll() is None:
            if light:
                watcher.poll_times()
                watcher.add_sample(watcher.cpu())
            else:
                watcher.poll()
            time.sleep(LIGHT_EVERY if light else EVERY)
        wall = time.monotonic() - begun
        check_exit(process, output)
    # The polls miss processes that end between two of them, the kernel those nobody waits for.
    cpu = max(watcher.cpu(), seconds_of_children() - waited_before)
    watcher.add_sample(cpu)
    memory = max(sample.memory for sample in watcher.course)
    return Usage(wall, cpu, memory, watcher.course)


def run_script(script: str, *settings: str, **options: Any) -> Usage:
    """What a script of this repository used, with options of `run_measured`."""
    return run_measured([sys.executable, str(ROOT / script), *settings], **options)


def call(
    function: str,
    *arguments: Any,
    env: Mapping[str, str] | None = None,
    cores: Collection[int] | None = None,
) -> Any:
    """The result of a function (``module:name``) in a new process on some cores; arguments and
    result are JSON values. `RuntimeError` with its last lines if it failed."""
    words = [sys.executable, "-m", "benchmarks.processes", function, json.dumps(arguments)]
    with tempfile.TemporaryFile() as output:
        process = start(words, output, env, cores)
        process.wait()
        check_exit(process, output)
        return json.loads(lines_of(output)[-1])


def start(
    command: Sequence[str],
    output: IO[bytes],
    env: Mapping[str, str] | None,
    cores: Collection[int] | None,
) -> subprocess.Popen[bytes]:
    """Start a command in the repository's root, on some cores."""

    def restrict() -> None:
        if cores is not None:
            os.sched_setaffinity(0, cores)

    return subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, **(env or {})},
        stdout=output,
        stderr=output,
        preexec_fn=restrict,
    )


def check_exit(process: subprocess.Popen[bytes], output: IO[bytes]) -> None:
    """Raise `RuntimeError` with the last lines of the output if the process failed."""
    if process.returncode:
        tail = "\n".join(lines_of(output)[-25:])
        raise RuntimeError(f"the command ended with exit code {process.returncode}:\n{tail}")


def lines_of(output: IO[bytes]) -> list[str]:
    """The lines of a process's output."""
    output.seek(0)
    return output.read().decode(errors="replace").splitlines()


def all_cores() -> list[int]:
    """The cores that this process may run on."""
    return sorted(os.sched_getaffinity(0))


def last_cores(number: int = 1) -> list[int]:
    """The last cores, because the first one serves most interrupts."""
    return all_cores()[-number:]


def seconds_of_children() -> float:
    """CPU seconds of the processes that this one has waited for, and of those they waited for."""
    times = os.times()
    return times.children_user + times.children_system


@dataclass
class Timing:
    """Seconds and CPU seconds of a block."""

    wall: float = 0.0
    cpu: float = 0.0


@contextmanager
def time_block(*, children: bool = False) -> Iterator[Timing]:
    """Time a block; with `children`, its CPU time includes processes that it has waited for."""

    def cpu_seconds() -> float:
        return time.process_time() + (seconds_of_children() if children else 0.0)

    timing = Timing()
    wall, cpu = time.perf_counter(), cpu_seconds()
    yield timing
    timing.wall = time.perf_counter() - wall
    # At least a nanosecond, so that rates stay finite.
    timing.cpu = max(cpu_seconds() - cpu, 1e-9)


def peak_memory_mb() -> float:
    """The peak memory of this process in 10^6 bytes; `ru_maxrss` is inherited from a parent."""
    status = Path("/proc/self/status").read_text()
    kilobytes = status.partition("\nVmHWM:")[2].split()[0]
    return int(kilobytes) * 1024 / 1e6


def memory_mb(processes: Iterable[psutil.Process]) -> float:
    """The memory of processes in 10^6 bytes; pages that they share are counted once."""
    size = 0
    for process in processes:
        with suppress(psutil.Error):  # it has ended
            size += process.memory_full_info().pss
    return size / 1e6


def folder_bytes(folder: Path) -> int:
    """Bytes that the files below a folder take on disk."""
    size = 0
    for path, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):  # deleted in the meantime
                size += os.lstat(os.path.join(path, name)).st_blocks * 512
    return size


def kill_tree(process: subprocess.Popen[bytes]) -> int:
    """Kill a process and everything below it with kill -9; the number of processes."""
    members = family(process.pid)
    # All are stopped first, so that none can start another process while the others die.
    for act in (psutil.Process.suspend, psutil.Process.kill):
        for member in members:
            with suppress(psutil.NoSuchProcess):
                act(member)
    process.wait()
    return len(members)


def family(process: int) -> list[psutil.Process]:
    """A process and everything below it; empty if it has ended."""
    try:
        parent = psutil.Process(process)
        return [*parent.children(recursive=True), parent]
    except psutil.NoSuchProcess:
        return []


class Watcher:
    """The usage of a process and of all below it, polled repeatedly."""

    def __init__(self, process: int, folder: Path | None) -> None:
        self.process = process
        self.folder = folder
        self.seconds: dict[tuple[int, float], float] = {}
        self.recent_memory = 0.0
        self.course: list[Sample] = []
        self.polls = 0

    def poll(self) -> None:
        """Read CPU times and, at times, the memory."""
        members = self.poll_times()
        if self.polls % MEMORY_EVERY == 0:
            self.recent_memory = max(self.recent_memory, memory_mb(members))
        if self.polls % COURSE_EVERY == 0:
            self.add_sample(self.cpu())
        self.polls += 1

    def poll_times(self) -> list[psutil.Process]:
        """Read the CPU times of all processes; these."""
        members = family(self.process)
        for member in members:
            with suppress(psutil.NoSuchProcess):
                times = member.cpu_times()
                self.seconds[member.pid, member.create_time()] = times.user + times.system
        return members

    def cpu(self) -> float:
        """CPU seconds so far."""
        return sum(self.seconds.values())

    def add_sample(self, cpu: float) -> None:
        """Add a sample to the course."""
        disk = folder_bytes(self.folder) if self.folder else 0
        self.course.append(Sample(time.time(), cpu, self.recent_memory, disk))
        self.recent_memory = 0.0


def print_result(function: str, arguments: str) -> None:
    """Call a function and print its result as JSON."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    module, _, name = function.partition(":")
    result = getattr(importlib.import_module(module), name)(*json.loads(arguments))
    print(f"\n{json.dumps(result)}")


if __name__ == "__main__":
    print_result(*sys.argv[1:])
