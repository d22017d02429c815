"""Run commands and functions in separate processes, and measure what they use.

`measured` runs a command and reports its time, CPU time and memory; `call` runs a function of this
repository in a new process and returns its result. Linux only.

The usual accounting loses the CPU time of a process whose parent does not wait for it, and Spark's
Python daemon does not always wait for its workers. Therefore every process below the measuring one
is polled several times a second, even after it has outlived its parent (it then belongs to the
measuring process, a "subreaper"), and the last values of all processes are summed. At most `EVERY`
seconds of each are missed.
"""

import ctypes
import dataclasses
import importlib
import json
import logging
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

import psutil

from adnominal.conf import ROOT

_PR_SET_CHILD_SUBREAPER = 36
EVERY = 0.1
MEMORY_EVERY = 5  # polls between memory readings, which take longer than reading times
COURSE_EVERY = 20  # polls between two samples of the course
PLANT = "ADNOMINAL_BENCHMARK_PLANT"
SLOWER = 0.2  # the share by which plant=slow lengthens the measured block


class Sample(NamedTuple):
    """A moment of a command's course; see `Usage`."""

    time: float
    cpu: float
    memory: float
    disk: float


@dataclass(frozen=True)
class Usage:
    """What a command used: exit code, seconds from start to end, CPU seconds (user and system, of
    all its processes), the peak memory of all its processes together in 10^6 bytes (shared pages
    counted once), and its standard output and standard error.

    `course` has a sample every two seconds: time of day (as `time.time`), CPU seconds so far, the
    highest memory since the previous sample, bytes of the files in the watched folder.
    """

    code: int
    wall: float
    cpu: float
    memory: float
    output: str
    errors: str
    course: tuple[Sample, ...] = ()

    def checked(self) -> Self:
        """The usage if the command succeeded; otherwise `RuntimeError` with its last lines."""
        if self.code:
            tail = "\n".join((self.output + self.errors).splitlines()[-25:])
            raise RuntimeError(f"the command ended with exit code {self.code}:\n{tail}")
        return self


def job(script: str, *settings: str) -> list[str]:
    """The command line of a script of this repository."""
    return [sys.executable, str(ROOT / script), *settings]


def measured(
    command: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    cores: Collection[int] | None = None,
    folder: Path | None = None,
) -> Usage:
    """Run `command` from the repository's root to its end, and report what it used. `env` adds to
    the environment; `cores` restricts it to some cores; the size of `folder` is also tracked."""
    with tempfile.TemporaryDirectory(prefix="adnominal-bench-") as place:
        result = Path(place) / "result.json"
        watcher = _module("watch", str(result), str(folder or ""), *command)
        process = _finished(watcher, env, cores)
        process.check_returncode()
        usage = json.loads(result.read_text())
    course = tuple(Sample(*sample) for sample in usage.pop("course"))
    return Usage(**usage, course=course, output=process.stdout, errors=process.stderr)


def _finished(
    command: Sequence[str], env: Mapping[str, str] | None, cores: Collection[int] | None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, **(env or {})},
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
        preexec_fn=None if cores is None else lambda: os.sched_setaffinity(0, cores),
    )


def usage_of(script: str, *settings: str, **options: Any) -> Usage:
    """What a script of this repository used, with options of `measured`; `RuntimeError` if it
    failed."""
    return measured(job(script, *settings), **options).checked()


def call(
    function: str,
    *arguments: Any,
    cores: Collection[int] | None = None,
    env: Mapping[str, str] | None = None,
) -> Any:
    """Run a function (``module:name``) in a new process on some `cores`, and return its result.

    Arguments and result are JSON values; a dataclass is returned as its fields. `RuntimeError` with
    the end of its standard error if the function failed.
    """
    result = _finished(caller(function, *arguments), env, cores)
    if result.returncode:
        words = " ".join(map(str, (function, *arguments)))
        raise RuntimeError(f"{words} failed:\n{result.stderr[-3000:]}")
    return json.loads(result.stdout.splitlines()[-1])


def caller(function: str, *arguments: Any) -> list[str]:
    """The command line of `call`, which prints the result as its last line."""
    return _module("call", function, json.dumps(arguments))


def _module(*words: str) -> list[str]:
    """A command line of this module."""
    return [sys.executable, "-m", "benchmarks.processes", *words]


def all_cores() -> list[int]:
    """The cores that this process may run on."""
    return sorted(os.sched_getaffinity(0))


def last_cores(number: int = 1) -> list[int]:
    """The last cores, because the first one serves most interrupts."""
    return all_cores()[-number:]


@dataclass
class Timing:
    """Wall-clock and CPU seconds of a block."""

    wall: float = 0.0
    cpu: float = 0.0


@contextmanager
def timed(*, subject: bool = False, tree: bool = False) -> Iterator[Timing]:
    """Time a block; with `tree` the CPU time includes all processes below this one.

    `subject` marks the subject of a benchmark, as opposed to its peers: plant=slow lengthens it.
    """
    cpu_seconds = tree_cpu_seconds if tree else time.process_time
    timing = Timing()
    wall, cpu = time.perf_counter(), cpu_seconds()
    yield timing
    if subject and os.environ.get(PLANT) == "slow":
        end = time.process_time() + SLOWER * (cpu_seconds() - cpu)
        while time.process_time() < end:
            pass
    # Times below the clock's tick are set to one tick, so that rates stay finite.
    tick = 1 / os.sysconf("SC_CLK_TCK") if tree else 1e-9
    timing.wall, timing.cpu = time.perf_counter() - wall, max(cpu_seconds() - cpu, tick)


def planted_loss(counts: Counter[tuple[str, str]]) -> Counter[tuple[str, str]]:
    """`counts`; with plant=lost one occurrence of its first pair is missing."""
    if os.environ.get(PLANT) == "lost" and counts:
        counts = counts - Counter([min(counts)])
    return counts


def tree_cpu_seconds() -> float:
    """CPU seconds of this process, of those below it, and of those they have waited for."""
    this = psutil.Process()
    return sum(sum(process.cpu_times()[:4]) for process in (this, *this.children(recursive=True)))


def process_bytes(field: str) -> int:
    """Bytes of this process: in memory now (VmRSS), or the peak since the last reset (VmHWM).

    The peak is not `ru_maxrss`, which a process inherits from its parent.
    """
    status = Path("/proc/self/status").read_text()
    return int(status.partition(f"\n{field}:")[2].split()[0]) * 1024


def proportional_bytes(process: int) -> int:
    """Bytes of a process, with its share of the pages that others also hold; 0 if it has ended."""
    try:
        rollup = Path(f"/proc/{process}/smaps_rollup").read_text()
    except OSError:
        return 0
    return int(rollup.partition("\nPss:")[2].split()[0]) * 1024 if "\nPss:" in rollup else 0


def folder_bytes(folder: Path | str) -> int:
    """Bytes that the files below a folder take on disk."""
    size = 0
    for path, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):  # deleted in the meantime
                size += os.lstat(os.path.join(path, name)).st_blocks * 512
    return size


def kill_tree(process: subprocess.Popen[bytes]) -> int:
    """Kill a process and everything below it with kill -9; return the number of processes."""
    try:
        parent = psutil.Process(process.pid)
        doomed = [*parent.children(recursive=True), parent]
    except psutil.NoSuchProcess:
        return 0
    # Stopped first, so that none can start another process while the others die.
    for act in (psutil.Process.suspend, psutil.Process.kill):
        for member in doomed:
            with suppress(psutil.NoSuchProcess):
                act(member)
    process.wait()
    return len(doomed)


class _Watcher:
    """The usage of the processes below this one, polled repeatedly."""

    def __init__(self, folder: str) -> None:
        self.times: dict[tuple[int, float], float] = {}
        self.recent_memory = 0.0
        self.course: list[Sample] = []
        self._folder = folder
        self._looks = 0

    def look(self) -> bool:
        """Record CPU times and memory; return whether any process is alive."""
        below = psutil.Process().children(recursive=True)
        alive = False
        for process in below:
            try:
                times, key = process.cpu_times(), (process.pid, process.create_time())
                self.times[key] = times.user + times.system
                alive |= process.status() != psutil.STATUS_ZOMBIE
            except psutil.NoSuchProcess:
                continue
        if alive and self._looks % MEMORY_EVERY == 0:
            total = sum(proportional_bytes(process.pid) for process in below) / 1e6
            self.recent_memory = max(self.recent_memory, total)
        if alive and self._looks % COURSE_EVERY == 0:
            self.sample(time.time(), self.cpu())
        self._looks += 1
        return alive

    def cpu(self) -> float:
        """CPU seconds so far."""
        return sum(self.times.values())

    def sample(self, moment: float, cpu: float) -> None:
        """Add a sample to the course."""
        disk = folder_bytes(self._folder) if self._folder else 0
        self.course.append(Sample(moment, cpu, self.recent_memory, disk))
        self.recent_memory = 0.0


def _reap() -> None:
    """Wait for the orphans that have ended."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _watch(result: str, folder: str, *command: str) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")
    watcher = _Watcher(folder)
    started, started_at = time.monotonic(), time.time()
    process = subprocess.Popen(command)
    wall = None
    while watcher.look():
        if wall is None and process.poll() is not None:
            wall = time.monotonic() - started
        if wall is not None:
            _reap()
        time.sleep(EVERY)
    code = process.wait()
    wall = time.monotonic() - started if wall is None else wall
    _reap()
    waited_for = resource.getrusage(resource.RUSAGE_CHILDREN)
    # The sum misses processes that end between two polls, the other those nobody waits for.
    cpu = max(watcher.cpu(), waited_for.ru_utime + waited_for.ru_stime)
    watcher.sample(started_at + wall, cpu)
    memory = max(sample.memory for sample in watcher.course)
    usage = {"code": code, "wall": wall, "cpu": cpu, "memory": memory, "course": watcher.course}
    Path(result).write_text(json.dumps(usage))


def _call(function: str, arguments: str) -> None:
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    module, _, name = function.partition(":")
    result = getattr(importlib.import_module(module), name)(*json.loads(arguments))
    fields = dataclasses.asdict(result) if dataclasses.is_dataclass(result) else result  # type: ignore[arg-type]
    print(json.dumps(fields))


if __name__ == "__main__":
    command = _watch if sys.argv[1] == "watch" else _call
    command(*sys.argv[2:])
