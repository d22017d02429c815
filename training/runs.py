"""The life of a run, the same for every job: named, executed once, resumed, recorded, committed.

A run's folder is named by a hash of everything that decides its result (`folder_name`): the
settings marked as identity and the content that is read. ``result.json`` is written last and marks
the run as finished. A finished run is never executed again; repeating the command only adds what is
new: predictions in another lake, a version in the registry.
"""

import fcntl
import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, is_dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from adnominal import conf
from adnominal.conf import JobFailed
from adnominal.conf.files import replace_text
from adnominal.etl.lake import arrow
from adnominal.training import launch
from adnominal.training.files import replace_json
from adnominal.training.finished_runs import NESTED
from adnominal.training.tasks import Source
from adnominal.training.tracking import Run, Tracker

_RESULT = "result.json"
log = logging.getLogger("adnominal")


def predictions_file(folder: Path) -> Path:
    """Return the file with a run's rows of the table predictions; not all runs have one."""
    return folder / "predictions.parquet"


def folder_name(settings: Any, **content: Any) -> str:
    """Return the name of a run's folder: a hash of the decisive settings and of `content`.

    `settings` is a settings dataclass, whose identity counts, or a mapping that counts whole. The
    number of processes is not included: a run may continue with another number.
    """
    values = conf.identity(settings) if is_dataclass(settings) else dict(settings)
    return conf.settings_hash({**values, **content})


@dataclass(frozen=True)
class Plan:
    """A run before it starts.

    `name` is its name in MLflow and `settings` are its resolved settings; MLflow records them with
    `parameters`, and `sources` as the tables that it reads. Runs that differ only in seed share a
    `group`.
    """

    folder: Path
    name: str
    settings: Any
    parameters: Mapping[str, Any]
    sources: Sequence[Source] = ()
    group: str | None = None


@dataclass(frozen=True)
class Outcome:
    """The outcome of a run: the content of ``result.json``, and rows of the table predictions.

    Many rows are not in memory: the job has then written them to `predictions_file`. `metrics` go
    to MLflow at update `step`; `texts` are artifacts by file name.
    """

    result: dict[str, Any]
    predictions: pa.Table | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    step: int = 0


class Runs:
    """The runs of one command, with the `settings` of its job and MLflow's `experiment`."""

    def __init__(self, job: str, settings: Any, experiment: str) -> None:
        self.job, self.settings = job, settings
        self.tracker = Tracker(settings.tracking, experiment, job)

    @contextmanager
    def group(self, name: str, mlflow_file: Path, size: int) -> Iterator[Run | None]:
        """Provide a parent run for nested runs, unless their number (`size`) is 1.

        `mlflow_file` keeps its id for the next start of the command.
        """
        if size == 1:
            yield None
            return
        mlflow_file.parent.mkdir(parents=True, exist_ok=True)
        with _end_of_run(self.tracker.run(name, mlflow_file)) as run:
            run.settings(conf.to_dict(self.settings), conf.as_yaml(self.settings))
            run.tags({NESTED: str(size)})
            yield run

    def run_once(
        self, plan: Plan, work: Callable[[Run], Outcome], parent: Run | None = None
    ) -> dict[str, Any]:
        """Return the result of the run: of an earlier start, or made now by `work`."""
        return self.finish(plan.folder, parent=parent) or self.start(plan, work, parent)

    def is_finished(self, folder: Path) -> bool:
        """Whether the run of a folder has finished successfully."""
        return (folder / _RESULT).exists()

    def announce(self, plan: Plan, parent: Run | None) -> None:
        """Create a run in MLflow, nested in `parent`, that another process will execute."""
        plan.folder.mkdir(parents=True, exist_ok=True)
        self._begin(plan, parent)

    def _begin(self, plan: Plan, parent: Run | None) -> Run:
        return self.tracker.run(
            plan.name, plan.folder / "mlflow.json", parent=parent.id if parent else None
        )

    def finish(self, folder: Path, parent: Run | None = None) -> dict[str, Any] | None:
        """Return the result of a finished run, the same in every process; None if unfinished.

        Its predictions are committed to this command's lake, its model is registered and the run is
        nested in `parent`, if not done already.

        Raises:
            JobFailed: its result cannot be read, or its model cannot be registered.
        """
        result: dict[str, Any] | None = None
        problem: str | None = None
        if launch.rank() == 0 and self.is_finished(folder):
            result, problem = read_result(folder / _RESULT)
            if result is not None:
                log.info("already finished (%s); not run again", folder)
                self._commit(folder, result["run_id"])
                run = self.tracker.ended_run(result["run_id"], folder)
                if parent is not None:
                    run.nest(parent.id)
                problem = self._register(run, folder)
        result, problem = launch.broadcast((result, problem))
        if problem is not None:
            raise JobFailed(problem)
        return result

    def start(
        self, plan: Plan, work: Callable[[Run], Outcome], parent: Run | None = None
    ) -> dict[str, Any]:
        """Execute a run, recorded in MLflow from its start to its end.

        Raises:
            JobFailed: another process works on the run, or the model of the run cannot be
                registered.
        """
        problem: str | None = None
        plan.folder.mkdir(parents=True, exist_ok=True)
        with _run_lock(plan.folder), _end_of_run(self._begin(plan, parent)) as run:
            if launch.rank() == 0:
                yaml = conf.as_yaml(plan.settings)
                replace_text(plan.folder / "settings.yaml", yaml)
                run.settings({**conf.to_dict(plan.settings), **plan.parameters}, yaml)
                run.tags({"identity": plan.folder.name, "group": plan.group or plan.folder.name})
                run.inputs(self.settings.lake, plan.sources)
            outcome = work(run)
            outcome.result.setdefault("run_id", run.name)
            if launch.rank() == 0:
                problem = self._save(plan.folder, run, outcome)
            # The other processes wait here and fail if the first does.
            problem = launch.broadcast(problem)
        if problem is not None:
            raise JobFailed(problem)
        return outcome.result

    def _save(self, folder: Path, run: Run, outcome: Outcome) -> str | None:
        """Save predictions, figures and texts, then the result, which marks the run as finished.

        The model is registered afterwards: if that fails, repeating the command only registers it.
        Return why it failed.
        """
        path = predictions_file(folder)
        if outcome.predictions is not None:
            pq.write_table(outcome.predictions, path)
        if path.exists():
            self._commit(folder, run.name)
            run.file(path)
        run.metrics(outcome.metrics, outcome.step)
        for file, text in outcome.texts.items():
            run.text(text, file)
        replace_json(folder / _RESULT, outcome.result)
        return self._register(run, folder)

    def _commit(self, folder: Path, run_id: str) -> None:
        """Commit predictions, if there are any, to the lake once: the run is the transaction."""
        path = predictions_file(folder)
        if not self.settings.predictions or not path.exists():
            return
        if pq.read_metadata(path).num_rows:
            arrow.append_file(
                self.settings.lake,
                "predictions",
                path,
                job=self.job,
                metadata={"run": run_id},
                transaction=(f"{self.job}/{run_id}", 0),
            )

    def _register(self, run: Run, folder: Path) -> str | None:
        """Register the run's model if requested; return why that failed."""
        name = getattr(self.settings, "register", None)
        problem = None if name is None else run.register(name)
        return None if problem is None else f"register={name}: {folder}: {problem}"


def read_result(path: Path) -> tuple[dict[str, Any] | None, str | None]:
    """Return the result of a finished run, or why there is none."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(values, dict):
            return values, None
        error: object = "not an object"
    except ValueError as cause:
        error = cause
    return None, f"{path}: cannot be read ({error}); delete it to do the run again"


@contextmanager
def _run_lock(folder: Path) -> Iterator[None]:
    """Lock the run in `folder` for the block, in all processes of this command.

    The first process holds the lock, which the system releases however the process ends.

    Raises:
        JobFailed: another command works on the run.
    """
    with ExitStack() as stack:
        is_free = True
        if launch.rank() == 0:
            lock = stack.enter_context((folder / "lock").open("w"))
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                is_free = False
            except OSError:
                log.debug("no locks on the file system of %s", folder)
        if not launch.broadcast(is_free):
            raise JobFailed(f"{folder}: another process works on this run; wait for it or stop it")
        yield


@contextmanager
def _end_of_run(run: Run) -> Iterator[Run]:
    """Close the run with the block: FINISHED, or KILLED or FAILED if the block raises."""
    try:
        yield run
    except BaseException as error:
        run.end("KILLED" if isinstance(error, KeyboardInterrupt) else "FAILED")
        raise
    run.end()
