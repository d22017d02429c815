"""Predicting: ``training/predict.py`` over a table against its model's bare forward pass.

The job runs over few rows and over many, as a user starts it; the difference is what the rows cost,
reading and writing included, start and loading left out. The bare pass computes the same batches,
already tokenised and sorted by length. The sides take turns. The sentences are those of the
published ADEPT; the model is MiniLM with an untrained head, because only speed is measured.
"""

import hashlib
import os
import shutil
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from adnominal.conf import setting
from adnominal.etl.adept import LABELS
from adnominal.etl.lake import arrow
from adnominal.etl.lake.schema import rows_of_schema
from adnominal.etl.lake.tables import table
from benchmarks.cases import Bound, Case, CaseSettings, Measurement
from benchmarks.processes import Usage, call, run_script, time_block
from benchmarks.results import Figures
from benchmarks.sides import medians, rates, rates_of_further_rows, take_turns
from benchmarks.train import MODEL, adept_pairs, device_name

BATCH = 64
FEW_ROWS = 64


@dataclass(frozen=True)
class Settings(CaseSettings):
    rows: int = setting(20_000, help="rows of the table")
    rounds: int = setting(3, help="rounds of both sides")

    def __post_init__(self) -> None:
        self.check_positive("rows", "rounds")


def write_items(lake: Path, size: int) -> None:
    """Write a table adept_items of `size` rows of edition bench, made without Spark."""
    first, second, _ = map(list, zip(*adept_pairs(size), strict=True))
    ids = [hashlib.blake2b(f"{row}".encode(), digest_size=16).hexdigest() for row in range(size)]
    columns = {"item_id": ids, "sentence": first, "modified_sentence": second, "edition": "bench"}
    rows = rows_of_schema(table("adept_items").schema, size, columns)
    arrow.append(str(lake), "adept_items", rows, job="bench")


def write_model(folder: Path) -> None:
    """Write the encoder with a randomly initialised head with five classes."""
    import torch
    from transformers import AutoConfig, AutoModelForSequenceClassification

    from adnominal.training.models.pretrained import find, quiet_loading

    encoder = find(MODEL)
    torch.manual_seed(0)
    config = AutoConfig.from_pretrained(encoder.path, id2label=dict(enumerate(LABELS)))
    with quiet_loading():
        model = AutoModelForSequenceClassification.from_pretrained(encoder.path, config=config)
        model.save_pretrained(folder)
    encoder.tokenizer.save_pretrained(folder)


def run_job(folder: Path, rows: int) -> Usage:
    """What the job used over the table of a lake with so many rows."""
    lake = folder / f"lake-{rows}"
    if not lake.exists():
        write_items(lake, rows)
    state = folder / "state"
    for earlier in (state, lake / "predictions"):
        shutil.rmtree(earlier, ignore_errors=True)
    words = [f"model={folder / 'model'}", "table=adept_items", f"lake={lake}", f"folder={state}"]
    return run_script("training/predict.py", *words, f"batch_size={BATCH}", "tracking=none")


def forward_pass_rates(folder: str, size: int) -> Figures:
    """The rates of forward passes over the rows that the job read, tokenised before."""
    import torch

    from adnominal.training.answering.classifier import classifier, texts
    from adnominal.training.batching import evaluation_batches
    from adnominal.training.models.loading import resolve

    names = ["sentence", "modified_sentence"]
    rows = arrow.read(f"{folder}/lake-{size}", "adept_items", columns=names)
    with classifier(resolve(f"{folder}/model")) as answerer:
        encoded = answerer.encode(texts(*[rows[name].combine_chunks() for name in names]))
        batches = evaluation_batches(encoded.lengths("rows"), BATCH, 0, 1)
        model = answerer.trainer.model
        with torch.inference_mode(), time_block() as timing:
            for batch in batches:
                inputs = encoded.collate("rows", batch)
                inputs = {name: values.to(model.device) for name, values in inputs.items()}
                model(**inputs).logits.cpu()
    return rates(rows.num_rows, timing.wall, timing.cpu)


def measure(settings: Settings) -> Figures:
    """Rates of the job and of the bare pass; medians over the rounds."""
    with tempfile.TemporaryDirectory(prefix="predict-") as name:
        folder = Path(name)
        write_model(folder / "model")
        sides = {
            "job": partial(
                rates_of_further_rows, partial(run_job, folder), settings.rows, FEW_ROWS
            ),
            "bare": partial(call, "benchmarks.predict:forward_pass_rates", name, settings.rows),
        }
        rounds = take_turns(sides, settings.rounds)
    return {
        "rows": settings.rows,
        "rounds": settings.rounds,
        "job": medians(rounds["job"]),
        "bare": medians(rounds["bare"]),
        "load": os.getloadavg()[0],
    }


def measurements(settings: Settings) -> dict[str, Measurement]:
    """The only measurement, under the device's name."""
    return {device_name(): partial(measure, settings)}


CASE = Case(
    "predict",
    "Predicting: rows a second",
    measurements,
    settings=Settings,
    packages=("torch", "transformers", "pyarrow", "deltalake"),
    bounds={
        "speed": Bound("cpu.job.rows_per_cpu_second / cpu.bare.rows_per_cpu_second", least=0.9)
    },
)
