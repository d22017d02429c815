"""The finished runs of an MLflow store, and the choice of runs for a number of a paper.

A run is found by its job and the settings of the number. Runs whose settings differ only in the
seed (or another axis that a paper averages over) form one group. The newest group represents the
number or, if a paper searched a grid, the group that is best on the validation part. Answers of a
run are read from the table predictions, never from its metrics.
"""

import logging
import os
import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from adnominal.training.argument_lists import WITHOUT_INFLUENCE

log = logging.getLogger("adnominal")

# Parameters for the output and tracking of a run, which do not identify it. They duplicate the
# settings' `identity=False`, because runs are joined over `axes` by the parameters in the store,
# without a settings class.
BOOKKEEPING = WITHOUT_INFLUENCE | {
    *("attention", "cache", "deepspeed", "devices", "experiment", "lake", "log_model", "out"),
    *("parameters", "precision_used", "predictions", "processes", "register", "run_name"),
    *("runs_per_device", "seeds", "tracking", "verify_model"),
}
# The tag of a parent run: the number of runs that are nested in it.
NESTED = "nested_runs"
_PAGE = 1000


def short_name(model: str) -> str:
    """Return the last part of a model's name, without its folder or owner."""
    return model.rstrip("/").rsplit("/", 1)[-1]


def model_name(model: str) -> str:
    """Return `short_name`, preceded by the run's folder for weights in a folder ``model``."""
    parts = [part for part in model.split("/") if part]
    return "/".join(parts[-2:] if parts[-1:] == ["model"] else parts[-1:])


@dataclass(frozen=True)
class Run:
    """A finished run: `params` and `metrics` as in MLflow, `ended` in milliseconds.

    Runs that differ only in the seed have the same `group`.
    """

    id: str
    job: str
    ended: int
    params: Mapping[str, str]
    metrics: Mapping[str, float] = field(default_factory=dict)
    group: str = field(kw_only=True)

    @property
    def model(self) -> str:
        """The model's name without its folder or owner."""
        return short_name(
            self.params.get("model_name") or self.params.get("model") or "unnamed model"
        )


@dataclass(frozen=True)
class Runs:
    """Finished runs, newest first; `note` says why there are none if the store cannot be read."""

    runs: Sequence[Run] = ()
    note: str = ""

    def of(
        self,
        job: str | Collection[str],
        settings: Mapping[str, str | Collection[str]] | None = None,
    ) -> list[Run]:
        """Return the runs of a job (or of several) with these parameters, newest first.

        A collection as a value admits any of its members. A parameter that a run lacks matches no
        value.
        """
        jobs = {job} if isinstance(job, str) else set(job)
        admitted_values = {
            key: {value} if isinstance(value, str) else set(value)
            for key, value in (settings or {}).items()
        }
        return [
            run
            for run in self.runs
            if run.job in jobs
            and all(run.params.get(key) in values for key, values in admitted_values.items())
        ]


def groups(runs: Sequence[Run], axes: Collection[str] = ()) -> list[list[Run]]:
    """Group runs with the same settings except for seeds and `axes`, newest group first.

    Of several runs with the same seed and values of `axes`, the newest counts.
    """
    members_by_identity: dict[tuple[str, str], dict[tuple[Any, ...], Run]] = {}
    for run in runs:
        identity = _identity(run, axes) if axes else run.group
        place = (run.params.get("seeds"), *(run.params.get(axis) for axis in axes))
        members_by_identity.setdefault((run.job, identity), {}).setdefault(place, run)
    return [list(members.values()) for members in members_by_identity.values()]


def _identity(run: Run, axes: Collection[str]) -> str:
    """Return the parameters that decide a run's result, apart from its seed and `axes`."""
    ignored = BOOKKEEPING | set(axes)
    return repr(sorted(item for item in run.params.items() if item[0] not in ignored))


def find_runs(uri: str | None) -> Runs:
    """Return the finished runs of the store `uri`, newest first, without parent runs.

    An invalid or unreachable store gives no runs and a note, so that reports need only the lake.
    """
    if uri is None:
        return Runs(note="No tracking store was given (tracking=none), so no run is shown.")
    fault = _fault(uri)
    if not fault:
        try:
            return Runs(_finished_runs(entries_of(uri)))
        except Exception as error:  # MLflow's stores raise whatever their drivers do
            fault = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
    note = f"The tracking store {uri} cannot be read ({fault}), so no run is shown."
    log.warning("%s", note)
    return Runs(note=note)


def _fault(uri: str) -> str:
    """Return why a file is not a store; MLflow itself would create a store in any file."""
    if not uri.startswith("sqlite:///"):
        return "" if "://" in uri or Path(uri).is_dir() else "no such folder"
    path = Path(uri.removeprefix("sqlite:///"))
    if not path.is_file():
        return f"no file {path}"
    try:
        with sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True) as store:
            tables = {name for (name,) in store.execute("SELECT name FROM sqlite_master")}
        store.close()
    except sqlite3.Error as error:
        return str(error)
    return "" if {"runs", "params", "tags"} <= tables else "not a database of MLflow"


def entries_of(uri: str) -> list[Any]:
    """Return all runs of the store `uri` in any state, as in MLflow."""
    # An unreachable server is tried twice, not for minutes.
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "2")
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", "20")
    from mlflow import MlflowClient

    client = MlflowClient(tracking_uri=uri)
    names = [experiment.experiment_id for experiment in _every(client.search_experiments)]
    return _every(partial(client.search_runs, names)) if names else []


def _finished_runs(entries: Sequence[Any]) -> tuple[Run, ...]:
    """Return the finished runs of our jobs; runs of other programs have no tag ``job``."""
    parent_ids = {entry.data.tags.get("mlflow.parentRunId") for entry in entries}
    runs = []
    ungrouped_jobs = []
    for entry in entries:
        tags = entry.data.tags
        is_parent = entry.info.run_id in parent_ids or NESTED in tags
        if entry.info.status != "FINISHED" or is_parent or "job" not in tags:
            continue
        if "group" not in tags:
            ungrouped_jobs.append(tags["job"])
            continue
        runs.append(
            Run(
                id=entry.info.run_id,
                job=tags["job"],
                ended=entry.info.end_time or 0,
                params=dict(entry.data.params),
                metrics=dict(entry.data.metrics),
                group=tags["group"],
            )
        )
    if ungrouped_jobs:
        log.warning(
            "%d runs without the tag group, of another version of this program, are not shown; "
            "do them again: %s",
            len(ungrouped_jobs),
            ", ".join(f"training/{job}.py" for job in sorted(set(ungrouped_jobs))),
        )
    # Ids break ties, so that the order is the same every time.
    return tuple(sorted(runs, key=lambda run: (-run.ended, run.id)))


def _every(search: Callable[..., Any]) -> list[Any]:
    """Return all results of an MLflow search, page by page."""
    from mlflow.utils import get_results_from_paginated_fn

    def page(size: int, token: str | None) -> Any:
        return search(max_results=size, page_token=token)

    return list(get_results_from_paginated_fn(page, _PAGE))
