"""What training on one of the four tasks gives for the others: asked, and trained on."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from analysis import figures, transfer
from analysis.predictions import pair, read_run
from analysis.reporting.answers import answered
from analysis.reporting.lake import Lake
from analysis.reporting.page import Block, FigureBlock, Section, Table, Text, section_of
from analysis.reporting.printed import model_name, p_value, signed
from analysis.reporting.runs import BOOKKEEPING, Run, Runs
from analysis.significance import compare, wilson
from conf import UserError

_SCORE = (
    "python training/score.py conf/training/transfer.yaml "
    "models=[runs/adept/RUN/model,runs/plane/RUN/model,runs/asp/RUN/model] lake=LAKE"
)
_AGAIN = "python training/finetune.py conf/training/adept.yaml model=runs/plane/RUN/model lake=LAKE"


def sections(lake: Lake, runs: Runs) -> list[Section]:
    """The transfer matrix, and training that goes on from another task."""
    section = partial(section_of, "cross")
    return [
        section("", "asking a model another task's items", _SCORE, partial(_matrix, lake, runs)),
        section("", "training on from another task", _AGAIN, partial(_started, lake, runs)),
    ]


# Asked as it is


def _matrix(lake: Lake, runs: Runs) -> list[Block]:
    newest: dict[tuple[str, ...], tuple[Run, str]] = {}
    for run in answered(lake, runs.of("score")):
        # A run is a cell: a model on a task.
        key = (run.params.get("model_name", run.id), run.params.get("task.name", ""))
        newest.setdefault(key, (run, run.params.get("trained_on", "")))
    asked: dict[str, set[str]] = {}
    for model, task in newest:
        asked.setdefault(model, set()).add(task)
    several = {key: own for key, own in newest.items() if len(asked[key[0]]) > 1}
    if not several:
        raise UserError("no finished run of training/score.py that asks a model several tasks")
    rows = transfer.read(lake.root, [run.id for run, _ in several.values()])
    names = _names({model: trained for (model, _), (_, trained) in several.items()})
    cells = transfer.matrix(rows)
    blocks: list[Block] = [
        Text(
            "Rows are models by what they were trained on, columns the items that they were asked; "
            "an answer in one task's labels is read in another's as conf/transfer.yaml says, line "
            "by line with its reason. Where a task has more than two labels the same answers are "
            "scored once more as holds against does not hold (two-way)."
        ),
        Table("Accuracy in percent with Wilson's interval", transfer.grid(cells, names=names)),
        Table("Macro-F1 in percent", transfer.grid(cells, "macro_f1", names)),
    ]
    plotted = _lines(cells, names)
    figure, _ = figures.forest(
        plotted,
        row="line",
        value="accuracy",
        low="low",
        high="high",
        reference="majority",
        xlabel="accuracy (share of rows)",
        ylabel="trained on → task asked",
        names=("model", "majority label"),
    )
    blocks.append(FigureBlock("Accuracy beside the majority's", figure, plotted))
    return blocks


def _names(trained: Mapping[str, str]) -> dict[str, str]:
    """Models by what they were trained on; by their own names where nothing says it, or two say
    the same."""
    told = list(trained.values())
    return {
        model: own if own and told.count(own) == 1 else f"{own} {model_name(model)}".strip()
        for model, own in trained.items()
    }


def _lines(cells: pa.Table, names: Mapping[str, str]) -> pa.Table:
    """The cells with a line's name each, those of one model together."""
    found = []
    for cell in cells.to_pylist():
        asked = cell["task"]
        if cell["answers"] == transfer.TWO_WAY:
            asked += f", {transfer.TWO_WAY}"
        line = f"{names.get(cell['model'], cell['model'])} → {asked}"
        own = {key: cell[key] for key in ("accuracy", "low", "high", "majority", "rows")}
        found.append({"line": line, **own})
    return pa.Table.from_pylist(sorted(found, key=lambda row: row["line"]))


# Trained on


def _started(lake: Lake, runs: Runs) -> list[Block]:
    """Runs that differ in the weights that they start from alone: those of another task's run
    against those that this one had started from."""
    there = answered(lake, runs.of("finetune"))
    by_id = {run.id: run for run in runs.runs}
    found = []
    for run in there:
        source = _source(run, by_id)
        if source is None:
            continue
        base = _twin(run, source.params.get("model", ""), there)
        if base is not None:
            found.append(_compared(lake, run, source, base))
    if not found:
        raise UserError(
            "no finished fine-tuning run that starts from another task's run (model= its folder), "
            "with one of the same settings that starts where that had started"
        )
    return [
        Text(
            "Both runs have the same settings, seed and items and differ in the weights that "
            "they start from; differences are paired, p is a permutation test."
        ),
        Table("Accuracy in percent, started from another task and from the base", _rows(found)),
    ]


def _source(run: Run, by_id: Mapping[str, Run]) -> Run | None:
    """The run whose weights this one starts from, if it starts from a run's.

    The folder of a run names it in mlflow.json; a model of the tracker has the run in its address.
    """
    model = run.params.get("model", "")
    if model.startswith("runs:/"):
        return by_id.get(model.removeprefix("runs:/").split("/", 1)[0])
    for folder in (Path(model), Path(model).parent):
        try:
            kept = json.loads((folder / "mlflow.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        return by_id.get(kept.get("run_id", "")) if isinstance(kept, dict) else None
    return None


def _twin(run: Run, model: str, there: Sequence[Run]) -> Run | None:
    """The run with the same settings and seed that starts from `model`."""

    def identity(own: Run) -> dict[str, str]:
        aside = (BOOKKEEPING - {"seeds"}) | {"model", "model_name"}
        return {key: value for key, value in own.params.items() if key not in aside}

    same = [own for own in there if own.params.get("model") == model and own.id != run.id]
    return next((own for own in same if identity(own) == identity(run)), None)


def _compared(lake: Lake, run: Run, source: Run, base: Run) -> dict[str, Any]:
    both = pair(read_run(lake.root, run.id), read_run(lake.root, base.id))
    found = compare("accuracy", both.gold, both.first, both.second, seed=lake.seed)
    accuracy = {
        name: sum(a == b for a, b in zip(both.gold, own, strict=True))
        for name, own in (("first", both.first), ("second", both.second))
    }
    size = len(both.gold)
    return {
        "task": run.params.get("task.name", ""),
        "first trained on": source.params.get("task.name", ""),
        "base": base.model,
        "seed": run.params.get("seeds", ""),
        "items": size,
        "from the task": wilson(accuracy["first"], size),
        "from the base": wilson(accuracy["second"], size),
        "difference": found.difference,
        "p": found.p,
    }


_TOLD = ("task", "first trained on", "base", "seed", "items")


def _rows(found: Sequence[Mapping[str, Any]]) -> pa.Table:
    rows = []
    for own in found:
        apart = own["difference"]
        low, high = signed(100 * apart.low), signed(100 * apart.high)
        rows.append(
            {
                **{name: own[name] for name in _TOLD},
                "from the task": f"{100 * own['from the task'].estimate:.1f}",
                "from the base": f"{100 * own['from the base'].estimate:.1f}",
                "difference": f"{signed(100 * apart.estimate)} [{low}, {high}]",
                "p": p_value(own["p"]),
            }
        )
    rows.sort(key=lambda row: (row["task"], row["first trained on"], row["seed"]))
    return pa.Table.from_pylist(rows)
