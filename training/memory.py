"""Micro-batches that fit a device's memory.

The examples of an update are cut into micro-batches, one for each process and round of gradient
accumulation. A GPU is fast only with large ones, and their size does not change the result (the
loss of an update is the mean over all its examples). So the size is fitted to the memory: tried
once before training with the longest examples, and halved if memory runs out later.
"""

import gc
import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from adnominal.conf import JobFailed, UserError
from adnominal.training import launch
from adnominal.training.files import replace_json
from adnominal.training.models.learner import Learner
from adnominal.training.settings import Settings

# How the errors of runs begin that a device with more free memory could do.
OUT_OF_MEMORY = "out of memory"
_FILE = "micro_batch.json"
# AdamW's two moments in single precision, for each trained weight.
_OPTIMIZER_BYTES = 8
log = logging.getLogger("adnominal")


def share_of_process(settings: Settings) -> int:
    """Return the examples of an update that each process computes.

    Raises:
        UserError: the update cannot be divided among the processes, or into micro-batches.
    """
    world, micro_batch = launch.world_size(), settings.per_device_train_batch_size
    if settings.batch_size is None:
        return (micro_batch or 8) * settings.gradient_accumulation_steps
    step = world * (micro_batch or 1)
    if settings.batch_size % step:
        lower = settings.batch_size // step * step
        nearest = " or ".join(str(size) for size in (lower, lower + step) if size)
        divisor = f"{world} processes" if world > 1 else ""
        if micro_batch is not None:
            divisor += f"{' x ' if divisor else ''}per_device_train_batch_size={micro_batch}"
        raise UserError(
            f"batch_size={settings.batch_size}: not divisible by {divisor}; expected {nearest}"
        )
    return settings.batch_size // world


def update_size(settings: Settings) -> int:
    """Return the examples of an update over all processes."""
    return share_of_process(settings) * launch.world_size()


def micro_batch_of_run(folder: Path) -> int | None:
    """Return the size that the run in `folder` has used, if memory was fitted before."""
    path = folder / _FILE
    if not path.is_file():
        return None
    return int(json.loads(path.read_text(encoding="utf-8"))["size"])


def record_micro_batch(folder: Path, size: int, reason: str) -> None:
    """Store the size with the run, for the next start."""
    replace_json(folder / _FILE, {"size": size, "reason": reason})


def candidates(share: int) -> list[int]:
    """Return the powers of two that divide the examples of a process, largest first; at least 1.

    The whole share comes first if it is none of them.
    """
    powers = [1 << exponent for exponent in range(share.bit_length())]
    divisors = [power for power in reversed(powers) if share % power == 0]
    return divisors if share in divisors else [share, *divisors]


def half_of(size: int, share: int) -> int:
    """Return the largest micro-batch of at most half the `size` that divides a process's share."""
    return max(number for number in range(1, size // 2 + 1) if share % number == 0)


def fit_micro_batch(learner: Learner, model: Any, share: int, autocast: Callable[[], Any]) -> int:
    """Return the largest micro-batch whose training step fits the device's memory.

    Each size is tried on the longest examples, beside the memory that the optimizer will need.
    `autocast` makes the context of a forward pass.

    Raises:
        JobFailed: not even one example fits.
    """
    import torch

    device = next(model.parameters()).device
    trained = sum(weights.numel() for weights in model.parameters() if weights.requires_grad)
    rows = learner.lengths("train").argsort()[::-1]
    model.train()
    for size in candidates(share):
        try:
            reserve = torch.empty(trained * _OPTIMIZER_BYTES, dtype=torch.uint8, device=device)
            _try_step(learner, model, rows[:size], autocast)
            del reserve
            return size
        except torch.cuda.OutOfMemoryError:
            log.info("micro-batches of %d do not fit the memory", size)
        finally:
            model.zero_grad(set_to_none=True)
            free_memory()
    raise JobFailed(f"{OUT_OF_MEMORY}: not even one training example fits ({usage()})")


def _try_step(learner: Learner, model: Any, rows: Any, autocast: Callable[[], Any]) -> None:
    from adnominal.training.evaluation import loss_sum

    device = next(model.parameters()).device
    batch = {name: values.to(device) for name, values in learner.collate("train", rows).items()}
    with autocast():
        loss = loss_sum(learner.logits(model, batch), batch["labels"])
    loss.backward()


def free_memory() -> None:
    """Return unused memory to the device, after running out of it."""
    import torch

    gc.collect()
    torch.cuda.empty_cache()


def usage() -> str:
    """Describe the memory of this process's GPU in one clause."""
    import torch

    if not torch.cuda.is_available():
        return "no GPU"
    free, total = torch.cuda.mem_get_info()
    needed = torch.cuda.max_memory_allocated()
    return (
        f"{needed / 2**30:.1f} GiB were needed at least; the GPU has {total / 2**30:.1f} GiB, "
        f"{free / 2**30:.1f} of them free"
    )
