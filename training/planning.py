"""The runs of a command: settings and data become runs, each with a folder and an identity.

Everything is checked here, before the first run starts.
"""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adnominal import conf
from adnominal.conf import UserError
from adnominal.training import grid, launch, memory, tasks
from adnominal.training.arguments import LIBRARY_DEFAULTS, PassedArguments
from adnominal.training.estimates import estimate
from adnominal.training.files import check_space
from adnominal.training.finished_runs import short_name
from adnominal.training.models.learner import Learner
from adnominal.training.models.loading import folder_content
from adnominal.training.models.pretrained import check_whole
from adnominal.training.runs import folder_name
from adnominal.training.settings import Settings
from adnominal.training.sharding import read_deepspeed, training_precision
from adnominal.training.tasks import Dataset, Task
from adnominal.training.tasks.votes import with_votes

SCHEME = 2
"""The version of `identity`: a run of another one is not found again, and is left alone."""


@dataclass(frozen=True)
class TrainingRun:
    """One training: its settings and data, the folder of its state, and its group.

    `label` distinguishes it in a grid; `changes` are the values of the grid's axes. Runs of one
    `group` differ only in their seeds. `model_content` is the content of a model that is a folder.
    """

    label: str
    settings: Settings
    changes: Mapping[str, Any]
    task: Task
    dataset: Dataset
    learner: Learner
    folder: Path
    group: str
    model_content: str | None

    @property
    def name(self) -> str:
        """``all-mpnet-base-v2 adept/published 5-class seed 0``: what it is."""
        dataset = self.dataset
        parts = [short_name(self.learner.name), f"{self.task.name}/{dataset.edition}"]
        if dataset.labels:
            parts.append(f"{len(dataset.labels)}-class")
        parts += [f"{key}={value}" for key, value in self.changes.items()]
        return " ".join([*parts, f"seed {self.settings.seed}"])

    @property
    def train_examples(self) -> int:
        """How many examples of the training part the run is trained on."""
        return self.settings.size or len(self.dataset.parts["train"])


def identity(settings: Settings) -> dict[str, Any]:
    """Return the settings that decide a run's result.

    Of the Trainer's arguments, only those that differ from the library's defaults are in it, so
    that a later version's new arguments leave identities as they are. The size of an update counts,
    not its division into micro-batches and processes.
    """
    values = conf.identity(settings)
    for argument in dataclasses.fields(PassedArguments):
        default = argument.default
        if argument.default_factory is not dataclasses.MISSING:
            default = argument.default_factory()
        if argument.name in values:
            default = LIBRARY_DEFAULTS.get(argument.name, default)
            if values[argument.name] == default:
                del values[argument.name]
    # Runs from before these settings existed keep their identity.
    if values["labels"] == "gold":
        del values["labels"]
    if not values["seq2seq"]["padding_loss"]:
        del values["seq2seq"]["padding_loss"]
    return {**values, "batch_size": memory.update_size(settings), "scheme": SCHEME}


def prepare(settings: Settings) -> list[TrainingRun]:
    """Return the runs of a command, ready to start.

    Raises:
        UserError: a task, model or setting is refused, fp16 is requested on a CPU, or the disk is
            too small.
    """
    launch.environment()
    runs: list[TrainingRun] = []
    # The tasks and datasets that were read, with the hash of their data, by task.* and labels=.
    loaded_datasets: dict[str, tuple[Task, Dataset, str]] = {}
    contents: dict[str, str | None] = {}
    for point in grid.points(settings):
        single = point.settings
        training_precision(single)
        read_deepspeed(single.deepspeed)
        key = json.dumps([single.task, single.labels], sort_keys=True, default=str)
        if key not in loaded_datasets:
            task, dataset = _load(single)
            loaded_datasets[key] = task, dataset, grid.content(dataset)
        task, dataset, data = loaded_datasets[key]
        _check_metric(single, dataset)
        if single.size is not None:
            tasks.nested_subset(dataset.parts["train"].item_ids, single.size, single.seed)
        model = learner(dataset, single)
        content = {"data": data}
        # A dry run has no folder and need not read all weights.
        if model.pretrained is not None and single.dry_run is None:
            if model.pretrained not in contents:
                verify = single.verify_model
                contents[model.pretrained] = folder_content(model.pretrained, verify)
            # Other weights in the same folder are another model, and thus another run.
            if (model_content := contents[model.pretrained]) is not None:
                content["model_content"] = model_content
        decisive = identity(single)
        out = Path(single.out or f"runs/{task.name}")
        runs.append(
            TrainingRun(
                label=point.label,
                settings=single,
                changes=point.changes,
                task=task,
                dataset=dataset,
                learner=model,
                folder=out / folder_name(decisive, **content),
                group=folder_name({**decisive, "seeds": []}, **content),
                model_content=content.get("model_content"),
            )
        )
    check_room(runs)
    return runs


def _load(settings: Settings) -> tuple[Task, Dataset]:
    """Return the task and its dataset, which must have a training part."""
    task = tasks.task(settings.task)
    dataset = task.load(settings.lake)
    if "train" not in dataset.parts:
        raise UserError(
            f"task.scheme={dataset.scheme}: {dataset.task} has no rows to train on there; "
            "it is for training/score.py"
        )
    if settings.labels == "soft":
        dataset = with_votes(task, dataset, settings.lake)
    return task, dataset


def _check_metric(settings: Settings, dataset: Dataset) -> None:
    """Raise `UserError` for a metric that the dataset's kind does not have."""
    metric = settings.metric_for_best_model.removeprefix("eval_")
    if metric not in ("accuracy", "macro_f1", "loss"):
        raise UserError(f"metric_for_best_model={metric}: expected accuracy, macro_f1 or loss")
    if metric == "macro_f1" and dataset.kind != "classification":
        raise UserError(
            f"metric_for_best_model=macro_f1: {dataset.task} has no classes for an F1; expected "
            "accuracy or loss"
        )


def check_room(runs: Sequence[TrainingRun]) -> None:
    """Raise `UserError` if the disk has too little space for the output of the runs."""
    if runs[0].settings.dry_run is not None:
        return
    # Most points of a grid write the same amount.
    sizes = {_size_key(run): run for run in runs}.values()
    ranks = launch.world_size()
    largest = max(estimate(run.settings, run.learner, ranks).disk for run in sizes)
    check_space(runs[0].folder.parent, largest)


def _size_key(run: TrainingRun) -> str:
    """A key of the settings that decide how much a run writes."""
    names = ("lora", "freeze", "seq2seq", "deepspeed", "bf16", "fp16")
    return repr([run.learner.name, *(getattr(run.settings, name) for name in names)])


def learner(dataset: Dataset, settings: Settings) -> Learner:
    """Return the learner for a dataset's kind of model.

    Raises:
        UserError: the kind does not support some settings, or the model is a folder of adapters.
    """
    if settings.instructions or dataset.kind != "seq2seq":
        check_whole(settings.model)
        if settings.seq2seq.beam > 1:
            raise UserError(
                f"seq2seq.beam={settings.seq2seq.beam}: only models trained from scratch (sygns "
                "without instructions=true) decode with a beam; expected 1"
            )
    if settings.instructions:
        from adnominal.training.models.instructions import InstructionLearner

        return InstructionLearner(dataset, settings)
    if dataset.kind == "seq2seq":
        if settings.lora.r or settings.freeze or settings.activation_checkpointing:
            raise UserError(
                f"task.name={settings.task.get('name')}: its model is trained from scratch; "
                "expected neither lora.r, freeze=true nor activation_checkpointing=true"
            )
        if settings.model != Settings.model:
            raise UserError(
                f"model={settings.model}: task.name={settings.task.get('name')} trains a model "
                "from scratch (seq2seq.*); expected instructions=true with it, which teaches a "
                "decoder"
            )
        from adnominal.training.models.seq2seq import Seq2SeqLearner

        return Seq2SeqLearner(dataset, settings.seq2seq)
    from adnominal.training.models.encoders import PairLearner

    return PairLearner(dataset, settings)
