"""Models trained on the releases: the scores of finished runs, compared with the papers.

Writes its section from the finished runs of an MLflow store and their predictions in the lake. With
run=true the experiments of benchmarks/papers.yaml without a finished run are done first, longest
first; a killed one continues at its last checkpoint. Results of another store stay on the page
until a run of the same settings replaces them.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import pyarrow as pa
from statsmodels.stats.weightstats import DescrStatsW

from adnominal.analysis import predictions
from adnominal.analysis.papers.published import value as printed
from adnominal.analysis.semantics.evaluate import evaluate, summarise
from adnominal.analysis.semantics.job import run_items
from adnominal.conf import JobFailed, setting
from adnominal.conf.markdown import markdown
from adnominal.training.finished_runs import Run, Runs, find_runs, groups, short_name
from adnominal.training.prompting import scores as prompting
from adnominal.training.scoring import matrix
from benchmarks import released_phrases, results
from benchmarks.harness import Case, CaseSettings, whole
from benchmarks.papers_runs import do, experiments, states
from benchmarks.results import Figures

# Settings that distinguish runs of a task.
TELLING_SETTINGS = {
    "adept": ("task.classes", "task.context", "freeze"),
    "plane": ("task.edition", "task.scheme", "task.fold", "max_length"),
    "asp": ("task.round", "task.dimension", "task.full_stops"),
    "sygns": ("task.form", "task.primitive", "seq2seq.architecture", "seq2seq.size"),
}
# Default values, which are not reported.
_USUAL = {("freeze", "false"), ("edition", "published")}
# For a task and a part: the paper, its table, row and column.
PRINTED = {
    ("adept", "5", "val"): ("adept", "table 5", "RoBERTa", "5-class"),
    ("adept", "3", "val"): ("adept", "table 5", "RoBERTa", "3-class"),
    ("plane", "published", "test"): ("plane", "table 6", "accuracy", "GOoD"),
    ("plane", "one_it", "test"): ("plane", "table 6", "accuracy", "One-IT"),
}
COLUMNS = {"gru": "GRU", "transformer": "Transformer"}
MEANINGS = ("EXI", "NUM", "UNI")


@cache
def admitted_editions(task: str) -> set[str]:
    """The editions of a task that the page shows: the release, its phrases drawn anew (PLANE), and
    those of the experiments."""
    editions = {"published", released_phrases.EDITION}
    for experiment in experiments():
        parameters = experiment.parameters()
        if task in parameters["task.name"]:
            editions |= parameters["task.edition"]
    return editions


@dataclass(frozen=True)
class Settings(CaseSettings):
    lake: str = setting("lake", help="folder or URI of the lake")
    tracking: str = setting("sqlite:///mlflow.db", help="MLflow's store")
    run: bool = setting(False, help="run the unfinished experiments, longest first")
    only: list[str] = setting([], help="names in benchmarks/papers.yaml; all if empty")
    models: str = setting("models", help="folder with the models from training/convert.py")
    out: str = setting("runs/papers", help="folder of the runs")


def classified(runs: Runs) -> list[dict[str, Any]]:
    """A row for each part that classification runs were scored on; seeds share a row."""
    rows = []
    for task in ("adept", "plane", "asp"):
        published = runs.of("finetune", {"task.name": task, "task.edition": "published"})
        for members in groups(published):
            rows += list(_parts(task, members))
    ours = runs.of("finetune", {"task.name": "plane", "task.edition": released_phrases.EDITION})
    for members in groups(ours, ("task.fold", "train_examples")):
        rows += list(_parts("plane", members))
    return sorted(rows, key=lambda row: (row["task"], row["settings"], row["part"]))


def _parts(task: str, members: Sequence[Run]) -> Iterator[dict[str, Any]]:
    first = members[0]
    # Scores of groups within a part have a longer name.
    keys = (re.fullmatch("final/([^/]+)/accuracy", key) for key in sorted(first.metrics))
    for part in (key[1] for key in keys if key):
        scores = {
            name: [run.metrics[f"final/{part}/{name}"] for run in members]
            for name in ("accuracy", "macro_f1", "majority")
        }
        kind = first.params.get("task.classes" if task == "adept" else "task.scheme", "")
        place = PRINTED.get((task, kind, part))
        if first.params["task.edition"] != "published":
            place = None
        if place is not None and first.params.get("task.context") == "false":
            place = (*place[:2], f"{place[2]}, no context", place[3])
        yield {
            "task": task,
            "settings": _settings(task, members),
            "model": first.model,
            "part": part,
            "runs": len(members),
            "examples": int(first.params["train_examples"]),
            "paper": printed(*place).printed if place is not None else None,
            **scores,
        }


def _settings(task: str, members: Iterable[Run]) -> str:
    """The settings that distinguish the runs of a group; several values are joined by slashes."""
    texts = []
    for key in TELLING_SETTINGS[task]:
        name = key.split(".")[-1]
        text = "/".join(sorted({run.params.get(key, "null") for run in members}))
        if text not in ("null", "") and (name, text) not in _USUAL:
            texts.append(f"{name} {text}")
    return ", ".join(texts)


def generated(lake: str, runs: Runs) -> list[dict[str, Any]]:
    """A row for each group of SyGNS runs that differ by seed: the exact matches of each run by
    quantifier, on sentences it was not trained on."""
    rows = []
    settings = {"task.name": "sygns", "task.edition": admitted_editions("sygns")}
    trained = runs.of("finetune", {**settings, "task.scheme": "systematicity"})
    for members in groups(trained):
        run = members[0]
        form, architecture = run.params["task.form"], run.params["seq2seq.architecture"]
        scores: dict[str, list[float]] = {}
        for member in sorted(members, key=lambda run: run.params.get("seeds", "")):
            for part in ("test", "val"):
                items = run_items(lake, member.id, form, part)
                for score in summarise(items, evaluate(items, form)):
                    if part == "test" and score.group == "quantifier":
                        scores.setdefault(score.name, []).append(100 * score.exact)
                    elif part == "val" and score.group == "all":
                        scores.setdefault("valid", []).append(100 * score.exact)
        column = f"{COLUMNS[architecture]} {form.upper()}"
        primitive = run.params["task.primitive"].strip('[]"')
        rows.append(
            {
                "settings": _settings("sygns", [run]),
                "parameters": int(run.params["parameters"]),
                "epochs": int(run.params["epochs"]),
                "scores": scores,
                "paper": {
                    name: printed("sygns", f"table 4, {primitive}", name, column).printed
                    for name in (*MEANINGS, "valid")
                },
            }
        )
    return sorted(rows, key=lambda row: str(row["settings"]))


def transferred(lake: str, runs: Runs) -> list[dict[str, Any]]:
    """The cells of the transfer matrix: the newest run of each model on each task."""
    newest: dict[tuple[str, ...], Run] = {}
    for run in runs.of("score"):
        if run.params.get("task.edition") not in admitted_editions(run.params.get("task.name", "")):
            continue
        task = [run.params.get(key, "") for key in ("task.name", "task.scheme", "task.fold")]
        newest.setdefault((run.params.get("model_name", ""), *task), run)
    if not newest:
        return []
    cells = matrix.matrix(predictions.read_scored(lake, [run.id for run in newest.values()]))
    # Without the model's folder, which is specific to this machine.
    return [{**cell, "model": short_name(cell["model"])} for cell in cells.to_pylist()]


def prompted(lake: str, runs: Runs) -> list[dict[str, Any]]:
    """Mean F1 of PLANE prompts by class: each model's newest run with and without examples."""
    sections, pairs = [], set()
    settings = {"task.name": "plane", "task.edition": admitted_editions("plane")}
    for run in runs.of("prompt", settings):
        rows = predictions.read_prompted(lake, run.id)
        scheme = rows.column("scheme")[0].as_py()
        if (scheme, run.model) in pairs:
            continue
        pairs.add((scheme, run.model))
        sides = {
            "restricted choice": prompting.cells(rows, "restricted"),
            "always entailed": prompting.always(rows, "entailed"),
        }
        if prompting.first_tokens(rows):  # a masked language model
            sides["first token"] = prompting.cells(rows)
        for side, cells in sides.items():
            table = {row["row"]: row for row in prompting.class_table(cells).to_pylist()}
            sections.append(
                {
                    "scheme": scheme,
                    "model": run.model,
                    "side": side,
                    "questions": rows.num_rows,
                    "classes": {n: (row["mean"], row["deviation"]) for n, row in table.items()},
                }
            )
    return sections


def asked_about_scales(lake: str, runs: Runs) -> list[dict[str, Any]]:
    """Accuracy of ASP prompts by test: each model's newest run, compared with the paper's T0 3B."""
    newest: dict[str, Run] = {}
    settings = {"task.name": "asp", "task.edition": admitted_editions("asp")}
    for run in runs.of("prompt", settings):
        newest.setdefault(run.model, run)
    rows = []
    for model, run in newest.items():
        for row in prompting.asp_table(predictions.read_prompted(lake, run.id)).to_pylist():
            table = {"entailment": "entailment inference", "degree": "degree estimation"}
            place = ("asp", f"table 3, {table[row['task']]}", "T0 3B", row["test"])
            rows.append({**row, "model": model, "paper": printed(*place).printed})
    return rows


# The columns that identify a row of the page.
_KEYS = {
    "classified": ("task", "settings", "model", "part"),
    "generated": ("settings",),
    "transferred": ("model", "task", "scheme", "fold", "edition", "answers"),
    "prompted": ("scheme", "model", "side"),
    "asked_about_scales": ("model", "task", "test"),
    "experiments": ("name",),
}


def merged(earlier: Figures, measured: Figures) -> Figures:
    """The measured rows and those recorded earlier; of two rows with the same settings, the one
    with more runs, or else the measured one. Of an experiment the row with more finished runs is
    kept or, if equal, with a greater share of the next run."""
    figures: Figures = {}
    for name, keys in _KEYS.items():
        progress: Callable[[dict[str, Any]], Any] = _finished if name == "experiments" else _runs
        rows: dict[tuple[str, ...], dict[str, Any]] = {}
        for row in (*earlier.get(name, ()), *measured.get(name, ())):
            place = tuple(str(row.get(key)) for key in keys)
            previous = rows.get(place)
            if previous is None or progress(row) >= progress(previous):
                rows[place] = row
        figures[name] = [rows[place] for place in sorted(rows)]
    return figures


def _runs(row: dict[str, Any]) -> int:
    return int(row.get("runs", len(row.get("scores", {}).get("valid", ())) or 1))


def _finished(row: dict[str, Any]) -> tuple[int, float]:
    return row["finished"], row["share"]


def each(values: Sequence[float]) -> str:
    """Format the mean and its values: ``99.2 of 98.5, 99.9``; a single value alone."""
    average = f"{sum(values) / len(values):.1f}"
    return f"{average} of {', '.join(f'{v:.1f}' for v in values)}" if len(values) > 1 else average


def mean(values: Sequence[float]) -> str:
    """Format shares as percent: the mean, and for several values Student's 95 % interval."""
    if len(values) == 1:
        return f"{100 * values[0]:.1f}"
    low, high = DescrStatsW(values).tconfint_mean()
    return f"{50 * (low + high):.1f} ± {50 * (high - low):.1f}"


def progress_text(experiment: Figures) -> tuple[str, str]:
    """The progress of an experiment, and its hours, in words."""
    finished = experiment["finished"]
    if finished >= experiment["runs"]:
        return "finished", f"{experiment['hours']:.2f}"
    if experiment["share"]:
        share = 100 * experiment["share"]
        return (
            f"{finished} finished, one at {share:.0f} %",
            f"{experiment['begun_hours']:.2f} so far",
        )
    return f"{finished} finished" if finished else "none", f"{experiment['estimate']:.1f} estimated"


def context(figures: Figures) -> dict[str, Any]:
    by_hours = sorted(figures.get("experiments", ()), key=lambda e: (-e["estimate"], e["name"]))
    values: dict[str, Any] = {name: figures.get(name, []) for name in _KEYS}
    cells = pa.Table.from_pylist(values["transferred"]) if values["transferred"] else None
    # JSON does not keep the order of classes.
    order = ("I", "S", "O", "average")
    known = values["prompted"][0]["classes"] if values["prompted"] else ()
    return values | {
        "mean": mean,
        "each": each,
        "least": min(cells["rows"].to_pylist()) if cells else 0,
        "matrix": markdown(matrix.grid(cells)) if cells else "",
        "classes": [name for name in order if name in known],
        "by_hours": [(experiment, *progress_text(experiment)) for experiment in by_hours],
        "unfinished": [e["command"] for e in by_hours if e["finished"] < e["runs"]],
    }


def measured(settings: Settings) -> Figures:
    """Run what is missing (run=true) and read the runs; return their and earlier recorded scores.
    `JobFailed` if no run on the releases has finished or started."""
    selected = experiments(settings.only)
    if settings.run:
        for experiment, state in zip(selected, states(settings.tracking, selected), strict=True):
            if state["finished"] < state["runs"]:
                if released_phrases.EDITION in " ".join(experiment.settings):
                    released_phrases.build(settings.lake)
                do(experiment, settings.lake, settings.tracking, settings.models, settings.out)
    runs = find_runs(settings.tracking)
    rows = {
        "classified": classified(runs),
        "generated": generated(settings.lake, runs),
        "transferred": transferred(settings.lake, runs),
        "prompted": prompted(settings.lake, runs),
        "asked_about_scales": asked_about_scales(settings.lake, runs),
    }
    progress = states(settings.tracking, selected)
    if not any(rows.values()) and not any(row["finished"] or row["share"] for row in progress):
        raise JobFailed(f"tracking={settings.tracking}: no finished run. {runs.note}")
    rows["experiments"] = progress
    return merged(results.recorded().get("papers", {}), rows)


CASE = Case(
    "papers",
    whole(measured),
    settings=Settings,
    packages=("torch", "transformers", "deepspeed"),
    context=context,
)
