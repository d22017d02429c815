"""A grid on several devices: each run is a separate process on one device.

The main command trains nothing itself: it queues the runs, starts the next one when a device is
free, and summarises them at the end. A failed run does not affect the others. Every run is the
ordinary command with the settings of its point, so it resumes like any run.
"""

import logging
import os
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adnominal import conf
from adnominal.conf import UserError
from adnominal.training import launch
from adnominal.training.files import replace_text
from adnominal.training.settings import Settings

# Seconds between checks of the processes.
POLL_SECONDS = 0.2
log = logging.getLogger("adnominal")


@dataclass(frozen=True)
class QueuedRun:
    """A waiting run: the settings of its point and its folder."""

    label: str
    settings: Settings
    folder: Path


def environments(settings: Settings) -> list[dict[str, str]]:
    """Return the environment variables of a run for each device of a grid.

    The devices are all visible GPUs, or the first ``devices=`` of them. Without a GPU, a device is
    a share of the cores; by default there is one.

    Raises:
        UserError: there are fewer GPUs than devices, or several devices under a launcher.
    """
    number = settings.devices
    if launch.world_size() > 1:
        if number is not None and number > 1:
            raise UserError(
                f"devices={number}: each run of a grid is one process on one device; expected "
                "plain python, got a launcher's processes (deepspeed, torchrun)"
            )
        return [{}]
    gpus = _visible_gpus()
    if gpus:
        if number is not None and number > len(gpus):
            raise UserError(f"devices={number}: expected {len(gpus)} or fewer, the GPUs visible")
        return [{"CUDA_VISIBLE_DEVICES": gpu} for gpu in gpus[:number]]
    number = number or 1
    threads = max(1, len(os.sched_getaffinity(0)) // number)
    limit = os.environ.get("OMP_NUM_THREADS", "")
    if limit.isdecimal():
        threads = min(threads, int(limit))
    return [{"OMP_NUM_THREADS": str(threads)} for _ in range(number)]


def _visible_gpus() -> list[str]:
    """Return the name of each GPU for CUDA_VISIBLE_DEVICES."""
    import torch

    names = os.environ.get("CUDA_VISIBLE_DEVICES")
    if names is not None:
        return [name.strip() for name in names.split(",")][: torch.cuda.device_count()]
    return [str(number) for number in range(torch.cuda.device_count())]


def spread(
    runs: Sequence[QueuedRun],
    devices: Sequence[Mapping[str, str]],
    on_start: Callable[[QueuedRun], Any] = lambda run: None,
) -> dict[Path, str]:
    """Execute every run, one at a time per device; return reasons of failures by folder.

    `on_start` is called before a run starts. The output of a run goes to ``log.txt`` in its folder.
    """
    queue, free_devices = deque(runs), deque(range(len(devices)))
    running: dict[int, tuple[QueuedRun, subprocess.Popen[bytes]]] = {}
    failures: dict[Path, str] = {}
    try:
        while queue or running:
            while queue and free_devices:
                device, run = free_devices.popleft(), queue.popleft()
                number = len(runs) - len(queue)
                log.info("run %d of %d on device %d: %s", number, len(runs), device, run.label)
                on_start(run)
                running[device] = run, _start(run, devices[device])
            time.sleep(POLL_SECONDS)
            for device, (run, process) in list(running.items()):
                if process.poll() is None:
                    continue
                del running[device]
                free_devices.append(device)
                if process.returncode:
                    failures[run.folder] = _reason(run.folder, process.returncode)
                log.info("%s: %s", run.label, failures.get(run.folder, "finished"))
    finally:
        for _, process in running.values():
            process.send_signal(signal.SIGINT)
        for _, process in running.values():
            process.wait()
    return failures


def _start(run: QueuedRun, device: Mapping[str, str]) -> subprocess.Popen[bytes]:
    run.folder.mkdir(parents=True, exist_ok=True)
    settings = run.folder / "settings.yaml"
    replace_text(settings, conf.as_yaml(run.settings))
    script = conf.ROOT / "training" / "finetune.py"
    with (run.folder / "log.txt").open("wb") as output:
        return subprocess.Popen(
            [sys.executable, os.fspath(script), os.fspath(settings), "devices=1"],
            env={**os.environ, **device, launch.PARENT: str(os.getpid())},
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
