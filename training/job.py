"""``training/finetune.py``: settings become runs, and runs produce predictions and weights."""

import dataclasses
import functools
import gc
import json
import logging
import math
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from adnominal import conf
from adnominal.conf import JobFailed, UserError
from adnominal.training import devices, grid, launch, predictions, tasks
from adnominal.training.estimates import estimate
from adnominal.training.evaluation import Evaluation, figures_line
from adnominal.training.files import check_space, replace_json, replace_text
from adnominal.training.grid import Point
from adnominal.training.models.cards import card
from adnominal.training.models.learner import Learner
from adnominal.training.models.loading import folder_content, trained_facts
from adnominal.training.models.pretrained import ADAPTERS, check_whole
from adnominal.training.runs import Outcome, Plan, Runs, folder_name, read_result
from adnominal.training.settings import Settings
from adnominal.training.sharding import precision_of, read_deepspeed
from adnominal.training.tasks import Dataset, Task
from adnominal.training.tracking import Run

JOB = "finetune"
log = logging.getLogger("adnominal")


@dataclasses.dataclass(frozen=True)
class Work:
    """A point of a grid with everything it needs, already checked.

    Runs of one `group` differ only in their seeds; `model_content` is the content of a model that
    is a folder.
    """

    point: Point
    task: Task
    dataset: Dataset
    learner: Learner
    folder: Path
    group: str
    model_content: str | None = None

    @property
    def train_examples(self) -> int:
        """How many examples of the training part the run is trained on."""
        return self.point.settings.size or len(self.dataset.parts["train"])


def finetune(settings: Settings) -> None:
    """Fine-tune an encoder or train a sequence-to-sequence model on a table of the lake.

    Runs every combination of grid.*, train_size= and seeds= once; each can be resumed. Writes
    weights and figures below out=, every prediction to the table predictions, and everything to
    MLflow.
    """
    execute(settings, prepare(settings))


def execute(settings: Settings, work: Sequence[Work]) -> None:
    """Execute the unfinished runs of `settings`; then summarise all of them.

    Raises:
        JobFailed: the only run failed, or some of several; the others are finished.
        UserError: the only run found a mistake that could not be found earlier.
    """
    if settings.dry_run is not None:
        if launch.rank() == 0:
            for run_work in work:
                cost = estimate(run_work.point.settings, run_work.learner, settings.dry_run)
                print(f"{run_work.point.label}: {cost.text}")
        return
    launch.start()
    first = work[0]
    grid_folder = first.folder.parent
    runs = Runs(JOB, settings, settings.experiment or first.task.name)
    name = settings.run_name or f"{first.dataset.task}: {len(work)} runs"
    # Seeds that are added later belong to the same grid.
    grid_name = conf.settings_hash({"groups": sorted({run_work.group for run_work in work})})
    results, failures = [], []
    with runs.group(name, grid_folder / f"{grid_name}.mlflow.json", len(work)) as parent:
        reasons = _spread(settings, work, runs, parent)
        for number, run_work in enumerate(work, 1):
            if parent is not None and launch.rank() == 0:
                log.info("run %d of %d: %s", number, len(work), run_work.point.label)
            try:
                if run_work.folder in reasons:
                    raise JobFailed(reasons[run_work.folder])
                result = runs.once(
                    _plan(run_work), functools.partial(_training_outcome, run_work), parent
                )
                _check_result(result, run_work)
                # The same run may be in another grid with other axes.
                results.append({**result, "changes": dict(run_work.point.changes)})
                if launch.rank() == 0 and not settings.keep_checkpoints:
                    shutil.rmtree(run_work.folder / "checkpoints", ignore_errors=True)
            except Exception as error:
                reason = _reason(error, alone=len(work) == 1)
                failures.append(f"{run_work.point.label} ({reason})")
                log.error("failed: %s", failures[-1])
            gc.collect()
        if launch.rank() == 0 and results:
            _summarise(settings, grid_folder, results, parent, _recorded_results(work))
        if failures:
            raise JobFailed(f"{len(failures)} of {len(work)} runs failed: {'; '.join(failures)}")


def _check_result(result: Mapping[str, Any], work: Work) -> None:
    """Raise `JobFailed` for the result of another version of this program."""
    if result.get("group") != work.group:
        raise JobFailed(
            f"{work.folder}: its result.json is not of this version of training/finetune.py; "
            "delete the folder and run the same command again"
        )


def _reason(error: Exception, *, alone: bool) -> str:
    """Return why a run of several failed; re-raise the error of a run that is `alone`.

    Under a launcher errors other than `JobFailed` are raised again too, since only some of the
    processes may have met them.
    """
    if alone:
        raise error
    if isinstance(error, JobFailed):
        return str(error)
    if launch.world_size() > 1:
        raise error
    if isinstance(error, UserError):
        return str(error)
    # A bug in this program or a library: reporting it needs the traceback.
    log.error("an unexpected error", exc_info=error)
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


def _spread(
    settings: Settings, work: Sequence[Work], runs: Runs, parent: Run | None
) -> dict[Path, str]:
    """Execute the unfinished runs of a grid on the devices, if there are several.

    Return the reasons of failed runs by folder.
    """
    queue = [
        devices.QueuedRun(run_work.point.label, run_work.point.settings, run_work.folder)
        for run_work in work
        if not runs.is_finished(run_work.folder)
    ]
    environments = devices.environments(settings)
    if min(len(environments), len(queue)) < 2:
        return {}
    plans = {run_work.folder: _plan(run_work) for run_work in work}
    return devices.spread(queue, environments, lambda run: runs.announce(plans[run.folder], parent))


def prepare(settings: Settings) -> list[Work]:
    """Prepare everything that the runs need, to report mistakes before the first run starts.

    Raises:
        UserError: a task, model or setting is refused, fp16 is requested on a CPU, or the disk is
            too small.
    """
    launch.environment()
    work: list[Work] = []
    # The tasks and datasets that were read, with the hash of their data, by the settings task.*.
    loaded_datasets: dict[str, tuple[Task, Dataset, str]] = {}
    contents: dict[str, str | None] = {}
    for point in grid.points(settings):
        single = point.settings
        precision_of(single)
        read_deepspeed(single.deepspeed)
        key = json.dumps(single.task, sort_keys=True, default=str)
        if key not in loaded_datasets:
            task, dataset = _load(single)
            loaded_datasets[key] = task, dataset, grid.content(dataset)
        task, dataset, data = loaded_datasets[key]
        _check_metric(single, dataset)
        if single.size is not None:
            tasks.nested_subset(dataset.parts["train"].item_ids, single.size, single.seed)
        out = Path(single.out or f"runs/{task.name}")
        model = learner(dataset, single)
        content = {"data": data}
        # A dry run has no folder and need not read all weights.
        if model.pretrained is not None and single.dry_run is None:
            if model.pretrained not in contents:
                contents[model.pretrained] = folder_content(model.pretrained)
            # Other weights in the same folder are another model, and thus another run.
            if (model_content := contents[model.pretrained]) is not None:
                content["model_content"] = model_content
        folder = out / folder_name(single, **content)
        # Runs that differ only in their seeds form one group.
        group = folder_name({**conf.identity(single), "seeds": [], **content})
        work.append(Work(point, task, dataset, model, folder, group, content.get("model_content")))
    check_room(work)
    return work


def _load(settings: Settings) -> tuple[Task, Dataset]:
    """Return the task and its dataset, which must have a training part."""
    task = tasks.task(settings.task)
    dataset = task.load(settings.lake)
    if "train" not in dataset.parts:
        raise UserError(
            f"task.scheme={dataset.scheme}: {dataset.task} has no rows to train on there; "
            "it is for training/score.py"
        )
    return task, dataset


def _check_metric(settings: Settings, dataset: Dataset) -> None:
    if settings.metric == "macro_f1" and dataset.kind != "classification":
        raise UserError(
            f"metric=macro_f1: {dataset.task} has no classes for an F1; expected accuracy or loss"
        )


def check_room(work: Sequence[Work]) -> None:
    """Raise `UserError` if the disk has too little space for the output of the runs."""
    if work[0].point.settings.dry_run is not None:
        return
    # Most points of a grid write the same amount.
    sizes = {_size_key(run): run for run in work}.values()
    ranks = launch.world_size()
    largest = max(estimate(run.point.settings, run.learner, ranks).disk for run in sizes)
    check_space(work[0].folder.parent, largest)


def _size_key(work: Work) -> str:
    """A key of the settings that decide how much a run writes."""
    settings = work.point.settings
    names = ("lora", "freeze", "seq2seq", "deepspeed", "precision")
    return repr([work.learner.name, *(getattr(settings, name) for name in names)])


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
        if settings.lora.rank or settings.freeze or settings.gradient_checkpointing:
            raise UserError(
                f"task.name={settings.task.get('name')}: its model is trained from scratch; "
                "expected neither lora.rank, freeze=true nor gradient_checkpointing=true"
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


def _plan(work: Work) -> Plan:
    settings = work.point.settings
    name = settings.run_name or work.point.label
    return Plan(work.folder, name, settings, _facts(work), work.dataset.sources, work.group)


def _facts(work: Work) -> dict[str, Any]:
    return {
        "task": dataclasses.asdict(work.task.settings),
        "model_name": work.learner.name,
        "parameters": work.learner.parameters(),
        "processes": launch.world_size(),
        "precision_used": precision_of(work.point.settings),
        "train_examples": work.train_examples,
    }


def _training_outcome(work: Work, run: Run) -> Outcome:
    settings, dataset = work.point.settings, work.dataset
    from adnominal.training.loop import TrainingLoop
    from adnominal.training.models.encoders import PairLearner

    with launch.first_on_machine():
        work.learner.prepare()
    truncated_counts = work.learner.truncated()
    if launch.rank() == 0 and any(truncated_counts.values()):
        log.info("texts longer than the token limit were cut: %s", truncated_counts)
    trainer = TrainingLoop(
        settings,
        work.task,
        work.learner,
        work.folder,
        on_step=lambda step, figures: run.metrics(figures, step),
        on_evaluation=lambda step, figures: run.metrics(figures, step),
    )
    parts = tuple(part for part in dataset.parts if part != "train")
    weights, evaluations = trainer.train(parts)
    lora = settings.lora
    if lora.rank and lora.merge and launch.rank() == 0:
        assert isinstance(work.learner, PairLearner)
        work.learner.merge(weights, work.folder / "merged")
    figures: dict[str, float] = {}
    for part, evaluation in evaluations.items():
        figures |= trainer.figures(part, evaluation)
    answers = {
        part: evaluation.predicted
        for part, evaluation in evaluations.items()
        if evaluation.predicted is not None
    }
    figures |= work.task.combined_metrics(dataset, answers)
    state = trainer.state
    result = {
        "changes": dict(work.point.changes),
        "seed": settings.seed,
        "group": work.group,
        "figures": figures,
        "updates": state.step,
        "best_update": state.best_step,
        "stopped_early": state.stopped,
        "seconds": state.seconds,
        "samples_per_second": trainer.samples / state.seconds if state.seconds else None,
        "shortened": truncated_counts,
    }
    if launch.rank() != 0:
        return Outcome(result)
    log.info("%s: %s", work.point.label, figures_line(figures))
    text = _model_card(work, weights, figures)
    rows = _rows(work, evaluations, run.name)
    _record(work, run, weights, evaluations)
    final = {f"final/{name}": value for name, value in figures.items()}
    return Outcome(result, rows, final, {"model_card.md": text}, state.step)


def _model_card(work: Work, weights: Path, figures: Mapping[str, float]) -> str:
    """Write model card and training data record beside the weights, and beside merged ones."""
    settings = work.point.settings
    text = card(
        work.learner,
        task=work.task.name,
        train_examples=work.train_examples,
        settings=conf.identity(settings),
        figures=figures,
        code=conf.code_version(),
    )
    merged = work.folder / "merged"
    for folder in (weights, merged) if merged.is_dir() else (weights,):
        replace_text(folder / "README.md", text)
        is_adapted = (folder / ADAPTERS).is_file()
        base_content = work.model_content if is_adapted else None
        facts = trained_facts(work.task, work.dataset, work.learner, settings.seed, base_content)
        facts.write(folder)
    return text


def _rows(work: Work, evaluations: Mapping[str, Evaluation], run_id: str) -> pa.Table | None:
    """Return the predictions of the run as rows of the table predictions."""
    seed, model = work.point.settings.seed, work.learner.name
    parts = [
        predictions.of_part(work.dataset, part, evaluation, run_id=run_id, seed=seed, model=model)
        for part, evaluation in evaluations.items()
        if evaluation.predicted is not None
    ]
    return pa.concat_tables(parts) if parts else None


def _record(work: Work, run: Run, weights: Path, evaluations: Mapping[str, Evaluation]) -> None:
    """Log confusion matrices and the model to MLflow."""
    from sklearn.metrics import confusion_matrix

    dataset = work.dataset
    for part, evaluation in evaluations.items():
        gold = dataset.parts[part].gold
        if evaluation.scores is not None and gold is not None:
            answers = dataset.outcome_of[np.asarray(evaluation.predicted)]
            counts = confusion_matrix(gold, answers, labels=range(len(dataset.outcomes)))
            run.confusion(counts, dataset.outcomes, f"confusion_{part}")
    if work.point.settings.log_model:
        instructed = work.learner.instructed
        pair = dataset.parts["train"].second is not None and not instructed
        run.model(weights, pair=pair, generates=instructed or dataset.kind == "seq2seq")


def _recorded_results(work: Sequence[Work]) -> list[dict[str, Any]]:
    """The results of all finished runs of a grid, with seeds of other commands too."""
    changes = {run.group: dict(run.point.changes) for run in work}
    paths = sorted(work[0].folder.parent.glob("*/result.json"))
    results = [result for result, _ in map(read_result, paths) if result is not None]
    grid_results = [
        {**result, "changes": changes[result["group"]]}
        for result in results
        if result.get("group") in changes
    ]
    groups = list(changes)
    return sorted(grid_results, key=lambda result: (groups.index(result["group"]), result["seed"]))


def _summarise(
    settings: Settings,
    out: Path,
    results: Sequence[Mapping[str, Any]],
    parent: Run | None,
    recorded: Sequence[Mapping[str, Any]] = (),
) -> None:
    """Summarise this command's runs on the terminal and in summary.json.

    The parent run gets the figures over all `recorded` runs of the grid, whatever their seeds.
    """
    summary, text = _summary(settings, results)
    replace_json(out / "summary.json", summary)
    if len(summary["combinations"]) > 1 and not _are_validated(results):
        log.info("no best combination chosen: the runs have no validation part")
    for row in summary["combinations"]:
        if missing := grid.lacking(row, settings.seeds):
            name = "the best" if row is summary["best"] else "a combination"
            text = "%s (%s) has its means without the failed seeds %s"
            log.warning(text, name, row["changes"], missing)
    if len(results) == 1:
        return
    print(text)
    if parent is None:
        return
    summary, text = _summary(settings, recorded)
    parent.text(text + "\n", "summary.md")
    parent.text(json.dumps(summary, indent=1) + "\n", "summary.json")
    parent.tags({"seeds": json.dumps(sorted({result["seed"] for result in recorded}))})
    if (winner := summary["best"]) is not None:
        parent.tags({"best": json.dumps(winner["changes"], default=str)})
        parent.metrics(
            {
                # NaN replaces statistics that an earlier winner had and a single run lacks.
                f"{name}/{statistic}": statistics.get(statistic, math.nan)
                for name, statistics in winner["figures"].items()
                for statistic in grid.STATISTICS
            }
        )


def _summary(
    settings: Settings, results: Sequence[Mapping[str, Any]]
) -> tuple[dict[str, Any], str]:
    """Return the figures of each combination with the best, for summary.json, and their table.

    The best of several combinations is chosen on the validation part, or not at all.
    """
    rows = grid.summary(results)
    validated = _are_validated(results)
    key = f"{'val' if validated else 'test'}/{settings.metric}"
    smallest = settings.metric == "loss"
    winner = grid.best(rows, key, smallest=smallest, seeds=settings.seeds)
    if len(rows) > 1 and not validated:
        winner = None
    main = ("accuracy", "macro_f1")
    columns = [k for k in rows[0]["figures"] if k.split("/")[-1] in main]
    summary = {"by": key if winner else None, "best": winner, "combinations": rows}
    return summary, grid.summary_table(rows, columns)


def _are_validated(results: Sequence[Mapping[str, Any]]) -> bool:
    return all(any(name.startswith("val/") for name in run["figures"]) for run in results)
