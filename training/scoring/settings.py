"""The settings of ``training/score.py``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from conf import UserError, setting


@dataclass(frozen=True)
class Settings:
    """Settings of ``training/score.py``."""

    model: str | None = setting(
        None,
        help="a fine-tuned model: models:/NAME/VERSION, models:/NAME@ALIAS, runs:/RUN_ID/model, a "
        "folder (of finetune.py, or any of transformers'), or a name on the hub",
        example="model=models:/plane/1",
    )
    models: list[str] = setting(
        [], help="several models, in place of model=", example="models=[runs/adept,runs/plane]"
    )
    labels: list[str] = setting(
        [],
        help="what the model's classes mean, in its order, where its configuration does not say",
        example="labels=[contradiction,entailment,neutral]",
    )
    tasks: list[str] = setting(
        [],
        help="what the models are asked: adept, plane, asp, pairs, sygns, or names of task.*",
        example="tasks=[adept,plane]",
    )
    task: dict[str, Any] = setting(
        {},
        help="settings of each task asked: those that finetune.py has as task.*, its part, and its "
        "name where the key is a name of one's own",
        example="task.plane.fold=2 task.adept.part=val task.again.name=plane",
    )
    limit: int | None = setting(
        None, help="rows of each task, drawn by seed and id; all if not given", example="limit=2000"
    )
    seed: int = setting(0, help="draws the rows of limit=")
    max_length: int | None = setting(
        None,
        help="tokens of an example; if not given what the model was trained on for its own task, "
        "and all that it takes for others",
    )
    batch_size: int = setting(64, help="examples a process holds at a time", identity=False)
    deepspeed: str = setting(
        "zero0",
        help="zero3 shares the weights out over the processes, which no device then holds whole",
        identity=False,
    )
    precision: str = setting(
        "auto",
        help="auto: as the weights were written",
        choices=("auto", "fp32", "bf16", "fp16"),
    )
    out: str = setting("runs/score", help="folder of the cells that are finished", identity=False)
    lake: str = setting(
        "lake", help="folder or URI of the lake", example="lake=/data/lake", identity=False
    )
    predictions: bool = setting(
        True, help="write every prediction to the table predictions", identity=False
    )
    tracking: str | None = setting(
        "sqlite:///mlflow.db", help="MLflow's store; none to track nothing", identity=False
    )
    experiment: str = setting("score", help="MLflow experiment", identity=False)
    run_name: str | None = setting(None, help="name of the MLflow run", identity=False)
    cache: str | None = setting(
        "~/.cache/adnominal/tokens",
        help="folder of tokenised texts; none to keep none",
        identity=False,
    )

    def __post_init__(self) -> None:
        if (self.model is None) == (not self.models):
            raise UserError(
                f"model={self.model} models=[{','.join(self.models)}]: expected one of the two, as "
                "model=models:/plane/1"
            )
        if not self.tasks:
            raise UserError("no tasks; expected some, as tasks=[plane], or a settings file")
        for name in ("models", "tasks"):
            values = getattr(self, name)
            if len(set(values)) < len(values):
                raise UserError(f"{name}={values}: the same value twice")
        for name in ("limit", "max_length", "batch_size"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UserError(f"{name}={value}: expected 1 or more")
        if self.labels and len(self.uris) > 1:
            raise UserError(
                f"labels=[{','.join(self.labels)}] with {len(self.uris)} models: expected one "
                "model, since each has an order of its own"
            )

    @property
    def uris(self) -> list[str]:
        """The models, one or several."""
        return [self.model] if self.model is not None else list(self.models)
