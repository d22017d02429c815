"""Training: runs that are killed at a random update and resumed, compared with uninterrupted runs.

Each cell of {1, 2 processes} x {length-aware, random batches} x {ZeRO 0, 2, 3} trains a small
encoder (two layers, random weights, dropout) on made-up rows: once to its end, and once killed by
SIGKILL at a random update and resumed by the same number of processes. Additional cells change the
number of processes, 2 -> 1 -> 2, with a kill before each change (without dropout, which is drawn
per process); for comparison, they include the difference between one and two uninterrupted
processes. Recorded cells are not run again.
"""

import itertools
import random
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.families import Inputs
from benchmarks.harness import Case, CaseSettings, Measurement
from benchmarks.results import Figures
from tests.training import ranks
from tests.training.conftest import UNRECORDED, without_dropout

SAMPLING = {"length-aware": "bucket=2", "random": "bucket=none"}
STAGES = ("zero0", "zero2", "zero3")
COMMON = [
    *("task.name=adept", *UNRECORDED, "learning_rate=1e-3", "epochs=16", "batch_size=39"),
    *("log_every=1", "checkpoint_every=4", "evaluate_every=25"),
]
UPDATES = 80
NAMES = ("losses", "weights", "scores")


def same(size: int, sampling: str, stage: str, inputs: Inputs) -> Figures:
    """A run killed and resumed by `size` processes, compared with one that was not killed."""
    words = [*COMMON, f"lake={inputs.lake}", f"model={inputs.encoder}", f"deepspeed={stage}"]
    words.append(SAMPLING[sampling])
    rng = random.Random(f"{size} {sampling} {stage}")
    with tempfile.TemporaryDirectory(prefix="resume-") as place:
        undisturbed, cut = Path(place) / "whole", Path(place) / "cut"
        ranks.finish([*words, f"out={undisturbed}"], size)
        killed = rng.randrange(6, UPDATES - 20)
        ranks.kill([*words, f"out={cut}"], size, lambda: ranks.reached(cut, killed))
        ranks.finish([*words, f"out={cut}"], size)
        return {"killed": killed, **ranks.apart(cut, undisturbed)}


def changed(sampling: str, stage: str, inputs: Inputs) -> Figures:
    """A run by two processes, then one, then two, compared with two that were not killed."""
    plain = without_dropout(Path(inputs.encoder), Path(f"{inputs.encoder}-without-dropout"))
    words = [*COMMON, f"lake={inputs.lake}", f"model={plain}", f"deepspeed={stage}"]
    words.append(SAMPLING[sampling])
    with tempfile.TemporaryDirectory(prefix="resume-") as place:
        undisturbed, cut, alone = (Path(place) / name for name in ("whole", "cut", "alone"))
        ranks.finish([*words, f"out={undisturbed}"], 2)
        ranks.finish([*words, f"out={alone}"], 1)
        ranks.kill([*words, f"out={cut}"], 2, lambda: ranks.reached(cut, 20))
        ranks.kill([*words, f"out={cut}"], 1, lambda: ranks.reached(cut, 45))
        ranks.finish([*words, f"out={cut}"], 2)
        between = {f"alone_{name}": v for name, v in ranks.apart(alone, undisturbed).items()}
        return {**ranks.apart(cut, undisturbed), **between}


def measurements(settings: CaseSettings) -> dict[str, Measurement]:
    """All cells, or those named."""
    inputs = Inputs("resume-")
    cells: dict[str, Measurement] = {
        f"{size} {sampling} {stage}": partial(same, size, sampling, stage, inputs)
        for size, sampling, stage in itertools.product((1, 2), SAMPLING, STAGES)
    }
    for sampling, stage in itertools.product(SAMPLING, STAGES):
        cells[f"changed {sampling} {stage}"] = partial(changed, sampling, stage, inputs)
    return {name: cells[name] for name in settings.named_parts(cells)}


def context(figures: Figures) -> dict[str, Any]:
    """What the template needs: rows for both kinds of cells, and how many are exact."""
    same_rows, changed_rows = [], []
    for sampling, stage in itertools.product(SAMPLING, STAGES):
        apart = figures.get(f"changed {sampling} {stage}", {})
        for title, prefix in (("2 → 1 → 2", ""), ("1, not killed", "alone_")) if apart else ():
            update = "-" if prefix else "20, 45"
            values = [apart[prefix + name] for name in NAMES]
            changed_rows.append((title, sampling, stage[-1], update, values))
    for size, sampling, stage in itertools.product("12", SAMPLING, STAGES):
        if apart := figures.get(f"{size} {sampling} {stage}"):
            values = [apart[name] for name in NAMES]
            same_rows.append((size, sampling, stage[-1], f"{apart['killed']:.0f}", values))
    exact = sum(not any(values) for *_, values in same_rows)
    return {"same_rows": same_rows, "changed_rows": changed_rows, "exact": exact}


CASE = Case(
    "resume",
    measurements,
    resumes=True,
    packages=("torch", "transformers", "deepspeed", "accelerate"),
    context=context,
)
