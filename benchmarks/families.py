"""Training: every family of models, trained in every way, saves, loads and is scored the same.

    python -m benchmarks.families

Each cell of {BERT, DeBERTa-v2 with a sentencepiece tokenizer alone, ModernBERT, Llama, Qwen, GPT-2;
two layers, random weights} x {all weights, LoRA} x {fp32, bf16} x {ZeRO 0, 2, 3} x {gradient
checkpointing or not} trains an epoch on made-up rows; its weights are loaded as others load them
and compared by their scores with the run's own. A cell that is recorded is not run again, so that a
benchmark that was stopped goes on. The test suite has cells with every pair of values.
"""

from __future__ import annotations

import itertools
import json
import os
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa

from benchmarks import results
from etl.lake import arrow
from etl.lake.tables import table
from tests.training import families
from tests.training.conftest import adept_rows, make_encoder

KEY = "families"
AXES = {
    "family": families.FAMILIES,
    "rank": ("0", "4"),
    "precision": ("fp32", "bf16"),
    "deepspeed": ("zero0", "zero2", "zero3"),
    "checkpointing": ("false", "true"),
}
# How far scores may be apart: probabilities.
NEAR = {"fp32": 1e-5, "bf16": 0.02}
PACKAGES = ["torch", "transformers", "deepspeed", "accelerate", "peft"]


def cell(values: Mapping[str, str], model: str, lake: str) -> dict[str, float]:
    """Seconds of a cell, and how far the scores of its loaded weights are from the run's."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="cell-") as kept:
        folder = families.run(
            lake,
            model,
            Path(kept) / "out",
            f"lora.rank={values['rank']}",
            f"precision={values['precision']}",
            f"deepspeed={values['deepspeed']}",
            f"gradient_checkpointing={values['checkpointing']}",
        )
        figures = json.loads((folder / "result.json").read_text())["figures"]
        apart = families.difference(folder, lake)
    return {"apart": apart, "loss": figures["val/loss"], "seconds": time.monotonic() - started}


def page(kept: Mapping[str, Mapping[str, float]]) -> str:
    """The section of the page: cells of each family and precision, and the worst of them."""
    rows: list[tuple[object, ...]] = [
        ("family", "precision", "cells", "the same scores", "largest difference")
    ]
    for family, precision in itertools.product(AXES["family"], AXES["precision"]):
        names = [name for name in kept if name.split()[0] == family and precision in name.split()]
        apart = [kept[name]["apart"] for name in names]
        same = sum(value < NEAR[precision] for value in apart)
        rows.append((family, precision, len(names), same, f"{max(apart, default=0.0):.1e}"))
    cells = 1
    for values in AXES.values():
        cells *= len(values)
    return "\n".join(
        [
            "## Training: families of models",
            "",
            results.table(rows),
            "",
            f"{len(kept)} of {cells} cells: all weights or LoRA, ZeRO 0, 2 and 3, with and without "
            "gradient checkpointing, in one process on the CPU. Each trains, saves and loads; "
            "scores are the same where no probability differs by more than 1e-5 (fp32) or 0.02 "
            "(bf16).",
        ]
    )


def main() -> None:
    """Run the cells that are not recorded; write the page."""
    kept = dict(results.recorded().get(KEY, {}))
    with tempfile.TemporaryDirectory(prefix="families-") as place:
        folder = Path(place)
        lake = os.fspath(folder / "lake")
        rows = pa.Table.from_pylist(adept_rows(), schema=table("adept").schema)
        arrow.append(lake, "adept", rows, job="bench")
        tokenizer = make_encoder(folder / "encoder")
        for values in itertools.product(*AXES.values()):
            own = dict(zip(AXES, values, strict=True))
            name = " ".join(values)
            if name in kept:
                continue
            model = folder / own["family"]
            if not model.exists():
                families.make(own["family"], model, tokenizer)
            kept[name] = cell(own, os.fspath(model), lake)
            results.record(KEY, kept)
            print(name, {key: f"{value:.3g}" for key, value in kept[name].items()}, flush=True)
    results.write_section("families", page(kept), packages=PACKAGES)


if __name__ == "__main__":
    main()
