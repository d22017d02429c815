"""The settings of ``training/predict.py``."""

from __future__ import annotations

from dataclasses import dataclass

from conf import UserError, setting
from training.predicting.selection import MEASURES


@dataclass(frozen=True)
class Settings:
    """Settings of ``training/predict.py``."""

    model: str | None = setting(
        None,
        help="models:/NAME/VERSION, models:/NAME@ALIAS, runs:/RUN_ID/model, a folder, or a name on "
        "the hub; none to select from earlier runs alone",
        example="model=models:/adept/3",
    )
    table: str | None = setting(
        None, help="table of the lake whose rows are classified", example="table=adept_items"
    )
    where: str | None = setting(
        None,
        help="SQL condition that the rows fulfil",
        example="where=\"edition = 'clean' AND chosen\"",
    )
    version: int | None = setting(
        None, help="version of the table; the newest if not given", identity=False
    )
    first: str | None = setting(
        None, help="column of the text, or of the first of two; known for the datasets' tables"
    )
    second: str | None = setting(None, help="column of the second text, with first=")
    item: str | None = setting(None, help="column of the item's id; known or item_id")
    limit: int | None = setting(
        None, help="rows to draw of those that there are, by the seed; all if not given"
    )
    seed: int = setting(0, help="draws the rows of limit=, and shares rows out into chunks")
    batch_size: int = setting(64, help="rows a process classifies at a time", identity=False)
    max_length: int | None = setting(
        None, help="tokens of a row; what the model was trained on, or its own limit, if not given"
    )
    deepspeed: str = setting(
        "zero0",
        help="zero3 shares the weights out over the processes, which no device then holds whole",
        identity=False,
    )
    precision: str = setting(
        "auto",
        help="what the model computes in; auto: as its weights were written",
        choices=("auto", "fp32", "bf16", "fp16"),
    )
    chunk: int = setting(
        16_384, help="rows of a commit, about; what a killed run has to do again at most"
    )
    select: str | None = setting(
        None,
        help="write the items that are most worth annotating to out=: those that the model is "
        "least certain of, or those that several runs answer differently",
        choices=("uncertain", "disputed"),
        identity=False,
    )
    count: int | None = setting(None, help="items to select", example="count=500", identity=False)
    out: str | None = setting(
        None,
        help="file of the selected items, .tsv or .csv; annotate_adept.py export ids= reads it",
        example="out=uncertain.tsv",
        identity=False,
    )
    measure: str = setting(
        "entropy",
        help="what uncertain is by: all scores, or how far the best two are apart",
        choices=MEASURES,
        identity=False,
    )
    runs: list[str] = setting(
        [],
        help="runs of predictions to select from, besides the one of model=",
        example="runs=a,b",
        identity=False,
    )
    folder: str = setting(
        "runs/predict", help="where the state of unfinished runs lies", identity=False
    )
    lake: str = setting("lake", help="folder or URI of the lake", example="lake=/data/lake")
    tracking: str | None = setting(
        "sqlite:///mlflow.db", help="MLflow's store; none to track nothing", identity=False
    )
    experiment: str = setting("predict", help="MLflow experiment", identity=False)
    run_name: str | None = setting(None, help="name of the MLflow run", identity=False)

    def __post_init__(self) -> None:
        for name in ("limit", "batch_size", "max_length", "chunk", "count"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UserError(f"{name}={value}: expected 1 or more")
        if self.version is not None and self.version < 0:
            raise UserError(f"version={self.version}: expected 0 or more")
        if (self.model is None) != (self.table is None):
            given = "table" if self.model is None else "model"
            raise UserError(
                f"{given}={getattr(self, given)}: expected model= and table= together, or neither "
                "with select= and runs="
            )
        if self.second is not None and self.first is None:
            raise UserError(f"second={self.second}: expected first= with it")
        self._check_selection()

    def _check_selection(self) -> None:
        if self.select is None:
            for name in ("count", "out", "runs"):
                if getattr(self, name):
                    raise UserError(f"{name}={getattr(self, name)}: expected select= with it")
            if self.model is None:
                raise UserError(
                    "nothing to do: expected model= and table=, or select= and runs= "
                    "(--help lists every setting)"
                )
            return
        if self.count is None or self.out is None:
            raise UserError(f"select={self.select}: expected count= and out= with it")
        if not self.out.endswith((".tsv", ".csv")):
            raise UserError(f"out={self.out}: expected a file .tsv or .csv")
        runs = len(self.runs) + (self.model is not None)
        if len(set(self.runs)) < len(self.runs):
            raise UserError(f"runs={self.runs}: the same run twice")
        if self.select == "uncertain" and runs != 1:
            raise UserError(
                f"select=uncertain: {runs} runs; expected one: model= and table=, or runs=RUN_ID"
            )
        if self.select == "disputed" and runs < 2:
            raise UserError(
                f"select=disputed: {runs} run; expected two or more: runs=RUN_ID,RUN_ID, or "
                "model= and runs="
            )
