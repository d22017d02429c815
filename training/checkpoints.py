"""The newest complete checkpoint of a run, which any number of processes can read.

The Trainer writes checkpoints: weights, optimizer and schedule. When every process has finished
writing, a pointer file is renamed into place; it names the complete checkpoint and has the rest of
the state. Random number generators are not saved: all random numbers follow from (seed, step,
process), and the order of examples from (seed, epoch).
"""

import json
import math
import os
import shutil
import zlib
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from adnominal.conf import JobFailed
from adnominal.training import launch
from adnominal.training.files import replace_json, sync

_POINTER = "latest.json"


@dataclass
class State:
    """Progress of a run: updates, the best evaluation, and the number of evaluations since."""

    step: int = 0
    best: float | None = None
    best_step: int | None = None
    waiting: int = 0
    stopped: bool = False
    seconds: float = 0.0
    evaluations: list[dict[str, float]] = field(default_factory=list)

    @property
    def weights(self) -> str:
        """The folder of the best weights; without a validation part, of the last."""
        return f"best-{self.step if self.best_step is None else self.best_step}"


@dataclass(frozen=True)
class Pointer:
    """The newest complete checkpoint: its folder's name, number of processes and state."""

    tag: str
    world: int
    state: State


def better(value: float, best: float | None, *, smallest: bool) -> bool:
    """Whether an evaluation is the best so far; NaN never is."""
    if not math.isfinite(value):
        return False
    return best is None or (value < best if smallest else value > best)


def _files(folder: Path) -> dict[str, Path]:
    """Return each file below a folder, by relative path."""
    if not folder.is_dir():
        raise FileNotFoundError(f"no folder {folder}")
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {os.fspath(path.relative_to(folder)): path for path in paths}


def _content(path: Path) -> tuple[int, int]:
    """Return the size and the CRC-32 of a file."""
    status = path.stat()
    return status.st_size, _checksum(path, status.st_size, status.st_mtime_ns)


@lru_cache(4096)
def _checksum(path: Path, size: int, modified: int) -> int:
    """Return the CRC-32 of a file, read once as long as `size` and `modified` stay the same."""
    checksum = 0
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            checksum = zlib.crc32(block, checksum)
    return checksum


def _check_files(folder: Path, expected: Mapping[str, Any]) -> None:
    paths = _files(folder)
    for name, (size, checksum) in expected.items():
        size_left = paths[name].stat().st_size if name in paths else 0
        if size_left != size:
            raise ValueError(f"{folder / name} has {size_left} of {size} bytes")
        if _content(paths[name])[1] != checksum:
            raise ValueError(f"{folder / name} is not what was written (its checksum differs)")


class Checkpoints:
    """The checkpoints of one run in `folder`, which all processes share; only one is kept.

    The folder also has the best weights of each, and ``model``, to which the best of all are moved.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.model_folder = folder.parent / "model"

    def latest(self) -> Pointer | None:
        """Return the newest complete checkpoint, the same in every process; None if there is none.

        Raises:
            JobFailed: it is damaged; raised in every process.
        """
        pointer, problem = None, None
        if launch.rank() == 0 and (self.folder / _POINTER).exists():
            try:
                pointer = self._read()
            except (OSError, ValueError, KeyError, TypeError) as error:
                problem = f"{type(error).__name__}: {error}"
        pointer, problem = launch.broadcast((pointer, problem))
        if problem is not None:
            raise JobFailed(
                f"{self.folder.parent}: its checkpoint cannot be read ({problem}); delete "
                f"{self.folder} to start over with the same command"
            )
        return pointer

    def _read(self) -> Pointer:
        values = json.loads((self.folder / _POINTER).read_text(encoding="utf-8"))
        state = State(**values["state"])
        weights = self.folder.parent / state.weights
        if not weights.is_dir() and self.model_folder.is_dir():
            weights = self.model_folder
        _check_files(self.folder / values["tag"], values["files"])
        # There are none before the first evaluation.
        if values["weights"]:
            _check_files(weights, values["weights"])
        return Pointer(values["tag"], values["world"], state)

    def complete(self, tag: str, state: State) -> None:
        """Point to a checkpoint that every process has written, then delete the others."""
        launch.barrier()
        if launch.local_rank() == 0:
            sync(self.folder / tag)  # on every machine, whose processes wrote parts of it
        launch.barrier()
        if launch.rank() == 0:
            pointer = {"tag": tag, "world": launch.world_size(), "state": asdict(state)}
            weights = self.folder.parent / state.weights
            # There are none before the first evaluation.
            best = _files(weights) if weights.is_dir() else {}
            # PEFT's, until the model card replaces it.
            best.pop("README.md", None)
            for key, paths in (("files", _files(self.folder / tag)), ("weights", best)):
                pointer[key] = {name: _content(path) for name, path in paths.items()}
            replace_json(self.folder / _POINTER, pointer)
            for old in self.folder.iterdir():
                if old.is_dir() and old.name != tag:
                    shutil.rmtree(old)
        launch.barrier()

    def make_universal(self, pointer: Pointer) -> None:
        """Rewrite a DeepSpeed checkpoint so that another number of processes can read it.

        ZeRO's shards depend on the number of processes; DeepSpeed's universal form has each
        parameter and its optimizer state whole.
        """
        if launch.rank() == 0:
            from deepspeed.checkpoint import ds_to_universal

            (source,) = (self.folder / pointer.tag).glob("global_step*[0-9]")
            target = source.with_name(f"{source.name}_universal")
            shutil.rmtree(target, ignore_errors=True)
            with launch.silence():
                ds_to_universal.main(
                    Namespace(
                        input_folder=os.fspath(source),
                        output_folder=os.fspath(target),
                        # One worker each: a pool would fork a process that has threads.
                        num_extract_workers=1,
                        num_merge_workers=1,
                        keep_temp_folder=False,
                        strict=True,
                        inject_missing_state=True,
                    )
                )
        launch.barrier()
