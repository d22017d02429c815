"""The settings of ``etl/import_predictions.py``."""

import re
from dataclasses import dataclass
from pathlib import Path

from adnominal.conf import UserError, setting
from adnominal.conf.checks import check_default, check_distinct
from adnominal.etl.external import PREFIX
from adnominal.etl.registry import DATASETS

TASKS = tuple(name for name, dataset in DATASETS.items() if dataset.labels is not None)
"""The datasets whose items have labels."""

SUFFIXES = (".jsonl", ".json", ".csv", ".tsv")


@dataclass(frozen=True)
class Settings:
    file: list[str] = setting(
        help="lm-evaluation-harness's samples (.jsonl), logs of Inspect (.json), or tables (.csv, "
        ".tsv) with an item and an answer in each row",
        example="file=out/MODEL/samples_adept_clean_random_2026-11-28T08-04-39.jsonl",
    )
    run: str = setting(
        help="name of the answers in reports and statistics", example="run=gpt-5-adept"
    )
    task: str = setting(help="the dataset whose items were answered", choices=TASKS)
    model: str | None = setting(
        None, help="name of the model; by default that in the file, else the name of the run"
    )
    edition: str = setting("clean", help="edition of the items")
    scheme: str | None = setting(
        None,
        help="split scheme of the items that were asked; all items of the edition if not given",
        example="scheme=random",
    )
    fold: str = setting("", help="fold of the scheme", example="fold=1")
    part: str = setting("test", help="part of the scheme", example="part=val")
    item: str = setting(
        "item_id", help="column of the item's id, or its name among the fields of a document"
    )
    answer: str = setting("answer", help="column of the answer (.csv, .tsv)")
    labels: str | None = setting(
        None,
        help="words of the answers and the labels that they stand for, besides the labels' own "
        "names and the words of conf/prompts",
        example="labels=holds:entailment,fails:not_entailment",
    )
    lake: str = setting("lake", help="folder or URI of the lake", example="lake=/data/lake")

    def __post_init__(self) -> None:
        check_distinct(self, "file")
        if not self.file:
            raise UserError("file=[]: expected one or more files with answers")
        if not re.fullmatch(r"[\w.\-]+", self.run):
            raise UserError(f"run={self.run}: expected a name of letters, digits, '.', '_' and '-'")
        if self.scheme is None:
            check_default(self, ("fold", "part"), "without scheme=: expected the scheme of it")
        scheme_names = DATASETS[self.task].splits.names
        if self.scheme is not None and self.scheme not in scheme_names:
            raise UserError(f"scheme={self.scheme}: expected one of {', '.join(scheme_names)}")
        for file in map(Path, self.file):
            _check_file(file)

    @property
    def run_id(self) -> str:
        """The id of the run in the table predictions."""
        return PREFIX + self.run


def _check_file(file: Path) -> None:
    """Refuse the form of a file that cannot be read."""
    if file.suffix == ".eval":
        raise UserError(
            f"file={file}: a binary log; write it as JSON first: inspect log convert {file} --to "
            f"json --output-dir {file.parent}"
        )
    if file.suffix not in SUFFIXES:
        raise UserError(f"file={file}: expected a name that ends in {', '.join(SUFFIXES)}")
