"""transformers' Trainer, and what it lacks.

The Trainer samples by length, accumulates, evaluates, keeps the best checkpoint, stops early,
resumes and shards. Added here, each in one place:

- `Trainer.compute_loss`: the loss of an update is the mean over all its examples. Without it, some
  heads count a loss once for each process and micro-batch.
- `Trainer.prediction_step`: an evaluation's loss is the sum over its terms divided by their number.
  The Trainer's mean of means is inexact if the last batch is smaller.
- `Trainer.training_step`: a GPU that runs out of memory repeats the update in smaller pieces.
- `_Sampler`: the order of the examples follows from seed and epoch, so a resumed run sees the same
  ones, by any number of processes.
- `Trainer.save_model`: under ZeRO 3, no process ever holds all weights.
- `checkpoints.mark_complete`: a run that was killed while saving resumes from a whole checkpoint.
"""

from __future__ import annotations

import logging
import math
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch
import transformers
from torch.utils.data import SequentialSampler
from transformers import PrinterCallback, TrainerCallback
from transformers.trainer_pt_utils import get_length_grouped_indices

from adnominal.conf import JobFailed, UserError
from adnominal.training import checkpoints, launch, memory, sharding
from adnominal.training.batching import Ids, even_batch_size, seed_of
from adnominal.training.evaluation import (
    Evaluation,
    decode_texts,
    encode_texts,
    evaluation_of,
    loss_sum,
    loss_terms,
)
from adnominal.training.files import sync
from adnominal.training.launch import RankFailed
from adnominal.training.models.learner import IGNORED, SOFT, Learner
from adnominal.training.throughput import Window, flops_per_token

# The number of a row that pads the last batches.
_BLANK = -1
log = logging.getLogger("adnominal")

Figures: TypeAlias = Mapping[str, float]


@contextmanager
def explain_refusals() -> Iterator[None]:
    """Raise `UserError` for an argument that transformers refuses in the block."""
    try:
        yield
    except (ValueError, TypeError, ImportError) as error:
        raise UserError(f"transformers' arguments: {' '.join(str(error).split())}") from error


class Rows(torch.utils.data.Dataset):  # type: ignore[misc]
    """Rows of a part, by number; `Trainer.collate` makes a batch from their numbers.

    There are as many `blanks` after them, which have no number: with them, several processes have
    equally many batches. accelerate would repeat examples instead.
    """

    def __init__(self, part: str, numbers: Ids, blanks: int = 0) -> None:
        self.part, self.numbers, self.blanks = part, numbers, blanks

    def __len__(self) -> int:
        return len(self.numbers) + self.blanks

    def __getitem__(self, at: int) -> tuple[str, int]:
        return self.part, int(self.numbers[at]) if at < len(self.numbers) else _BLANK


class _Sampler(torch.utils.data.Sampler[int]):  # type: ignore[misc]
    """The Trainer's order of an epoch, by length or random, drawn by seed and epoch.

    The library draws it from the global generator, or does not reach its sampler when a run of
    several processes resumes within an epoch. `batch_size` is that of an update over all processes,
    so that its examples are the same for any number of them; `lengths` None gives a random order.
    Blanks come last.
    """

    def __init__(
        self, examples: int, lengths: Ids | None, batch_size: int, blanks: int, seed: int
    ) -> None:
        self._examples, self._lengths = examples, lengths
        self._batch_size, self._blanks, self._seed = batch_size, blanks, seed
        self.epoch = 0

    def __len__(self) -> int:
        return self._examples + self._blanks

    def __iter__(self) -> Iterator[int]:
        generator = torch.Generator().manual_seed(seed_of("epoch", self._seed, self.epoch))
        if self._lengths is None:
            order = torch.randperm(self._examples, generator=generator).tolist()
        else:
            lengths = self._lengths.tolist()
            order = get_length_grouped_indices(lengths, self._batch_size, generator=generator)
        return iter([*order, *range(self._examples, len(self))])


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
    compute_metrics: Any

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
        # Called with the number of rows of each batch that this process has answered.
        self.advance: Callable[[int], None] = lambda rows: None
        self._figures = figures
        self._evaluated: Rows | None = None
        self.sampler: _Sampler | None = None
        self.window = Window()
        self._counts: deque[tuple[int, int, int]] = deque()
        self.flops = flops_per_token(model)
        # The micro-batches of the present update, and the examples in each piece of them.
        self.piece = int(args.per_device_train_batch_size)
        self._update = -1
        self._micro_batches: list[Any] = []
        use_cache = getattr(model.config, "use_cache", None)
        super().__init__(
            model=model,
            args=args,
            data_collator=self.collate,
            train_dataset=train,
            eval_dataset=validation,
            compute_metrics=self._evaluation_metrics if figures is not None else None,
            callbacks=list(callbacks),
        )
        if use_cache is not None:
            # The library turns caches off for training; answers after a prompt need them, and each
            # of our forward passes says whether it uses one.
            model.config.use_cache = use_cache
        self.remove_callback(PrinterCallback)
        # Our loss is divided by the labelled terms of the whole update.
        self.model_accepts_loss_kwargs = self.loss_is_scaled_for_ga = True
        self._loss_shifts_labels = False

    def collate(self, items: Sequence[tuple[str, int]]) -> dict[str, Any]:
        """Return the batch of row numbers of one part."""
        part = items[0][0]
        rows = np.array([row for _, row in items if row != _BLANK], dtype=np.int64)
        if not len(rows):
            # Every process takes part in every step; without examples, by one that has no weight.
            batch = self.learner.collate(part, np.zeros(1, dtype=np.int64))
            batch["labels"] = torch.full_like(batch["labels"], IGNORED)
            if SOFT in batch:
                batch[SOFT] = torch.zeros_like(batch[SOFT])
            return batch
        batch = self.learner.collate(part, rows)
        # Counted when the batch is trained on; the loader reads ahead. In its worker processes,
        # counts would be lost.
        if part == "train" and torch.utils.data.get_worker_info() is None:
            self._counts.append((*self.learner.tokens(batch), len(rows)))
        return batch

    def _get_train_sampler(self, train_dataset: Any = None) -> Any:
        """Our sampler, which also gives the same batches again after a restart."""
        rows = self.train_dataset if train_dataset is None else train_dataset
        strategy = self.args.train_sampling_strategy
        if strategy == "sequential":
            return super()._get_train_sampler(rows)
        lengths = self.learner.lengths(rows.part)[rows.numbers]
        self.sampler = _Sampler(
            examples=len(rows.numbers),
            lengths=lengths if strategy == "group_by_length" else None,
            batch_size=self.get_total_train_batch_size(self.args),
            blanks=rows.blanks,
            seed=self.args.seed,
        )
        return self.sampler

    def _run_epoch(self, *args: Any, **kwargs: Any) -> None:
        if self.sampler is not None:
            self.sampler.epoch = kwargs["epoch"]
        super()._run_epoch(*args, **kwargs)

    def _get_dataloader(
        self, dataset: Any, description: str, batch_size: int, *args: Any, **kwargs: Any
    ) -> Any:
        if not kwargs.get("is_training"):
            batch_size = even_batch_size(len(dataset), batch_size, self.args.world_size)
        return super()._get_dataloader(dataset, description, batch_size, *args, **kwargs)

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
        labels = inputs.get(SOFT, inputs["labels"])
        loss = loss_sum(logits, labels, self.args.label_smoothing_factor)
        return loss * self.args.world_size / num_items_in_batch

    def training_step(self, model: Any, inputs: Any, num_items_in_batch: Any = None) -> Any:
        """Train on a micro-batch; if memory runs out, repeat the update in smaller pieces."""
        if self._update != self.state.global_step:
            self._update = self.state.global_step
            self._micro_batches.clear()
            self._random_states = torch.get_rng_state(), torch.cuda.get_rng_state_all()
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
        """Train on a micro-batch in pieces of `piece` examples; gradients and loss add up."""
        if self.piece == self.args.per_device_train_batch_size:
            return super().training_step(model, inputs, num_items_in_batch)
        columns = {name: values.split(self.piece) for name, values in inputs.items()}
        batches = [
            dict(zip(columns, values, strict=True))
            for values in zip(*columns.values(), strict=True)
        ]
        losses = [super(Trainer, self).training_step(model, b, num_items_in_batch) for b in batches]
        return torch.stack(losses).sum()

    def _repeat_update(self, model: Any, num_items_in_batch: Any, problem: Exception) -> Any:
        """Repeat the micro-batches of this update in pieces of half the size.

        Raises:
            JobFailed: a piece is a single example.
            RankFailed: the update cannot be repeated, because other processes take part in it or
                its examples are packed in one row; the next start goes on with half the size.
        """
        size = self.piece
        if size <= 1:
            raise JobFailed(
                f"{memory.OUT_OF_MEMORY}: one training example does not fit ({memory.usage()})"
            ) from problem
        share = self.args.per_device_train_batch_size * self.args.gradient_accumulation_steps
        self.piece = memory.half_of(size, share)
        folder = Path(self.args.output_dir).parent
        memory.record_micro_batch(folder, self.piece, "out of memory")
        packed = "places" in self._micro_batches[0]
        if self.args.world_size > 1 or self.is_deepspeed_enabled or packed:
            raise RankFailed(
                f"{memory.OUT_OF_MEMORY} with micro-batches of {size}; run the same command again: "
                f"it continues from the newest checkpoint with {self.piece}"
            ) from problem
        log.warning("out of memory: micro-batches have %d examples from here on", self.piece)
        model.zero_grad()
        memory.free_memory()
        cpu_state, gpu_states = self._random_states
        torch.set_rng_state(cpu_state)
        torch.cuda.set_rng_state_all(gpu_states)
        losses = []
        for inputs in self._micro_batches:
            try:
                losses.append(self._step_in_pieces(model, inputs, num_items_in_batch))
            except torch.cuda.OutOfMemoryError as error:
                problem = error.with_traceback(None)
                break
        if len(losses) == len(self._micro_batches):
            return losses[-1]
        return self._repeat_update(model, num_items_in_batch, problem)

    def prediction_step(
        self, model: Any, inputs: Any, prediction_loss_only: bool, ignore_keys: Any = None
    ) -> tuple[None, Any, Any]:
        """Return scores or texts of the examples, and their loss terms."""
        batch = self._prepare_inputs(inputs)
        labels = batch.get(SOFT, batch.get("labels"))
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
        self.advance(len(answers))
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
        if kind == "seq2seq":
            predictions = decode_texts(predictions)
        return evaluation_of(predictions, terms, self._evaluated.numbers, kind)

    def predict_part(self, part: str) -> Evaluation:
        """Return the answers to all rows of a part, in its order, and its loss if it has labels."""
        metrics, self.compute_metrics = self.compute_metrics, None
        try:
            output = self.predict(rows_by_length(self.learner, part))
        finally:
            self.compute_metrics = metrics
            # accelerate would keep the rows of every part until the end.
            self.accelerator._dataloaders.clear()
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
        with explain_refusals():
            optimizer = super().create_optimizer(model)
        # DeepSpeed takes no group without parameters.
        optimizer.param_groups[:] = [group for group in optimizer.param_groups if group["params"]]
        self._decays = [group["weight_decay"] for group in optimizer.param_groups]
        return optimizer

    def create_scheduler(self, num_training_steps: int, optimizer: Any = None) -> Any:
        with explain_refusals():
            return super().create_scheduler(num_training_steps, optimizer)

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
        checkpoint = Path(self.args.output_dir) / f"checkpoint-{self.state.global_step}"
        checkpoints.mark_incomplete(checkpoint)
        super()._save_checkpoint(model, trial)
        checkpoints.mark_complete(checkpoint)
        self.window.restart()

    def _save_optimizer_and_scheduler(self, output_dir: str) -> None:
        with launch.silence():
            super()._save_optimizer_and_scheduler(output_dir)

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        """Load them, and set what DeepSpeed's universal form loses."""
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

    def _load_best_model(self) -> None:
        if self.is_deepspeed_enabled:
            # The best checkpoint and the one that was resumed may be of different numbers of
            # processes.
            best = Path(self.state.best_model_checkpoint)
            self.deepspeed._config.load_universal_checkpoint = checkpoints.make_universal_for(best)
        super()._load_best_model()

    def close(self) -> None:
        """Free the model and its optimizer."""
        self.accelerator.free_memory()
        if self.deepspeed is not None:
            sharding.release(self.deepspeed)
        self.model = self.model_wrapped = self.optimizer = self.deepspeed = None


def rows_by_length(learner: Learner, part: str) -> Rows:
    """Return all rows of a part, longest first, so that the first batch shows the memory needed."""
    return Rows(part, np.argsort(-learner.lengths(part), kind="stable"))
