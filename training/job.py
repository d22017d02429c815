"""``training/finetune.py``: trains the runs of a command, and summarises them."""

import dataclasses
import gc
import json
import logging
import math
import shutil
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from adnominal import conf
from adnominal.conf import JobFailed, UserError
from adnominal.conf.files import replace_text
from adnominal.training import devices, grid, launch, predictions
from adnominal.training.estimates import estimate
from adnominal.training.evaluation import Evaluation, figures_line
from adnominal.training.files import replace_json
from adnominal.training.models.cards import card
from adnominal.training.models.loading import trained_facts
from adnominal.training.models.pretrained import ADAPTERS
from adnominal.training.planning import TrainingRun, identity, prepare
from adnominal.training.runs import Outcome, Plan, Runs, read_result
from adnominal.training.settings import Settings
from adnominal.training.sharding import training_precision
from adnominal.training.tracking import Run

JOB = "finetune"
_LIBRARIES = ("torch", "transformers", "accelerate", "deepspeed")
# MLflow shows a dozen figures of a run; steps.jsonl and figures.json have all.
_FINAL_SCORES = ("accuracy", "majority", "macro_f1")
# SyGNS's main figures are by quantifier (table 4 of its paper).
_FINAL_GROUPS = "accuracy/quantifier."
_SHOWN_FIGURES = (
    *("train/loss", "train/learning_rate", "train/grad_norm", "train/samples_per_second"),
    *("train/padding_efficiency", "train/memory_gib", "train/mfu"),
    *("val/loss", "val/accuracy", "val/macro_f1"),
)
log = logging.getLogger("adnominal")


def finetune(settings: Settings) -> None:
    """Fine-tune a model, or train a sequence-to-sequence model, on a table of the lake.

    Runs every combination of grid.*, train_size= and seeds= once; each can be resumed. Writes
    weights and figures below out=, every prediction to the table predictions, and everything to
    MLflow.
    """
    execute(settings, prepare(settings))


def execute(settings: Settings, runs: Sequence[TrainingRun]) -> None:
    """Execute the unfinished runs of `settings`; then summarise all of them.

    Raises:
        JobFailed: the only run failed, or some of several; the others are finished.
        UserError: the only run found a mistake that could not be found earlier.
    """
    if settings.dry_run is not None:
        if launch.rank() == 0:
            for run in runs:
                cost = estimate(run.settings, run.learner, settings.dry_run)
                print(f"{run.label}: {cost.text}")
        return
    launch.start(backend=settings.ddp_backend, timeout=settings.ddp_timeout)
    first = runs[0]
    out = first.folder.parent
    records = Runs(JOB, settings, settings.experiment or first.task.name)
    name = settings.run_name or f"{first.dataset.task}: {len(runs)} runs"
    # Seeds that are added later belong to the same grid.
    grid_name = conf.settings_hash({"groups": sorted({run.group for run in runs})})
    results, failures = [], []
    with records.group(name, out / f"{grid_name}.mlflow.json", len(runs)) as parent:
        reasons = _spread(settings, runs, records, parent)
        for number, run in enumerate(runs, 1):
            if parent is not None and launch.rank() == 0:
                log.info("run %d of %d: %s", number, len(runs), run.label)
            try:
                if run.folder in reasons:
                    raise JobFailed(reasons[run.folder])
                results.append(_result(run, records, parent))
            except Exception as error:
                reason = _reason(error, alone=len(runs) == 1)
                failures.append(f"{run.label} ({reason})")
                log.error("failed: %s", failures[-1])
            gc.collect()
        if launch.rank() == 0 and results:
            _summarise(settings, out, results, parent, _recorded_results(runs))
        if failures:
            raise JobFailed(f"{len(failures)} of {len(runs)} runs failed: {'; '.join(failures)}")


def _result(run: TrainingRun, records: Runs, parent: Run | None) -> dict[str, Any]:
    """Return the result of a run, trained now or at an earlier start."""
    plan = _plan(run)
    result = records.run_once(plan, lambda record: train(run, record), parent)
    if result.get("group") != run.group:
        raise JobFailed(
            f"{run.folder}: its result.json is not of this version of training/finetune.py; "
            "delete the folder and run the same command again"
        )
    if launch.rank() == 0:
        shutil.rmtree(run.folder / "checkpoints", ignore_errors=True)
    # The same run may be in another grid with other axes.
    return {**result, "changes": dict(run.changes)}


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
    settings: Settings, runs: Sequence[TrainingRun], records: Runs, parent: Run | None
) -> dict[Path, str]:
    """Execute the unfinished runs of a grid on the devices, if there are several places.

    Return the reasons of failed runs by folder.
    """
    queue = [run for run in runs if not records.is_finished(run.folder)]
    available = devices.of_settings(settings)
    if len(queue) < 2 or not devices.are_shared(available):
        return {}
    return devices.spread(queue, available, lambda run: records.announce(_plan(run), parent))


def _plan(run: TrainingRun) -> Plan:
    name = run.settings.run_name or run.name
    return Plan(run.folder, name, run.settings, _facts(run), run.dataset.sources, run.group)


def _facts(run: TrainingRun) -> dict[str, Any]:
    """Return what is recorded beside a run's settings."""
    return {
        "task": dataclasses.asdict(run.task.settings),
        "model_name": run.learner.name,
        "parameters": run.learner.parameters(),
        "processes": launch.world_size(),
        "precision_used": training_precision(run.settings),
        "train_examples": run.train_examples,
    }


def train(run: TrainingRun, record: Run) -> Outcome:
    """Train a run, or resume it; return its result, predictions and figures."""
    from adnominal.training import fitting
    from adnominal.training.models.encoders import PairLearner

    settings, learner = run.settings, run.learner
    learner.prepare()
    truncated_counts = learner.truncated()
    if launch.rank() == 0 and any(truncated_counts.values()):
        log.info("texts longer than the token limit were cut: %s", truncated_counts)

    if launch.rank() == 0:
        _report_conditions(run)
        record.start_monitor()

    def figures_of(part: str, evaluation: Evaluation) -> dict[str, float]:
        return _figures(run, part, evaluation)

    fitted = fitting.fit(
        settings,
        learner,
        run.folder,
        figures=figures_of,
        on_figures=lambda step, figures: record.metrics(_shown_figures(figures), step),
    )
    weights = run.folder / "model"
    parts = tuple(part for part in run.dataset.parts if part != "train")
    evaluations = fitting.predict_parts(settings, learner, run.folder, parts)
    if settings.lora.r and settings.lora.merge and launch.rank() == 0:
        assert isinstance(learner, PairLearner)
        learner.merge(weights, run.folder / "merged")
    figures: dict[str, float] = {}
    for part, evaluation in evaluations.items():
        named = {f"{part}/{name}": value for name, value in figures_of(part, evaluation).items()}
        figures |= named
    answers = {
        part: evaluation.predicted
        for part, evaluation in evaluations.items()
        if evaluation.predicted is not None
    }
    figures |= run.task.combined_metrics(run.dataset, answers)
    result = {
        "changes": dict(run.changes),
        "seed": settings.seed,
        "group": run.group,
        "figures": figures,
        "updates": fitted.updates,
        "best_update": fitted.best_update,
        "stopped_early": fitted.stopped_early,
        "seconds": fitted.seconds,
        "samples_per_second": fitted.samples / fitted.seconds if fitted.seconds else None,
        "shortened": truncated_counts,
    }
    if launch.rank() != 0:
        return Outcome(result)
    log.info("%s: %s", run.label, figures_line(figures))
    card_text = _model_card(run, weights, figures)
    _log_answers(run, record, weights, evaluations)
    record.describe(_description(run, figures))
    return Outcome(
        result,
        predictions=_rows(run, evaluations, record.name),
        metrics=main_figures(figures),
        texts={
            "model_card.md": card_text,
            "figures.json": json.dumps(figures, indent=1) + "\n",
        },
        step=fitted.updates,
    )


def _report_conditions(run: TrainingRun) -> None:
    """Store how the run is executed; a resumed run reports what is different now in one line."""
    settings = run.settings
    conditions: dict[str, Any] = {
        "processes": launch.world_size(),
        "deepspeed": settings.deepspeed,
        "per_device_train_batch_size": settings.per_device_train_batch_size,
        "activation_checkpointing": settings.activation_checkpointing,
        "torch_compile": settings.torch_compile,
        "attention": settings.attention,
        **{name: version(name) for name in _LIBRARIES},
    }
    path = run.folder / "conditions.json"
    if path.is_file():
        earlier = json.loads(path.read_text(encoding="utf-8"))
        changes = [
            f"{name}={value} (was {earlier.get(name)})"
            for name, value in conditions.items()
            if value != earlier.get(name)
        ]
        if changes:
            log.info("the run goes on with %s", ", ".join(changes))
    replace_json(path, conditions)


def _figures(run: TrainingRun, part: str, evaluation: Evaluation) -> dict[str, float]:
    """Return loss and scores of a part by name."""
    figures = {} if evaluation.loss is None else {"loss": evaluation.loss}
    if evaluation.predicted is not None:
        figures |= run.task.evaluate(run.dataset, part, evaluation.predicted)
    return figures


def main_figures(figures: Mapping[str, float]) -> dict[str, float]:
    """Return the figures that MLflow shows, named ``final/PART/NAME``; the others are in a file."""
    shown = {}
    for name, value in figures.items():
        _, _, score = name.partition("/")
        if score in _FINAL_SCORES or score.startswith(_FINAL_GROUPS):
            shown[f"final/{name}"] = value
    return shown


def _shown_figures(figures: Mapping[str, float]) -> dict[str, float]:
    """Return those figures of an update or an evaluation that MLflow shows."""
    return {name: value for name, value in figures.items() if name in _SHOWN_FIGURES}


def _description(run: TrainingRun, figures: Mapping[str, float]) -> str:
    """Return what MLflow shows about a run: its data, and its score beside the majority's."""
    dataset = run.dataset
    sizes = ", ".join(f"{len(rows):,} {part}" for part, rows in dataset.parts.items())
    text = f"{run.learner.name} on {dataset.task}, edition {dataset.edition} ({sizes})."
    part = next((part for part in ("test", "val") if f"{part}/accuracy" in figures), None)
    if part is None:
        return text
    text += f" Accuracy on {part}: {figures[f'{part}/accuracy']:.4f}"
    if f"{part}/majority" in figures:
        text += f", majority {figures[f'{part}/majority']:.4f}"
    return text + "."


def _model_card(run: TrainingRun, weights: Path, figures: Mapping[str, float]) -> str:
    """Write model card and training data record beside the weights, and beside merged ones."""
    settings = run.settings
    text = card(
        run.learner,
        task=run.task.name,
        train_examples=run.train_examples,
        settings=identity(settings),
        figures=figures,
        code=conf.code_version(),
    )
    merged = run.folder / "merged"
    for folder in (weights, merged) if merged.is_dir() else (weights,):
        replace_text(folder / "README.md", text)
        is_adapted = (folder / ADAPTERS).is_file()
        base_content = run.model_content if is_adapted else None
        facts = trained_facts(run.task, run.dataset, run.learner, settings.seed, base_content)
        facts.write(folder)
    return text


def _rows(run: TrainingRun, evaluations: Mapping[str, Evaluation], run_id: str) -> pa.Table | None:
    """Return the predictions of the run as rows of the table predictions."""
    seed, model = run.settings.seed, run.learner.name
    parts = [
        predictions.of_part(run.dataset, part, evaluation, run_id=run_id, seed=seed, model=model)
        for part, evaluation in evaluations.items()
        if evaluation.predicted is not None
    ]
    return pa.concat_tables(parts) if parts else None


def _log_answers(
    run: TrainingRun, record: Run, weights: Path, evaluations: Mapping[str, Evaluation]
) -> None:
    """Log confusion matrices and the model to MLflow."""
    from sklearn.metrics import confusion_matrix

    dataset = run.dataset
    for part, evaluation in evaluations.items():
        gold = dataset.parts[part].gold
        if evaluation.scores is not None and gold is not None:
            answers = dataset.outcome_of[np.asarray(evaluation.predicted)]
            counts = confusion_matrix(gold, answers, labels=range(len(dataset.outcomes)))
            record.confusion(counts, dataset.outcomes, f"confusion_{part}")
    if run.settings.log_model:
        instructed = run.learner.instructed
        pair = dataset.parts["train"].second is not None and not instructed
        record.model(weights, pair=pair, generates=instructed or dataset.kind == "seq2seq")


def _recorded_results(runs: Sequence[TrainingRun]) -> list[dict[str, Any]]:
    """The results of all finished runs of a grid, with seeds of other commands too."""
    changes = {run.group: dict(run.changes) for run in runs}
    # A grid over task.name= has a folder for each task.
    folders = {run.folder.parent for run in runs}
    paths = sorted(path for folder in folders for path in folder.glob("*/result.json"))
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
        if missing := grid.missing_seeds(row, settings.seeds):
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
        means = {name: statistics["mean"] for name, statistics in winner["figures"].items()}
        for name in main_figures(means):
            statistics = winner["figures"][name.removeprefix("final/")]
            # NaN replaces a deviation that an earlier winner had and a single run lacks.
            deviation = statistics.get("deviation", math.nan)
            parent.metrics({f"{name}/mean": statistics["mean"], f"{name}/deviation": deviation})
    parent.describe(text)


def _summary(
    settings: Settings, results: Sequence[Mapping[str, Any]]
) -> tuple[dict[str, Any], str]:
    """Return the figures of each combination with the best, for summary.json, and their table.

    The best of several combinations is chosen on the validation part, or not at all.
    """
    rows = grid.summary(results)
    validated = _are_validated(results)
    metric = settings.metric_for_best_model.removeprefix("eval_")
    key = f"{'val' if validated else 'test'}/{metric}"
    smallest = metric == "loss"
    winner = grid.best(rows, key, smallest=smallest, seeds=settings.seeds)
    if len(rows) > 1 and not validated:
        winner = None
    main = ("accuracy", "macro_f1")
    columns = [k for k in rows[0]["figures"] if k.split("/")[-1] in main]
    summary = {"by": key if winner else None, "best": winner, "combinations": rows}
    return summary, grid.summary_table(rows, columns)


def _are_validated(results: Sequence[Mapping[str, Any]]) -> bool:
    return all(any(name.startswith("val/") for name in run["figures"]) for run in results)
