"""``training/score.py``: models on the labelled rows of tasks, with a matrix of scores."""

import dataclasses
import json
import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from adnominal import conf
from adnominal.conf import UserError
from adnominal.conf.files import replace_text
from adnominal.training import grid, launch
from adnominal.training.answering import label_map
from adnominal.training.answering.answers import Answers, Chunk, LabelNames, Work
from adnominal.training.answering.classifier import learner_of
from adnominal.training.answering.job import results_of
from adnominal.training.answering.label_map import Undefined
from adnominal.training.answering.matrix import matrix
from adnominal.training.answering.readings import ScoredModel, scored_model
from adnominal.training.answering.report import details, matrix_text, names_of
from adnominal.training.answering.sentences import score_texts
from adnominal.training.answering.settings import ScoreSettings
from adnominal.training.answering.targets import Target
from adnominal.training.evaluation import figures_line
from adnominal.training.files import check_folder
from adnominal.training.models.loading import resolve
from adnominal.training.runs import Runs, folder_name
from adnominal.training.sharding import read_deepspeed
from adnominal.training.tasks import Dataset, Examples, Task
from adnominal.training.tracking import Run

JOB = "score"
# Rows of a chunk, of which a killed run repeats at most one.
CHUNK = 512
log = logging.getLogger("adnominal")


@dataclass(frozen=True)
class ExampleRows:
    """The examples of a dataset's only part as chunks to answer, in their order."""

    dataset: Dataset

    @property
    def examples(self) -> Examples:
        (examples,) = self.dataset.parts.values()
        return examples

    @property
    def sizes(self) -> Sequence[int]:
        whole, rest = divmod(len(self.examples), CHUNK)
        return [CHUNK] * whole + [rest] * bool(rest)

    def read(self, chunk: int) -> Chunk:
        """Return a chunk, with gold labels or texts."""
        start = chunk * CHUNK
        examples = self.examples.take(np.arange(start, start + self.sizes[chunk]))
        sources = [self.dataset.sources[number] for number in examples.origin]
        gold: Any = examples.targets
        if examples.gold is not None:
            gold = pa.array(self.dataset.outcomes, pa.string()).take(pa.array(examples.gold))
        columns = {
            "item_id": examples.item_ids,
            "gold": gold,
            "edition": [source.edition for source in sources],
            "table_version": [source.version for source in sources],
        }
        return Chunk(examples, columns)


class Cell(NamedTuple):
    """A combination of model and task that can be scored."""

    model: ScoredModel
    target: Target
    work: Work


def score(settings: ScoreSettings) -> None:
    """Score fine-tuned models on the labelled rows of any task, each cell of the matrix once.

    The answers of a model that was trained on another task are interpreted by conf/transfer.yaml.
    Every prediction is written to the table predictions, and all figures to MLflow. With
    method=logprob, language models score the texts of a table (`answering.sentences`).
    """
    if settings.method == "logprob":
        score_texts(settings)
        return
    cells, undefined_cells = prepare(settings)
    runs = Runs(JOB, settings, settings.experiment or JOB)
    folders = [cell.work.folder.name for cell in cells]
    mlflow_file = Path(settings.out) / f"{conf.settings_hash({'cells': folders})}.mlflow.json"
    models = len({cell.work.source.name for cell in cells})
    name = settings.run_name or f"{models} models on {', '.join(settings.tasks)}"
    with runs.group(name, mlflow_file, len(cells)) as parent:
        results = results_of(runs, settings, [cell.work for cell in cells], parent)
        if launch.rank() == 0:
            _report(cells, results, undefined_cells, parent)


def prepare(settings: ScoreSettings) -> tuple[list[Cell], dict[tuple[str, str], str]]:
    """Return the cells that can be scored, and why others cannot, by (model, task).

    Raises:
        UserError: models, labels, tasks or settings do not exist or do not fit, or no cell is left.
    """
    launch.environment()
    check_folder("out", Path(settings.out))
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


def _cell(model: ScoredModel, target: Target, settings: ScoreSettings, content: str) -> Cell:
    source, task = model.source, target.task(model.form)
    dataset = target.dataset(model.form)
    reading = _reading(model, task, dataset)
    identity = {
        "content": content,
        "task": dataclasses.asdict(task.settings),
        "data": grid.content(dataset),
    }
    folder = Path(settings.out) / _folder_name(model, target, settings, identity)
    label = f"{source.name} on {target.key}"
    names = None
    if reading is not None:
        order = [model.labels.index(label) for label in model.labels_in_order]
        names = LabelNames([reading[label] for label in model.labels], order, model.labels)
    columns = {
        "task": dataset.task,
        "scheme": dataset.scheme,
        "fold": dataset.fold,
        "seed": settings.seed,
        "model": source.name,
    }

    def summary(answers: Answers, run_id: str) -> dict[str, Any]:
        rows = answers.read_all(run_id)
        examples = dataset.parts[target.part]
        text = details(f"{label}, {target.part}", rows, examples, target.name)
        replace_text(folder / "scores.md", text)
        figures = _figures(task, dataset, rows)
        log.info("%s: %s", label, figures_line(figures))
        return {"task": dataset.task, "key": target.key, "figures": figures}

    own_task = source.trained is not None and source.trained.task.get("name") == target.name
    work = Work(
        source,
        folder,
        label,
        names,
        columns,
        facts=_facts(model, target, task, dataset, reading),
        rows=lambda run: ExampleRows(dataset),
        summary=summary,
        sources=dataset.sources,
        # The token limit of training applies only to the model's own task: PLANE's twelve tokens
        # would cut off the hypothesis of most pairs.
        whole_texts=reading is not None and settings.max_length is None and not own_task,
    )
    return Cell(model, target, work)


def _folder_name(
    model: ScoredModel, target: Target, settings: ScoreSettings, identity: Mapping[str, Any]
) -> str:
    """Return the name of a cell's folder: a hash of all that decides the answers."""
    return folder_name(
        {
            **identity,
            "model": model.source.name,
            "labels": model.labels,
            "form": model.form,
            "part": target.part,
            "limit": target.limit,
            "seed": settings.seed,
            "max_length": settings.max_length,
            "precision": settings.precision,
            "maps": label_map.fingerprint(),
        }
    )


def _reading(model: ScoredModel, task: Task, dataset: Dataset) -> Mapping[str, str] | None:
    """Return the task's label for each of the model's; None for a model that writes texts.

    Raises:
        Undefined: the model's answers have no reading as the task's.
    """
    declared, trained = task.dataset_spec, model.source.trained
    if (model.form == "text") != (declared is not None and declared.labels is None):
        # One of the two has no labels; this raises the reason.
        label_map.label_reading(model.labels, ())
    if model.form != "text":
        return label_map.label_reading(model.labels, dataset.outcomes)
    if trained is not None and trained.dataset != dataset.task:
        raise Undefined(f"A model of {trained.dataset} does not write meanings of {dataset.task}.")
    return None


def _facts(
    model: ScoredModel,
    target: Target,
    task: Task,
    dataset: Dataset,
    reading: Mapping[str, str] | None,
) -> dict[str, Any]:
    """Return the facts of a run besides its settings: task, model, and label mapping."""
    trained = model.source.trained
    facts: dict[str, Any] = {
        "task": {"name": target.name, **dataclasses.asdict(task.settings)},
        "model_name": model.source.name,
        "form": model.form,
        "part": target.part,
        "classes": list(model.labels_in_order),
        "rows": len(dataset.parts[target.part]),
        "processes": launch.world_size(),
    }
    if trained is not None:
        facts |= {"trained_on": trained.dataset, "trained_from": trained.model}
    if reading is not None:
        facts["reading"] = reading
    return facts


def _figures(task: Task, dataset: Dataset, rows: pa.Table) -> dict[str, float]:
    """Return the scores of the predictions of all rows of the dataset's only part."""
    (part,) = dataset.parts
    answers: Any = rows["text"].to_pylist()
    if dataset.kind == "classification":
        # The model has other classes than the task: its answers are the task's outcomes.
        outcomes = dataset.outcomes
        places = np.arange(len(outcomes))
        dataset = dataclasses.replace(dataset, labels=outcomes, outcome_of=places)
        answers = np.array([outcomes.index(name) for name in rows["predicted"].to_pylist()])
    figures = task.evaluate(dataset, part, answers)
    return {f"{part}/{name}": value for name, value in figures.items()}


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
