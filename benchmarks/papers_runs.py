"""The runs of ``benchmarks/papers.yaml``: which are done, their hours, and running the next."""

import math
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from adnominal.conf import ROOT, JobFailed, UserError
from adnominal.training.finished_runs import entries_of, short_name
from benchmarks.results import Figures

_FILE = Path(__file__).with_name("papers.yaml")
# Additional settings that distinguish runs.
_TELLING = ("shots", "epochs", "max_length")


@dataclass(frozen=True)
class Experiment:
    """One command, the printed numbers that its runs are compared with, and the estimated CPU hours
    of one core."""

    name: str
    cells: str
    script: str
    config: str
    settings: tuple[str, ...]
    hours: float

    @property
    def command(self) -> str:
        """The command that a user types; models are in models/."""
        words = [word.format(models="models") for word in self.settings]
        return " ".join(["python", self.script, self.config, *words, "lake=LAKE"])

    def parameters(self) -> dict[str, set[str]]:
        """The MLflow parameters of its runs, each with the allowed values.

        Parameters of the configuration are included; those of a grid allow each of their values.
        """
        flat = _flat(yaml.safe_load((ROOT / self.config).read_text(encoding="utf-8")))
        for word in self.settings:
            key, _, text = word.partition("=")
            flat[key] = yaml.safe_load(text) if text.startswith("[") else text
        for task in flat.pop("tasks", ()):
            # For scoring, the settings of the questions are under the task's name.
            asked = {key: flat.pop(key) for key in list(flat) if key.startswith(f"task.{task}.")}
            flat |= {key.replace(f"task.{task}.", "task."): value for key, value in asked.items()}
            flat["task.name"] = task
            flat.pop("task.part", None)  # has another name in runs
        parameters: dict[str, set[str]] = {}
        for key, value in flat.items():
            name = key.removeprefix("grid.")
            if key == "model":
                parameters["model_name"] = {str(value).rsplit("/", 1)[-1]}
            elif key == "seeds":
                parameters["seeds"] = {f"[{seed}]" for seed in value}
            elif key == name and key.startswith("task.") and f"grid.{name}" in flat:
                continue
            elif key != name or key in _TELLING or key.startswith(("task.", "seq2seq.")):
                values = value if key != name and isinstance(value, list) else [value]
                parameters[name] = {_text(member) for member in values}
        if self.script.endswith("prompt.py"):
            parameters["task.name"] = {str(flat["task"])}
            parameters["task.edition"] = {str(flat["edition"])}
            parameters["limit"] = {str(flat.get("limit", "null"))}
        return parameters

    def runs(self) -> int:
        """The number of runs: seeds times the values of its grid."""
        parameters = self.parameters().items()
        return math.prod(len(values) for key, values in parameters if key != "model_name")


def _flat(document: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in document.items():
        flat |= (
            _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
        )
    return flat


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def experiments(names: Sequence[str] = ()) -> list[Experiment]:
    """The experiments of the file (only those named, if any), longest first; `UserError` if it does
    not have a name."""
    rows = yaml.safe_load(_FILE.read_text(encoding="utf-8"))
    known = {row["name"]: Experiment(**{**row, "settings": tuple(row["settings"])}) for row in rows}
    if unknown := sorted(set(names) - set(known)):
        raise UserError(f"only={unknown[0]}: expected one of {', '.join(known)}")
    selected = (known[name] for name in set(names) or known)
    return sorted(selected, key=lambda experiment: (-experiment.hours, experiment.name))


def states(tracking: str, selected: Iterable[Experiment]) -> list[Figures]:
    """The progress of each experiment from the runs of an MLflow store (the newest of equal runs):
    the number of finished runs and of all runs, the wall-clock hours of finished runs, and for an
    unfinished run its hours and share of epochs."""
    store = tracking.removeprefix("sqlite:///")
    entries = entries_of(tracking) if store == tracking or Path(store).is_file() else ()
    runs = sorted(entries, key=lambda run: -run.info.start_time)
    return [
        {
            "name": experiment.name,
            "cells": experiment.cells,
            "command": experiment.command,
            "estimate": experiment.hours,
            "runs": experiment.runs(),
            **_progress(experiment, runs),
        }
        for experiment in selected
    ]


def _progress(experiment: Experiment, runs: Iterable[Any]) -> Figures:
    parameters = experiment.parameters()
    finished: dict[tuple[str, ...], float] = {}
    begun = share = 0.0
    for run in runs:
        params = dict(run.data.params)
        params["model_name"] = short_name(params.get("model_name") or params.get("model") or "")
        if any(params.get(key) not in values for key, values in parameters.items()):
            continue
        place = tuple(params[key] for key in sorted(parameters))
        if run.info.status == "FINISHED":
            hours = (run.info.end_time - run.info.start_time) / 3.6e6
            finished.setdefault(place, hours)
        elif not begun and "train/epoch" in run.data.metrics:
            share = run.data.metrics["train/epoch"] / float(params["epochs"])
            rate = run.data.metrics.get("train/samples_per_second", 0.0)
            samples = share * float(params["epochs"]) * float(params.get("train_examples", 0))
            begun = samples / rate / 3600 if rate else 0.0
    hours = sum(finished.values())
    return {"finished": len(finished), "hours": hours, "begun_hours": begun, "share": share}


def do(experiment: Experiment, lake: str, tracking: str, models: str, out: str) -> None:
    """Run the command, which continues where an earlier one stopped: from a checkpoint, or from
    stored answers. `JobFailed` if it failed."""
    folder = Path(out).absolute() / experiment.name
    words = [word.format(models=Path(models).absolute()) for word in experiment.settings]
    words += [f"lake={Path(lake).absolute()}", f"tracking={tracking}", f"out={folder}"]
    if experiment.script.endswith("finetune.py"):
        words += ["checkpoint_every=100", "log_model=false"]
    started = time.monotonic()
    print(f"{experiment.name}: {experiment.cells}", flush=True)
    command = [sys.executable, experiment.script, experiment.config, *words]
    if code := subprocess.call(command, cwd=ROOT):
        raise JobFailed(f"{experiment.name}: exit code {code}; the same command continues it")
    print(f"{experiment.name}: {(time.monotonic() - started) / 3600:.2f} hours", flush=True)
