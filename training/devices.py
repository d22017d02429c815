"""A grid on devices: each run is a separate process, one or several at a time on a device.

The main command trains nothing itself: it queues the runs, starts the next one where there is a
place, and summarises them at the end. A failed run does not affect the others. Every run is the
ordinary command with the settings of its point, so it resumes like any run.

Small models leave a GPU idle. With ``runs_per_device=auto`` a further run is started on a GPU as
long as its memory takes one more of the present size, and as the last one has raised the number of
samples per second of all of them together.
"""

import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from adnominal import conf
from adnominal.conf import UserError
from adnominal.conf.files import replace_text
from adnominal.training import launch
from adnominal.training.memory import OUT_OF_MEMORY
from adnominal.training.planning import TrainingRun
from adnominal.training.settings import Settings

# Seconds between checks of the processes.
POLL_SECONDS = 0.2
# The least gain in samples per second that a further run on a device must bring.
_GAIN = 1.1
# The memory that must be free for a further run, in sizes of the present ones.
_MARGIN = 1.2
# Reports of a run, after the last change on its device, that show its speed.
_REPORTS = 2
log = logging.getLogger("adnominal")


@dataclass
class _Running:
    run: TrainingRun
    process: subprocess.Popen[bytes]
    reports_before: int = 0


@dataclass
class Device:
    """A device, whose processes get `environment`; at most `limit` runs are on it at once.

    If it `grows`, the limit rises as memory and throughput allow. `memory` returns the bytes used
    and the bytes in total.
    """

    environment: Mapping[str, str]
    limit: int = 1
    grows: bool = False
    memory: Callable[[], tuple[int, int]] | None = None
    running: list[_Running] = field(default_factory=list)
    throughputs: dict[int, float] = field(default_factory=dict)

    def start(self, run: TrainingRun) -> None:
        """Start a run here."""
        self.running.append(_Running(run, _start(run, self.environment)))
        for running in self.running:
            running.reports_before = len(_speeds(running.run.folder))

    def remove_ended_runs(self) -> list[tuple[TrainingRun, int]]:
        """Remove the runs that have ended; return them with their exit codes."""
        ended_runs = [running for running in self.running if running.process.poll() is not None]
        self.running = [running for running in self.running if running not in ended_runs]
        for running in self.running if ended_runs else []:
            running.reports_before = len(_speeds(running.run.folder))
        return [(running.run, int(running.process.returncode)) for running in ended_runs]

    def adjust_limit(self) -> None:
        """Raise the limit by one run, or settle it, once all present runs show their speed."""
        number = len(self.running)
        if not self.grows or number < self.limit:
            return
        total = 0.0
        for running in self.running:
            speeds = _speeds(running.run.folder)[running.reports_before :]
            if len(speeds) < _REPORTS:
                return
            total += speeds[-1]
        self.throughputs[number] = total
        previous = self.throughputs.get(number - 1, 0.0)
        if total < _GAIN * previous:
            self.limit, self.grows = max(1, number - 1), False
            log.info("%d runs at once: no faster than %d", number, number - 1)
        elif not self._has_room(number):
            self.grows = False
            log.info("%d runs at once: no memory for one more", number)
        else:
            self.limit = number + 1

    def _has_room(self, number: int) -> bool:
        if self.memory is None:
            return True
        used, total = self.memory()
        return total - used >= _MARGIN * used / number

    def shrink(self) -> None:
        """Lower the limit for good, after a run that ran out of memory beside others."""
        self.limit, self.grows = max(1, len(self.running)), False


def _speeds(folder: Path) -> list[float]:
    """Return the samples per second that a run has reported."""
    path = folder / "steps.jsonl"
    if not path.is_file():
        return []
    speeds = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            figures = json.loads(line)
        except ValueError:  # being written
            continue
        if "train/samples_per_second" in figures:
            speeds.append(float(figures["train/samples_per_second"]))
    return speeds


def of_settings(settings: Settings) -> list[Device]:
    """Return the devices of a grid.

    They are all visible GPUs, or the first ``devices=`` of them. Without a GPU, a device is a share
    of the cores; by default there is one.

    Raises:
        UserError: there are fewer GPUs than devices, or several devices under a launcher.
    """
    number = settings.devices
    per_device = settings.runs_per_device
    if launch.world_size() > 1:
        if (number or 1) > 1 or per_device not in ("auto", "1"):
            raise UserError(
                f"devices={number} runs_per_device={per_device}: each run of a grid is one process "
                "on one device; expected plain python, got a launcher's processes (deepspeed, "
                "torchrun)"
            )
        return [Device({})]
    limit = 1 if per_device == "auto" else int(per_device)
    gpus = _visible_gpus()
    if gpus:
        if number is not None and number > len(gpus):
            raise UserError(f"devices={number}: expected {len(gpus)} or fewer, the GPUs visible")
        return [
            Device(
                {"CUDA_VISIBLE_DEVICES": gpu},
                limit,
                grows=per_device == "auto",
                memory=lambda gpu=gpu: _gpu_memory(gpu),  # type: ignore[misc]
            )
            for gpu in gpus[:number]
        ]
    number = number or 1
    threads = max(1, len(os.sched_getaffinity(0)) // (number * limit))
    thread_limit = os.environ.get("OMP_NUM_THREADS", "")
    if thread_limit.isdecimal():
        threads = min(threads, int(thread_limit))
    # More threads than cores slow all runs down, so cores take only as many as the user says.
    return [Device({"OMP_NUM_THREADS": str(threads)}, limit) for _ in range(number)]


def are_shared(devices: Sequence[Device]) -> bool:
    """Whether several runs can be executed at once."""
    return len(devices) > 1 or any(device.limit > 1 or device.grows for device in devices)


def _visible_gpus() -> list[str]:
    """Return the name of each GPU for CUDA_VISIBLE_DEVICES."""
    import torch

    names = os.environ.get("CUDA_VISIBLE_DEVICES")
    if names is not None:
        return [name.strip() for name in names.split(",")][: torch.cuda.device_count()]
    return [str(number) for number in range(torch.cuda.device_count())]


def _gpu_memory(gpu: str) -> tuple[int, int]:
    """Return the used and the total bytes of a GPU; asking torch would take half a gigabyte of it.

    Without the vendor's program nothing is known, and no further run fits.
    """
    query = ["nvidia-smi", "--query-gpu=memory.used,memory.total", "--format=csv,noheader,nounits"]
    try:
        answer = subprocess.run([*query, "-i", gpu], capture_output=True, text=True, check=True)
        used, total = (int(word) << 20 for word in answer.stdout.split(","))
    except (OSError, ValueError, subprocess.SubprocessError):
        return 1, 1
    return used, total


def spread(
    runs: Sequence[TrainingRun],
    devices: Sequence[Device],
    on_start: Callable[[TrainingRun], Any] = lambda run: None,
) -> dict[Path, str]:
    """Execute every run on the devices; return reasons of failures by folder.

    `on_start` is called before a run starts. The output of a run goes to ``log.txt`` in its folder.
    A run that ran out of memory beside others is queued again.
    """
    queue, failures = deque(runs), dict[Path, str]()
    try:
        while queue or any(device.running for device in devices):
            for device in devices:
                while queue and len(device.running) < device.limit:
                    run = queue.popleft()
                    number = len(runs) - len(queue)
                    log.info("run %d of %d: %s", number, len(runs), run.label)
                    on_start(run)
                    device.start(run)
            time.sleep(POLL_SECONDS)
            for device in devices:
                _collect(device, queue, failures)
                device.adjust_limit()
    finally:
        processes = [running.process for device in devices for running in device.running]
        for process in processes:
            process.send_signal(signal.SIGINT)
        for process in processes:
            process.wait()
    return failures


def _collect(device: Device, queue: deque[TrainingRun], failures: dict[Path, str]) -> None:
    """Take the runs that have ended from a device, and report or repeat them."""
    for run, code in device.remove_ended_runs():
        reason = _reason(run.folder, code) if code else ""
        # The system kills a process when the machine's memory is used up.
        lacked_memory = reason.startswith(OUT_OF_MEMORY) or code == -signal.SIGKILL
        if lacked_memory and device.running:
            log.info("%s: out of memory beside %d others", run.label, len(device.running))
            device.shrink()
            queue.appendleft(run)
            continue
        if reason:
            failures[run.folder] = reason
        log.info("%s: %s", run.label, reason or "finished")


def _start(run: TrainingRun, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start a run of the grid as a process of its own, with its log in the run's folder."""
    run.folder.mkdir(parents=True, exist_ok=True)
    settings = run.folder / "settings.yaml"
    replace_text(settings, conf.as_yaml(run.settings))
    script = conf.ROOT / "training" / "finetune.py"
    single = ["devices=1", "runs_per_device=1"]
    with (run.folder / "log.txt").open("wb") as output:
        return subprocess.Popen(
            [sys.executable, os.fspath(script), os.fspath(settings), *single],
            env={**os.environ, **environment, launch.PARENT: str(os.getpid())},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            # An interrupt reaches the runs once, only through this process.
            start_new_session=True,
        )


def _reason(folder: Path, code: int) -> str:
    """Return the error that a run printed, else its exit code and the place of its output."""
    path = folder / "log.txt"
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    errors = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
    return errors[-1] if errors else f"exit code {code}; {path} has its output"
