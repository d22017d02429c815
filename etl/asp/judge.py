"""The job of ``etl/judge_asp.py``: it writes sheets of questions and reads their answers."""

import logging
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from adnominal.conf import UserError, setting
from adnominal.etl.asp.degree import Degree
from adnominal.etl.asp.gold import published_gold
from adnominal.etl.asp.judgements import human_rows, read_responses, sheet, write_sheet
from adnominal.etl.asp.lexicon import load_lexicon
from adnominal.etl.lake import arrow
from adnominal.etl.lake.tables import table

log = logging.getLogger("adnominal")


@dataclass(frozen=True)
class Settings:
    sheet: str | None = setting(
        None, help="CSV file of questions to write", example="sheet=questions.csv"
    )
    responses: str | None = setting(
        None, help="CSV file to read, with the answers filled in", example="responses=answers.csv"
    )
    source: str | None = setting(
        None, help="name of the answers in asp_human", example="source=mine"
    )
    judges: list[str] = setting(["1", "2", "3"], help="names of the judges who get the sheet")
    groups: int = setting(2, help="premises of each test in a sheet, with 40 questions each")
    seed: int = setting(0, help="seed of the questions")
    lake: str = setting("lake", help="folder or URI of the lake", example="lake=/data/lake")

    def __post_init__(self) -> None:
        if (self.sheet is None) == (self.responses is None):
            raise UserError("expected one of sheet=FILE (to ask) and responses=FILE (to read)")
        if self.responses is not None and self.source is None:
            raise UserError(f"responses={self.responses}: expected source=NAME as well")
        if self.source == "published":
            raise UserError(
                "source=published: expected another name; those answers are the release's, which "
                "etl/import_published.py imports"
            )
        if not self.judges or len(set(self.judges)) < len(self.judges):
            got = ",".join(self.judges) or "[]"
            raise UserError(f"judges={got}: expected one or more names, each once")
        if self.groups < 1 or self.groups % 2:
            raise UserError(f"groups={self.groups}: expected an even number, for both polarities")


def judge(settings: Settings) -> None:
    """Human judgements for ASP: write a sheet of questions, or read its answers.

    sheet=FILE writes the questions. responses=FILE reads them with their answers, fits a curve for
    each test and polarity, and replaces source=NAME of the table asp_human.
    """
    if settings.sheet is not None:
        degree = Degree(load_lexicon(), settings.seed, published_gold())
        questions = sheet(degree, settings.groups, settings.judges, settings.seed)
        write_sheet(Path(settings.sheet), questions)
        log.info("%d questions in %s", len(questions), settings.sheet)
        return
    source = str(settings.source)
    judgements = human_rows(*read_responses(Path(str(settings.responses))), source)
    rows = pa.Table.from_pylist(judgements, table("asp_human").schema)
    arrow.replace(settings.lake, "asp_human", rows, {"source": source}, job="judge_asp")
    for threshold in sorted({(r["test"], r["polarity"], r["threshold"]) for r in judgements}):
        log.info("%s, %s: threshold %.1f", *threshold)
