"""The settings of the verbs of ``etl/annotate_adept.py``."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adnominal.conf import UserError, setting
from adnominal.conf.checks import check_distinct, check_minimum
from adnominal.etl.annotation.quality import LABELLING, Rules

ROUNDS = (*LABELLING, "expert", "human", "audit")
# Each of two kinds of checks is on a fifth of the pages: 4 checks for 36 items, close to the
# paper's 2,000 for 19,324 (section 4.1).
_CHECKS = 0.2

_LAKE: dict[str, Any] = {"help": "folder or URI of the lake", "example": "lake=/data/lake"}


@dataclass(frozen=True)
class ExportSettings:
    batch: str = setting(help="file to write; its name is the batch's", example="batch=main1.csv")
    format: str = setting(
        "mturk", help="platform that the file is for", choices=("mturk", "label_studio", "csv")
    )
    round: str = setting(
        "main", help="what the answers are for (docs/annotation.md)", choices=ROUNDS
    )
    condition: str = setting(
        "context",
        help="whether sentences are shown (human baseline only)",
        choices=("context", "no_context"),
    )
    edition: str = setting("clean", help="edition of adept_items, or adept, to take items from")
    items: int | None = setting(
        None, help="items to export; by default all that are left in the main round, else 100"
    )
    per_page: int = setting(4, help="questions per page, checks included")
    gold: float | None = setting(
        None, help="share of pages with a gold item; by default 0.2 in the main round, else 0"
    )
    attention: float | None = setting(
        None, help="share of pages with an attention check; default 0.2 in pilot and main, else 0"
    )
    seed: int = setting(0, help="seed for the choice and order of items and checks")
    consent: str | None = setting(
        None,
        help="what annotators agree to by answering, on every page before the instructions: a "
        "text, or the name of a file that ends in .txt",
        example="consent=consent.txt",
        free_text=True,
    )
    contact: str | None = setting(
        None,
        help="whom annotators can ask, on every page after the questions: a text or a .txt file",
        example="contact='Questions? Write to ann@example.org.'",
        free_text=True,
    )
    again: bool = setting(False, help="write the files of an exported batch again")
    lake: str = setting("lake", **_LAKE)

    def __post_init__(self) -> None:
        check_minimum(self, 1, "items", "per_page")
        for name, share in (("gold", self.gold_share), ("attention", self.attention_share)):
            if not 0 <= share <= 1:
                raise UserError(f"{name}={share:g}: expected a share from 0 to 1")
        if self.gold_share + self.attention_share >= self.per_page:
            raise UserError(
                f"gold={self.gold_share:g} attention={self.attention_share:g} with per_page="
                f"{self.per_page}: no room for items; expected fewer checks or longer pages"
            )
        if Path(self.batch).suffix != ".csv":
            raise UserError(f"batch={self.batch}: expected a name that ends in .csv")
        for name in ("consent", "contact"):
            if getattr(self, name) and self.format == "csv":
                raise UserError(
                    f"{name}= with format=csv: a table has no page; expected format=mturk or "
                    "format=label_studio"
                )
        if self.condition == "no_context" and self.round != "human":
            raise UserError(f"condition=no_context round={self.round}: expected round=human")
        if self.gold and (self.round == "audit" or self.condition == "no_context"):
            raise UserError(
                f"gold={self.gold:g}: gold items have a label in context; expected gold=0 with "
                f"round={self.round} condition={self.condition}"
            )

    @property
    def name(self) -> str:
        """The batch's name."""
        return Path(self.batch).stem

    @property
    def gold_share(self) -> float:
        """The share of pages with a gold item."""
        if self.gold is not None:
            return self.gold
        return _CHECKS if self.round == "main" else 0.0

    @property
    def attention_share(self) -> float:
        """The share of pages with an attention check."""
        if self.attention is not None:
            return self.attention
        return _CHECKS if self.round in LABELLING else 0.0


@dataclass(frozen=True)
class ImportSettings:
    batch: str = setting(help="file of answers, as the platform returns it", example="batch=in.csv")
    annotator: str | None = setting(
        None, help="who answered, if a plain CSV does not say", example="annotator=ann"
    )
    key: str | None = setting(
        None,
        help="file of the secret key for hashing annotators' ids, outside of the lake; by default "
        "adnominal/annotators.key in XDG_CONFIG_HOME or ~/.config, created when first needed",
        example="key=/safe/annotators.key",
    )
    lake: str = setting("lake", **_LAKE)

    def key_path(self) -> Path:
        """The path of the key."""
        if self.key is not None:
            return Path(self.key)
        home = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
        return Path(home) / "adnominal" / "annotators.key"


@dataclass(frozen=True)
class FinishSettings(Rules):
    edition: str = setting("clean", help="edition of adept_items that was annotated")
    models: list[str] = setting(
        ["dawid_skene", "mace"],
        help="models of annotators to compare the labels with; models=[] for none",
        choices=("dawid_skene", "mace"),
    )
    report: str | None = setting(
        None, help="file to write the figures to, as JSON", example="report=agreement.json"
    )
    lake: str = setting("lake", **_LAKE)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_distinct(self, "models")


@dataclass(frozen=True)
class SimulateSettings:
    batch: str = setting(help="file of a batch, as exported", example="batch=main1.csv")
    out: str = setting(help="file of answers to write", example="out=answers.csv")
    careful: int = setting(8, help="careful annotators")
    noisy: int = setting(2, help="noisy annotators")
    spammers: int = setting(0, help="annotators who do not read")
    answers: int = setting(3, help="annotators per page")
    seed: int = setting(0, help="seed of the true labels and all answers")
    lake: str = setting("lake", **_LAKE)

    def __post_init__(self) -> None:
        check_minimum(self, 0, "careful", "noisy", "spammers")
        check_minimum(self, 1, "answers")
