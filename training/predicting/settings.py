"""The settings of ``training/predict.py``."""

from dataclasses import dataclass
from typing import ClassVar

from adnominal.conf import UserError, setting
from adnominal.conf.checks import check_distinct, check_minimum
from adnominal.training.predicting.selection import MEASURES
from adnominal.training.settings import Answering


@dataclass(frozen=True)
class Settings(Answering):
    FIRST: ClassVar[tuple[str, ...]] = (
        *("model", "table", "where", "lake", "limit"),
        *("select", "count", "out", "runs"),
    )

    table: str | None = setting(
        None, help="table of the lake whose rows are classified", example="table=adept_items"
    )
    where: str | None = setting(
        None,
        help="SQL condition on the rows",
        example="where=\"edition = 'clean' AND chosen\"",
    )
    version: int | None = setting(
        None, help="version of the table; by default the newest", identity=False
    )
    first: str | None = setting(
        None, help="column of the text or first text; known for the datasets' tables"
    )
    second: str | None = setting(None, help="column of the second text, with first=")
    item: str | None = setting(None, help="column of item ids; by default the known one or item_id")
    chunk: int = setting(
        16_384, help="approximate rows per commit; a killed run repeats at most this many"
    )
    select: str | None = setting(
        None,
        help="write the items most worth annotating to out=: those of which the model is least "
        "certain, or those that several runs answer differently",
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
        help="measure of uncertainty: entropy of all scores, or margin between the best two",
        choices=MEASURES,
        identity=False,
    )
    runs: list[str] = setting(
        [],
        help="runs whose predictions to select from, besides the run of model=",
        example="runs=a,b",
        identity=False,
    )
    folder: str = setting(
        "runs/predict", help="folder for the state of unfinished runs", identity=False
    )

    # Each lake has its own predictions and versions.
    lake: str = setting("lake", help="folder or URI of the lake", example="lake=/data/lake")

    def __post_init__(self) -> None:
        check_minimum(self, 1, "limit", "batch_size", "max_length", "chunk", "count")
        check_minimum(self, 0, "version")
        check_distinct(self, "runs")
        if (self.model is None) != (self.table is None):
            name = "table" if self.model is None else "model"
            raise UserError(
                f"{name}={getattr(self, name)}: expected model= and table= together, or neither "
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
            raise UserError(f"out={self.out}: expected a .tsv or .csv file")
        runs = len(self.runs) + (self.model is not None)
        if self.select == "uncertain" and runs != 1:
            raise UserError(
                f"select=uncertain: {runs} runs; expected one: model= and table=, or runs=RUN_ID"
            )
        if self.select == "disputed" and runs < 2:
            raise UserError(
                f"select=disputed: {runs} run; expected two or more: runs=RUN_ID,RUN_ID, or "
                "model= and runs="
            )
