"""Commands measured with all the processes that they start: a Spark job is a JVM and its workers.

    python -m benchmarks.processes RESULT.json FOLDER COMMAND…     (what `measured` runs)

Linux only. The CPU time of a process whose parent does not wait for it is lost to the usual
accounting, and Spark's Python daemon does not always wait for its workers. So every process below
this one is looked at a few times a second, those that outlive their parents too (they are handed to
this one, a "subreaper"), and the last that was seen of each is summed: at most `EVERY` seconds of
each are missed.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import psutil

from conf import ROOT

_PR_SET_CHILD_SUBREAPER = 36
EVERY = 0.1
MEMORY_EVERY = 5  # looks: to add up a process's pages takes longer than to read its times
COURSE_EVERY = 20  # looks between two samples of the course


class Sample(NamedTuple):
    """A moment of a command's course; see `Usage`."""

    time: float
    cpu: float
    memory: float
    disk: float


@dataclass(frozen=True)
class Usage:
    """What a command used: exit code, seconds from start to end, CPU seconds (user and system, of
    all its processes; of its JVMs), most memory of all its processes at a time in 10^6 bytes (pages
    that they share counted once), and what it wrote to standard output and standard error.

    `course` has its course, a sample every two seconds: time of day (as `time.time`), CPU seconds
    so far, memory since the sample before at its highest, bytes of the files in the folder watched.
    """

    code: int
    wall: float
    cpu: float
    jvm: float
    memory: float
    output: str
    errors: str
    course: tuple[Sample, ...] = ()

    def checked(self) -> Usage:
        """The usage of a command that succeeded; `RuntimeError` with its last lines otherwise."""
        if self.code:
            tail = "\n".join((self.output + self.errors).splitlines()[-25:])
            raise RuntimeError(f"the command ended with exit code {self.code}:\n{tail}")
        return self


def measured(
    command: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    cores: Collection[int] | None = None,
    folder: Path | None = None,
) -> Usage:
    """Run `command` to its end, on `cores` only if they are given, and say what it used.

    `env` adds to the environment. It is run from the repository's root. Of `folder`, if it is
    given, the size is followed too.
    """
    with tempfile.TemporaryDirectory(prefix="adnominal-bench-") as own:
        result, out, err = (Path(own) / name for name in ("result.json", "out", "err"))
        with out.open("wb") as stdout, err.open("wb") as stderr:
            subprocess.run(
                [
                    *(sys.executable, "-m", "benchmarks.processes"),
                    *(str(result), str(folder or ""), *command),
                ],
                cwd=ROOT,
                env={**os.environ, **(env or {})},
                stdout=stdout,
                stderr=stderr,
                check=True,
                preexec_fn=None if cores is None else lambda: os.sched_setaffinity(0, cores),
            )
        used = json.loads(result.read_text())
        used["course"] = tuple(Sample(*sample) for sample in used["course"])
        return Usage(
            **used,
            output=out.read_text(encoding="utf-8", errors="replace"),
            errors=err.read_text(encoding="utf-8", errors="replace"),
        )


def kill_tree(process: subprocess.Popen[bytes]) -> int:
    """kill -9 for a process and everything below it; how many processes that were."""
    try:
        parent = psutil.Process(process.pid)
        doomed = [*parent.children(recursive=True), parent]
    except psutil.NoSuchProcess:
        return 0
    # Stopped first, so that nothing can start a further process while the others die.
    for action in ("suspend", "kill"):
        for each in doomed:
            try:
                getattr(each, action)()
            except psutil.NoSuchProcess:
                continue
    process.wait()
    return len(doomed)


def _look(seen: dict[tuple[int, float], tuple[float, bool]]) -> bool:
    """Note the CPU seconds of every process below this one, and which is a JVM; whether there was
    any."""
    below = psutil.Process().children(recursive=True)
    alive = False
    for each in below:
        try:
            times = each.cpu_times()
            seen[each.pid, each.create_time()] = times.user + times.system, each.name() == "java"
            alive |= each.status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            continue
    return alive


def _memory() -> float:
    """Memory of the processes below this one in 10^6 bytes: proportional set sizes, added up."""
    total = 0
    for each in psutil.Process().children(recursive=True):
        try:
            rollup = Path(f"/proc/{each.pid}/smaps_rollup").read_text()
        except OSError:  # it has ended
            continue
        total += int(rollup.partition("\nPss:")[2].split()[0]) if "\nPss:" in rollup else 0
    return total * 1024 / 1e6


def _disk(folder: str) -> int:
    """Bytes that the files below a folder take."""
    size = 0
    for path, _, names in os.walk(folder):
        for name in names:
            try:
                size += os.lstat(os.path.join(path, name)).st_blocks * 512
            except OSError:  # it has been deleted
                continue
    return size


def _reap() -> None:
    """Wait for the orphans that have ended."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def _main(result: str, folder: str, command: list[str]) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")
    seen: dict[tuple[int, float], tuple[float, bool]] = {}
    started, started_at = time.monotonic(), time.time()
    process = subprocess.Popen(command)
    wall, memory, looks = None, 0.0, 0
    course: list[Sample] = []
    since = 0.0  # most memory since the last sample
    while _look(seen):
        if looks % MEMORY_EVERY == 0:
            since = max(since, _memory())
            memory = max(memory, since)
        if looks % COURSE_EVERY == 0:
            cpu = sum(own for own, _ in seen.values())
            course.append(Sample(time.time(), cpu, since, _disk(folder) if folder else 0))
            since = 0.0
        looks += 1
        if wall is None and process.poll() is not None:
            wall = time.monotonic() - started
        if wall is not None:
            _reap()
        time.sleep(EVERY)
    code = process.wait()
    wall = time.monotonic() - started if wall is None else wall
    _reap()
    waited_for = resource.getrusage(resource.RUSAGE_CHILDREN)
    # Either misses something: the sum what ends between two looks, the other what nobody waits for.
    cpu = max(sum(own for own, _ in seen.values()), waited_for.ru_utime + waited_for.ru_stime)
    jvm = sum(own for own, java in seen.values() if java)
    course.append(Sample(started_at + wall, cpu, since, _disk(folder) if folder else 0))
    used = {"code": code, "wall": wall, "cpu": cpu, "jvm": jvm, "memory": memory, "course": course}
    Path(result).write_text(json.dumps(used))


if __name__ == "__main__":
    _main(sys.argv[1], sys.argv[2], sys.argv[3:])
