"""The training loop: transformers' Trainer with our order of examples and our figures.

A run is a function of its settings and its data. The examples of an update are the same for any
number of processes, each example has the same weight, and all random numbers follow from (seed,
step, process). On a CPU, a run that was killed and resumed therefore gives exactly the same losses.
"""

import gc
import json
import logging
import math
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import TrainingArguments

from adnominal.conf import JobFailed
from adnominal.conf.progress import Progress
from adnominal.training import launch, sharding
from adnominal.training.batching import Ids, seed_of
from adnominal.training.checkpoints import Checkpoints, Pointer, State, better
from adnominal.training.evaluation import Batches, Evaluation, evaluate, figures_line
from adnominal.training.files import replace_text
from adnominal.training.models.learner import Learner
from adnominal.training.settings import Settings
from adnominal.training.sharding import precision_of
from adnominal.training.tasks import Task, nested_subset
from adnominal.training.trainer import LearnerTrainer

_SCHEDULES = {"constant": "constant_with_warmup"}
log = logging.getLogger("adnominal")


def _step_of(line: str) -> float:
    """Return the update of a line of steps.jsonl; infinite if a kill or power cut damaged it."""
    try:
        return float(json.loads(line)["step"]) if line.endswith("\n") else math.inf
    except (ValueError, KeyError, TypeError):
        return math.inf


class TrainingLoop:
    """One run: the `settings` of a single point, its data, and the folder of its state.

    `task` scores what a model predicts. `on_step(step, figures)` and `on_evaluation(step, figures)`
    are called in the first process.
    """

    def __init__(
        self,
        settings: Settings,
        task: Task,
        learner: Learner,
        folder: Path,
        *,
        on_step: Callable[[int, dict[str, float]], None] = lambda step, figures: None,
        on_evaluation: Callable[[int, dict[str, float]], None] = lambda step, figures: None,
    ) -> None:
        self.settings, self.task, self.learner, self.folder = settings, task, learner, folder
        self.on_step, self._on_evaluation = on_step, on_evaluation
        self.checkpoints = Checkpoints(folder / "checkpoints")
        self.world = launch.world_size()
        share = -(-settings.batch_size // self.world)
        self.micro = min(settings.micro_batch_size or share, share)
        train = learner.dataset.parts["train"]
        self.rows: Ids = (
            np.arange(len(train))
            if settings.size is None
            else nested_subset(train.item_ids, settings.size, settings.seed)
        )
        # With fewer examples than micro-batches, each example is a micro-batch; further rounds
        # would be empty. The remaining ones have the same examples and random numbers.
        largest = -(-min(settings.batch_size, len(self.rows)) // self.world)
        self.rounds = min(-(-share // self.micro), largest)
        self.lengths = learner.lengths("train")[self.rows]
        self.steps_per_epoch = -(-len(self.rows) // settings.batch_size)
        self.total = self.steps_per_epoch * settings.epochs
        self.state = State()
        self.deepspeed = sharding.uses_deepspeed(settings.deepspeed)
        self.zero3 = sharding.stage_of(settings.deepspeed) == 3

    @property
    def model_folder(self) -> Path:
        """The folder of the best weights."""
        return self.checkpoints.model_folder

    @property
    def samples(self) -> int:
        """The number of training examples that the run has processed, repetitions included."""
        return self.samples_until(self.state.step)

    def samples_until(self, step: int) -> int:
        """The number of training examples in the first `step` updates."""
        epochs, steps = divmod(step, self.steps_per_epoch)
        return epochs * len(self.rows) + min(steps * self.settings.batch_size, len(self.rows))

    def train(self, parts: tuple[str, ...] = ()) -> tuple[Path, dict[str, Evaluation]]:
        """Train, or resume a killed run.

        Returns:
            The folder of the best weights, and the evaluation of the reloaded weights on `parts`.

        Raises:
            JobFailed: a loss or every evaluation is not a number.
        """
        with sharding.processes(self.deepspeed) as accelerator_config:
            # Objects that exist before a run, mostly imported modules, outlive it; scanning them
            # takes half a second at each garbage collection, which the libraries often trigger.
            gc.freeze()
            pointer = self.checkpoints.latest()
            universal = pointer is not None and pointer.world != self.world and self.deepspeed
            if pointer is not None:
                self.state = pointer.state
                if universal:
                    self.checkpoints.make_universal(pointer)
            args = self._arguments(accelerator_config, universal)
            self._train(args, pointer)
            # The Trainer refers to itself; free its model before another one is loaded.
            gc.collect()
            self._finish()
            return self.model_folder, self.evaluate_parts(args, parts)

    def _train(self, args: TrainingArguments, pointer: Pointer | None) -> None:
        if self.state.step == self.total or self.state.stopped:
            return
        samples = self.samples_until(self.state.step)
        label = f"{self.learner.dataset.task} seed {self.settings.seed}"
        self._cut_log()
        with Progress(
            label, len(self.rows) * self.settings.epochs, samples, silent=launch.rank() != 0
        ) as progress:
            inner = LearnerTrainer(self, args, progress)
            try:
                if pointer is not None and launch.rank() == 0:
                    log.info("resuming from update %d of %d", self.state.step, self.total)
                inner.train(pointer and os.fspath(self.checkpoints.folder / pointer.tag))
            finally:
                inner.close()

    def _arguments(self, accelerator_config: dict[str, Any], universal: bool) -> TrainingArguments:
        settings, cuda = self.settings, torch.cuda.is_available()
        precision = precision_of(settings)
        config = None
        if self.deepspeed:
            config = sharding.deepspeed_config(
                settings, micro=self.micro, rounds=self.rounds, universal=universal
            )
        args = TrainingArguments(
            output_dir=os.fspath(self.checkpoints.folder),
            seed=seed_of(settings.seed) % 2**32,
            per_device_train_batch_size=self.micro,
            gradient_accumulation_steps=self.rounds,
            num_train_epochs=settings.epochs,
            learning_rate=settings.learning_rate,
            weight_decay=settings.weight_decay,
            max_grad_norm=settings.clip,
            lr_scheduler_type=_SCHEDULES.get(settings.schedule, settings.schedule),
            warmup_steps=int(settings.warmup * self.total),
            bf16=precision == "bf16",
            fp16=precision == "fp16",
            use_cpu=not cuda,
            dataloader_pin_memory=cuda,
            torch_compile=settings.compile,
            # `training.trainer` decides when to log, evaluate and save.
            logging_strategy="no",
            eval_strategy="no",
            save_strategy="no",
            # The filter would wait for the device at every micro-batch; see `report`.
            logging_nan_inf_filter=False,
            log_level="error",
            report_to="none",
            disable_tqdm=True,
            average_tokens_across_devices=True,
            deepspeed=config,
            accelerator_config=accelerator_config or None,
        )
        # One GPU per process; the launcher handles more.
        args._n_gpu = min(args.n_gpu, 1)
        return args

    def _cut_log(self) -> None:
        """Remove the losses logged after the checkpoint that the run resumes from."""
        path = self.folder / "steps.jsonl"
        if launch.rank() == 0 and path.exists():
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)
            remaining = [line for line in lines if _step_of(line) <= self.state.step]
            replace_text(path, "".join(remaining))

    def validate(self, model: Any, save: Callable[[Path], None]) -> dict[str, float]:
        """Evaluate on the validation part; save the weights if they are the best so far."""
        settings, state = self.settings, self.state
        by_loss = settings.metric == "loss"
        # Generating text is slow, and unnecessary if the loss selects the weights.
        answers = not by_loss or self.learner.dataset.kind != "seq2seq"
        batches = Batches(settings.eval_batch_size)
        evaluation = evaluate(self.learner, model, "val", batches, answers=answers)
        figures = self.figures("val", evaluation)
        value = figures["val/loss" if by_loss else f"val/{settings.metric}"]
        if not math.isfinite(figures.get("val/loss", 0.0)):
            # If all scores are NaN, the first class may even be correct.
            value = math.nan
        state.evaluations.append({"step": state.step, **figures})
        if better(value, state.best, smallest=by_loss):
            state.best, state.best_step, state.waiting = value, state.step, 0
            save(self._best)
        else:
            state.waiting += 1
            state.stopped = bool(settings.patience) and state.waiting >= settings.patience
        if launch.rank() == 0:
            log.info("update %d: %s", state.step, figures_line(figures))
            self._on_evaluation(state.step, figures)
        return figures

    def figures(self, part: str, evaluation: Evaluation) -> dict[str, float]:
        """Return loss and scores of a part, named ``PART/NAME``."""
        figures_of_part = {} if evaluation.loss is None else {"loss": evaluation.loss}
        if evaluation.predicted is not None:
            figures_of_part |= self.task.evaluate(self.learner.dataset, part, evaluation.predicted)
        return {f"{part}/{name}": value for name, value in figures_of_part.items()}

    def drop_weights(self) -> None:
        """Delete the weights that are no longer the best."""
        if launch.rank() == 0:
            for old in self.folder.glob("best-*"):
                if old != self._best:
                    shutil.rmtree(old)

    @property
    def _best(self) -> Path:
        """The folder of the best weights so far; without a validation part, of the last ones."""
        return self.folder / self.state.weights

    def _finish(self) -> None:
        """Move the best weights (without a validation part: the last) to `model_folder`."""
        if self.state.best_step is None and "val" in self.learner.dataset.parts:
            raise JobFailed(f"no evaluation gave a {self.settings.metric} that is a number")
        if launch.rank() == 0 and self._best.exists():
            shutil.rmtree(self.model_folder, ignore_errors=True)
            os.rename(self._best, self.model_folder)
        launch.barrier()

    def evaluate_parts(
        self, args: TrainingArguments, parts: tuple[str, ...]
    ) -> dict[str, Evaluation]:
        """Evaluate the reloaded weights, so that scores are of the files that users load."""
        if not parts:
            return {}
        model = self.learner.load(self.model_folder)
        engine = None
        if self.zero3:
            import deepspeed

            config = {**args.hf_deepspeed_config.config, "gradient_clipping": 0.0}
            engine, *_ = deepspeed.initialize(model=model, config=config)
        else:
            model.to(args.device)
        try:
            batches = Batches(self.settings.eval_batch_size)
            return {part: evaluate(self.learner, engine or model, part, batches) for part in parts}
        finally:
            if engine is not None:
                sharding.release(engine)
