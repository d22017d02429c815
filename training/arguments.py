"""The fields of transformers' TrainingArguments that users may set, as settings (GENERATED).

Written by ``tests/training/arguments_source.py`` from transformers 5.23.0; do not edit.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from adnominal.conf import setting

TRANSFORMERS = "5.23.0"


@dataclass(frozen=True, kw_only=True)
class PassedArguments:
    """Arguments of transformers' Trainer, under its own names and with its own meaning."""

    HELP_TITLE: ClassVar[str] = "Arguments of transformers' Trainer (TrainingArguments)"

    per_device_train_batch_size: int | None = setting(
        None, help="The batch size per device (transformers' own default: 8)", identity=False
    )
    num_train_epochs: float = setting(
        3.0,
        help="Total number of training epochs to perform (if not an integer, will perform the "
        "decimal part percents of the last epoch before stopping training)",
    )
    max_steps: int = setting(-1, help="Overrides num_train_epochs")
    learning_rate: float = setting(
        3e-05, help="The initial learning rate for the optimizer (transformers' own default: 5e-05)"
    )
    lr_scheduler_type: str = setting(
        "linear",
        help="The learning rate scheduler type to use",
        choices=(
            "linear",
            "cosine",
            "cosine_with_restarts",
            "polynomial",
            "constant",
            "constant_with_warmup",
            "inverse_sqrt",
            "reduce_lr_on_plateau",
            "cosine_with_min_lr",
            "cosine_warmup_with_min_lr",
            "warmup_stable_decay",
            "greedy",
        ),
    )
    lr_scheduler_kwargs: dict[str, Any] = setting(
        {}, help="The extra arguments for the lr_scheduler"
    )
    warmup_steps: float = setting(
        0.06,
        help="Number of steps for a linear warmup from 0 to learning_rate (transformers' own "
        "default: 0)",
    )
    optim: str = setting(
        "adamw_torch_fused",
        help="The optimizer to use",
        choices=(
            "adamw_torch",
            "adamw_torch_fused",
            "adamw_torch_xla",
            "adamw_torch_npu_fused",
            "adafactor",
            "adamw_anyprecision",
            "adamw_torch_4bit",
            "adamw_torch_8bit",
            "ademamix",
            "sgd",
            "adagrad",
            "adamw_bnb_8bit",
            "adamw_8bit",
            "ademamix_8bit",
            "lion_8bit",
            "lion_32bit",
            "paged_adamw_32bit",
            "paged_adamw_8bit",
            "paged_ademamix_32bit",
            "paged_ademamix_8bit",
            "paged_lion_32bit",
            "paged_lion_8bit",
            "rmsprop",
            "rmsprop_bnb",
            "rmsprop_bnb_8bit",
            "rmsprop_bnb_32bit",
            "galore_adamw",
            "galore_adamw_8bit",
            "galore_adafactor",
            "galore_adamw_layerwise",
            "galore_adamw_8bit_layerwise",
            "galore_adafactor_layerwise",
            "lomo",
            "adalomo",
            "grokadamw",
            "schedule_free_radam",
            "schedule_free_adamw",
            "schedule_free_sgd",
            "apollo_adamw",
            "apollo_adamw_layerwise",
            "stable_adamw",
        ),
    )
    optim_args: str | None = setting(
        None,
        help="Optional arguments that are supplied to optimizers such as AnyPrecisionAdamW, "
        "AdEMAMix, and GaLore",
    )
    weight_decay: float = setting(
        0.01,
        help="Weight decay coefficient applied by the optimizer (not the loss function) "
        "(transformers' own default: 0.0)",
    )
    adam_beta1: float = setting(
        0.9,
        help="The exponential decay rate for the first moment estimates (momentum) in Adam-"
        "based optimizers",
    )
    adam_beta2: float = setting(
        0.999,
        help="The exponential decay rate for the second moment estimates (variance) in Adam-"
        "based optimizers",
    )
    adam_epsilon: float = setting(
        1e-08, help="Epsilon value for numerical stability in Adam-based optimizers"
    )
    optim_target_modules: list[str] = setting(
        [],
        help="The target modules to optimize, i.e. the module names that you would like to train",
    )
    gradient_accumulation_steps: int = setting(
        1,
        help="Number of update steps to accumulate gradients before performing a "
        "backward/update pass",
        identity=False,
    )
    max_grad_norm: float = setting(1.0, help="Maximum gradient norm for gradient clipping")
    label_smoothing_factor: float = setting(
        0.0, help="Label smoothing factor to prevent overconfidence"
    )
    fp16: bool = setting(False, help="Enable float16 (FP16) mixed precision training")
    bf16_full_eval: bool = setting(
        False, help="Use full BF16 precision for evaluation (not just mixed precision)"
    )
    fp16_full_eval: bool = setting(
        False, help="Use full FP16 precision for evaluation (not just mixed precision)"
    )
    tf32: bool | None = setting(
        None, help="Enable TensorFloat-32 (TF32) mode on Ampere and newer GPUs", identity=False
    )
    activation_checkpointing: bool | None = setting(
        None, help="Enable activation checkpointing to trade compute for memory", identity=False
    )
    activation_checkpointing_kwargs: dict[str, Any] = setting(
        {},
        help="Keyword arguments passed to activation_checkpointing_enable(). every_n_layers "
        "checkpoints only every n-th decoder layer instead of all of them; 1 is the usual"
        " all-or-nothing behavior, and larger values give some memory back to speed. "
        "offload holds the saved activations in pinned host memory, which frees layers x "
        "sequence x hidden bytes of device memory and makes the step slower",
        identity=False,
    )
    torch_compile: bool = setting(
        False,
        help="Compile the model using PyTorch 2.0's torch.compile() for faster training",
        identity=False,
    )
    torch_compile_backend: str | None = setting(
        None, help="Backend for torch.compile()", identity=False
    )
    torch_compile_mode: str | None = setting(
        None, help="Compilation mode for torch.compile()", identity=False
    )
    use_liger_kernel: bool = setting(
        False, help="Enable Liger Kernel optimizations", identity=False
    )
    liger_kernel_config: dict[str, Any] = setting(
        {}, help="Configuration for Liger Kernel", identity=False
    )
    neftune_noise_alpha: float | None = setting(
        None, help="If not None, this will activate NEFTune noise embeddings"
    )
    torch_empty_cache_steps: int | None = setting(
        None,
        help="Number of steps to wait before calling torch.<device>.empty_cache()",
        identity=False,
    )
    logging_strategy: str = setting(
        "steps",
        help="The logging strategy to adopt during training",
        choices=("no", "steps", "epoch"),
        identity=False,
    )
    logging_steps: float = setting(
        10,
        help='Number of update steps between two logs if logging_strategy="steps" '
        "(transformers' own default: 500)",
        identity=False,
    )
    logging_first_step: bool = setting(
        False, help="Whether to log the first global_step or not", identity=False
    )
    include_num_input_tokens_seen: str = setting(
        "no", help="Whether to track the number of input tokens seen", identity=False
    )
    eval_strategy: str = setting(
        "epoch",
        help="When to run evaluation (transformers' own default: no)",
        choices=("no", "steps", "epoch"),
    )
    eval_steps: float | None = setting(
        None, help='Number of update steps between two evaluations if eval_strategy="steps"'
    )
    eval_delay: float = setting(
        0,
        help="Number of epochs or steps to wait for before the first evaluation can be "
        "performed, depending on the eval_strategy",
    )
    per_device_eval_batch_size: int = setting(
        64,
        help="The batch size per device accelerator core/CPU for evaluation (transformers' own"
        " default: 8)",
        identity=False,
    )
    eval_on_start: bool = setting(
        False,
        help="Whether to perform a evaluation step (sanity check) before the training to "
        "ensure the validation steps works correctly",
        identity=False,
    )
    eval_accumulation_steps: int | None = setting(
        None,
        help="Number of predictions steps to accumulate the output tensors for, before moving "
        "the results to the CPU",
        identity=False,
    )
    save_strategy: str = setting(
        "epoch",
        help="The checkpoint save strategy to adopt during training (transformers' own "
        "default: steps)",
        choices=("no", "steps", "epoch", "best"),
        identity=False,
    )
    save_steps: float = setting(
        500,
        help='Number of updates steps before two checkpoint saves if save_strategy="steps"',
        identity=False,
    )
    metric_for_best_model: str = setting(
        "accuracy",
        help="Metric to use for comparing models when load_best_model_at_end=True "
        "(transformers' own default: None)",
    )
    greater_is_better: bool | None = setting(None, help="Whether higher metric values are better")
    full_determinism: bool = setting(False, help="full determinism", identity=False)
    use_cpu: bool = setting(False, help="Whether or not to use cpu", identity=False)
    dataloader_drop_last: bool = setting(
        False,
        help="Whether to drop the last incomplete batch (if the length of the dataset is not "
        "divisible by the batch size) or not",
    )
    dataloader_num_workers: int = setting(
        0,
        help="Number of subprocesses to use for data loading (PyTorch only). 0 means that the "
        "data will be loaded in the main process",
        identity=False,
    )
    dataloader_pin_memory: bool = setting(
        True, help="Whether you want to pin memory in data loaders or not", identity=False
    )
    dataloader_persistent_workers: bool = setting(
        False,
        help="If True, the data loader will not shut down the worker processes after a dataset"
        " has been consumed once",
        identity=False,
    )
    dataloader_prefetch_factor: int | None = setting(
        None,
        help="Number of batches loaded in advance by each worker. 2 means there will be a "
        "total of 2  num_workers batches prefetched across all workers",
        identity=False,
    )
    dataloader_multiprocessing_context: str | None = setting(
        None,
        help='The multiprocessing start method to use for data loading workers ("fork", '
        '"spawn", or "forkserver")',
        identity=False,
    )
    dataloader_in_order: bool = setting(
        True,
        help="If True, the data loader yields batches in the order workers were dispatched",
        identity=False,
    )
    train_sampling_strategy: str = setting(
        "group_by_length",
        help="The sampler to use for the training dataloader (transformers' own default: random)",
    )
    ddp_find_unused_parameters: bool | None = setting(
        None,
        help="When using distributed training, the value of the flag find_unused_parameters "
        "passed to DistributedDataParallel",
        identity=False,
    )
    ddp_bucket_cap_mb: int | None = setting(
        None,
        help="When using distributed training, the value of the flag bucket_cap_mb passed to "
        "DistributedDataParallel",
        identity=False,
    )
    ddp_broadcast_buffers: bool | None = setting(
        None,
        help="When using distributed training, the value of the flag broadcast_buffers passed "
        "to DistributedDataParallel",
        identity=False,
    )
    ddp_static_graph: bool | None = setting(
        None,
        help="When using distributed training, the value of the flag static_graph passed to "
        "DistributedDataParallel",
        identity=False,
    )
    ddp_backend: str | None = setting(
        None, help="The backend to use for distributed training", identity=False
    )
    ddp_timeout: int = setting(
        1800,
        help="The timeout for torch.distributed.init_process_group calls, used to avoid GPU "
        "socket timeouts when performing slow operations in distributed runnings",
        identity=False,
    )
    debug: list[str] = setting([], help="Enable one or more debug features", identity=False)
    skip_memory_metrics: bool = setting(
        True, help="Whether to skip adding of memory profiler reports to metrics", identity=False
    )


LIBRARY_DEFAULTS: dict[str, Any] = {
    "per_device_train_batch_size": 8,
    "learning_rate": 5e-05,
    "warmup_steps": 0,
    "weight_decay": 0.0,
    "logging_steps": 500,
    "eval_strategy": "no",
    "per_device_eval_batch_size": 8,
    "save_strategy": "steps",
    "metric_for_best_model": None,
    "train_sampling_strategy": "random",
}
"""The library's defaults of the arguments that have another default here."""
