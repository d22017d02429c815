"""Training: every model family, trained in every way, gives the same scores after loading.

Each cell of {BERT, DeBERTa-v2 with only a sentencepiece tokenizer, ModernBERT, Llama, Qwen, GPT-2;
two layers, random weights} x {all weights, LoRA} x {fp32, bf16} x {ZeRO 0, 2, 3} x {gradient
checkpointing or not} trains an epoch on made-up rows. Its saved weights are loaded with the usual
libraries, and their scores compared with those of the run. Recorded cells are not run again. The
test suite has cells with every pair of values.
"""

import functools
import itertools
import json
import math
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from adnominal.etl.lake import arrow
from adnominal.etl.lake.tables import table
from benchmarks.harness import Case, CaseSettings, Measurement
from benchmarks.processes import timed
from benchmarks.results import Figures
from tests.training import families
from tests.training.conftest import adept_rows, make_encoder

AXES = {
    "family": families.FAMILIES,
    "rank": ("0", "4"),
    "precision": ("fp32", "bf16"),
    "deepspeed": ("zero0", "zero2", "zero3"),
    "checkpointing": ("false", "true"),
}
# The largest difference allowed between scores, which are probabilities.
NEAR = {"fp32": 1e-5, "bf16": 0.02}


class Inputs:
    """A lake with rows, and a model of each family, made when they are first needed."""

    def __init__(self, prefix: str) -> None:
        self._place = tempfile.TemporaryDirectory(prefix=prefix)
        self._folder = Path(self._place.name)

    @functools.cached_property
    def lake(self) -> str:
        """A lake with rows of ADEPT."""
        lake = os.fspath(self._folder / "lake")
        rows = pa.Table.from_pylist(adept_rows(), schema=table("adept").schema)
        arrow.append(lake, "adept", rows, job="bench")
        return lake

    @functools.cached_property
    def encoder(self) -> str:
        """A small encoder with a tokenizer."""
        return make_encoder(self._folder / "encoder")

    def model(self, family: str) -> str:
        """A model of the family."""
        folder = self._folder / family
        if not folder.exists():
            families.make(family, folder, self.encoder)
        return os.fspath(folder)


def cell(values: Mapping[str, str], inputs: Inputs) -> Figures:
    """Seconds of a cell, and the difference of the loaded weights' scores from the run's."""
    lake = inputs.lake
    with timed() as timing, tempfile.TemporaryDirectory(prefix="cell-") as place:
        folder = families.run(
            lake,
            inputs.model(values["family"]),
            Path(place) / "out",
            f"lora.rank={values['rank']}",
            f"precision={values['precision']}",
            f"deepspeed={values['deepspeed']}",
            f"gradient_checkpointing={values['checkpointing']}",
        )
        figures = json.loads((folder / "result.json").read_text())["figures"]
        apart = families.difference(folder, lake)
    return {"apart": apart, "loss": figures["val/loss"], "seconds": timing.wall}


def measurements(settings: CaseSettings) -> dict[str, Measurement]:
    """All cells, or those named."""
    inputs = Inputs("families-")
    cells = {
        " ".join(values): dict(zip(AXES, values, strict=True))
        for values in itertools.product(*AXES.values())
    }
    return {
        name: functools.partial(cell, cells[name], inputs) for name in settings.named_parts(cells)
    }


def context(figures: Figures) -> dict[str, Any]:
    """What the template needs: the cells of each family and precision, and the worst of them."""
    rows = []
    for family, precision in itertools.product(AXES["family"], AXES["precision"]):
        names = [name for name in figures if {family, precision} <= set(name.split())]
        apart = [figures[name]["apart"] for name in names]
        same = sum(value < NEAR[precision] for value in apart)
        rows.append((family, precision, len(names), same, max(apart, default=0.0)))
    return {"rows": rows, "cells": math.prod(map(len, AXES.values()))}


CASE = Case(
    "families",
    measurements,
    resumes=True,
    packages=("torch", "transformers", "deepspeed", "accelerate", "peft"),
    context=context,
)
