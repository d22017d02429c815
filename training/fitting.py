"""Training: transformers' Trainer, and what it lacks.

The Trainer samples by length, accumulates, evaluates, keeps the best checkpoint, stops early,
resumes and shards. Added here, each in one place:

- `Trainer.compute_loss`: the loss of an update is the mean over all its examples. Without it, some
  heads count a loss once for each process and micro-batch.
- `Trainer.prediction_step`: an evaluation's loss is the sum over its terms divided by their number.
  The Trainer's mean of means is inexact if the last batch is smaller.
- `Trainer.training_step`: a GPU that runs out of memory repeats the update in smaller pieces.
- `_Sampler`: the order of the examples follows from seed and epoch, so a resumed run sees the same
  ones.
- `Trainer.save_model`: under ZeRO 3, no process ever holds all weights.
- `checkpoints.mark_complete`: a run that was killed while saving resumes from a whole checkpoint.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import logging
import math
import os
import shutil
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from torch.utils.data import SequentialSampler
from transformers import EarlyStoppingCallback, PrinterCallback, TrainerCallback
from transformers.trainer_pt_utils import get_length_grouped_indices

from adnominal.conf import JobFailed, UserError
from adnominal.conf.progress import Progress
from adnominal.training import checkpoints, launch, memory, sharding
from adnominal.training.arguments import PassedArguments
from adnominal.training.batching import Ids, seed_of
from adnominal.training.evaluation import (
    Evaluation,
    encode_texts,
    evaluation_of,
    figures_line,
    loss_sum,
    loss_terms,
)
from adnominal.training.files import replace_json, replace_text, sync
from adnominal.training.launch import RankFailed
from adnominal.training.models.learner import Learner
from adnominal.training.settings import Settings
from adnominal.training.tasks import nested_subset
from adnominal.training.throughput import Window, flops_per_token

log = logging.getLogger("adnominal")
_TRAINED = "trained.json"
# Of a log entry of the Trainer; the others are of its own bookkeeping.
_TRAIN_FIGURES = ("loss", "grad_norm", "learning_rate")

Figures = Mapping[str, float]


class Rows(torch.utils.data.Dataset):  # type: ignore[type-arg]
    """Rows of a part, by number; `Trainer.collate` makes a batch from their numbers."""

    def __init__(self, part: str, numbers: Ids) -> None:
        self.part, self.numbers = part, numbers

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, at: int) -> tuple[str, int]:
        return self.part, int(self.numbers[at])


class _Sampler(torch.utils.data.Sampler[int]):
    """The Trainer's sampling by length, drawn by seed and epoch."""

    def __init__(self, batch_size: int, lengths: Ids, seed: int) -> None:
        self._batch_size, self._lengths, self._seed = batch_size, lengths.tolist(), seed
        self._epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch, whose number accelerate passes on."""
        self._epoch = epoch

    def __len__(self) -> int:
        return len(self._lengths)

    def __iter__(self) -> Iterator[int]:
        seed = seed_of("epoch", self._seed, self._epoch)
        generator = torch.Generator().manual_seed(seed)
        return iter(
            get_length_grouped_indices(self._lengths, self._batch_size, generator=generator)
        )


class Trainer(transformers.Trainer):  # type: ignore[misc]
    """The library's Trainer for one `learner`.

    `figures(part, evaluation)` are the scores of an evaluation by name. With `answers` false, an
    evaluation computes only the loss.
    """

    model: Any
    model_wrapped: Any
    optimizer: Any
    deepspeed: Any
    control: Any

    def __init__(
        self,
        learner: Learner,
        model: Any,
        args: transformers.TrainingArguments,
        *,
        train: Rows | None = None,
        validation: Rows | None = None,
        figures: Callable[[str, Evaluation], Figures] | None = None,
        callbacks: Sequence[TrainerCallback] = (),
    ) -> None:
        self.learner = learner
        self.answers = True
        self._figures = figures
        self._evaluated: Rows | None = None
        self.window = Window()
        self._counts: deque[tuple[int, int, int]] = deque()
        self.flops = flops_per_token(model)
        # The micro-batches of the present update, and the pieces into which each is divided.
        self.pieces = 1
        self._update = -1
        self._micro_batches: list[Any] = []
        super().__init__(
            model=model,
            args=args,
            data_collator=self.collate,
            train_dataset=train,
            eval_dataset=validation,
            compute_metrics=self._evaluation_metrics if figures is not None else None,
            callbacks=list(callbacks),
        )
        self.remove_callback(PrinterCallback)
        # Our loss is divided by the labelled terms of the whole update.
        self.model_accepts_loss_kwargs = self.loss_is_scaled_for_ga = True
        self._loss_shifts_labels = False

    def collate(self, items: Sequence[tuple[str, int]]) -> dict[str, Any]:
        """Return the batch of row numbers of one part."""
        part = items[0][0]
        rows = np.array([row for _, row in items], dtype=np.int64)
        batch = self.learner.collate(part, rows)
        # Counted when the batch is trained on; the loader reads ahead. In its worker processes,
        # counts would be lost.
        if part == "train" and torch.utils.data.get_worker_info() is None:
            self._counts.append((*self.learner.tokens(batch), len(rows)))
        return batch

    def _get_train_sampler(self, train_dataset: Any = None) -> Any:
        rows = self.train_dataset if train_dataset is None else train_dataset
        if self.args.train_sampling_strategy != "group_by_length":
            return super()._get_train_sampler(rows)
        update = self.args.train_batch_size * self.args.gradient_accumulation_steps
        return _Sampler(update, self.learner.lengths(rows.part)[rows.numbers], self.args.seed)

    def _get_eval_sampler(self, eval_dataset: Any) -> Any:
        # Rows are already sorted by length, and predictions are returned in their order.
        return SequentialSampler(eval_dataset)

    def compute_loss(
        self,
        model: Any,
        inputs: Any,
        return_outputs: bool = False,
        num_items_in_batch: Any = None,
    ) -> Any:
        """Divide the sum over this micro-batch's terms by the number of terms of the update.

        Gradients are averaged over processes, hence the factor.
        """
        logits = self.learner.logits(model, inputs)
        loss = loss_sum(logits, inputs["labels"], self.args.label_smoothing_factor)
        return loss * self.args.world_size / num_items_in_batch

    def training_step(self, model: Any, inputs: Any, num_items_in_batch: Any = None) -> Any:
        if self._update != self.state.global_step:
            self._update = self.state.global_step
            self._micro_batches.clear()
            self._random_state = memory.RandomState()
        self._micro_batches.append(inputs)
        if self._counts:
            self.window.add(*self._counts.popleft())
        try:
            return self._step_in_pieces(model, inputs, num_items_in_batch)
        except torch.cuda.OutOfMemoryError as error:
            # Here the traceback holds the activations; the update is repeated without it.
            problem = error.with_traceback(None)
        return self._repeat_update(model, num_items_in_batch, problem)

    def _step_in_pieces(self, model: Any, inputs: Any, num_items_in_batch: Any) -> Any:
        """Train on a micro-batch, divided into `pieces`; gradients and loss add up."""
        if self.pieces == 1:
            return super().training_step(model, inputs, num_items_in_batch)
        columns = {name: values.chunk(self.pieces) for name, values in inputs.items()}
        batches = [
            dict(zip(columns, values, strict=True))
            for values in zip(*columns.values(), strict=True)
        ]
        losses = [super(Trainer, self).training_step(model, b, num_items_in_batch) for b in batches]
        return torch.stack(losses).sum()

    def _repeat_update(self, model: Any, num_items_in_batch: Any, problem: Exception) -> Any:
        """Repeat the micro-batches of this update in pieces of half the size.

        Raises:
            JobFailed: a piece is a single example, or another process takes part in the update,
                which cannot be repeated.
        """
        size = self.args.per_device_train_batch_size // self.pieces
        rows = len(next(iter(self._micro_batches[0].values())))
        if size <= 1 or rows <= 1:
            raise JobFailed(
                f"{memory.OUT_OF_MEMORY}: one training example does not fit ({memory.usage()})"
            ) from problem
        half = size // 2
        folder = Path(self.args.output_dir).parent
        memory.record_micro_batch(folder, half, "out of memory")
        if self.args.world_size > 1 or self.is_deepspeed_enabled:
            raise RankFailed(
                f"{memory.OUT_OF_MEMORY} with micro-batches of {size}; run the same command again: "
                f"it continues from the newest checkpoint with {half}"
            ) from problem
        log.warning("out of memory: micro-batches have %d examples from here on", half)
        self.pieces *= 2
        model.zero_grad()
        memory.free_memory()
        self._random_state.restore()
        micro_batches = list(self._micro_batches)
        self._update = self.state.global_step
        losses = []
        for inputs in micro_batches:
            try:
                losses.append(self._step_in_pieces(model, inputs, num_items_in_batch))
            except torch.cuda.OutOfMemoryError as error:
                problem = error.with_traceback(None)
                break
        if len(losses) == len(micro_batches):
            return losses[-1]
        return self._repeat_update(model, num_items_in_batch, problem)

    def prediction_step(
        self, model: Any, inputs: Any, prediction_loss_only: bool, ignore_keys: Any = None
    ) -> tuple[None, Any, Any]:
        """Return scores or texts of the examples, and their loss terms."""
        batch = self._prepare_inputs(inputs)
        labels = batch.get("labels")
        kind = self.learner.dataset.kind if self.answers else None
        with torch.no_grad(), self.compute_loss_context_manager():
            logits = None if labels is None else self.learner.logits(model, batch)
            terms = None if labels is None else loss_terms(logits, labels)
            if kind == "classification":
                answers = self.learner.scores(model, batch, logits).float()
            elif kind == "seq2seq":
                answers = encode_texts(self.learner.texts(model, batch), self.args.device)
            else:
                answers = terms
        return None, answers, terms

    def evaluation_loop(self, dataloader: Any, *args: Any, **kwargs: Any) -> Any:
        self._evaluated = dataloader.dataset
        return super().evaluation_loop(dataloader, *args, **kwargs)

    def _evaluation_metrics(self, output: Any) -> dict[str, float]:
        assert self._evaluated is not None and self._figures is not None
        evaluation = self._evaluation(output.predictions, output.label_ids)
        return dict(self._figures(self._evaluated.part, evaluation))

    def _evaluation(self, predictions: Any, terms: Any) -> Evaluation:
        assert self._evaluated is not None
        kind = self.learner.dataset.kind if self.answers else None
        return evaluation_of(predictions, terms, self._evaluated.numbers, kind)

    def predict_part(self, part: str) -> Evaluation:
        """Return the answers to all rows of a part, in its order, and its loss if it has labels."""
        metrics, self.compute_metrics = self.compute_metrics, None
        try:
            output = self.predict(rows_by_length(self.learner, part))
        finally:
            self.compute_metrics = metrics
        return self._evaluation(output.predictions, output.label_ids)

    def evaluate(self, *args: Any, **kwargs: Any) -> dict[str, float]:
        figures: dict[str, float] = super().evaluate(*args, **kwargs)
        self.window.restart()
        return figures

    def _determine_best_metric(self, metrics: dict[str, float], trial: Any) -> bool:
        is_best = bool(super()._determine_best_metric(metrics, trial))
        if is_best and self.args.load_best_model_at_end:
            # The best weights must be in a checkpoint, whatever save_steps= says.
            self.control.should_save = True
        return is_best

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """Add the speed since the last entry; end the run if the loss is not a number.

        Raises:
            JobFailed: the loss is not a number.
        """
        if "loss" in logs:
            precision = "fp16" if self.args.fp16 else "bf16" if self.args.bf16 else "fp32"
            logs |= self.window.close(self.args.world_size, self.flops, precision)
            if not math.isfinite(logs["loss"]) and precision != "fp16":
                raise JobFailed(
                    f"the loss is not a number by update {self.state.global_step}; try a lower "
                    f"learning_rate than {self.args.learning_rate:g}, more warmup_steps, or "
                    "bf16=false"
                )
        super().log(logs, start_time)

    def floating_point_ops(self, inputs: Any) -> int:
        return 0  # `flops_per_token` counts them without attention and embeddings.

    def create_optimizer(self, model: Any = None) -> Any:
        optimizer = super().create_optimizer(model)
        # DeepSpeed takes no group without parameters.
        optimizer.param_groups[:] = [group for group in optimizer.param_groups if group["params"]]
        self._decays = [group["weight_decay"] for group in optimizer.param_groups]
        return optimizer

    def save_model(self, output_dir: str | None = None, _internal_call: bool = False) -> None:
        """Write the model for loading elsewhere; every process must call this.

        In a checkpoint, DeepSpeed's engine writes the weights itself.
        """
        assert output_dir is not None
        if _internal_call and self.is_deepspeed_enabled:
            return
        folder, weights = Path(output_dir), None
        if self.is_deepspeed_enabled and self.deepspeed.zero_optimization_stage() == 3:
            weights = self._sharded_weights(folder)
        if launch.rank() == 0:
            self.learner.save(self.accelerator.unwrap_model(self.model), folder, weights)
            sync(folder)

    def _sharded_weights(self, folder: Path) -> dict[str, Any]:
        """Write sharded weights piece by piece; return those of adapters, which are small."""
        # Weights that the last forward pass has prefetched cannot be gathered.
        self.model_wrapped.empty_partition_cache()
        if not hasattr(self.model, "peft_config"):
            sharding.write_shards(self.model, folder)
            return {}
        parameters = self.model.named_parameters()
        trained = ((name, weights) for name, weights in parameters if weights.requires_grad)
        return sharding.gathered_weights(trained)

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        super()._save_checkpoint(model, trial)
        name = f"checkpoint-{self.state.global_step}"
        checkpoints.mark_complete(Path(self.args.output_dir) / name)
        self.window.restart()

    def _save_optimizer_and_scheduler(self, output_dir: str) -> None:
        with launch.silence():
            super()._save_optimizer_and_scheduler(output_dir)

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        super()._load_optimizer_and_scheduler(checkpoint)
        if not self.is_deepspeed_enabled or checkpoint is None:
            return
        inner = getattr(self.optimizer, "optimizer", self.optimizer)
        while hasattr(inner, "optimizer"):
            inner = inner.optimizer
        # Under ZeRO 3, the universal form gives every parameter group the weight decay of the
        # first, and all of them one shared update counter, which each group then increments.
        for group, decay in zip(inner.param_groups, self._decays, strict=True):
            group["weight_decay"] = decay
        for state in inner.state.values():
            if hasattr(state.get("step"), "clone"):
                state["step"] = state["step"].clone()

    def close(self) -> None:
        """Free the model and its optimizer."""
        self.accelerator.free_memory()
        if self.deepspeed is not None:
            sharding.release(self.deepspeed)
        self.model = self.model_wrapped = self.optimizer = self.deepspeed = None


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
        done = self._samples_done(state)
        self._progress.advance(done - self._done, f"step {state.global_step} of {state.max_steps}")
        self._done = done
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


def rows_by_length(learner: Learner, part: str) -> Rows:
    """Return all rows of a part, longest first, so that the first batch shows the memory needed."""
    return Rows(part, np.argsort(-learner.lengths(part), kind="stable"))


def training_arguments(
    settings: Settings, folder: Path, micro_batch: int, **ours: Any
) -> transformers.TrainingArguments:
    """Return transformers' arguments for a run; `ours` are those that a user cannot set.

    They are made in the training process, because making them touches the device and DeepSpeed.

    Raises:
        UserError: transformers refuses a value.
    """
    cuda = torch.cuda.is_available() and not settings.use_cpu
    passed = {}
    for argument in dataclasses.fields(PassedArguments):
        value = getattr(settings, argument.name)
        # The library's default None is an empty list or mapping in our settings.
        if value is not None and value != [] and value != {}:
            passed[argument.name] = value
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
    try:
        args = transformers.TrainingArguments(**passed)
    except (ValueError, TypeError, ImportError) as error:
        raise UserError(f"transformers' arguments: {' '.join(str(error).split())}") from error
    # One GPU per process; the launcher handles more.
    args._n_gpu = min(args.n_gpu, 1)
    return args


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
    with sharding.processes(deepspeed) as accelerator_config:
        checkpoint = checkpoints.newest(folder / "checkpoints")
        universal = False
        if checkpoint is not None and deepspeed and checkpoint[1] != launch.world_size():
            checkpoints.make_universal(checkpoint[0])
            universal = True
        trainer, progress = _trainer(
            settings, learner, folder, accelerator_config, universal, figures, on_figures
        )
        with progress:
            try:
                if checkpoint is not None and launch.rank() == 0:
                    log.info("resuming from %s", checkpoint[0])
                trainer.train(None if checkpoint is None else os.fspath(checkpoint[0]))
                fitted = _fitted(trainer)
                _save_best(trainer, folder)
            finally:
                trainer.close()
    if launch.rank() == 0:
        replace_json(folder / _TRAINED, dataclasses.asdict(fitted))
    return fitted


def _trainer(
    settings: Settings,
    learner: Learner,
    folder: Path,
    accelerator_config: Mapping[str, Any],
    universal: bool,
    figures: Callable[[str, Evaluation], Figures],
    on_figures: Callable[[int, Figures], None],
) -> tuple[Trainer, Progress]:
    train = learner.dataset.parts["train"]
    numbers: Ids = np.arange(len(train))
    if settings.size is not None:
        numbers = nested_subset(train.item_ids, settings.size, settings.seed)
    deepspeed = sharding.uses_deepspeed(settings.deepspeed)
    share = memory.share_of_process(settings)
    micro_batch = memory.micro_batch_of_run(folder) or settings.per_device_train_batch_size or share
    rounds = share // micro_batch
    validated = "val" in learner.dataset.parts and settings.eval_strategy != "no"
    ours: dict[str, Any] = {
        "gradient_accumulation_steps": rounds,
        "accelerator_config": dict(accelerator_config) or None,
        "eval_strategy": settings.eval_strategy if validated else "no",
        "load_best_model_at_end": validated,
    }
    if not validated:
        ours["metric_for_best_model"] = None
    if deepspeed:
        ours["deepspeed"] = sharding.deepspeed_config(
            settings, micro=micro_batch, rounds=rounds, universal=universal
        )
    # DeepSpeed's configuration must be known before the model, which is loaded in shards by ZeRO 3.
    args = training_arguments(settings, folder / "checkpoints", micro_batch, **ours)
    half = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(
        sharding.training_precision(settings)
    )
    # Without DeepSpeed, weights that are trained stay in single precision.
    model = learner.model(settings.seed, half if deepspeed else None)
    if torch.cuda.is_available() and not deepspeed and _is_free(settings, folder):
        micro_batch = _fitted_micro_batch(settings, learner, model, folder, args)
        args.per_device_train_batch_size = micro_batch
        args.gradient_accumulation_steps = share // micro_batch
    if deepspeed and not hasattr(model.config, "hidden_size"):
        sharding.remove_automatic_values(args.hf_deepspeed_config.config)
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
        train=Rows("train", numbers),
        validation=rows_by_length(learner, "val") if validated else None,
        figures=figures,
        callbacks=callbacks,
    )
    # Generating text is slow, and unnecessary if the loss selects the weights.
    by_loss = settings.metric_for_best_model in ("loss", "eval_loss")
    trainer.answers = not by_loss or learner.dataset.kind != "seq2seq"
    return trainer, progress


def _is_free(settings: Settings, folder: Path) -> bool:
    """Whether the size of micro-batches is open: not given, and not fitted at an earlier start."""
    is_given = settings.batch_size is None or settings.per_device_train_batch_size is not None
    return not is_given and memory.micro_batch_of_run(folder) is None


def _fitted_micro_batch(
    settings: Settings,
    learner: Learner,
    model: Any,
    folder: Path,
    args: transformers.TrainingArguments,
) -> int:
    """Return the micro-batch that fits this GPU, the same in every process, and store it."""
    model.to(args.device)
    half = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(
        sharding.training_precision(settings)
    )
    enabled = half is not None
    autocast = functools.partial(torch.autocast, args.device.type, dtype=half, enabled=enabled)
    share = memory.share_of_process(settings)
    size = min(launch.gather(memory.fit_micro_batch(learner, model, share, autocast)))
    if launch.rank() == 0:
        memory.record_micro_batch(folder, size, "fitted to the memory of the GPU")
        log.info("micro-batches of %d examples fit the memory", size)
    return size


def _fitted(trainer: Trainer) -> Fitted:
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
    ours: dict[str, Any] = {"eval_strategy": "no", "metric_for_best_model": None}
    sharded = sharding.stage_of(settings.deepspeed) == 3
    with sharding.processes(sharded) as accelerator_config:
        if sharded:
            ours["deepspeed"] = sharding.deepspeed_config(settings, micro=1, rounds=1)
        if accelerator_config:
            ours["accelerator_config"] = dict(accelerator_config)
        args = training_arguments(settings, folder / "checkpoints", 1, **ours)
        model = learner.load(folder / "model")
        if sharded and not hasattr(model.config, "hidden_size"):
            sharding.remove_automatic_values(args.hf_deepspeed_config.config)
        trainer = Trainer(learner, model, args)
        try:
            return {part: trainer.predict_part(part) for part in parts}
        finally:
            trainer.close()
