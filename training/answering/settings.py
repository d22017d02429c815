"""The settings of ``training/score.py`` and ``training/predict.py``."""

from dataclasses import dataclass
from typing import Any, ClassVar

from adnominal.conf import UserError, setting
from adnominal.conf.checks import check_distinct, check_minimum
from adnominal.training.settings import TRAINED_MODEL, Answering


@dataclass(frozen=True, kw_only=True)
class _TableTexts(Answering):
    """The texts of a table's rows."""

    where: str | None = setting(
        None,
        help="SQL condition on the rows of the table",
        example="where=\"edition = 'clean' AND chosen\"",
    )
    first: str | None = setting(
        None, help="column of the text or first text; known for the datasets' tables"
    )
    second: str | None = setting(None, help="column of the second text, with first=")
    item: str | None = setting(None, help="column of item ids; by default the known one or item_id")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.second is not None and self.first is None:
            raise UserError(f"second={self.second}: expected first= with it")


@dataclass(frozen=True)
class ScoreSettings(_TableTexts):
    FIRST: ClassVar[tuple[str, ...]] = (
        *("model", "models", "tasks", "task"),
        *("method", "table", "lake", "out", "limit", "batch_size"),
    )

    method: str = setting(
        "labels",
        help="labels: a classifier on the labelled rows of tasks=; logprob: the log-probability of "
        "the texts of table= by a language model",
        choices=("labels", "logprob"),
    )
    table: str | None = setting(
        None, help="table of the texts (method=logprob)", example="table=minimal_pairs"
    )
    masking: str = setting(
        "word",
        help="masked language models: word masks the later tokens of a token's word too (Kauf and "
        "Ivanova 2023), token only the token itself (Salazar et al. 2020)",
        choices=("word", "token"),
    )

    models: list[str] = setting(
        [], help="several models, instead of model=", example="models=[runs/adept,runs/plane]"
    )
    labels: list[str] = setting(
        [],
        help="meanings of the model's classes, in its order, if its configuration lacks them",
        example="labels=[contradiction,entailment,neutral]",
    )
    tasks: list[str] = setting(
        [],
        help="tasks to score: adept, plane, asp, pairs, sygns, or names of task.*",
        example="tasks=[adept,plane]",
    )
    task: dict[str, Any] = setting(
        {},
        help="settings of each task: those of task.* in finetune.py, its part, and its name if the "
        "key is another name",
        example="task.plane.fold=2 task.adept.part=val task.again.name=plane",
    )
    out: str = setting("runs/score", help="folder of finished cells", identity=False)
    predictions: bool = setting(
        True, help="write every prediction to the table predictions", identity=False
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.model is None) == (not self.models):
            raise UserError(
                f"model={self.model or ''} models=[{','.join(self.models)}]: expected one of the "
                "two, as model=models:/plane/1"
            )
        if self.method == "logprob":
            self._check_texts()
        elif self.table is not None:
            raise UserError(f"table={self.table}: expected method=logprob with it")
        elif not self.tasks:
            raise UserError("no tasks; expected some, such as tasks=[plane], or a settings file")
        check_distinct(self, "models", "tasks")
        check_minimum(self, 1, "limit", "max_length", "batch_size")
        if self.labels and len(self.uris) > 1:
            raise UserError(
                f"labels=[{','.join(self.labels)}] with {len(self.uris)} models: expected one "
                "model, since each has its own order"
            )

    def _check_texts(self) -> None:
        if self.table is None:
            raise UserError("method=logprob: no table; expected one with texts, as table=adept")
        if self.tasks or self.labels or self.max_length is not None:
            raise UserError(
                "method=logprob: expected neither tasks=, labels= nor max_length=; it scores the "
                "whole texts of table="
            )

    @property
    def uris(self) -> list[str]:
        """The models, one or several."""
        return [self.model] if self.model is not None else list(self.models)


@dataclass(frozen=True, kw_only=True)
class PredictSettings(_TableTexts):
    FIRST: ClassVar[tuple[str, ...]] = ("model", "table", "where", "lake", "limit")

    model: str = setting(help=TRAINED_MODEL, example="model=models:/plane/1")
    table: str = setting(
        help="table of the lake whose rows are classified", example="table=adept_items"
    )
    version: int | None = setting(
        None, help="version of the table; by default the newest", identity=False
    )
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
        super().__post_init__()

    @property
    def predictions(self) -> bool:
        """Whether predictions are written to the lake: they are what is asked for."""
        return True
