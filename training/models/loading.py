"""Trained models, found by their addresses.

An address is MLflow's (``models:/NAME/VERSION``, ``models:/NAME@ALIAS``, ``runs:/RUN/model``), a
folder (of `training/finetune.py` or any that transformers loads) or a name on the hub. Facts about
a model's training are written beside its weights, in ``adnominal.json``, so that a model trained on
sentences of twelve tokens is not given longer ones, and its answers have the names of its task.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import numpy as np

from adnominal import conf
from adnominal.conf import UserError
from adnominal.training.batching import Ids
from adnominal.training.files import replace_json
from adnominal.training.models.folder_hashes import files_hash
from adnominal.training.models.learner import Learner
from adnominal.training.models.pretrained import ADAPTERS, EMBEDDED, adapted_base, find
from adnominal.training.tasks import Dataset, Task

RECORD = "adnominal.json"
DOWNLOADS = Path("~/.cache/adnominal/models")
# Endings of the files of weights, configurations and tokenizers (vocab.txt, spiece.model).
_CONTENT = (".safetensors", ".json", ".txt", ".model", ".tiktoken")
# Weights of models without safetensors.
_PICKLES = "pytorch_model*.bin"
_REGISTERED = re.compile(r"models:/(?P<name>[^/@]+)(?:/(?P<version>\d+)|@(?P<alias>[^/@]+))")
_LOGGED = re.compile(r"models:/(?P<id>m-[0-9a-f]+)")
_RUN = re.compile(r"runs:/(?P<run>[^/]+)/(?P<name>.+)")


@dataclass(frozen=True)
class Trained:
    """Facts about a model's training, written beside its weights.

    `task` has the settings ``task.*``; `dataset`, `edition`, `scheme` and `fold` are as in the
    table predictions; `outcomes` are the classes of its evaluation, and `outcome_of` is the outcome
    of each of its `labels`. `pair` says whether it takes two texts, `max_length` is the maximum
    number of tokens in training (None: unlimited), `model` is the model before training,
    `instruction` is the prompt that a language model was taught to answer (None: it has a head),
    `longest_answer` is the number of tokens of its longest taught answer, and `base_content` is
    the content of the adapters' base folder (None: no adapters or no folder).
    """

    task: Mapping[str, Any]
    dataset: str
    edition: str
    scheme: str
    fold: str
    labels: tuple[str, ...]
    outcomes: tuple[str, ...]
    outcome_of: tuple[int, ...]
    pair: bool
    max_length: int | None
    model: str
    seed: int
    instruction: str | None
    base_content: str | None
    longest_answer: int | None

    def write(self, folder: Path) -> None:
        """Write the facts beside the weights."""
        replace_json(folder / RECORD, asdict(self))

    @classmethod
    def read(cls, folder: Path) -> Trained | None:
        """Read the facts beside the weights; None for models that were trained elsewhere.

        Raises:
            UserError: the file has another format.
        """
        path = folder / RECORD
        if not path.is_file():
            return None
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
            for name in ("labels", "outcomes", "outcome_of"):
                values[name] = tuple(values[name])
            return cls(**values)
        except (ValueError, KeyError, TypeError) as error:
            raise UserError(
                f"{path}: not what training/finetune.py writes ({error}); train the model again, "
                "or delete the file to use the model without these facts"
            ) from error


def trained_facts(
    task: Task, dataset: Dataset, learner: Learner, seed: int, base_content: str | None = None
) -> Trained:
    """Return the facts about `learner`'s training."""
    return Trained(
        task=conf.to_dict(task.settings),
        dataset=dataset.task,
        edition=dataset.edition,
        scheme=dataset.scheme,
        fold=dataset.fold,
        labels=tuple(dataset.labels),
        outcomes=tuple(dataset.outcomes),
        outcome_of=tuple(int(at) for at in dataset.outcome_of),
        pair=dataset.parts["train"].second is not None,
        # Models from scratch have no limit: they take the longest example of their dataset.
        max_length=getattr(learner, "limit", None),
        model=learner.name,
        seed=seed,
        instruction=dataset.instruction if learner.instructed else None,
        base_content=base_content,
        longest_answer=getattr(learner, "longest_answer", None),
    )


@dataclass(frozen=True)
class ModelSource:
    """The location of a model's weights, and the facts known before reading them.

    `name` is the value of the column ``model`` of predictions: an MLflow address with the resolved
    version, a folder, or a name on the hub. `labels` are its classes (none if it `generates` text);
    `run_id` is the MLflow run that made it, if any.
    """

    path: str
    name: str
    labels: tuple[str, ...]
    generates: bool
    trained: Trained | None
    run_id: str | None = None

    @property
    def pair(self) -> bool | None:
        """Whether it takes two texts; None if unknown."""
        return None if self.trained is None else self.trained.pair

    @property
    def outcomes(self) -> tuple[tuple[str, ...], Ids]:
        """The classes of its answers, and the class of each label."""
        if self.trained is not None and self.trained.labels == self.labels:
            return self.trained.outcomes, np.array(self.trained.outcome_of, dtype=np.int64)
        return self.labels, np.arange(len(self.labels))

    def content(self, verify: bool = False) -> str:
        """`content_of` its files: retrained weights in the same folder are another model."""
        return content_of(self.path, verify)


def content_of(name: str, verify: bool = False) -> str:
    """Return a hash of the files that determine a model's answers, or its commit on the hub.

    Files that have not changed since they were last read are not read again, unless `verify`.

    Raises:
        UserError: the base of adapters is missing or is not the one that they were trained on.
    """
    folder = Path(name)
    if not folder.is_dir():
        commit = getattr(find(name).config, "_commit_hash", None)
        return hashlib.blake2b(f"{name} {commit}".encode(), digest_size=16).hexdigest()
    base_content = _base_content(folder, verify) if (folder / ADAPTERS).is_file() else ""
    files = [path for path in folder.iterdir() if path.suffix in _CONTENT]
    if not any(path.suffix == ".safetensors" for path in files):
        files += folder.glob(_PICKLES)
    return files_hash(folder, sorted(files), base_content, verify=verify)


def _base_content(folder: Path, verify: bool) -> str:
    """Return the content of the base model of the adapters in `folder`."""
    base, record = adapted_base(folder), Trained.read(folder)
    content = content_of(base, verify)
    if record is not None and record.base_content not in (None, content):
        raise UserError(
            f"model={folder}: adapters for another model than the one now in {base}; restore the "
            "files that they were trained on, or write the path of these as "
            f"base_model_name_or_path into {ADAPTERS} of that folder"
        )
    return content


def folder_content(name: str, verify: bool = False) -> str | None:
    """Return `content_of` a model that is a folder; None for one identified by its name."""
    if name in EMBEDDED or not Path(name).is_dir():
        return None
    return content_of(name, verify)


def resolve(uri: str, tracking: str | None = None) -> ModelSource:
    """Find the model that `uri` names; `tracking` is MLflow's store. Weights are not read.

    A folder may be that of the weights, of the run that made them, or the ``out=`` of a single run.
    Models of a remote store are cached below ``~/.cache/adnominal/models``.

    Raises:
        UserError: the model, version, alias or run does not exist, a folder or artifact has no
            weights, or a folder has several runs.
    """
    if uri.startswith(("models:/", "runs:/")):
        return _tracked_model(uri, tracking)
    folder = _folder(uri) if Path(uri).is_dir() else None
    return _model_source(uri if folder is None else os.fspath(folder), uri.rstrip("/") or uri)


def _model_source(path: str, name: str, run_id: str | None = None) -> ModelSource:
    """The model in a folder or of a hub name, with the labels that it can give."""
    folder = Path(path)
    record = Trained.read(folder) if folder.is_dir() else None
    if (folder / "vocabulary.json").is_file():
        if not any(folder.glob("*.safetensors")):
            raise UserError(
                f"model={name}: no model.safetensors there; expected weights in that format"
            )
        return ModelSource(path, name, (), True, record, run_id)
    config = find(path).config
    labels = tuple(str(config.id2label[at]) for at in range(len(config.id2label)))
    if record is not None and record.instruction is not None:
        # A language model has no classes except those that it was taught to choose from.
        return ModelSource(path, name, record.labels, not record.labels, record, run_id)
    return ModelSource(path, name, labels, False, record, run_id)


def _is_unfinished(run: Path) -> bool:
    """Whether a run was interrupted; its weights may lack the record of their training."""
    return (run / "settings.yaml").is_file() and not (run / "result.json").is_file()


def _folder(uri: str) -> Path:
    """Return the weights' folder: the folder itself, a run's, or that of the only run."""
    folder = Path(uri)
    for run in (folder, folder.absolute().parent):
        if (run / "model" / "config.json").is_file() and _is_unfinished(run):
            raise UserError(f"model={uri}: the run is not finished; run its command again first")
    if (folder / "config.json").is_file():
        return folder
    if (folder / "model" / "config.json").is_file():
        return folder / "model"
    runs = sorted(path.parents[1] for path in folder.glob("*/model/config.json"))
    runs = [run for run in runs if not _is_unfinished(run)]
    if len(runs) == 1:
        return runs[0] / "model"
    if runs:
        raise UserError(
            f"model={uri}: {len(runs)} runs there; expected one of them, such as {runs[0]} "
            f"({folder / 'summary.json'} has the figures of each)"
        )
    raise UserError(
        f"model={uri}: a folder without config.json; expected a model's folder, or a complete one "
        "of training/finetune.py"
    )


def _tracked_model(uri: str, tracking: str | None) -> ModelSource:
    """Return a model of MLflow's store or registry."""
    if tracking is None:
        raise UserError(f"model={uri}: expected tracking= with it, MLflow's store")
    file = Path(tracking.removeprefix("sqlite:///"))
    if tracking.startswith("sqlite:///") and not file.is_file():
        # MLflow would create an empty store.
        raise UserError(
            f"model={uri}: no file {file}; expected tracking= to name the store of the model"
        )
    registered, logged, run = (pattern.fullmatch(uri) for pattern in (_REGISTERED, _LOGGED, _RUN))
    if not (registered or logged or run):
        raise UserError(
            f"model={uri}: expected models:/NAME/VERSION, models:/NAME@ALIAS, models:/MODEL_ID or "
            "runs:/RUN_ID/model"
        )
    from mlflow import MlflowClient

    try:
        client = MlflowClient(tracking_uri=tracking, registry_uri=tracking)
        if registered:
            return _registered_model(client, uri, registered, tracking)
        if logged:
            return _logged_model(client, logged["id"], uri, tracking)
        assert run is not None
        return _of_run(client, uri, run, tracking)
    except UserError:
        raise
    except Exception as error:  # MLflow's stores raise whatever their drivers do
        reason = " ".join(str(error).split())[:200]
        raise UserError(f"model={uri}: not available from tracking={tracking}: {reason}") from error


def _registered_model(client: Any, uri: str, match: re.Match[str], tracking: str) -> ModelSource:
    """A version of MLflow's registry by number or alias; an error lists those there are."""
    from mlflow.exceptions import MlflowException

    name = match["name"]
    try:
        version = (
            client.get_model_version_by_alias(name, match["alias"])
            if match["alias"]
            else client.get_model_version(name, match["version"])
        )
    except MlflowException as error:
        versions = sorted(int(v.version) for v in client.search_model_versions(f"name='{name}'"))
        if versions:
            available = f"{name} has versions {', '.join(map(str, versions))}"
            aliases = client.get_registered_model(name).aliases
            available += f" and aliases {', '.join(sorted(aliases))}" if aliases else ""
        else:
            names = sorted(model.name for model in client.search_registered_models())
            available = f"there is {', '.join(names) or 'no registered model'}"
        raise UserError(
            f"model={uri}: not in the registry of tracking={tracking}; {available} "
            "(training/finetune.py register=NAME adds a version)"
        ) from error
    full = f"models:/{name}/{version.version}"
    if version.model_id:
        return _logged_model(client, version.model_id, full, tracking)
    folder = _local_folder(
        client.get_model_version_download_uri(name, version.version), full, tracking
    )
    return _model_source(_weights(folder, full), full, version.run_id)


def _of_run(client: Any, uri: str, match: re.Match[str], tracking: str) -> ModelSource:
    """The model called NAME of ``runs:/RUN/NAME`` (`match` has both), as a run has logged it."""
    run = client.get_run(match["run"])
    ids = [] if run.outputs is None else [model.model_id for model in run.outputs.model_outputs]
    models = {model.name: model for model in map(client.get_logged_model, ids)}
    if match["name"] not in models:
        raise UserError(
            f"model={uri}: run {match['run']} has logged "
            f"{', '.join(models) or 'no model (log_model=false, or it has not ended)'}"
        )
    return _logged_model(client, models[match["name"]].model_id, uri, tracking)


def _logged_model(client: Any, model_id: str, name: str, tracking: str) -> ModelSource:
    model = client.get_logged_model(model_id)
    folder = _local_folder(model.artifact_location, name, tracking)
    return _model_source(_weights(folder, name), name, model.source_run_id)


def _local_folder(location: str, name: str, tracking: str) -> Path:
    """Return an artifact's local folder; a remote one is downloaded once."""
    parsed = urlparse(location)
    if parsed.scheme in ("", "file"):
        folder = Path(unquote(parsed.path))
        if not folder.is_dir():
            raise UserError(f"model={name}: its artifacts are gone from {folder}")
        return folder
    cached = DOWNLOADS.expanduser() / hashlib.blake2b(location.encode(), digest_size=12).hexdigest()
    if not cached.is_dir():
        from mlflow.artifacts import download_artifacts

        cached.parent.mkdir(parents=True, exist_ok=True)
        download = tempfile.mkdtemp(prefix=f"{cached.name}.", dir=cached.parent)
        download_artifacts(artifact_uri=location, dst_path=download, tracking_uri=tracking)
        model_folder = next(
            (path.parent for path in Path(download).rglob("MLmodel")), Path(download)
        )
        try:
            os.rename(model_folder, cached)
        except OSError:
            # Another process was first; it downloaded the same.
            if not cached.is_dir():
                raise
        shutil.rmtree(download, ignore_errors=True)
    return cached


def _weights(folder: Path, name: str) -> str:
    """Return the folder of weights in an MLflow model."""
    from mlflow.models import Model

    inner = folder
    if (folder / "MLmodel").is_file():
        flavor = Model.load(os.fspath(folder)).flavors.get("python_function", {})
        weights_path = (flavor.get("artifacts") or {}).get("weights", {}).get("path")
        # MLflow's own transformers flavour has them in "model".
        inner = folder / (weights_path or "model")
    if not (inner / "config.json").is_file():
        raise UserError(
            f"model={name}: no transformers model among its artifacts; expected one that "
            "training/finetune.py has logged"
        )
    return os.fspath(inner)
