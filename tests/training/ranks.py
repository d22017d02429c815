"""Processes of a run that can be killed, forked from one that has already imported everything."""

import os
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from adnominal.conf import ROOT
from tests import fork_server
from tests.ports import LOOPBACK, free_port
from tests.training.conftest import losses_of

PATIENCE = 240.0
_LAUNCHER_VARIABLES = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


def group(size: int) -> list[dict[str, str]]:
    """The variables that a launcher sets for each of `size` processes."""
    common = {"WORLD_SIZE": str(size), "MASTER_ADDR": LOOPBACK, "MASTER_PORT": str(free_port())}
    return [{**common, "RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(size)]


def start(
    arguments: Sequence[str], size: int, script: str = "finetune", output: Path | None = None
) -> list[subprocess.Popen[bytes]]:
    """Start `size` processes of a script of training/; a single process is not in a group.

    Their standard output goes to the files 0, 1, … of the folder `output`.
    """
    command = [fork_server.python(), os.fspath(ROOT / "training" / f"{script}.py"), *arguments]
    environment = {
        name: value for name, value in os.environ.items() if name not in _LAUNCHER_VARIABLES
    }
    processes = []
    for rank, variables in enumerate(group(size) if size > 1 else [{}]):
        with Path(os.devnull if output is None else output / str(rank)).open("wb") as file:
            process = subprocess.Popen(
                command,
                env={**environment, **variables, "OMP_NUM_THREADS": "1"},
                stdout=file,
                stderr=subprocess.DEVNULL,
            )
        processes.append(process)
    return processes


def finish(
    arguments: Sequence[str], size: int, script: str = "finetune", output: Path | None = None
) -> None:
    """Run a script to its end."""
    processes = start(arguments, size, script, output)
    for process in processes:
        process.wait(PATIENCE)
    codes = [process.returncode for process in processes]
    if any(codes):
        raise AssertionError(f"exit codes {codes} of {' '.join(arguments)}")


def kill(
    arguments: Sequence[str], size: int, ready: Callable[[], bool], script: str = "finetune"
) -> None:
    """Start a run, and kill -9 all its processes as soon as it is `ready`."""
    processes = start(arguments, size, script)
    deadline = time.monotonic() + PATIENCE
    try:
        while not ready():
            if any(process.poll() is not None for process in processes):
                raise AssertionError(f"ended before it could be killed: {' '.join(arguments)}")
            if time.monotonic() > deadline:
                raise AssertionError(f"not ready in {PATIENCE:.0f} s: {' '.join(arguments)}")
            time.sleep(0.005)
    finally:
        for process in processes:
            process.kill()
            process.wait()
        fork_server.settle()


def has_reached(out: Path, updates: int, setting: str = "") -> bool:
    """Whether an unfinished run below `out`, one with `setting` among its settings, has logged this
    many updates and has a checkpoint."""
    return any(
        any(folder.glob("checkpoints/*/complete.json"))
        and (folder / "steps.jsonl").exists()
        and (folder / "steps.jsonl").read_text().count("train/loss") >= updates
        and not (folder / "result.json").exists()
        and setting in (folder / "settings.yaml").read_text()
        for folder in out.glob("*")
    )


def largest_differences(out: Path, other: Path) -> dict[str, float]:
    """The largest differences between the runs below two folders that have the same settings: of
    their losses, their saved weights and the scores of their predictions."""
    runs, other_runs = (
        {path.parent.name: path.parent for path in folder.glob("*/result.json")}
        for folder in (out, other)
    )
    if not runs or runs.keys() != other_runs.keys():
        raise AssertionError(f"runs {sorted(runs)} and {sorted(other_runs)}: expected the same")
    differences = {"losses": 0.0, "weights": 0.0, "scores": 0.0}
    for name, run in runs.items():
        twin = other_runs[name]
        run_differences = {
            "losses": np.abs(np.subtract(losses_of(run), losses_of(twin))).max(),
            "weights": _weight_difference(run, twin),
            "scores": np.abs(_scores(run) - _scores(twin)).max(),
        }
        differences = {
            key: max(differences[key], float(run_differences[key])) for key in run_differences
        }
    return differences


def _weight_difference(run: Path, other: Path) -> float:
    from safetensors.numpy import load_file

    first, second = (load_file(next(folder.glob("model/*.safetensors"))) for folder in (run, other))
    if first.keys() != second.keys():
        raise AssertionError(f"weights in one run only: {first.keys() ^ second.keys()}")
    return max(float(np.abs(first[name] - second[name]).max()) for name in first)


def _scores(run: Path) -> Any:
    rows = pq.read_table(run / "predictions.parquet").to_pylist()
    return np.array([row["scores"] for row in sorted(rows, key=lambda row: row["item_id"])])
