"""Training: runs that are killed at a random update and resumed, against runs that are not.

    python -m benchmarks.resume

Each cell of {1, 2 processes} x {length-aware, random batches} x {ZeRO 0, 2, 3} trains a small
encoder (two layers, random weights, dropout) on made-up rows: once to its end, and once killed by
SIGKILL at an update drawn at random and resumed by the same number of processes. Further cells
change that number, 2 -> 1 -> 2, killed before each change (without dropout, which is drawn by
process); beside them stands how far one process is from two where neither is killed. A cell that is
recorded is not run again.
"""

from __future__ import annotations

import itertools
import os
import random
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa

from benchmarks import results
from etl.lake import arrow
from etl.lake.tables import table
from tests.training import ranks
from tests.training.conftest import adept_rows, make_encoder, without_dropout

KEY = "resume"
SAMPLING = {"length-aware": "bucket=2", "random": "bucket=none"}
STAGES = ("zero0", "zero2", "zero3")
COMMON = [
    "task.name=adept",
    "tracking=none",
    "cache=none",
    "predictions=false",
    "learning_rate=1e-3",
    "epochs=16",
    "batch_size=39",
    "log_every=1",
    "checkpoint_every=4",
    "evaluate_every=25",
]
UPDATES = 80
PACKAGES = ["torch", "transformers", "deepspeed", "accelerate"]


def same(size: int, sampling: str, stage: str, lake: str, model: str) -> dict[str, float]:
    """A run killed and resumed by `size` processes, against one that was not killed."""
    words = [*COMMON, f"lake={lake}", f"model={model}", f"deepspeed={stage}", SAMPLING[sampling]]
    draw = random.Random(f"{size} {sampling} {stage}")
    with tempfile.TemporaryDirectory(prefix="resume-") as kept:
        whole, cut = Path(kept) / "whole", Path(kept) / "cut"
        ranks.finish([*words, f"out={whole}"], size)
        killed = draw.randrange(6, UPDATES - 20)
        ranks.kill([*words, f"out={cut}"], size, lambda: ranks.reached(cut, killed))
        ranks.finish([*words, f"out={cut}"], size)
        return {"killed": killed, **ranks.apart(cut, whole)}


def changed(sampling: str, stage: str, lake: str, model: str) -> dict[str, float]:
    """A run by two processes, then one, then two, against one by two that was not killed."""
    words = [*COMMON, f"lake={lake}", f"model={model}", f"deepspeed={stage}", SAMPLING[sampling]]
    with tempfile.TemporaryDirectory(prefix="resume-") as kept:
        whole, cut, alone = (Path(kept) / name for name in ("whole", "cut", "alone"))
        ranks.finish([*words, f"out={whole}"], 2)
        ranks.finish([*words, f"out={alone}"], 1)
        ranks.kill([*words, f"out={cut}"], 2, lambda: ranks.reached(cut, 20))
        ranks.kill([*words, f"out={cut}"], 1, lambda: ranks.reached(cut, 45))
        ranks.finish([*words, f"out={cut}"], 2)
        found = ranks.apart(cut, whole)
        between = ranks.apart(alone, whole)
        return {**found, **{f"alone_{name}": value for name, value in between.items()}}


def page(kept: Mapping[str, Mapping[str, float]]) -> str:
    """The section of the page."""
    names = ("losses", "weights", "scores")
    rows: list[tuple[object, ...]] = [
        ("processes", "batches", "ZeRO", "killed at update", *(f"{name} apart" for name in names))
    ]
    exact = 0
    for size, sampling, stage in itertools.product(("1", "2"), SAMPLING, STAGES):
        own = kept.get(f"{size} {sampling} {stage}")
        if own is None:
            continue
        exact += not any(own[name] for name in names)
        cells = [f"{own[name]:.1e}" if own[name] else "0" for name in names]
        rows.append((size, sampling, stage[-1], f"{own['killed']:.0f}", *cells))
    number = len(rows) - 1
    for sampling, stage in itertools.product(SAMPLING, STAGES):
        own = kept.get(f"changed {sampling} {stage}")
        if own is None:
            continue
        for label, inside in (("2 → 1 → 2", ""), ("1, not killed", "alone_")):
            cells = [f"{own[inside + name]:.1e}" for name in names]
            rows.append((label, sampling, stage[-1], "-" if inside else "20, 45", *cells))
    return "\n".join(
        [
            "## Training: killed and resumed",
            "",
            results.table(rows),
            "",
            f"The largest absolute difference of the losses of all {UPDATES} updates, of the saved "
            "weights and of the scores of validation and test rows, to a run by as many processes "
            f"(below: by two) that was not killed. {exact} of {number} runs resumed by the same "
            f"number of processes are equal to the last digit; "
            f"{results.verdict(exact, number)}: all. Another number of processes adds numbers in "
            "another order, as a run by one process does that is never killed.",
        ]
    )


def main() -> None:
    """Run the cells that are not recorded; write the page."""
    kept = dict(results.recorded().get(KEY, {}))
    with tempfile.TemporaryDirectory(prefix="resume-") as place:
        folder = Path(place)
        lake = os.fspath(folder / "lake")
        rows = pa.Table.from_pylist(adept_rows(), schema=table("adept").schema)
        arrow.append(lake, "adept", rows, job="bench")
        model = make_encoder(folder / "encoder")
        plain = without_dropout(Path(model), folder / "without-dropout")
        cells = [
            (f"{size} {sampling} {stage}", lambda a=(size, sampling, stage): same(*a, lake, model))
            for size, sampling, stage in itertools.product((1, 2), SAMPLING, STAGES)
        ]
        cells += [
            (f"changed {sampling} {stage}", lambda a=(sampling, stage): changed(*a, lake, plain))
            for sampling, stage in itertools.product(SAMPLING, STAGES)
        ]
        for name, run in cells:
            if name not in kept:
                kept[name] = run()
                results.record(KEY, kept)
                print(name, kept[name], flush=True)
    results.write_section(KEY, page(kept), packages=PACKAGES)


if __name__ == "__main__":
    main()
