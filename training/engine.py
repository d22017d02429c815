"""The training loop: a DeepSpeed engine at every size, from one CPU process to many GPUs.

A run is a function of its settings and its data. The examples of an update are the same at any
number of processes, each example weighs the same in it, and all random numbers follow from (seed,
step, process), so that a run that was killed gives, on a CPU, the same losses to the last digit.
"""

from __future__ import annotations

import json
import logging
import math
import os
import resource
import shutil
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from conf import JobFailed, UserError
from training import launch, metrics
from training.batching import Ids, epoch_steps, evaluation_batches, seed_of, shares
from training.checkpoints import Checkpoints, State, better, full_weights
from training.learner import Learner
from training.progress import Progress
from training.settings import Training
from training.tasks import Task, nested_subset

__all__ = ["Evaluation", "Trainer", "deepspeed_config", "precision_of", "schedule"]

# Peak of dense matrix products in half precision, TFLOP/s, as the makers state it.
PEAKS = {
    "H200": 989.4,
    "H100 PCIe": 756.0,
    "H100 NVL": 835.0,
    "H100": 989.4,
    "A100": 312.0,
    "L40S": 362.0,
    "L4": 121.0,
    "A10": 125.0,
    "V100": 125.0,
    "T4": 65.0,
}

log = logging.getLogger("adnominal")


@dataclass(frozen=True)
class Evaluation:
    """What a model says of a part: `predicted` classes or texts, `scores` of classes, mean loss.

    `means` are the other figures of a learner, over the terms of the loss.
    """

    predicted: npt.NDArray[np.int64] | list[str] | None
    scores: npt.NDArray[np.float64] | None
    loss: float | None
    means: Mapping[str, float] = field(default_factory=dict)


def precision_of(settings: Training) -> str:
    """fp32, bf16 or fp16: what the settings ask for on this machine.

    Raises:
        UserError: fp16 without a GPU, or bf16 on a GPU that has none.
    """
    import torch

    cuda = torch.cuda.is_available()
    if settings.precision == "auto":
        return "bf16" if cuda and torch.cuda.is_bf16_supported() else "fp32"
    if settings.precision == "fp16" and not cuda:
        raise UserError("precision=fp16: there is no GPU here; expected fp32 or bf16 on a CPU")
    if settings.precision == "bf16" and cuda and not torch.cuda.is_bf16_supported():
        raise UserError("precision=bf16: this GPU has none; expected fp16 or fp32")
    return settings.precision


def read_deepspeed(settings: Training) -> dict[str, Any]:
    """The DeepSpeed configuration that the settings name.

    Raises:
        UserError: not JSON; or it sets what our settings set (batch sizes, precision, clipping).
    """
    path = settings.deepspeed_file
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UserError(f"{path}: not JSON: {error}") from error
    if not isinstance(config, dict):
        raise UserError(f"{path}: expected a JSON object of DeepSpeed's settings")
    ours = {
        "train_batch_size": "batch_size",
        "train_micro_batch_size_per_gpu": "micro_batch_size",
        "gradient_accumulation_steps": "micro_batch_size",
        "gradient_clipping": "clip",
        "bf16": "precision",
        "fp16": "precision",
        "optimizer": "learning_rate and weight_decay",
        "scheduler": "schedule and warmup",
    }
    for key, setting in ours.items():
        if key in config:
            raise UserError(f"{path}: has {key}, which is ours to set; remove it and use {setting}")
    return config


def zero_stage(settings: Training) -> int:
    """The ZeRO stage (0 to 3) that the settings' DeepSpeed configuration asks for."""
    return int(read_deepspeed(settings).get("zero_optimization", {}).get("stage", 0))


def deepspeed_config(
    settings: Training, *, micro: int, rounds: int, universal: bool
) -> dict[str, Any]:
    """The whole DeepSpeed configuration of a run."""
    config = read_deepspeed(settings)
    precision = precision_of(settings)
    zero = dict(config.get("zero_optimization", {}))
    if precision != "fp32":
        # Without ZeRO, DeepSpeed's half precision takes another optimizer wrapper, whose updates
        # come out smaller. ZeRO 1 keeps weights in single precision, in one process as in many.
        zero["stage"] = max(1, zero.get("stage", 0))
    return {
        **config,
        "zero_optimization": zero,
        "train_micro_batch_size_per_gpu": micro,
        "gradient_accumulation_steps": rounds,
        "train_batch_size": micro * rounds * launch.world_size(),
        "gradient_clipping": settings.clip,
        "bf16": {"enabled": precision == "bf16"},
        "fp16": {"enabled": precision == "fp16"},
        # torch's AdamW: DeepSpeed's own would be compiled on first use.
        "zero_allow_untested_optimizer": True,
        "zero_force_ds_cpu_optimizer": False,
        "checkpoint": {**config.get("checkpoint", {}), "load_universal": universal},
        "steps_per_print": 1 << 60,
    }


def schedule(name: str, warmup: int, total: int) -> Callable[[int], float]:
    """The learning rate of update `step` (from 0), as a share of the highest one."""

    def share(step: int) -> float:
        if step < warmup:
            return (step + 1) / (warmup + 1)
        done = (step - warmup) / max(1, total - warmup)
        if name == "linear":
            return max(0.0, 1.0 - done)
        if name == "cosine":
            return 0.5 * (1.0 + math.cos(math.pi * min(1.0, done)))
        return 1.0

    return share


def optimizer_groups(model: Any, weight_decay: float) -> list[dict[str, Any]]:
    """The trained parameters; biases and the weights of norms are not decayed."""
    trained = [p for p in model.parameters() if p.requires_grad]
    groups = [
        {"params": [p for p in trained if p.dim() > 1], "weight_decay": weight_decay},
        {"params": [p for p in trained if p.dim() <= 1], "weight_decay": 0.0},
    ]
    return [group for group in groups if group["params"]]


class Trainer:
    """One run: `settings` of a single point, its data, the folder that it keeps its state in.

    `task` scores what a model predicts; it is None for language models, which answer no items.
    `on_step(step, figures)` and `on_evaluation(step, figures)` are called in the first process.
    """

    def __init__(
        self,
        settings: Training,
        task: Task | None,
        learner: Learner,
        folder: Path,
        *,
        on_step: Callable[[int, dict[str, float]], None] = lambda step, figures: None,
        on_evaluation: Callable[[int, dict[str, float]], None] = lambda step, figures: None,
    ) -> None:
        self.settings, self.task, self.learner, self.folder = settings, task, learner, folder
        self._on_step, self._on_evaluation = on_step, on_evaluation
        self.checkpoints = Checkpoints(folder / "checkpoints")
        self.world = launch.world_size()
        share = -(-settings.batch_size // self.world)
        self.micro = min(settings.micro_batch_size or share, share)
        self.rounds = -(-share // self.micro)
        train = learner.dataset.parts["train"]
        self.rows: Ids = (
            np.arange(len(train))
            if settings.size is None
            else nested_subset(train.item_ids, settings.size, settings.seed)
        )
        self.lengths = learner.lengths("train")[self.rows]
        self.steps_per_epoch = -(-len(self.rows) // settings.batch_size)
        self.total = self.steps_per_epoch * settings.epochs
        self.state = State()
        self._engine: Any = None
        self._pending: list[tuple[int, float, Any]] = []
        self._window = _Window()

    def train(self) -> Path:
        """Train, or go on where a killed run stopped; the folder of the best weights.

        Raises:
            JobFailed: a loss or every evaluation is not a number.
        """
        self._start()
        state, engine = self.state, self._engine
        done = self._samples_until(state.step)
        try:
            with Progress(self._label(), len(self.rows) * self.settings.epochs, done) as progress:
                epoch, steps = -1, []
                while state.step < self.total and not state.stopped:
                    if state.step // self.steps_per_epoch != epoch:
                        epoch = state.step // self.steps_per_epoch
                        self.learner.begin_epoch(epoch)
                        steps = epoch_steps(
                            self.lengths,
                            self.settings.batch_size,
                            seed=self.settings.seed,
                            epoch=epoch,
                            bucket=self.settings.bucket,
                        )
                    step = steps[state.step % self.steps_per_epoch]
                    self._update(step)
                    state.step += 1
                    progress.advance(len(step), f"step {state.step} of {self.total}")
                    self._between()
            self._finish()
        finally:
            engine.destroy()
            self._engine = None
        return self.model_folder

    @property
    def model_folder(self) -> Path:
        """Where the best weights are."""
        return self.folder / "model"

    @property
    def samples(self) -> int:
        """Training examples that the run has seen so far, repetitions included."""
        return self._samples_until(self.state.step)

    def evaluate(self, model: Any, part: str, *, answers: bool = True) -> Evaluation:
        """What `model` says of a part, its rows shared out over the processes."""
        return evaluate(self.learner, model, part, self.settings.eval_batch_size, answers=answers)

    def _label(self) -> str:
        return f"{self.learner.dataset.task} seed {self.settings.seed}"

    def _start(self) -> None:
        import deepspeed
        import torch

        settings = self.settings
        pointer = self.checkpoints.latest()
        sharded = zero_stage(settings) > 0 or precision_of(settings) != "fp32"
        universal = pointer is not None and pointer.world != self.world and sharded
        if pointer is not None:
            self.state = pointer.state
            if universal:
                self.checkpoints.make_universal(pointer)
        model = self.learner.model(settings.seed)
        optimizer = torch.optim.AdamW(
            optimizer_groups(model, settings.weight_decay), lr=settings.learning_rate, fused=True
        )
        shape = schedule(settings.schedule, int(settings.warmup * self.total), self.total)
        self._engine, *_ = deepspeed.initialize(
            model=model,
            optimizer=optimizer,
            lr_scheduler=lambda own: torch.optim.lr_scheduler.LambdaLR(own, shape),
            config=deepspeed_config(
                settings, micro=self.micro, rounds=self.rounds, universal=universal
            ),
        )
        if self.world == 1 and not sharded:
            # Nothing to average with: DeepSpeed would copy all gradients into buckets and back.
            self._engine.enable_backward_allreduce = False
        self._flops = _flops_per_token(self._engine.module)
        if pointer is not None:
            self.checkpoints.restore(self._engine, pointer, universal=universal)
            if launch.rank() == 0:
                log.info("going on from update %d of %d", self.state.step, self.total)
        self._cut_log()
        self._window.restart()

    def _samples_until(self, step: int) -> int:
        epochs, steps = divmod(step, self.steps_per_epoch)
        return epochs * len(self.rows) + min(steps * self.settings.batch_size, len(self.rows))

    def _update(self, step: Ids) -> None:
        import torch

        engine, learner = self._engine, self.learner
        engine.train()
        # Of a language model a sentence may have none; then nothing is learnt from it.
        total_terms = max(1, int(learner.terms("train", self.rows[step]).sum()))
        loss_sum: Any = 0.0
        for number, piece in enumerate(
            shares(step, self.lengths, launch.rank(), self.world, self.rounds)
        ):
            torch.manual_seed(
                seed_of("step", self.settings.seed, self.state.step, number, launch.rank())
            )
            # Every process runs every round; one without examples runs one that weighs nothing.
            own = piece if len(piece) else step[:1]
            terms = int(learner.terms("train", self.rows[piece]).sum())
            batch = learner.collate("train", self.rows[own])
            self._window.add(*learner.tokens(batch), len(piece))
            loss = learner.loss(engine, _to(batch, engine.device))
            # DeepSpeed takes the mean over rounds and processes; the factor makes of it the mean
            # over the terms of the update, each example weighing the same.
            engine.backward(loss * (terms * self.rounds * self.world / total_terms))
            loss_sum = loss_sum + loss.detach() * (terms / total_terms)
            rate = engine.get_lr()[0]
            engine.step()
        self._pending.append((self.state.step + 1, rate, loss_sum))

    def _between(self) -> None:
        """What is done between updates: tell, evaluate, save."""
        settings, step = self.settings, self.state.step
        last = step == self.total
        every = settings.evaluate_every or self.steps_per_epoch
        evaluating = "val" in self.learner.dataset.parts and (last or step % every == 0)
        saving = last or step % (settings.checkpoint_every or self.steps_per_epoch) == 0
        if evaluating or saving or len(self._pending) >= settings.log_every:
            self._tell()
        if evaluating:
            self._validate()
            saving = saving or self.state.stopped
        if evaluating or saving:
            if saving:
                self.checkpoints.save(self._engine, self.state)
                self._drop_weights()
            self._window.restart()

    def _tell(self) -> None:
        """Write the losses of the updates since the last time, and the speed."""
        if not self._pending:
            return
        import torch
        import torch.distributed as dist

        losses = torch.stack([torch.as_tensor(loss) for _, _, loss in self._pending]).double()
        if self.world > 1:
            dist.all_reduce(losses)
        values = losses.tolist()
        seconds, samples, tokens, padded = self._window.close(self.world)
        self.state.seconds += seconds
        figures = {
            "train/samples_per_second": samples / seconds,
            "train/tokens_per_second": tokens / seconds,
            "train/padding_efficiency": tokens / padded,
            "train/memory_gib": _memory() / 2**30,
            "train/epoch": self.state.step / self.steps_per_epoch,
        }
        figures["train/tflops"] = self._flops * tokens / seconds / self.world / 1e12
        peak = _peak(precision_of(self.settings))
        if peak is not None:
            figures["train/mfu"] = 1e12 * figures["train/tflops"] / peak
        if launch.rank() == 0:
            with (self.folder / "steps.jsonl").open("a", encoding="utf-8") as lines:
                for (step, rate, _), loss in zip(self._pending, values, strict=True):
                    own = {"train/loss": loss, "train/learning_rate": rate}
                    lines.write(json.dumps({"step": step, **own}) + "\n")
                    if step == self._pending[-1][0]:
                        own |= figures
                        self._on_step(step, own)
        self._pending.clear()
        if not all(map(math.isfinite, values)) and precision_of(self.settings) != "fp16":
            raise JobFailed(
                f"the loss is not a number by update {self.state.step}; try a lower learning_rate "
                f"than {self.settings.learning_rate:g}, a longer warmup, or precision=fp32"
            )

    def _cut_log(self) -> None:
        """Drop the losses that come after the checkpoint that is gone on from."""
        path = self.folder / "steps.jsonl"
        if launch.rank() == 0 and path.exists():
            lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
            # The last line may have been cut off by a kill.
            whole = [line for line in lines if line.endswith("\n")]
            kept = [line for line in whole if json.loads(line)["step"] <= self.state.step]
            path.write_text("".join(kept), encoding="utf-8")

    def _validate(self) -> None:
        settings, state = self.settings, self.state
        by_loss = settings.metric == "loss"
        # Generated texts are dear; they are not asked for where nothing hangs on them.
        answers = not by_loss or self.learner.dataset.kind != "seq2seq"
        found = self.evaluate(self._engine, "val", answers=answers)
        figures = self.figures("val", found)
        value = figures["val/loss" if by_loss else f"val/{settings.metric}"]
        if not math.isfinite(figures.get("val/loss", 0.0)):
            # Whatever class stands first where all scores are NaN may even be right.
            value = math.nan
        state.evaluations.append({"step": state.step, **figures})
        if better(value, state.best, smallest=by_loss):
            state.best, state.best_step, state.waiting = value, state.step, 0
            self._save_weights(self.folder / f"best-{state.step}")
        else:
            state.waiting += 1
            state.stopped = bool(settings.patience) and state.waiting >= settings.patience
        if launch.rank() == 0:
            log.info("update %d: %s", state.step, told(figures))
            self._on_evaluation(state.step, figures)

    def figures(self, part: str, found: Evaluation) -> dict[str, float]:
        """Loss and scores of a part, under ``PART/NAME``."""
        scored = {} if found.loss is None else {"loss": found.loss}
        scored |= found.means
        if self.learner.dataset.kind == "masked":
            scored |= metrics.perplexities(scored)
        if found.predicted is not None and self.task is not None:
            scored |= self.task.evaluate(
                self.learner.dataset, part, found.predicted, scores=found.scores
            )
        return {f"{part}/{name}": value for name, value in scored.items()}

    def _save_weights(self, folder: Path) -> None:
        import torch.distributed as dist

        weights = full_weights(self._engine)
        if weights is not None:
            fresh = folder.with_name(folder.name + ".new")
            for leftover in (fresh, folder):
                shutil.rmtree(leftover, ignore_errors=True)
            self.learner.save(weights, fresh)
            os.rename(fresh, folder)
        dist.barrier()

    def _drop_weights(self) -> None:
        """Delete weights that no checkpoint calls the best any more."""
        if launch.rank() == 0:
            for old in self.folder.glob("best-*"):
                if old.name != f"best-{self.state.best_step}":
                    shutil.rmtree(old)

    def _finish(self) -> None:
        """Put the best weights (without a validation part: the last) where they belong."""
        import torch.distributed as dist

        if "val" not in self.learner.dataset.parts:
            self._save_weights(self.model_folder)
            return
        if self.state.best_step is None:
            raise JobFailed(f"no evaluation gave a {self.settings.metric} that is a number")
        best = self.folder / f"best-{self.state.best_step}"
        if launch.rank() == 0 and best.exists():
            shutil.rmtree(self.model_folder, ignore_errors=True)
            os.rename(best, self.model_folder)
        dist.barrier()


def evaluate(
    learner: Learner, model: Any, part: str, batch_size: int, *, answers: bool = True
) -> Evaluation:
    """What `model` (engine or module) says of a part, in the part's order, in every process."""
    import torch

    lengths = learner.lengths(part)
    device = next(model.parameters()).device if not hasattr(model, "device") else model.device
    model.eval()
    rows: list[Ids] = []
    logits: list[npt.NDArray[np.float32]] = []
    texts: list[str] = []
    loss_sum, loss_terms = 0.0, 0
    sums: Counter[str] = Counter()
    with torch.no_grad():
        for batch_rows in evaluation_batches(
            lengths, batch_size, launch.rank(), launch.world_size()
        ):
            some = batch_rows if len(batch_rows) else np.zeros(1, dtype=np.int64)
            batch = _to(learner.collate(part, some), device)
            found = learner.outputs(model, batch, answers=answers)
            if not len(batch_rows):
                continue
            rows.append(batch_rows)
            if found.loss is not None:
                own = int(learner.terms(part, batch_rows).sum())
                loss_sum, loss_terms = loss_sum + found.loss * own, loss_terms + own
            sums.update(found.sums)
            if found.logits is not None:
                logits.append(found.logits)
            if found.texts is not None:
                texts += found.texts
    gathered = launch.gather((rows, logits, texts, loss_sum, loss_terms, sums))
    order = np.concatenate([own for share in gathered for own in share[0]])
    place = np.argsort(order, kind="stable")
    all_terms = sum(share[4] for share in gathered)
    loss = sum(share[3] for share in gathered) / all_terms if all_terms else None
    for share in gathered[1:]:
        gathered[0][5].update(share[5])
    means = {name: value / max(1, all_terms) for name, value in gathered[0][5].items()}
    if not answers or learner.dataset.kind == "masked":
        return Evaluation(None, None, loss, means)
    if learner.dataset.kind == "seq2seq":
        every = [text for share in gathered for text in share[2]]
        return Evaluation([every[at] for at in place], None, loss)
    values = np.concatenate([own for share in gathered for own in share[1]])[place]
    scores = softmax(values.astype(np.float64))
    return Evaluation(scores.argmax(axis=1), scores, loss)


def softmax(logits: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Probabilities, row by row."""
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    probabilities: npt.NDArray[np.float64] = shifted / shifted.sum(axis=1, keepdims=True)
    return probabilities


def told(
    figures: Mapping[str, float],
    names: Sequence[str] = ("loss", "perplexity", "accuracy", "majority", "macro_f1"),
) -> str:
    """The main figures on one line."""
    return "  ".join(
        f"{name} {value:.4f}"
        for name, value in figures.items()
        if name.split("/")[-1] in names and name.count("/") == 1
    )


def _to(batch: Mapping[str, Any], device: Any) -> dict[str, Any]:
    return {name: value.to(device, non_blocking=True) for name, value in batch.items()}


class _Window:
    """Samples, tokens and seconds since the figures of speed were last told."""

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        self._started = time.perf_counter()
        self._samples = self._tokens = self._padded = 0

    def add(self, tokens: int, padded: int, samples: int) -> None:
        if samples:
            self._samples += samples
            self._tokens += tokens
            self._padded += padded

    def close(self, world: int) -> tuple[float, int, int, int]:
        """Seconds, samples, tokens and tokens with padding of all processes; begins anew."""
        import torch

        counts = torch.tensor([self._samples, self._tokens, self._padded], dtype=torch.int64)
        if world > 1:
            import torch.distributed as dist

            if torch.cuda.is_available():
                counts = counts.cuda()
            dist.all_reduce(counts)
        elif torch.cuda.is_available():
            torch.cuda.synchronize()
        seconds = time.perf_counter() - self._started
        self.restart()
        samples, tokens, padded = counts.tolist()
        return seconds, samples, tokens, padded


def _memory() -> int:
    """Bytes at the peak: of the device, or of this process where there is none."""
    import torch

    if torch.cuda.is_available():
        return int(torch.cuda.max_memory_allocated())
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _peak(precision: str) -> float | None:
    """FLOP/s of this device in half precision; None where it is not known."""
    import torch

    if precision == "fp32" or not torch.cuda.is_available():
        return None
    name = torch.cuda.get_device_name()
    return next((1e12 * peak for known, peak in PEAKS.items() if known in name), None)


def _flops_per_token(model: Any) -> float:
    """Floating-point operations of training on one token: 6 for each weight that multiplies it.

    Two forward, four backward (Kaplan et al. 2020); embeddings are looked up, not multiplied, and
    the attention of short texts is left out.
    """
    import torch

    looked_up = {id(own.weight) for own in model.modules() if isinstance(own, torch.nn.Embedding)}
    sizes = (
        int(getattr(p, "ds_numel", p.numel())) for p in model.parameters() if id(p) not in looked_up
    )
    return 6.0 * sum(sizes)
