"""Transfer between the four tasks: scoring a model on other tasks, and continuing its training."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from operator import eq
from pathlib import Path
from typing import Any

import pyarrow as pa

from adnominal.analysis.across.fine_tuned import Across
from adnominal.analysis.comparisons import Resampling, compare
from adnominal.analysis.papers.page import exhibit
from adnominal.analysis.predictions import pair, read_run, read_scored
from adnominal.analysis.rendering import figures
from adnominal.analysis.rendering.blocks import Block, FigureBlock, Table, Text
from adnominal.analysis.rendering.figures import Channels
from adnominal.analysis.rendering.numbers import p_value, percent, percent_difference
from adnominal.conf import UserError
from adnominal.training.finished_runs import BOOKKEEPING, Run, model_name
from adnominal.training.scoring import matrix as scored

_SCORE = (
    "python training/score.py conf/training/transfer.yaml "
    "models=[runs/adept/RUN/model,runs/plane/RUN/model,runs/asp/RUN/model] lake=LAKE"
)
_AGAIN = "python training/finetune.py conf/training/adept.yaml model=runs/plane/RUN/model lake=LAKE"


@exhibit(
    "",
    "asking a model another task's items",
    command=_SCORE,
    tables=("predictions",),
)
def matrix(page: Across) -> list[Block]:
    """The scores of each model on each task, without further training."""
    newest: dict[tuple[str, str], Run] = {}
    for run in page.runs_of("score"):
        # Each run is a cell: one model on one task.
        key = (run.params.get("model_name", run.id), run.params.get("task.name", ""))
        newest.setdefault(key, run)
    tasks = Counter(model for model, _ in newest)
    several = {model: run for (model, _), run in newest.items() if tasks[model] > 1}
    runs = [run for (model, _), run in newest.items() if tasks[model] > 1]
    if not several:
        raise UserError("no finished run of training/score.py that scores a model on several tasks")
    rows = read_scored(page.lake.root, [run.id for run in runs])
    names = _names({model: run.params.get("trained_on", "") for model, run in several.items()})
    cells = scored.matrix(rows)
    blocks: list[Block] = [
        Text(
            "Rows are models, named by their training task; columns are the tasks they were scored "
            "on. conf/transfer.yaml maps the labels of one task to those of another and gives the "
            "reason for each mapping. Where a task has more than two labels, the same answers are "
            "also scored as holds against does not hold (two-way)."
        ),
        Table("Accuracy in percent with Wilson's interval", scored.grid(cells, names=names)),
        Table("Macro-F1 in percent", scored.grid(cells, "macro_f1", names)),
    ]
    line_table = _lines(cells, names)
    channels = Channels(
        "accuracy",
        "line",
        "accuracy (share of rows)",
        "trained on → task asked",
        low="low",
        high="high",
    )
    plot = figures.forest(line_table, channels, "majority", ("model", "majority label"))
    blocks.append(FigureBlock("Accuracy compared with the majority's", *plot))
    return blocks


def _names(training_settings: Mapping[str, str]) -> dict[str, str]:
    """Names of the models: the task they were trained on, or their own name where the task is
    unknown or not unique."""
    tasks = list(training_settings.values())
    return {
        model: task if task and tasks.count(task) == 1 else f"{task} {model_name(model)}".strip()
        for model, task in training_settings.items()
    }


def _lines(cells: pa.Table, names: Mapping[str, str]) -> pa.Table:
    """The cells as named lines of the figure, grouped by model."""
    lines = []
    for cell in cells.to_pylist():
        task = cell["task"]
        if cell["answers"] == scored.TWO_WAY:
            task += f", {scored.TWO_WAY}"
        line = f"{names.get(cell['model'], cell['model'])} → {task}"
        values = {key: cell[key] for key in ("accuracy", "low", "high", "majority", "rows")}
        lines.append({"line": line, **values})
    return pa.Table.from_pylist(sorted(lines, key=lambda row: row["line"]))


@exhibit("", "training on from another task", command=_AGAIN, tables=("predictions",))
def continued_training(page: Across) -> list[Block]:
    """Compare runs that differ only in their initial weights: those of another task's run against
    those that this other run itself started from."""
    runs = page.runs_of("finetune")
    by_id = {run.id: run for run in page.runs.runs}
    rows = []
    for run in runs:
        source = _source(run, by_id)
        base = _twin(run, source.params.get("model", ""), runs) if source else None
        if source is not None and base is not None:
            rows.append(_comparison(page, run, source, base))
    if not rows:
        raise UserError(
            "no finished fine-tuning run that starts from another task's run (model= its folder) "
            "together with a run of the same settings that starts from the same base model"
        )
    rows.sort(key=lambda row: (row["task"], row["first trained on"], row["seed"]))
    text = (
        "Both runs have the same settings, seed and items and differ only in their initial "
        "weights; differences are paired, p is from a permutation test."
    )
    caption = "Accuracy in percent, started from another task and from the base"
    return [Text(text), Table(caption, pa.Table.from_pylist(rows))]


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


def _comparison(page: Across, run: Run, source: Run, base: Run) -> dict[str, Any]:
    root = page.lake.root
    both = pair(read_run(root, run.id), read_run(root, base.id))
    result = compare("accuracy", both, resampling=Resampling(seed=page.lake.seed))
    difference = result.difference
    share, base_share = (
        sum(map(eq, both.gold, guesses)) / len(both.gold) for guesses in (both.first, both.second)
    )
    return {
        "task": run.params.get("task.name", ""),
        "first trained on": source.params.get("task.name", ""),
        "base": base.model,
        "seed": run.params.get("seeds", ""),
        "items": len(both.gold),
        "from the task": percent(share),
        "from the base": percent(base_share),
        "difference": percent_difference(difference.estimate, difference.low, difference.high),
        "p": p_value(result.p),
    }
