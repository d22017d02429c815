"""transformers' Trainer with our batches, loss, random numbers, evaluation and figures."""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
import transformers
from torch.utils.data import DataLoader
from transformers import PrinterCallback, TrainerCallback, TrainingArguments

from adnominal.conf import JobFailed
from adnominal.conf.progress import Progress
from adnominal.training import launch, sharding
from adnominal.training.batching import Ids, epoch_steps, seed_of, shares
from adnominal.training.evaluation import loss_sum
from adnominal.training.files import sync
from adnominal.training.models.learner import IGNORED
from adnominal.training.sharding import precision_of
from adnominal.training.throughput import Window, flops_per_token

if TYPE_CHECKING:
    from adnominal.training.loop import TrainingLoop


class _Updates:
    """A batch sampler, already sharded: the micro-batches of one process, epoch by epoch."""

    def __init__(self, trainer: TrainingLoop) -> None:
        self._trainer = trainer
        self.epoch = 0

    def __len__(self) -> int:
        return self._trainer.steps_per_epoch * self._trainer.rounds

    def __iter__(self) -> Iterator[tuple[Ids, bool]]:
        """Yield row numbers of the training part, and whether they count in the loss."""
        run, settings = self._trainer, self._trainer.settings
        for step in epoch_steps(
            run.lengths,
            settings.batch_size,
            seed=settings.seed,
            epoch=self.epoch,
            bucket=settings.bucket,
        ):
            for piece in shares(step, run.lengths, launch.rank(), run.world, run.rounds):
                # Every process runs every round; without examples, it uses a row of weight 0.
                yield run.rows[piece if len(piece) else step[:1]], bool(len(piece))


class _Rows:
    """The training examples by number, passed on to the collator as a batch."""

    def __init__(self, size: int) -> None:
        self._size = size

    def __len__(self) -> int:
        return self._size

    def __getitems__(self, batch: tuple[Ids, bool]) -> tuple[Ids, bool]:
        return batch


class LearnerTrainer(transformers.Trainer):  # type: ignore[misc]
    """The library's training loop for one `run`."""

    model: Any
    model_wrapped: Any
    optimizer: Any
    deepspeed: Any
    control: Any

    def __init__(self, run: TrainingLoop, args: TrainingArguments, progress: Progress) -> None:
        self.run = run
        precision = precision_of(run.settings)
        # Without DeepSpeed, weights that are trained stay in single precision.
        half = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(precision)
        model = run.learner.model(run.settings.seed, half if run.deepspeed else None)
        if run.deepspeed and not hasattr(model.config, "hidden_size"):
            sharding.remove_automatic_values(args.hf_deepspeed_config.config)
        self.flops = flops_per_token(model)
        super().__init__(model=model, args=args, train_dataset=_Rows(len(run.rows)))
        self.remove_callback(PrinterCallback)
        self.updates = _Updates(run)
        self.add_callback(_Schedule(self, progress))
        # Our loss is divided by the labelled terms of the whole update.
        self.model_accepts_loss_kwargs = self.loss_is_scaled_for_ga = True
        self._loss_shifts_labels = False
        self.window = Window()
        self.pending: list[tuple[int, float, Any]] = []
        self._round, self._loss = 0, torch.zeros(())

    def get_train_dataloader(self) -> DataLoader:
        return DataLoader(
            self.train_dataset,
            batch_sampler=self.updates,
            collate_fn=self._collate,
            pin_memory=self.args.dataloader_pin_memory,
        )

    def _collate(self, numbered: tuple[Ids, bool]) -> dict[str, Any]:
        rows, counts = numbered
        batch = self.run.learner.collate("train", rows)
        if counts:
            self.window.add(*self.run.learner.tokens(batch), len(rows))
        else:
            batch["labels"] = torch.full_like(batch["labels"], IGNORED)
        return batch

    def training_step(self, model: Any, inputs: Any, num_items_in_batch: Any = None) -> Any:
        settings, step = self.run.settings, self.state.global_step
        torch.manual_seed(seed_of("step", settings.seed, step, self._round, launch.rank()))
        loss = super().training_step(model, inputs, num_items_in_batch)
        self._loss = self._loss.to(loss.device) + loss
        self._round += 1
        if self._round == self.run.rounds:
            self.pending.append((step + 1, self._get_learning_rate(), self._loss))
            self._round, self._loss = 0, torch.zeros((), device=loss.device)
        return loss

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
        logits = self.run.learner.logits(model, inputs)
        return loss_sum(logits, inputs["labels"]) * self.run.world / num_items_in_batch

    def floating_point_ops(self, inputs: Any) -> int:
        return 0  # We count our own, once.

    def create_optimizer(self, model: Any = None) -> Any:
        optimizer = super().create_optimizer(model)
        # DeepSpeed takes no group without parameters.
        optimizer.param_groups[:] = [group for group in optimizer.param_groups if group["params"]]
        self._decays = [group["weight_decay"] for group in optimizer.param_groups]
        return optimizer

    def report(self) -> None:
        """Report the losses of the updates since the last report, and the speed."""
        if not self.pending:
            return
        run, world = self.run, self.run.world
        losses = torch.stack([loss for *_, loss in self.pending]).double()
        if world > 1:
            torch.distributed.all_reduce(losses)
        values = (losses / world).tolist()
        seconds, figures = self.window.close(world, self.flops, precision_of(run.settings))
        run.state.seconds += seconds
        figures["train/epoch"] = run.state.step / run.steps_per_epoch
        if launch.rank() == 0:
            with (run.folder / "steps.jsonl").open("a", encoding="utf-8") as lines:
                for (step, rate, _), loss in zip(self.pending, values, strict=True):
                    losses_of_step = {"train/loss": loss, "train/learning_rate": rate}
                    lines.write(json.dumps({"step": step, **losses_of_step}) + "\n")
                    if step == self.pending[-1][0]:
                        run.on_step(step, losses_of_step | figures)
        self.pending.clear()
        if not all(map(math.isfinite, values)) and precision_of(run.settings) != "fp16":
            raise JobFailed(
                f"the loss is not a number by update {run.state.step}; try a lower learning_rate "
                f"than {run.settings.learning_rate:g}, a longer warmup, or precision=fp32"
            )

    def evaluate(self, *_: Any, **__: Any) -> dict[str, float]:
        model = self.model_wrapped if self.run.deepspeed else self.model
        figures = self.run.validate(model, self.save_weights)
        self.control = self.callback_handler.on_evaluate(
            self.args, self.state, self.control, figures
        )
        if self.run.state.stopped:
            self.control.should_training_stop = self.control.should_save = True
        self.window.restart()
        return figures

    def save_weights(self, folder: Path) -> None:
        """Write the model for loading elsewhere; every process must call this."""
        new_folder = folder.with_name(folder.name + ".new")
        if launch.rank() == 0:
            for leftover in (new_folder, folder):
                shutil.rmtree(leftover, ignore_errors=True)
        launch.barrier()
        weights = None
        if self.run.zero3:
            # Weights that the last forward pass has prefetched cannot be gathered.
            self.model_wrapped.empty_partition_cache()
        adapters = hasattr(self.model, "peft_config")
        if self.run.zero3 and adapters:
            parameters = self.model.named_parameters()
            weights = sharding.gathered_weights((n, p) for n, p in parameters if p.requires_grad)
        elif self.run.zero3:
            sharding.write_shards(self.model, new_folder)
            weights = {}
        if launch.rank() == 0:
            self.run.learner.save(self.model, new_folder, weights)
            sync(new_folder)
            os.rename(new_folder, folder)
        launch.barrier()

    def save_model(self, output_dir: str | None = None, _internal_call: bool = False) -> None:
        """Save the weights of a checkpoint; DeepSpeed writes those of its engines itself."""
        assert output_dir is not None
        if not self.run.deepspeed and launch.rank() == 0:
            self.run.learner.save(self.model, Path(output_dir))

    def _save_optimizer_and_scheduler(self, output_dir: str) -> None:
        with launch.silence():
            super()._save_optimizer_and_scheduler(output_dir)

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        super()._load_optimizer_and_scheduler(checkpoint)
        if not self.run.deepspeed:
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


class _Schedule(TrainerCallback):  # type: ignore[misc]
    """Decides when to report, evaluate and save; copies the Trainer's steps to the run's state."""

    def __init__(self, inner: LearnerTrainer, progress: Progress) -> None:
        self._inner, self._run, self._progress = inner, inner.run, progress

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._inner.window.restart()

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._inner.updates.epoch = state.global_step // self._run.steps_per_epoch

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        run, settings = self._run, self._run.settings
        step = run.state.step = state.global_step
        samples = run.samples_until(step) - run.samples_until(step - 1)
        self._progress.advance(samples, f"step {step} of {run.total}")
        last, epoch = step == run.total, run.steps_per_epoch
        validates = "val" in run.learner.dataset.parts
        control.should_evaluate = validates and (
            last or step % (settings.evaluate_every or epoch) == 0
        )
        control.should_save = last or step % (settings.checkpoint_every or epoch) == 0
        if (
            control.should_evaluate
            or control.should_save
            or len(self._inner.pending) >= settings.log_every
        ):
            self._inner.report()
        if last and not validates:
            self._inner.save_weights(run.folder / f"best-{step}")

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._run.checkpoints.complete(f"checkpoint-{state.global_step}", self._run.state)
        self._run.drop_weights()
        self._inner.window.restart()
