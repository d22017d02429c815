"""Transfer between the four tasks: a model that was trained on one is scored on others."""

from collections import Counter
from collections.abc import Iterator, Mapping

from adnominal.analysis.across.fine_tuned import Across
from adnominal.analysis.estimates import Interval
from adnominal.analysis.papers.exhibits import Chart, Finding, Note, exhibit
from adnominal.analysis.predictions import newest_of_each, read_scored
from adnominal.analysis.report_numbers import Cells, CellValues
from adnominal.conf import UserError
from adnominal.training.answering import matrix as scored
from adnominal.training.finished_runs import Run, model_name

_SCORE = (
    "python training/score.py conf/training/transfer.yaml "
    "models=[runs/adept/RUN/model,runs/plane/RUN/model,runs/asp/RUN/model] lake=LAKE"
)


@exhibit("", "asking a model another task's items", fills=_SCORE, reads=("predictions",))
def matrix(page: Across) -> Iterator[Finding]:
    """How right is a model that was trained on one task about the items of another, without further
    training?

    Rows are models, named by their training task; columns are the tasks they were scored on.
    """
    newest = newest_of_each(page.runs_of("score"), _model_and_task)
    tasks = Counter(model for model, _ in newest)
    runs: list[Run] = []
    trained_on: dict[str, str] = {}
    for (model, _), run in newest.items():
        if tasks[model] > 1:
            runs.append(run)
            trained_on[model] = run.params.get("trained_on", "")
    if not runs:
        raise UserError("no finished run of training/score.py that scores a model on several tasks")
    names = _names(trained_on)
    yield Note(
        "conf/transfer.yaml maps the labels of one task to those of another and gives the reason "
        "for each mapping. Where a task has more than two labels, the same answers are also scored "
        "as holds against does not hold (two-way)."
    )
    accuracies: CellValues = {}
    macro_f1: CellValues = {}
    lines: CellValues = {}
    rows = read_scored(page.lake.root, [run.id for run in runs])
    for cell in scored.matrix(rows).to_pylist():
        model = names.get(cell["model"], cell["model"])
        task = cell["task"]
        if cell["answers"] == scored.TWO_WAY:
            task += f", {scored.TWO_WAY}"
        low, high = cell["low"], cell["high"]
        accuracy = Interval(cell["accuracy"], low, high, cell["rows"], kind="Wilson")
        accuracies[model, task] = accuracy
        macro_f1[model, task] = cell["macro_f1"]
        lines[f"{model} → {task}", "model"] = accuracy
        lines[f"{model} → {task}", "majority label"] = cell["majority"]
    yield Cells("Accuracy", accuracies, unit="percent", runs=runs)
    yield Cells("Macro-F1", macro_f1, unit="percent", runs=runs)
    name = "Accuracy compared with the majority's"
    yield Cells(name, dict(sorted(lines.items())), unit="share", decimals=3, runs=runs)
    axes = ("accuracy (share of rows)", "trained on → task asked")
    yield Chart("forest", name, (name,), *axes, only_drawn=True)


def _model_and_task(run: Run) -> tuple[str, str]:
    """The cell of a run: one model on one task."""
    return run.params.get("model_name", run.id), run.params.get("task.name", "")


def _names(training_settings: Mapping[str, str]) -> dict[str, str]:
    """Names of the models: the task they were trained on, or their own name where the task is
    unknown or not unique."""
    tasks = list(training_settings.values())
    names = {}
    for model, task in training_settings.items():
        is_unique = task and tasks.count(task) == 1
        names[model] = task if is_unique else f"{task} {model_name(model)}".strip()
    return names
