"""``training/score.py``: models on the labelled rows of tasks, with a matrix of scores."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from adnominal import conf
from adnominal.training import launch
from adnominal.training.answering.answers import Answers
from adnominal.training.answering.cells import Cell, prepare
from adnominal.training.answering.job import results_of
from adnominal.training.answering.matrix import matrix
from adnominal.training.answering.report import matrix_text, names_of
from adnominal.training.answering.settings import ScoreSettings
from adnominal.training.runs import Runs
from adnominal.training.sharding import stage_of
from adnominal.training.tracking import Run

JOB = "score"


def score(settings: ScoreSettings) -> None:
    """Score fine-tuned models on the labelled rows of any task, each cell of the matrix once.

    The answers of a model that was trained on another task are interpreted by conf/transfer.yaml.
    Every prediction is written to the table predictions and, with all figures, to MLflow.
    """
    cells, undefined_cells = prepare(settings)
    runs = Runs(JOB, settings, settings.experiment or JOB)
    folders = [cell.work.folder.name for cell in cells]
    mlflow_file = Path(settings.out) / f"{conf.settings_hash({'cells': folders})}.mlflow.json"
    models = len({cell.work.source.name for cell in cells})
    name = settings.run_name or f"{models} models on {', '.join(settings.tasks)}"
    with (
        launch.group(stage_of(settings.deepspeed) == 3),
        runs.group(name, mlflow_file, len(cells)) as parent,
    ):
        results = results_of(runs, settings, [cell.work for cell in cells], parent)
        if launch.rank() == 0:
            _report(cells, results, undefined_cells, parent)


def _report(
    cells: Sequence[Cell],
    results: Sequence[Mapping[str, Any]],
    undefined_cells: Mapping[tuple[str, str], str],
    parent: Run | None,
) -> None:
    """Print the matrix and log it; for a single model, print the tables of each task too."""
    pairs = list(zip(cells, results, strict=True))
    keys = {result["run_id"]: cell.target.key for cell, result in pairs}
    tables = [Answers(cell.work.folder).read_all(result["run_id"]) for cell, result in pairs]
    cell_scores = matrix(pa.concat_tables(tables))
    names = names_of([cell.model for cell in cells])
    text = matrix_text(cell_scores, names, keys, undefined_cells)
    print(text)
    if len({result["model"] for result in results}) == 1:
        for cell in cells:
            print((cell.work.folder / "scores.md").read_text(encoding="utf-8"))
    if parent is not None:
        parent.text(text, "matrix.md")
        rows = json.dumps(cell_scores.to_pylist(), indent=1, ensure_ascii=False)
        parent.text(rows, "matrix.json")
