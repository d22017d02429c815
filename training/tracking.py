"""Experiment tracking by MLflow; failures of tracking never stop training.

Only the first process tracks. A failure (no server, a full disk, a locked database) is logged as a
warning; after three consecutive failures, tracking stops for the rest of the run. The run's folder
has all figures in any case.
"""

from __future__ import annotations

import contextlib
import functools
import getpass
import io
import json
import logging
import os
import re
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ParamSpec

from adnominal import conf
from adnominal.conf import JobFailed
from adnominal.training import environment, launch
from adnominal.training.files import replace_json
from adnominal.training.tasks import Source

# MLflow's limits: characters of a name and of a value.
_NAME, _VALUE = 250, 6000
_FAILURES = 3
_PARENT = "mlflow.parentRunId"
_TRAIN_AGAIN = (
    "MLflow registers the model that it has stored: delete that folder, or give another out=, and "
    "train with tracking= and log_model=true"
)
SERVED = Path(__file__).parent / "models" / "served.py"

_P = ParamSpec("_P")
log = logging.getLogger("adnominal")


def flatten_settings(values: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Flatten settings to MLflow's parameters: dotted names, values as text, within its limits."""
    flattened: dict[str, str] = {}
    for key, value in values.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            flattened |= flatten_settings(value, f"{name}.") if value else {}
            continue
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        if len(text) > _VALUE:
            note = f" … ({len(text)} characters; whole in settings.yaml)"
            text = text[: _VALUE - len(note)] + note
        flattened[metric_key(name)] = text
    return flattened


def metric_key(name: str) -> str:
    """Convert a name for MLflow: at most 250 letters, digits and ``_-. /:``."""
    return re.sub(r"[^\w\-. /:]", "_", name, flags=re.ASCII)[:_NAME]


def _logging_failures(method: Callable[_P, None]) -> Callable[_P, None]:
    """Wrap the method so that its failures are logged and ignored."""

    @functools.wraps(method)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> None:
        tracker: Tracker = getattr(args[0], "tracker", args[0])  # type: ignore[arg-type]
        tracker.attempt(lambda: method(*args, **kwargs))

    return call


def artifact_folder(uri: str) -> str | None:
    """Return the folder of artifacts, beside a database file; None leaves it to the server."""
    if not uri.startswith("sqlite:///"):
        return None
    return (Path(uri.removeprefix("sqlite:///")).absolute().parent / "mlruns").as_uri()


def create_store(uri: str) -> None:
    """Create the database file of `uri`, if it is one and does not exist.

    MLflow needs seconds to create one, and can never open one whose creation was interrupted or
    that two processes created together. So it gets its name when it is complete.
    """
    from mlflow import MlflowClient

    path = Path(uri.removeprefix("sqlite:///"))
    in_memory = path.name == ":memory:"
    if not uri.startswith("sqlite:///") or "?" in uri or in_memory or path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{path.name}-", dir=path.parent) as folder:
        new_store = Path(folder) / path.name
        MlflowClient(tracking_uri=f"sqlite:///{new_store.absolute()}").search_experiments()
        try:
            os.link(new_store, path)
        except FileExistsError:
            pass  # another process was faster
        except OSError:  # no hard links here
            if not path.exists():
                os.replace(new_store, path)


class Tracker:
    """MLflow's store `uri` (None: nothing is tracked) and one experiment in it.

    `job` is the script of the runs: finetune, prompt, score or predict.
    """

    def __init__(self, uri: str | None, experiment: str, job: str = "finetune") -> None:
        self.uri = uri if launch.rank() == 0 else None
        self.job = job
        self.client: Any = None
        self.experiment_id: str | None = None
        self._name = experiment
        self._failures = 0
        self.attempt(self._connect)

    def attempt(self, action: Callable[[], None]) -> None:
        """Call `action`, unless tracking is off; a failure is logged and ignored."""
        if self.uri is None:
            return
        try:
            with _silenced_mlflow():
                action()
            self._failures = 0
        except Exception as error:
            self._failures += 1
            reason = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
            if isinstance(error, JobFailed):
                reason = str(error)
            log.warning("tracking failed (%s); training continues", reason)
            if self.client is None or self._failures >= _FAILURES:
                log.warning("tracking=%s is disabled for the rest of this run", self.uri)
                self.uri = None

    def _connect(self) -> None:
        """Connect to the store, and create the experiment if it does not exist."""
        # Requests to an unreachable server are repeated twice, not for minutes.
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "2")
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", "20")
        # It would ask pip, and thus the network, whether the requirements of a model fit together.
        os.environ.setdefault("MLFLOW_SKIP_PIP_REQUIREMENTS_CHECK", "true")
        # MLflow would log every database that it creates.
        os.environ.setdefault("MLFLOW_LOGGING_LEVEL", "WARNING")
        from mlflow import MlflowClient
        from mlflow.exceptions import MlflowException

        create_store(str(self.uri))
        client = MlflowClient(tracking_uri=self.uri)
        with contextlib.suppress(MlflowException):  # It exists already.
            client.create_experiment(self._name, artifact_location=artifact_folder(str(self.uri)))
        experiment = client.get_experiment_by_name(self._name)
        # A deleted one keeps its name, and takes no runs.
        if experiment.lifecycle_stage != "active":
            raise JobFailed(
                f"experiment {self._name} is deleted in MLflow; give another experiment=, or "
                f"restore it: MLFLOW_TRACKING_URI={self.uri} mlflow experiments restore "
                f"--experiment-id {experiment.experiment_id}"
            )
        self.experiment_id = experiment.experiment_id
        self.client = client

    def ended_run(self, run_id: str, folder: Path) -> Run:
        """Return the run that has ended in `folder`, to add to it; warn if MLflow does not have it.

        It was then run with ``tracking=none`` or another store, or tracking had failed.
        """
        run = Run(self, run_id)
        run.id = run_id
        run.warn_if_missing(folder)
        return run

    def run(self, name: str, mlflow_file: Path, *, parent: str | None = None) -> Run:
        """Return a new run, or the earlier run that `mlflow_file` names."""
        run = Run(self, f"local-{mlflow_file.parent.name}")
        self.attempt(lambda: run.begin(name, mlflow_file, parent))
        return run


class Run:
    """One run of the experiment; `id` is None if nothing is tracked.

    In that case `local_name` names it in results and in the table predictions.
    """

    def __init__(self, tracker: Tracker, local_name: str) -> None:
        self.tracker = tracker
        self.id: str | None = None
        self._local_name = local_name
        self._logged_steps: dict[str, int] = {}
        self._monitor: Any = None

    @property
    def name(self) -> str:
        """MLflow's id of the run, or its local name."""
        return self.id or self._local_name

    def begin(self, name: str, mlflow_file: Path, parent: str | None) -> None:
        """Create the run, or continue the one that was begun in this store and still exists."""
        client = self.tracker.client
        previous = (
            json.loads(mlflow_file.read_text(encoding="utf-8")) if mlflow_file.exists() else {}
        )
        if previous.get("uri") == self.tracker.uri and self._run_exists(previous["run_id"]):
            run_id = previous["run_id"]
            client.update_run(run_id, status="RUNNING")
            self.id = run_id
            self.nest(parent)
            for key in ("train/loss", "val/loss", "val/accuracy"):
                history = client.get_metric_history(run_id, key)
                self._logged_steps[key] = max((entry.step for entry in history), default=-1)
            return
        job = self.tracker.job
        tags = {"job": job, "mlflow.source.name": f"training/{job}.py"}
        tags["mlflow.source.type"] = "LOCAL"
        tags["mlflow.user"] = getpass.getuser()
        commit = conf.code_version()
        tags |= {"mlflow.source.git.commit": commit.rstrip("+"), "code_version": commit}
        if parent is not None:
            tags[_PARENT] = parent
        created = client.create_run(self.tracker.experiment_id, run_name=name, tags=tags)
        self.id = created.info.run_id
        replace_json(mlflow_file, {"uri": self.tracker.uri, "run_id": self.id})

    @_logging_failures
    def warn_if_missing(self, folder: Path) -> None:
        """Warn if the store does not have the run, so that the report will not show it."""
        if self.id is not None and not self._run_exists(self.id):
            log.warning(
                "tracking=%s does not have this run, so the report will not show it; delete %s to "
                "run it again",
                self.tracker.uri,
                folder,
            )

    @_logging_failures
    def nest(self, parent: str | None) -> None:
        """Nest the run in `parent`, unless it has another parent or is not in this store."""
        if parent is None or self.id is None or not self._run_exists(self.id):
            return
        previous = self.tracker.client.get_run(self.id).data.tags.get(_PARENT)
        if previous is None or not self._run_exists(previous):
            self.tracker.client.set_tag(self.id, _PARENT, parent)

    def _run_exists(self, run_id: str) -> bool:
        """Whether the store has the run; it may have been deleted."""
        from mlflow.exceptions import MlflowException

        try:
            stage = self.tracker.client.get_run(run_id).info.lifecycle_stage
        except MlflowException as error:
            if error.error_code != "RESOURCE_DOES_NOT_EXIST":
                raise
            return False
        return bool(stage == "active")

    @_logging_failures
    def settings(self, values: Mapping[str, Any], yaml: str) -> None:
        """Log the resolved settings, as parameters and as YAML; code, its changes, environment."""
        client = self.tracker.client
        self.parameters(values)
        client.log_text(self.id, yaml, "settings.yaml")
        client.log_text(self.id, environment.description(), "environment.txt")
        patch = environment.changes()
        if patch:
            client.log_text(self.id, patch, "code.diff")

    @_logging_failures
    def parameters(self, values: Mapping[str, Any]) -> None:
        """Log further parameters; existing ones are unchanged."""
        from mlflow.entities import Param

        client = self.tracker.client
        logged = client.get_run(self.id).data.params
        params = [
            Param(key, text) for key, text in flatten_settings(values).items() if key not in logged
        ]
        client.log_batch(self.id, params=params)

    @_logging_failures
    def inputs(self, lake: str, sources: Sequence[Source]) -> None:
        """Log the tables that were read, with their editions and Delta versions."""
        from mlflow.entities import Dataset, DatasetInput, InputTag

        datasets_read = []
        for source in sources:
            where = {"uri": f"{lake.rstrip('/')}/{source.table}", "version": source.version}
            datasets_read.append(
                DatasetInput(
                    Dataset(
                        name=f"{source.table}/{source.edition}"[:500],
                        digest=f"version {source.version}",
                        source_type="delta",
                        source=json.dumps({**where, "edition": source.edition}),
                    ),
                    [InputTag("mlflow.data.context", "training")],
                )
            )
        self.tracker.client.log_inputs(self.id, datasets=datasets_read)

    @_logging_failures
    def metrics(self, values: Mapping[str, float], step: int = 0) -> None:
        """Log figures of an update; skip those logged before the run was killed."""
        from mlflow.entities import Metric

        milliseconds = int(time.time() * 1000)
        if any(step <= self._logged_steps.get(key, -1) for key in values):
            return
        entries = [Metric(metric_key(k), float(v), milliseconds, step) for k, v in values.items()]
        self.tracker.client.log_batch(self.id, metrics=entries)

    @_logging_failures
    def tags(self, values: Mapping[str, str]) -> None:
        """Set tags of the run."""
        for key, value in values.items():
            self.tracker.client.set_tag(self.id, key, value)

    @_logging_failures
    def describe(self, text: str) -> None:
        """Set the description that MLflow shows beside the run's name."""
        self.tracker.client.set_tag(self.id, "mlflow.note.content", text)

    @_logging_failures
    def text(self, text: str, name: str) -> None:
        """Log a text as an artifact."""
        self.tracker.client.log_text(self.id, text, name)

    @_logging_failures
    def file(self, path: Path) -> None:
        """Log a file as an artifact."""
        self.tracker.client.log_artifact(self.id, os.fspath(path))

    @_logging_failures
    def confusion(self, counts: Any, labels: Sequence[str], name: str) -> None:
        """Log a confusion matrix as a figure, and its numbers as JSON."""
        from matplotlib.figure import Figure
        from sklearn.metrics import ConfusionMatrixDisplay

        client, size = self.tracker.client, 2.0 + 0.7 * len(labels)
        figure = Figure(figsize=(size + 1.0, size), layout="constrained")
        display = ConfusionMatrixDisplay(counts, display_labels=labels)
        display.plot(ax=figure.subplots(), cmap="Blues", xticks_rotation="vertical", colorbar=False)
        client.log_figure(self.id, figure, f"{name}.png")
        numbers = {"labels": list(labels), "gold by predicted": counts.tolist()}
        client.log_dict(self.id, numbers, f"{name}.json")

    @_logging_failures
    def model(self, folder: Path, *, pair: bool, generates: bool) -> None:
        """Log the weights in `folder` as a model with signature that MLflow can load and serve."""
        import mlflow
        from mlflow.models import ModelSignature
        from mlflow.types.schema import ColSpec, Schema

        inputs = [ColSpec("string", "first")] + [ColSpec("string", "second")] * pair
        outputs = [ColSpec("string", "text")]
        if not generates:
            outputs = [ColSpec("string", "label"), ColSpec("double", "score")]
        mlflow.set_tracking_uri(self.tracker.uri)
        active = mlflow.active_run()
        if active is not None:
            mlflow.end_run()
        # Its progress bars, and its warning about type hints that it does not understand.
        with contextlib.redirect_stderr(io.StringIO()), mlflow.start_run(run_id=self.id):
            mlflow.pyfunc.log_model(
                name="model",
                python_model=os.fspath(SERVED),
                artifacts={"weights": os.fspath(folder)},
                signature=ModelSignature(Schema(inputs), Schema(outputs)),
                # Stated, not inferred: MLflow would load the model in another process to infer it.
                pip_requirements=environment.requirements(),
            )

    def register(self, name: str) -> str | None:
        """Register the run's logged model as a version of `name`, once for any number of calls.

        If a killed run has logged it twice, the newest is used. Return why there is no version, or
        None if there is one; unlike others, this failure is not ignored.
        """
        problem: str | None = "tracking failed; run the same command again to register its model"

        def attempt() -> None:
            nonlocal problem
            problem = self._register(name)

        self.tracker.attempt(attempt)
        return problem

    def _register(self, name: str) -> str | None:
        """Register the run's model under a name; return why this is impossible, else None."""
        import mlflow
        from mlflow.exceptions import MlflowException

        # A registry in a database resolves models:/m-… in the global store, whatever the client's.
        mlflow.set_tracking_uri(self.tracker.uri)
        client = self.tracker.client
        try:
            logged_models = client.get_run(self.id).outputs.model_outputs
        except MlflowException as error:
            if error.error_code != "RESOURCE_DOES_NOT_EXIST":
                raise
            return f"tracking={self.tracker.uri} has no run {self.id}; {_TRAIN_AGAIN}"
        if not logged_models:
            return f"MLflow has no model of run {self.id}; {_TRAIN_AGAIN}"
        with contextlib.suppress(MlflowException):
            # It may exist already; if it cannot be created, the next line says why.
            client.create_registered_model(name)
        if any(
            version.run_id == self.id for version in client.search_model_versions(f"name='{name}'")
        ):
            return None
        model_id = logged_models[-1].model_id
        created = client.create_model_version(
            name, f"models:/{model_id}", run_id=self.id, model_id=model_id
        )
        log.info("registered as models:/%s/%s", name, created.version)
        return None

    @_logging_failures
    def start_monitor(self) -> None:
        """Log the use and memory of the GPU every ten seconds until the end, as MLflow does.

        Without a GPU, or without nvidia-ml-py, nothing is logged: the memory of the process is a
        figure of the updates.
        """
        import importlib.util

        import torch

        if not torch.cuda.is_available() or importlib.util.find_spec("pynvml") is None:
            return
        from mlflow.system_metrics.system_metrics_monitor import SystemMetricsMonitor

        self._monitor = SystemMetricsMonitor(
            self.id, resume_logging=True, tracking_uri=self.tracker.uri
        )
        self._monitor.start()

    @_logging_failures
    def end(self, status: str = "FINISHED") -> None:
        """Close the run: FINISHED, FAILED or KILLED."""
        if self._monitor is not None:
            self._monitor.finish()
        self.tracker.client.set_terminated(self.id, status)


@contextlib.contextmanager
def _silenced_mlflow() -> Iterator[None]:
    """Suppress MLflow's notices about created tables and missing examples."""
    for name in ("mlflow", "alembic"):
        logging.getLogger(name).setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
