"""DeepSpeed's configuration, the processes of a run, and sharded weights."""

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from adnominal import conf
from adnominal.conf import UserError
from adnominal.training import launch
from adnominal.training.files import replace_json
from adnominal.training.settings import Settings

DEEPSPEED = conf.ROOT / "conf" / "deepspeed"
# Weights are written in eight files, with sizes in this range (in bytes): the first process holds
# the weights of one file while it writes.
PIECES, SMALLEST, LARGEST = 8, 50_000_000, 2_000_000_000


def training_precision(settings: Settings) -> str:
    """Return fp32, bf16 or fp16, as the settings request on this machine.

    Raises:
        UserError: fp16 without a GPU, or bf16 on a GPU that does not support it.
    """
    import torch

    cuda = torch.cuda.is_available()
    supported = cuda and torch.cuda.is_bf16_supported()
    if settings.fp16:
        if not cuda:
            raise UserError("fp16=true: there is no GPU here; expected fp32 or bf16 on a CPU")
        return "fp16"
    if settings.bf16 is None:
        return "bf16" if supported else "fp32"
    if settings.bf16 and cuda and not supported:
        raise UserError("bf16=true: not supported by this GPU; expected fp16=true or bf16=false")
    return "bf16" if settings.bf16 else "fp32"


def half_precision(settings: Settings) -> Any:
    """Return torch's dtype of the settings' half precision on this machine; None for single."""
    import torch

    return {"bf16": torch.bfloat16, "fp16": torch.float16}.get(training_precision(settings))


def read_deepspeed(name: str) -> dict[str, Any]:
    """Read a DeepSpeed configuration: a file of conf/deepspeed by name, or any by path.

    Raises:
        UserError: the file does not exist, is not JSON, has no ZeRO stage from 0 to 3, or sets what
            our settings control (batch sizes, precision, clipping).
    """
    named = DEEPSPEED / f"{name}.json"
    path = named if named.is_file() else Path(name)
    if not path.is_file():
        known = ", ".join(sorted(file.stem for file in DEEPSPEED.glob("*.json")))
        raise UserError(f"deepspeed={name}: expected a JSON file, or one of {known}")
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UserError(f"{path}: not JSON: {error}") from error
    if not isinstance(config, dict):
        raise UserError(f"{path}: expected a JSON object of DeepSpeed's settings")
    setting_of = {
        "train_batch_size": "batch_size",
        "train_micro_batch_size_per_gpu": "per_device_train_batch_size",
        "gradient_accumulation_steps": "gradient_accumulation_steps",
        "gradient_clipping": "max_grad_norm",
        "bf16": "bf16",
        "fp16": "fp16",
        "optimizer": "optim, learning_rate and weight_decay",
        "scheduler": "lr_scheduler_type and warmup_steps",
    }
    zero = config.get("zero_optimization", {})
    if not isinstance(zero, dict) or zero.get("stage", 0) not in range(4):
        raise UserError(f"{path}: zero_optimization={zero}: expected an object with stage 0 to 3")
    for key, setting in setting_of.items():
        if key in config:
            raise UserError(
                f"{path}: has {key}, which must not be set there; remove it and use {setting}"
            )
    return config


def stage_of(name: str) -> int:
    """Return the ZeRO stage (0 to 3) of a DeepSpeed configuration.

    Raises:
        UserError: as `read_deepspeed`.
    """
    return int(read_deepspeed(name).get("zero_optimization", {}).get("stage", 0))


def uses_deepspeed(name: str) -> bool:
    """Whether DeepSpeed is needed: with only stage 0, torch averages gradients itself."""
    return stage_of(name) > 0 or set(read_deepspeed(name)) > {"zero_optimization"}


def release(engine: Any) -> None:
    """Free the weights and optimizer states of an engine now.

    Hooks that autograd holds refer to the engine, and Python's garbage collector does not see
    them: without this, everything would stay in memory until the process ends.
    """
    import torch

    # DeepSpeed's inner optimizer has most of the memory: single-precision weights and moments.
    inner = engine.basic_optimizer
    engine.destroy()
    if inner is not None:
        inner.state.clear()
        inner.param_groups.clear()
    for parameter in engine.module.parameters():
        vars(parameter).clear()
        parameter.grad = None
        parameter.data = torch.empty(0, dtype=parameter.dtype, device=parameter.device)
    if engine.optimizer is not None:
        vars(engine.optimizer).clear()
    launch.trim_memory()


def drop_automatic_values(args: Any, model: Any) -> None:
    """Remove the values that the Trainer would compute from a model's width, if it has none."""
    if hasattr(model.config, "hidden_size"):
        return
    zero = args.hf_deepspeed_config.config.get("zero_optimization", {})
    for key in [key for key, value in zero.items() if value == "auto"]:
        del zero[key]


def deepspeed_config(
    settings: Settings, *, micro: int, rounds: int, universal: bool = False
) -> dict[str, Any]:
    """Return the complete DeepSpeed configuration of a run."""
    config = read_deepspeed(settings.deepspeed)
    precision = training_precision(settings)
    return {
        **config,
        "train_micro_batch_size_per_gpu": micro,
        "gradient_accumulation_steps": rounds,
        "train_batch_size": micro * rounds * launch.world_size(),
        "gradient_clipping": settings.max_grad_norm,
        "bf16": {"enabled": precision == "bf16"},
        "fp16": {"enabled": precision == "fp16"},
        # torch's AdamW: DeepSpeed's own would be compiled on first use.
        "zero_allow_untested_optimizer": True,
        "zero_force_ds_cpu_optimizer": False,
        "checkpoint": {**config.get("checkpoint", {}), "load_universal": universal},
        "steps_per_print": 1 << 60,
    }


@contextmanager
def processes(deepspeed: bool) -> Iterator[None]:
    """Set up accelerate for the processes of a run.

    Runs of one process may or may not use DeepSpeed, so accelerate's state is reset for each.
    """
    import torch
    from accelerate import PartialState
    from accelerate.state import AcceleratorState
    from accelerate.utils import DistributedType
    from transformers.integrations.deepspeed import unset_hf_deepspeed_config

    def reset() -> None:
        AcceleratorState._reset_state(reset_partial_state=True)
        os.environ.pop("ACCELERATE_USE_DEEPSPEED", None)
        unset_hf_deepspeed_config()

    with launch.group(deepspeed):
        reset()
        if deepspeed and not torch.cuda.is_available():
            # Without this, and use_configured_state=true among the Trainer's arguments, accelerate
            # treats DeepSpeed on CPUs as a single process.
            state = PartialState(cpu=True)
            state.distributed_type = DistributedType.DEEPSPEED
            state._cpu = False
        try:
            yield
        finally:
            reset()


def gathered_weights(parameters: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return whole weights by name, on the CPU of the first process; nothing in the others."""
    import deepspeed

    weights = {}
    for name, parameter in parameters:
        with deepspeed.zero.GatheredParameters([parameter]):
            if launch.rank() == 0:
                weights[name] = parameter.detach().cpu().clone()
    return weights


def write_shards(model: Any, folder: Path) -> None:
    """Write the weights of a model under ZeRO 3 as safetensors, one file at a time.

    The first process gathers the weights of one file, an eighth of the total, and writes it, so
    that no process ever holds all weights. Every process must call this.
    """
    import torch
    from huggingface_hub import split_torch_state_dict_into_shards
    from safetensors.torch import save_file

    saved = set(model.state_dict())
    buffers = {name: buffer for name, buffer in model.named_buffers() if name in saved}
    members = {**dict(model.named_parameters()), **buffers}
    # Tensors of the full shapes, without data.
    outlines = {
        name: torch.empty(
            getattr(member, "ds_shape", member.shape), dtype=member.dtype, device="meta"
        )
        for name, member in members.items()
    }
    total = sum(outline.nbytes for outline in outlines.values())
    file_size = min(max(total // PIECES, SMALLEST), LARGEST)
    plan = split_torch_state_dict_into_shards(outlines, max_shard_size=file_size)
    folder.mkdir(parents=True, exist_ok=True)
    for file, names in plan.filename_to_tensors.items():
        weights = gathered_weights((name, members[name]) for name in names)
        if launch.rank() == 0:
            save_file(weights, folder / file, metadata={"format": "pt"})
    if launch.rank() == 0 and plan.is_sharded:
        index = {"metadata": plan.metadata, "weight_map": plan.tensor_to_filename}
        replace_json(folder / "model.safetensors.index.json", index)
