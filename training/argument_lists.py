"""What ``training/finetune.py`` does with each field of transformers' TrainingArguments.

A field is passed on (`training.arguments.PassedArguments`), or it is set by this program and
refused with the reason (`SET_BY_US`). Settings under names that are not transformers' are refused
with its name (`RENAMED`).
"""

from collections.abc import Mapping

_LOGGED = "the program logs to the screen and to MLflow (tracking=)"
_HUB = "models are written to out= and to MLflow (log_model=, register=); upload them from there"
_EVALUATED = "the program collects the scores and predictions of an evaluation itself"

SET_BY_US: Mapping[str, str] = {
    "output_dir": "out= names the folder of the runs",
    "seed": "seeds= lists one seed for each run",
    "data_seed": "the order of the examples follows from seeds=",
    "resume_from_checkpoint": "the same command resumes a run that was killed",
    "do_train": "finetune.py always trains",
    "do_eval": "eval_strategy= says when to evaluate",
    "do_predict": "each part is predicted at the end of training",
    "load_best_model_at_end": "always true where the data have a validation part",
    "save_total_limit": "a run keeps its best and its newest checkpoint, and none at its end",
    "save_only_model": "a run could not be resumed",
    "save_on_each_node": "the hosts share the folder out=",
    "enable_jit_checkpoint": "a run that was killed resumes from its newest checkpoint",
    "auto_find_batch_size": "per_device_train_batch_size is fitted to a GPU's memory by default",
    "average_tokens_across_devices": "always true: each example of an update counts equally",
    "remove_unused_columns": "the columns of a batch are the program's own",
    "length_column_name": "lengths are known from the tokens",
    "label_names": "the columns of a batch are the program's own",
    "ignore_data_skip": "a resumed run would see other examples than an uninterrupted one",
    "restore_callback_states_from_checkpoint": "always true: patience= goes on counting",
    "use_cache": "each forward pass says whether it uses a cache",
    "prediction_loss_only": _EVALUATED,
    "include_for_metrics": _EVALUATED,
    "batch_eval_metrics": _EVALUATED,
    "eval_do_concat_batches": _EVALUATED,
    "eval_use_gather_object": _EVALUATED,
    "logging_nan_inf_filter": "a loss that is not a number ends the run",
    "log_level": _LOGGED,
    "log_level_replica": _LOGGED,
    "log_on_each_node": _LOGGED,
    "disable_tqdm": _LOGGED,
    "report_to": _LOGGED,
    "project": _LOGGED,
    "trackio_space_id": _LOGGED,
    "trackio_bucket_id": _LOGGED,
    "trackio_static_space_id": _LOGGED,
    "push_to_hub": _HUB,
    "hub_token": _HUB,
    "hub_private_repo": _HUB,
    "hub_model_id": _HUB,
    "hub_strategy": _HUB,
    "hub_always_push": _HUB,
    "hub_revision": _HUB,
    "gradient_checkpointing": "deprecated in transformers; write activation_checkpointing=",
    "gradient_checkpointing_kwargs": (
        "deprecated in transformers; write activation_checkpointing_kwargs="
    ),
    "fsdp": "not supported; deepspeed=zero3 shards a model over the processes",
    "fsdp_config": "not supported; deepspeed=zero3 shards a model over the processes",
    "accelerator_config": "set by the program for the processes of a run",
    "parallelism_config": "not supported; deepspeed=zero3 shards a model over the processes",
    "local_rank": "set by the launcher",
}
"""Fields that the program sets itself, with the reason why a user cannot."""

DECLARED_BY_US = frozenset(("run_name", "deepspeed", "bf16"))
"""Fields under transformers' names whose types or defaults `training.settings` declares itself:
``deepspeed`` names a file of conf/deepspeed, and ``bf16`` is true on a GPU that supports it."""

RENAMED: Mapping[str, str] = {
    "epochs": "num_train_epochs",
    "schedule": "lr_scheduler_type",
    "warmup": "warmup_steps (a share of the updates, if below 1)",
    "clip": "max_grad_norm",
    "precision": "bf16=true or fp16=true",
    "bucket": "train_sampling_strategy=group_by_length or random",
    "compile": "torch_compile",
    "micro_batch_size": "per_device_train_batch_size",
    "eval_batch_size": "per_device_eval_batch_size",
    "metric": "metric_for_best_model",
    "evaluate_every": "eval_strategy=steps eval_steps=",
    "checkpoint_every": "save_strategy=steps save_steps=",
    "log_every": "logging_steps",
    "lr": "learning_rate",
    "lora.rank": "lora.r",
    "lora.alpha": "lora.lora_alpha",
    "lora.dropout": "lora.lora_dropout",
    "lora.targets": "lora.target_modules",
    "lora.dora": "lora.use_dora",
    **{
        name: f"task.{name}"
        for name in ("classes", "edition", "scheme", "split", "fold", "form", "context", "round")
    },
}
"""Names of settings that are not transformers' or PEFT's, or that the task has, with the right
one."""

OUR_DEFAULTS: Mapping[str, object] = {
    "learning_rate": 3e-5,
    "weight_decay": 0.01,
    "warmup_steps": 0.06,
    "train_sampling_strategy": "group_by_length",
    "eval_strategy": "epoch",
    "save_strategy": "epoch",
    "metric_for_best_model": "accuracy",
    "logging_steps": 10,
    "per_device_train_batch_size": None,
    "per_device_eval_batch_size": 64,
}
"""Defaults that are ours; all others are the library's. docs/training.md has the reasons."""

WITHOUT_INFLUENCE = frozenset(
    (
        *("logging_strategy", "logging_steps", "logging_first_step", "skip_memory_metrics"),
        *("include_num_input_tokens_seen", "debug"),
        *("save_strategy", "save_steps", "eval_on_start"),
        *("per_device_eval_batch_size", "eval_accumulation_steps"),
        *("per_device_train_batch_size", "gradient_accumulation_steps"),
        *("activation_checkpointing", "activation_checkpointing_kwargs", "torch_empty_cache_steps"),
        *("torch_compile", "torch_compile_backend", "torch_compile_mode"),
        *("use_liger_kernel", "liger_kernel_config", "tf32", "use_cpu"),
        *("dataloader_num_workers", "dataloader_pin_memory", "dataloader_persistent_workers"),
        *("dataloader_prefetch_factor", "dataloader_multiprocessing_context"),
        *("dataloader_in_order", "full_determinism"),
        *("ddp_find_unused_parameters", "ddp_bucket_cap_mb", "ddp_broadcast_buffers"),
        *("ddp_static_graph", "ddp_backend", "ddp_timeout"),
    )
)
"""Fields that do not decide a run's result: how often it reports and saves, and how the work is
divided. They are recorded beside a run's identity."""
