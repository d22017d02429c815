"""Transfer between the four tasks: scoring a model on other tasks, and continuing its training."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from operator import eq
from pathlib import Path

from adnominal.analysis.across.fine_tuned import Across
from adnominal.analysis.comparisons import Resampling, compare
from adnominal.analysis.estimates import Interval
from adnominal.analysis.papers.exhibits import Chart, Finding, Note, exhibit
from adnominal.analysis.predictions import pair, read_run, read_scored
from adnominal.analysis.report_numbers import Cells, Key, Value
from adnominal.conf import UserError
from adnominal.training.answering import matrix as scored
from adnominal.training.finished_runs import BOOKKEEPING, Run, model_name

_SCORE = (
    "python training/score.py conf/training/transfer.yaml "
    "models=[runs/adept/RUN/model,runs/plane/RUN/model,runs/asp/RUN/model] lake=LAKE"
)
_AGAIN = "python training/finetune.py conf/training/adept.yaml model=runs/plane/RUN/model lake=LAKE"


@exhibit("", "asking a model another task's items", fills=_SCORE, reads=("predictions",))
def matrix(page: Across) -> Iterator[Finding]:
    """How right is a model that was trained on one task about the items of another, without further
    training?

    Rows are models, named by their training task; columns are the tasks they were scored on.
    """
    newest: dict[tuple[str, str], Run] = {}
    for run in page.runs_of("score"):
        # Each run is a cell: one model on one task.
        key = (run.params.get("model_name", run.id), run.params.get("task.name", ""))
        newest.setdefault(key, run)
    tasks = Counter(model for model, _ in newest)
    several = {model: run for (model, _), run in newest.items() if tasks[model] > 1}
    runs = [run.id for (model, _), run in newest.items() if tasks[model] > 1]
    if not several:
        raise UserError("no finished run of training/score.py that scores a model on several tasks")
    names = _names({model: run.params.get("trained_on", "") for model, run in several.items()})
    yield Note(
        "conf/transfer.yaml maps the labels of one task to those of another and gives the reason "
        "for each mapping. Where a task has more than two labels, the same answers are also scored "
        "as holds against does not hold (two-way)."
    )
    accuracies: dict[Key, Value] = {}
    macro_f1: dict[Key, Value] = {}
    lines: dict[Key, Value] = {}
    for cell in scored.matrix(read_scored(page.lake.root, runs)).to_pylist():
        model = names.get(cell["model"], cell["model"])
        task = cell["task"]
        if cell["answers"] == scored.TWO_WAY:
            task += f", {scored.TWO_WAY}"
        bounds = (cell["low"], cell["high"])
        accuracy = Interval(cell["accuracy"], *bounds, cell["rows"], kind="Wilson")
        accuracies[model, task] = accuracy
        macro_f1[model, task] = cell["macro_f1"]
        lines[f"{model} → {task}", "model"] = accuracy
        lines[f"{model} → {task}", "majority label"] = cell["majority"]
    yield Cells("Accuracy", accuracies, unit="percent", decimals=1, runs=runs)
    yield Cells("Macro-F1", macro_f1, unit="percent", decimals=1, runs=runs)
    name = "Accuracy compared with the majority's"
    yield Cells(name, dict(sorted(lines.items())), unit="share", decimals=3, runs=runs)
    axes = ("accuracy (share of rows)", "trained on → task asked")
    yield Chart("forest", name, (name,), *axes, only_drawn=True)


def _names(training_settings: Mapping[str, str]) -> dict[str, str]:
    """Names of the models: the task they were trained on, or their own name where the task is
    unknown or not unique."""
    tasks = list(training_settings.values())
    return {
        model: task if task and tasks.count(task) == 1 else f"{task} {model_name(model)}".strip()
        for model, task in training_settings.items()
    }


@exhibit("", "training on from another task", fills=_AGAIN, reads=("predictions",))
def continued_training(page: Across) -> Iterator[Finding]:
    """Does it help to have been trained on another task first?

    Both runs have the same settings, seed and items and differ only in their initial weights.
    """
    runs = page.runs_of("finetune")
    by_id = {run.id: run for run in page.runs.runs}
    pairs = []
    for run in runs:
        source = _source(run, by_id)
        base = _twin(run, source.params.get("model", ""), runs) if source else None
        if source is not None and base is not None:
            pairs.append((run, source, base))
    if not pairs:
        raise UserError(
            "no finished fine-tuning run that starts from another task's run (model= its folder) "
            "together with a run of the same settings that starts from the same base model"
        )
    cells: dict[str, dict[Key, Value]] = {}
    for run, source, base in pairs:
        name = (
            f"{run.params.get('task.name', '')}, first trained on "
            f"{source.params.get('task.name', '')}, base {base.model}, "
            f"seed {run.params.get('seeds', '')}"
        )
        cells[name] = _comparison(page, name, run, base)
    yield Note("Differences are paired; p is from a permutation test.")
    for name in sorted(cells):
        caption = "Started from another task and from the base"
        yield Cells(caption, cells[name], unit="share", decimals=3)


def _source(run: Run, by_id: Mapping[str, Run]) -> Run | None:
    """The run whose weights this one starts from, if any.

    A run's folder names the run in mlflow.json; a model from the tracker has the run in its URI.
    """
    model = run.params.get("model", "")
    if model.startswith("runs:/"):
        return by_id.get(model.removeprefix("runs:/").split("/", 1)[0])
    for folder in (Path(model), Path(model).parent):
        try:
            record = json.loads((folder / "mlflow.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        return by_id.get(record.get("run_id", "")) if isinstance(record, dict) else None
    return None


def _twin(run: Run, model: str, runs: Sequence[Run]) -> Run | None:
    """The run with the same settings and seed that starts from `model`."""
    ignored = (BOOKKEEPING - {"seeds"}) | {"model", "model_name"}

    def identity(run: Run) -> dict[str, str]:
        return {key: value for key, value in run.params.items() if key not in ignored}

    same = (other for other in runs if other.params.get("model") == model and other.id != run.id)
    return next((other for other in same if identity(other) == identity(run)), None)


def _comparison(page: Across, name: str, run: Run, base: Run) -> dict[Key, Value]:
    root = page.lake.root
    both = pair(read_run(root, run.id), read_run(root, base.id))
    result = compare("accuracy", both, resampling=Resampling(seed=page.lake.seed))
    share, base_share = (
        sum(map(eq, both.gold, guesses)) / len(both.gold) for guesses in (both.first, both.second)
    )
    return {
        (name, "from the task"): share,
        (name, "from the base"): base_share,
        (name, "difference"): result.difference,
        (name, "p"): result.p,
    }
