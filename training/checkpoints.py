"""Checkpoints: everything that a killed run needs to go on as if nothing had happened.

DeepSpeed writes model, optimizer and scheduler, each process its own share; a pointer file, put in
place by renaming, names the checkpoint that is complete and holds the rest of the state. Random
numbers need no saving: every one of them follows from (seed, step, process), and the order of the
examples from (seed, epoch).
"""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import shutil
from argparse import Namespace
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from conf import UserError
from training import launch
from training.files import replace_text

__all__ = ["Checkpoints", "Pointer", "State", "better", "full_weights"]

_POINTER = "latest.json"


@dataclass
class State:
    """How far a run is: updates done, the best evaluation and those since without a better one."""

    step: int = 0
    best: float | None = None
    best_step: int | None = None
    waiting: int = 0
    stopped: bool = False
    seconds: float = 0.0
    evaluations: list[dict[str, float]] = field(default_factory=list)


@dataclass(frozen=True)
class Pointer:
    """The newest complete checkpoint: its folder's name, by how many processes, the state."""

    tag: str
    world: int
    state: State


def better(value: float, best: float | None, *, smallest: bool) -> bool:
    """Whether an evaluation is the best so far; one that is not a number never is."""
    if not math.isfinite(value):
        return False
    return best is None or (value < best if smallest else value > best)


class Checkpoints:
    """The checkpoints of one run, in `folder`; one is kept. All processes share the folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def latest(self) -> Pointer | None:
        """The newest complete checkpoint, the same in every process; None where there is none."""
        found = None
        path = self.folder / _POINTER
        if launch.rank() == 0 and path.exists():
            kept = json.loads(path.read_text(encoding="utf-8"))
            found = Pointer(kept["tag"], kept["world"], State(**kept["state"]))
        return launch.broadcast(found)

    def save(self, engine: Any, state: State) -> None:
        """Write a checkpoint, then point to it, then drop the one before."""
        import torch.distributed as dist

        tag = f"step-{state.step}"
        if launch.rank() == 0:
            # Of a run that was killed while writing it.
            shutil.rmtree(self.folder / tag, ignore_errors=True)
        dist.barrier()
        with _silent():
            engine.save_checkpoint(os.fspath(self.folder), tag=tag, save_latest=False)
        dist.barrier()
        if launch.rank() == 0:
            pointer = {"tag": tag, "world": launch.world_size(), "state": asdict(state)}
            replace_text(self.folder / _POINTER, json.dumps(pointer, indent=1))
            for old in self.folder.iterdir():
                if old.is_dir() and old.name != tag:
                    shutil.rmtree(old)
        dist.barrier()

    def restore(self, engine: Any, pointer: Pointer, *, universal: bool) -> None:
        """Fill the engine from a checkpoint; `universal` as the engine was configured."""
        tag = f"{pointer.tag}-universal" if universal else pointer.tag
        inner = getattr(engine.optimizer, "optimizer", engine.optimizer)
        decays = [group["weight_decay"] for group in inner.param_groups]
        with _silent():
            path, _ = engine.load_checkpoint(os.fspath(self.folder), tag=tag)
        if path is None:
            raise UserError(f"{self.folder / tag}: not a checkpoint; delete the folder to restart")
        # Under ZeRO 3 the universal form gives every group of parameters the decay of the first,
        # and all of them one counter of updates, which each of them then counts up.
        for group, decay in zip(inner.param_groups, decays, strict=True):
            group["weight_decay"] = decay
        for state in inner.state.values():
            if hasattr(state.get("step"), "clone"):
                state["step"] = state["step"].clone()

    def make_universal(self, pointer: Pointer) -> None:
        """Rewrite a checkpoint so that another number of processes can read it.

        ZeRO's shares are cut by the number of processes; DeepSpeed's universal form holds each
        parameter and its optimizer state whole.
        """
        import torch.distributed as dist

        if launch.rank() == 0:
            from deepspeed.checkpoint import ds_to_universal

            target = self.folder / f"{pointer.tag}-universal"
            shutil.rmtree(target, ignore_errors=True)
            with _silent():
                ds_to_universal.main(
                    Namespace(
                        input_folder=os.fspath(self.folder / pointer.tag),
                        output_folder=os.fspath(target),
                        # One each: the pool of processes would fork a process with threads.
                        num_extract_workers=1,
                        num_merge_workers=1,
                        keep_temp_folder=False,
                        strict=True,
                        inject_missing_state=True,
                    )
                )
        dist.barrier()


def full_weights(engine: Any) -> dict[str, Any] | None:
    """Every weight by name, whole and on the CPU, in the first process; None in the others.

    Under ZeRO 3 they are gathered one at a time, so that no device holds all of them.
    """
    module = engine.module
    if engine.zero_optimization_stage() < 3:
        if launch.rank() != 0:
            return None
        return {name: value.detach().cpu().clone() for name, value in module.state_dict().items()}
    import deepspeed

    gathered: dict[str, Any] = {}
    for name, parameter in module.named_parameters(remove_duplicate=False):
        with deepspeed.zero.GatheredParameters([parameter]):
            if launch.rank() == 0:
                gathered[name] = parameter.detach().cpu().clone()
    if launch.rank() != 0:
        return None
    buffers = dict(module.named_buffers())
    names = list(module.state_dict())
    return {name: gathered[name] if name in gathered else buffers[name].cpu() for name in names}


@contextlib.contextmanager
def _silent() -> Any:
    """Without DeepSpeed's prints and bars; what goes wrong is raised all the same."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield
