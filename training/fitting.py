"""The training of a run: its arguments, its Trainer, and the weights that it leaves."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import logging
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from transformers import EarlyStoppingCallback, TrainerCallback

from adnominal.conf import JobFailed
from adnominal.conf.files import replace_text
from adnominal.conf.progress import Progress
from adnominal.training import checkpoints, launch, memory, sharding
from adnominal.training.arguments import PassedArguments
from adnominal.training.batching import Ids, seed_of
from adnominal.training.evaluation import (
    Evaluation,
    figures_line,
)
from adnominal.training.files import replace_json
from adnominal.training.models.learner import Learner
from adnominal.training.settings import Settings
from adnominal.training.tasks import nested_subset
from adnominal.training.trainer import (
    Figures,
    Rows,
    Trainer,
    explain_refusals,
    rows_by_length,
)

_TRAINED = "trained.json"
# Of a log entry of the Trainer; the others are of its own bookkeeping.
_TRAIN_FIGURES = ("loss", "grad_norm", "learning_rate")
log = logging.getLogger("adnominal")


class _Reporting(TrainerCallback):  # type: ignore[misc]
    """Shows the progress, and reports the figures of updates and evaluations."""

    def __init__(
        self,
        progress: Progress,
        samples: int,
        steps_file: Path,
        on_figures: Callable[[int, Figures], None],
    ) -> None:
        self._progress, self._samples = progress, samples
        self._steps_file, self._on_figures = steps_file, on_figures
        self._done = 0

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._done = self._samples_done(state)
        if launch.rank() == 0:
            # What a killed run has logged after its checkpoint is removed.
            lines = (_steps_line(entry) for entry in state.log_history)
            replace_text(self._steps_file, "".join(lines))

    def _samples_done(self, state: Any) -> int:
        return round((state.epoch or 0.0) * self._samples)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Advance the progress line, and log before each evaluation or save."""
        done = self._samples_done(state)
        self._progress.advance(done - self._done, f"step {state.global_step} of {state.max_steps}")
        self._done = done
        if state.global_step >= state.max_steps and args.eval_strategy == "steps":
            # The last weights may be the best.
            control.should_evaluate = True
        # The speed is of training alone, so it is reported before anything else.
        if control.should_evaluate or control.should_save:
            control.should_log = True

    def on_epoch_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if control.should_evaluate or control.should_save:
            control.should_log = True

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        if launch.rank() == 0 and (figures := named_figures(logs)):
            with self._steps_file.open("a", encoding="utf-8") as lines:
                lines.write(_steps_line(state.log_history[-1]))
            if "val/loss" in figures:
                log.info("update %d: %s", state.global_step, figures_line(figures))
            self._on_figures(state.global_step, figures)


def _steps_line(entry: Figures) -> str:
    """Return the figures of a log entry as a line of JSON; empty if it has none."""
    figures = named_figures(entry)
    return json.dumps({"step": entry["step"], **figures}) + "\n" if figures else ""


def named_figures(logs: Figures) -> dict[str, float]:
    """Return the figures of a log entry of the Trainer, named ``train/NAME`` and ``val/NAME``."""
    figures = {}
    for name, value in logs.items():
        if name in _TRAIN_FIGURES:
            figures[f"train/{name}"] = value
        elif name.startswith("train/"):
            figures[name] = value
        elif name.startswith("eval_") and not name.endswith(("runtime", "per_second", "_time")):
            figures[f"val/{name.removeprefix('eval_')}"] = value
    return figures


def training_arguments(
    settings: Settings, folder: Path, micro_batch: int, **ours: Any
) -> transformers.TrainingArguments:
    """Return transformers' arguments for a run; `ours` are those that a user cannot set.

    They are made in the training process, because making them touches the device and DeepSpeed.

    Raises:
        UserError: transformers refuses a value.
    """
    cuda = torch.cuda.is_available() and not settings.use_cpu
    passed: dict[str, Any] = {}
    for argument in dataclasses.fields(PassedArguments):
        value = getattr(settings, argument.name)
        # The library's default None is an empty list or mapping in our settings.
        if value is not None and value != [] and value != {}:
            passed[argument.name] = _with_numbers(value) if isinstance(value, dict) else value
    precision = sharding.training_precision(settings)
    passed |= {
        "output_dir": os.fspath(folder),
        "seed": seed_of(settings.seed) % 2**32,
        "per_device_train_batch_size": micro_batch,
        "bf16": precision == "bf16",
        "fp16": precision == "fp16",
        "use_cpu": not cuda,
        "dataloader_pin_memory": settings.dataloader_pin_memory and cuda,
        # The filter would wait for the device at every micro-batch; see `Trainer.log`.
        "logging_nan_inf_filter": False,
        "log_level": "error",
        "report_to": "none",
        "disable_tqdm": True,
        "average_tokens_across_devices": True,
        "remove_unused_columns": False,
        "restore_callback_states_from_checkpoint": True,
        # While the newest is written, an earlier one stays complete.
        "save_total_limit": 2,
        **ours,
    }
    if "deepspeed" in ours and not torch.cuda.is_available():
        passed["accelerator_config"] = {"use_configured_state": True}  # see `sharding.processes`
    with explain_refusals():
        args = transformers.TrainingArguments(**passed)
    # One GPU per process; the launcher handles more.
    args._n_gpu = min(args.n_gpu, 1)
    return args


def _with_numbers(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a mapping with numbers as such: YAML reads 1e-6 as a text."""
    converted = dict(values)
    for name, value in values.items():
        if isinstance(value, str):
            with contextlib.suppress(ValueError):
                converted[name] = float(value)
    return converted


@dataclass(frozen=True)
class Fitted:
    """The facts of a finished training.

    `updates` were done and `best_update` was the best evaluation's (None without a validation
    part); `seconds` and `samples` are of training alone, without evaluations.
    """

    updates: int
    best_update: int | None
    stopped_early: bool
    seconds: float
    samples: float


def fit(
    settings: Settings,
    learner: Learner,
    folder: Path,
    *,
    figures: Callable[[str, Evaluation], Figures],
    on_figures: Callable[[int, Figures], None] = lambda step, figures: None,
) -> Fitted:
    """Train a model, or resume a killed run; its best weights are then in ``model`` of `folder`.

    `settings` are of a single run. `figures` scores an evaluation of a part, and
    `on_figures(update, figures)` is called in the first process.

    Raises:
        JobFailed: a loss or every evaluation is not a number, or memory is too small.
        UserError: transformers refuses a setting.
    """
    if (folder / _TRAINED).is_file():
        values = json.loads((folder / _TRAINED).read_text(encoding="utf-8"))
        return Fitted(**values)
    deepspeed = sharding.uses_deepspeed(settings.deepspeed)
    with sharding.processes(deepspeed):
        checkpoint = checkpoints.newest_checkpoint(folder / "checkpoints")
        universal = False
        if checkpoint is not None and deepspeed:
            universal = checkpoints.make_universal_for(checkpoint)
        trainer, progress = _trainer(settings, learner, folder, universal, figures, on_figures)
        with progress:
            try:
                if checkpoint is not None and launch.rank() == 0:
                    log.info("resuming from %s", checkpoint)
                trainer.train(None if checkpoint is None else os.fspath(checkpoint))
                fitted = _summarise_fit(trainer)
                _save_best(trainer, folder)
            finally:
                trainer.close()
    if launch.rank() == 0:
        replace_json(folder / _TRAINED, dataclasses.asdict(fitted))
    return fitted


def _arguments_of_run(
    settings: Settings,
    folder: Path,
    micro_batch: int,
    validated: bool,
    universal: bool,
) -> transformers.TrainingArguments:
    """The Trainer's arguments: the user's, and those that follow from the run.

    `micro_batch` is the number of rows of a process's forward pass, `validated` says whether the
    run is evaluated on a validation part; the other arguments are as for `_trainer`.
    """
    rounds = memory.share_of_process(settings) // micro_batch
    ours: dict[str, Any] = {
        "gradient_accumulation_steps": rounds,
        "eval_strategy": settings.eval_strategy if validated else "no",
    }
    if not validated:
        ours["metric_for_best_model"] = None
    if sharding.uses_deepspeed(settings.deepspeed):
        ours["deepspeed"] = sharding.deepspeed_config(
            settings, micro=micro_batch, rounds=rounds, universal=universal
        )
    args = training_arguments(settings, folder / "checkpoints", micro_batch, **ours)
    if validated:
        # Not passed above, where it would demand that every checkpoint is evaluated; see
        # `Trainer._determine_best_metric`.
        args.load_best_model_at_end = True
        if args.greater_is_better is None:
            args.greater_is_better = not str(args.metric_for_best_model).endswith("loss")
    return args


def _trainer(
    settings: Settings,
    learner: Learner,
    folder: Path,
    universal: bool,
    figures: Callable[[str, Evaluation], Figures],
    on_figures: Callable[[int, Figures], None],
) -> tuple[Trainer, Progress]:
    """The trainer of a run, with its model loaded, and the progress line that it moves.

    Args:
        settings: the settings of the run.
        learner: the training and validation data, and how a model is made and answers.
        folder: the run's folder, for checkpoints, ``steps.jsonl`` and the saved micro-batch.
        universal: whether DeepSpeed continues from a checkpoint in its universal form.
        figures: the scores of an evaluation, from the part's name and the evaluation.
        on_figures: called with the number of an update and its figures, in the first process.
    """
    train = learner.dataset.parts["train"]
    numbers: Ids = np.arange(len(train))
    if settings.size is not None:
        numbers = nested_subset(train.item_ids, settings.size, settings.seed)
    deepspeed = sharding.uses_deepspeed(settings.deepspeed)
    share = memory.share_of_process(settings)
    micro_batch = memory.micro_batch_of_run(folder) or settings.per_device_train_batch_size or share
    validated = "val" in learner.dataset.parts and settings.eval_strategy != "no"
    # DeepSpeed's configuration must be known before the model, which is loaded in shards by ZeRO 3.
    args = _arguments_of_run(settings, folder, micro_batch, validated, universal)
    # Without DeepSpeed, weights that are trained stay in single precision.
    dtype = sharding.half_precision(settings) if deepspeed else None
    model = learner.model(settings.seed, dtype)
    if torch.cuda.is_available() and not deepspeed and _is_micro_batch_open(settings, folder):
        micro_batch = _fitted_micro_batch(settings, learner, model, folder, args)
        args.per_device_train_batch_size = micro_batch
        args.gradient_accumulation_steps = share // micro_batch
    if deepspeed:
        sharding.drop_automatic_values(args, model)
    progress = Progress(
        f"{learner.dataset.task} seed {settings.seed}",
        round(len(numbers) * args.num_train_epochs),
        silent=launch.rank() != 0,
    )
    steps_file = folder / "steps.jsonl"
    callbacks: list[TrainerCallback] = [_Reporting(progress, len(numbers), steps_file, on_figures)]
    if settings.patience and validated:
        callbacks.append(EarlyStoppingCallback(settings.patience))
    trainer = Trainer(
        learner,
        model,
        args,
        train=Rows("train", numbers, _blanks(args, len(numbers))),
        validation=rows_by_length(learner, "val") if validated else None,
        figures=figures,
        callbacks=callbacks,
    )
    # Generating text is slow, and unnecessary if the loss selects the weights.
    by_loss = settings.metric_for_best_model in ("loss", "eval_loss")
    trainer.answers = not by_loss or learner.dataset.kind != "seq2seq"
    return trainer, progress


def _blanks(args: transformers.TrainingArguments, examples: int) -> int:
    """Return how many blanks fill the last batches of several processes."""
    if args.world_size == 1:
        return 0
    batch = int(args.per_device_train_batch_size) * int(args.world_size)
    return -examples % batch


def _is_micro_batch_open(settings: Settings, folder: Path) -> bool:
    """Whether micro-batches may have any size: it is not given, and was not fitted before."""
    if settings.batch_size is None or settings.per_device_train_batch_size is not None:
        return False
    return memory.micro_batch_of_run(folder) is None


def _fitted_micro_batch(
    settings: Settings,
    learner: Learner,
    model: Any,
    folder: Path,
    args: transformers.TrainingArguments,
) -> int:
    """Return the micro-batch that fits this GPU, the same in every process, and store it."""
    model.to(args.device)
    half = sharding.half_precision(settings)
    enabled = half is not None
    autocast = functools.partial(torch.autocast, args.device.type, dtype=half, enabled=enabled)
    share = memory.share_of_process(settings)
    size: int = min(launch.gather(memory.fit_micro_batch(learner, model, share, autocast)))
    if launch.rank() == 0:
        memory.record_micro_batch(folder, size, "fitted to the memory of the GPU")
        log.info("micro-batches of %d examples fit the memory", size)
    return size


def _summarise_fit(trainer: Trainer) -> Fitted:
    """The result of training, from the trainer's state; `JobFailed` if no weights are best."""
    state = trainer.state
    if trainer.args.load_best_model_at_end and state.best_global_step is None:
        raise JobFailed(
            f"no evaluation gave a {trainer.args.metric_for_best_model} that is a number"
        )
    history = [named_figures(entry) for entry in state.log_history]
    return Fitted(
        updates=state.global_step,
        best_update=state.best_global_step or None,
        stopped_early=state.global_step < state.max_steps,
        seconds=sum(entry.get("train/seconds", 0.0) for entry in history),
        samples=sum(entry.get("train/samples", 0.0) for entry in history),
    )


def _save_best(trainer: Trainer, folder: Path) -> None:
    """Write the weights that the Trainer has loaded at its end: the best, or else the last."""
    model, new_model = folder / "model", folder / "model.new"
    if launch.rank() == 0:
        for leftover in (new_model, model):
            shutil.rmtree(leftover, ignore_errors=True)
    launch.barrier()
    trainer.save_model(os.fspath(new_model))
    if launch.rank() == 0:
        os.rename(new_model, model)
    launch.barrier()


def predict_parts(
    settings: Settings, learner: Learner, folder: Path, parts: Sequence[str]
) -> dict[str, Evaluation]:
    """Return the answers of the weights that `fit` has written, so that scores are of those files.

    Every process must call this; all have the result.
    """
    if not parts:
        return {}
    load = functools.partial(learner.load, folder / "model")
    evaluations = {}
    with predicting(settings, learner, load, folder / "checkpoints") as trainer:
        for part in parts:
            evaluations[part] = _predict_part(trainer, part, settings.seed)
    return evaluations


def _predict_part(trainer: Trainer, part: str, seed: int) -> Evaluation:
    """The answers to a part; the progress line counts its rows."""
    dataset = trainer.learner.dataset
    label = f"{dataset.task} seed {seed}, {part}"
    silent = launch.rank() != 0
    with Progress(label, len(dataset.parts[part]), unit="rows", silent=silent) as progress:
        # The other processes have answered about as many.
        trainer.advance = lambda rows: progress.advance(rows * launch.world_size())
        return trainer.predict_part(part)


@contextlib.contextmanager
def predicting(
    settings: Settings, learner: Learner, load: Callable[[], Any], folder: Path
) -> Iterator[Trainer]:
    """Provide a Trainer that predicts by the model that `load` loads; `folder` may stay empty.

    With ``deepspeed=zero3`` the processes share the weights. Every process must call this.
    """
    ours: dict[str, Any] = {"eval_strategy": "no", "metric_for_best_model": None}
    sharded = sharding.stage_of(settings.deepspeed) == 3
    with sharding.processes(sharded):
        if sharded:
            ours["deepspeed"] = sharding.deepspeed_config(settings, micro=1, rounds=1)
        # Made before the model, which is then loaded in shards.
        args = training_arguments(settings, folder, 1, **ours)
        model = load()
        if sharded:
            sharding.drop_automatic_values(args, model)
        trainer = Trainer(learner, model, args)
        try:
            yield trainer
        finally:
            trainer.close()
