"""The settings of ``training/predict.py``."""

from dataclasses import dataclass
from typing import ClassVar

from adnominal.conf import UserError, setting
from adnominal.conf.checks import check_minimum
from adnominal.training.settings import TRAINED_MODEL, Answering


@dataclass(frozen=True, kw_only=True)
class Settings(Answering):
    FIRST: ClassVar[tuple[str, ...]] = ("model", "table", "where", "lake", "limit")

    model: str = setting(help=TRAINED_MODEL, example="model=models:/plane/1")
    table: str = setting(
        help="table of the lake whose rows are classified", example="table=adept_items"
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
    folder: str = setting(
        "runs/predict", help="folder for the state of unfinished runs", identity=False
    )

    # Each lake has its own predictions and versions.
    lake: str = setting("lake", help="folder or URI of the lake", example="lake=/data/lake")

    def __post_init__(self) -> None:
        check_minimum(self, 1, "limit", "batch_size", "max_length", "chunk")
        check_minimum(self, 0, "version")
        if self.second is not None and self.first is None:
            raise UserError(f"second={self.second}: expected first= with it")
