"""``training/score.py``: score models on tasks, with predictions and a matrix of scores."""

import dataclasses
import functools
import gc
import json
import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from adnominal import conf
from adnominal.conf import UserError
from adnominal.conf.progress import Progress
from adnominal.training import grid, launch, predictions
from adnominal.training.answering import Classifier, classifier, learner_of
from adnominal.training.evaluation import Evaluation, figures_line
from adnominal.training.files import cache_folder, check_folder, replace_text
from adnominal.training.models.loading import resolve
from adnominal.training.models.pretrained import longest
from adnominal.training.runs import Outcome, Plan, Runs, folder_name
from adnominal.training.scoring import label_map
from adnominal.training.scoring.label_map import Undefined
from adnominal.training.scoring.matrix import matrix
from adnominal.training.scoring.report import details, matrix_text, names_of
from adnominal.training.scoring.settings import Settings
from adnominal.training.scoring.sources import ScoredModel, scored_model
from adnominal.training.scoring.targets import Target
from adnominal.training.sharding import read_deepspeed, stage_of
from adnominal.training.tasks import Dataset, Task
from adnominal.training.tracking import Run

JOB = "score"
log = logging.getLogger("adnominal")


@dataclass(frozen=True)
class Cell:
    """A checked combination of model and task; `reading` is None for generated text."""

    model: ScoredModel
    target: Target
    task: Task
    dataset: Dataset
    reading: Mapping[str, str] | None
    folder: Path

    @property
    def label(self) -> str:
        return f"{self.model.source.name} on {self.target.key}"

    @property
    def rows(self) -> int:
        return len(self.dataset.parts[self.target.part])


def score(settings: Settings) -> None:
    """Score fine-tuned models on the labelled rows of any task, each cell of the matrix once.

    The answers of a model that was trained on another task are interpreted by conf/transfer.yaml.
    Every prediction is written to the table predictions and, with all figures, to MLflow.
    """
    cells, undefined_cells = prepare(settings)
    runs = Runs(JOB, settings, settings.experiment or JOB)
    folders = [cell.folder.name for cell in cells]
    mlflow_file = Path(settings.out) / f"{conf.settings_hash({'cells': folders})}.mlflow.json"
    models = len({cell.model.source.name for cell in cells})
    name = settings.run_name or f"{models} models on {', '.join(settings.tasks)}"
    with (
        launch.group(stage_of(settings.deepspeed) == 3),
        runs.group(name, mlflow_file, len(cells)) as parent,
    ):
        results = _run(settings, cells, runs, parent)
        if launch.rank() == 0:
            _report(cells, results, undefined_cells, parent)


def prepare(settings: Settings) -> tuple[list[Cell], dict[tuple[str, str], str]]:
    """Return the cells that can be scored, and why others cannot, by (model, task).

    Raises:
        UserError: models, labels, tasks or settings do not exist or do not fit, or no cell is left.
    """
    launch.environment()
    check_folder("out", Path(settings.out))
    cache_folder(settings.cache)
    read_deepspeed(settings.deepspeed)
    models = [
        scored_model(resolve(uri, settings.tracking), settings.labels) for uri in settings.uris
    ]
    if len({os.path.realpath(model.source.path) for model in models}) < len(models):
        raise UserError(f"models={settings.models}: the same model twice")
    targets = [
        Target(key, settings.task.get(key), settings.lake, settings.limit, settings.seed)
        for key in settings.tasks
    ]
    unused = set(settings.task) - set(settings.tasks)
    if unused:
        log.info("task.%s: not in tasks=, ignored", ", task.".join(sorted(unused)))
    for model in models:
        if settings.max_length is not None and model.form != "text":
            learner_of(model.source, settings.max_length)  # refuses an unsupported length
    contents = {model.source.name: model.source.content() for model in models}
    cells, undefined_cells = [], {}
    for model in models:
        for target in targets:
            try:
                cells.append(_cell(model, target, settings, contents[model.source.name]))
            except Undefined as error:
                undefined_cells[model.source.name, target.key] = str(error)
    if not cells:
        raise UserError(f"nothing to score: {'; '.join(sorted(set(undefined_cells.values())))}")
    return cells, undefined_cells


def _cell(model: ScoredModel, target: Target, settings: Settings, content: str) -> Cell:
    task = target.task(model.form)
    declared = task.dataset_spec
    if (model.form == "text") != (declared is not None and declared.labels is None):
        # One of the two has no labels; this raises the reason.
        label_map.reading(model.labels, ())
    dataset = target.dataset(model.form)
    reading = None
    if model.form == "text":
        trained = model.source.trained
        if trained is not None and trained.dataset != dataset.task:
            raise Undefined(
                f"A model of {trained.dataset} does not write meanings of {dataset.task}."
            )
    else:
        reading = label_map.reading(model.labels, dataset.outcomes)
    identity = {
        "model": model.source.name,
        "content": content,
        "labels": model.labels,
        "form": model.form,
        "task": dataclasses.asdict(task.settings),
        "part": target.part,
        "limit": target.limit,
        "seed": settings.seed,
        "max_length": settings.max_length,
        "precision": settings.precision,
        "maps": label_map.fingerprint(),
        "data": grid.content(dataset),
    }
    folder = Path(settings.out) / folder_name(identity)
    return Cell(model, target, task, dataset, reading, folder)


def _run(
    settings: Settings, cells: Sequence[Cell], runs: Runs, parent: Run | None
) -> list[dict[str, Any]]:
    """Return the result of each cell, scored now or earlier."""
    results = [runs.finish(cell.folder, parent=parent) for cell in cells]
    pairs = list(zip(cells, results, strict=True))
    total = sum(cell.rows for cell, result in pairs if result is None) // launch.world_size()
    rows_scored: list[dict[str, Any]] = []
    loaded_model: tuple[str, Any] | None = None
    with Progress("scoring", total, unit="rows", silent=launch.rank() != 0) as progress:
        for cell, result in pairs:
            if result is None:
                name = cell.model.source.name
                if loaded_model is None or loaded_model[0] != name:
                    # One model at a time: the previous one's memory is freed first.
                    loaded_model = None
                    gc.collect()
                    loaded_model = name, _model(cell.model, settings)
                label = (settings.run_name if len(cells) == 1 else None) or cell.label
                facts, sources = _parameters(cell), cell.dataset.sources
                result = runs.start(
                    Plan(cell.folder, label, settings, facts, sources),
                    functools.partial(_score_cell, settings, cell, loaded_model[1], progress),
                    parent,
                )
            rows_scored.append(result)
    return rows_scored


def _model(scored_model: ScoredModel, settings: Settings) -> Any:
    """Load the model with its weights onto this process's device."""
    if scored_model.form != "text":
        return classifier(
            scored_model.source,
            max_length=settings.max_length,
            precision=settings.precision,
            deepspeed=settings.deepspeed,
        )
    import torch

    from adnominal.training.models import seq2seq

    model, vocabularies = seq2seq.load(Path(scored_model.source.path))
    model.eval()
    return (model.cuda() if torch.cuda.is_available() else model), vocabularies


def _score_cell(
    settings: Settings, cell: Cell, model: Any, progress: Progress, run: Run
) -> Outcome:
    source, dataset, part = cell.model.source, cell.dataset, cell.target.part
    started = time.monotonic()
    words: pa.StringArray | None = None
    truncated = 0
    if cell.reading is None:
        answers = _texts(cell, model, settings.batch_size, progress.advance)
        evaluation = Evaluation(answers, None, None)
    else:
        evaluation, truncated = _answers(cell, model, settings, progress.advance)
        dataset, evaluation, words = _read(cell, cell.reading, evaluation)
    assert evaluation.predicted is not None
    figures = cell.task.evaluate(dataset, part, evaluation.predicted)
    seconds = time.monotonic() - started
    result = {
        "model": source.name,
        "task": dataset.task,
        "key": cell.target.key,
        "rows": cell.rows,
        "cut": truncated,
        "seconds": seconds,
        "figures": figures,
    }
    if launch.rank() != 0:
        return Outcome(result)
    if truncated:
        log.info(
            "%s: %d of %d rows exceed the limit and were cut", cell.label, truncated, cell.rows
        )
    rows = predictions.of_part(
        dataset, part, evaluation, run_id=run.name, seed=settings.seed, model=source.name
    )
    if words is not None:
        rows = rows.set_column(rows.schema.get_field_index("text"), "text", words)
    scored = {f"{part}/{name}": value for name, value in figures.items()}
    log.info("%s: %s", cell.label, figures_line(scored))
    final = {f"final/{name}": value for name, value in scored.items()}
    final |= {"rows_per_second": cell.rows / max(seconds, 1e-9), "cut": truncated}
    text = details(f"{cell.label}, {part}", rows, cell.dataset.parts[part], cell.target.name)
    replace_text(cell.folder / "scores.md", text)
    return Outcome(result, rows, final, {"scores.md": text})


def _parameters(cell: Cell) -> dict[str, Any]:
    """Return the facts of the run besides its settings: task, model, and label mapping."""
    source, trained = cell.model.source, cell.model.source.trained
    facts: dict[str, Any] = {
        "model_name": source.name,
        "form": cell.model.form,
        "part": cell.target.part,
        "classes": list(cell.model.labels_in_order),
        "rows": cell.rows,
        "processes": launch.world_size(),
    }
    if trained is not None:
        facts |= {"trained_on": trained.dataset, "trained_from": trained.model}
    if cell.reading is not None:
        facts["reading"] = cell.reading
    task = {"name": cell.target.name, **dataclasses.asdict(cell.task.settings)}
    return {"task": task, **facts}


def _answers(
    cell: Cell, model: Classifier, settings: Settings, advance: Callable[[int], None]
) -> tuple[Evaluation, int]:
    """Return the model's answers in its own classes, and the number of truncated rows."""
    trained = cell.model.source.trained
    limit = None
    if settings.max_length is None and (
        trained is None or trained.task.get("name") != cell.target.name
    ):
        # The token limit of training applies only to the model's own task: PLANE's twelve tokens
        # would cut off the hypothesis of most pairs.
        limit = longest(model.learner)
    part = cell.dataset.parts[cell.target.part]
    encoded = model.encode(part, limit, cache_folder(settings.cache))
    evaluation = model.answer(encoded, settings.batch_size, advance)
    assert evaluation.scores is not None
    predictions.check_scores(evaluation.scores, cell.label)
    return evaluation, sum(encoded.truncated().values())


def _read(
    cell: Cell, reading: Mapping[str, str], evaluation: Evaluation
) -> tuple[Dataset, Evaluation, pa.StringArray]:
    """Return answers as the task's labels, with scores, and the model's own labels.

    Scores are in the order of the model's task. The dataset is the cell's with its outcomes as
    labels, since the model has other classes.
    """
    outcomes = cell.dataset.outcomes
    dataset = dataclasses.replace(
        cell.dataset, labels=outcomes, outcome_of=np.arange(len(outcomes))
    )
    labels, ordered = cell.model.labels, cell.model.labels_in_order
    to_outcome = np.array([outcomes.index(reading[label]) for label in labels])
    assert evaluation.scores is not None
    by_order = evaluation.scores[:, [labels.index(label) for label in ordered]]
    answers = np.asarray(evaluation.predicted)
    words = pa.array([labels[at] for at in answers], pa.string())
    return dataset, Evaluation(to_outcome[answers], by_order, None), words


def _texts(
    cell: Cell, loaded_model: tuple[Any, Any], batch_size: int, advance: Callable[[int], None]
) -> list[str]:
    """Return a SyGNS model's generated texts, greedily decoded, in the order of the rows."""
    from adnominal.training.models import seq2seq

    model, vocabularies = loaded_model
    texts = cell.dataset.parts[cell.target.part].first.to_pylist()
    # Batches have similar lengths; the order of ties does not affect the output.
    share = range(launch.rank(), len(texts), launch.world_size())
    local_rows = sorted(share, key=lambda row: -len(texts[row]))
    answers: dict[int, str] = {}
    for start in range(0, len(local_rows), batch_size):
        batch = local_rows[start : start + batch_size]
        written = seq2seq.answer(model, vocabularies, [texts[row] for row in batch])
        answers |= dict(zip(batch, written, strict=True))
        advance(len(batch))
    all_answers: dict[int, str] = {}
    for share_answers in launch.gather(answers):
        all_answers |= share_answers
    return [all_answers[row] for row in range(len(texts))]


def _report(
    cells: Sequence[Cell],
    results: Sequence[Mapping[str, Any]],
    undefined_cells: Mapping[tuple[str, str], str],
    parent: Run | None,
) -> None:
    """Print the matrix and log it; for a single model, print the tables of each task too."""
    tables = [pq.read_table(cell.folder / "predictions.parquet") for cell in cells]
    keys = {
        table.column("run_id")[0].as_py(): cell.target.key
        for cell, table in zip(cells, tables, strict=True)
    }
    cell_scores = matrix(pa.concat_tables(tables))
    names = names_of([cell.model for cell in cells])
    text = matrix_text(cell_scores, names, keys, undefined_cells)
    print(text)
    if len({result["model"] for result in results}) == 1:
        for cell in cells:
            print((cell.folder / "scores.md").read_text(encoding="utf-8"))
    if parent is not None:
        parent.text(text, "matrix.md")
        parent.text(
            json.dumps(cell_scores.to_pylist(), indent=1, ensure_ascii=False), "matrix.json"
        )
