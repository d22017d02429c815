"""The settings of the verbs of ``etl/annotate_adept.py``."""

import dataclasses
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adnominal.conf import UserError, setting
from adnominal.conf.checks import check_minimum
from adnominal.etl.annotation import aggregation, forms
from adnominal.etl.annotation.batches import CONDITIONS, PLATFORMS, ROUNDS, Batch
from adnominal.etl.annotation.quality import DENOMINATORS, DROPS, Rules

# Rounds whose answers decide the labels; they share no items.
LABELLING = ("pilot", "main")
# Each of two kinds of checks is on a fifth of the pages: 4 checks for 36 items, close to the
# paper's 2,000 for 19,324 (section 4.1).
_CHECKS = 0.2
SMALL_ROUND = 100  # items of the smaller rounds (sections 4.2 and 5.2)

_LAKE: dict[str, Any] = {"help": "folder or URI of the lake", "example": "lake=/data/lake"}


def _shares(settings: Any, *names: str) -> None:
    for name in names:
        value = getattr(settings, name)
        if value is not None and not 0 <= value <= 1:
            raise UserError(f"{name}={value:g}: expected a share from 0 to 1")


@dataclass(frozen=True)
class ExportSettings:
    batch: str = setting(help="file to write; its name is the batch's", example="batch=main1.csv")
    format: str = setting("mturk", help="platform that the file is for", choices=PLATFORMS)
    round: str = setting(
        "main", help="what the answers are for (docs/annotation.md)", choices=ROUNDS
    )
    condition: str = setting(
        "context", help="whether sentences are shown (human baseline only)", choices=CONDITIONS
    )
    edition: str = setting("clean", help="edition of adept_items, or adept, to take items from")
    items: int | None = setting(
        None, help="items to export; by default all that are left in the main round, else 100"
    )
    lacking: int | None = setting(
        None,
        help="instead of new items, those that lack this many of three answers under the quality "
        "rules; ask as many annotators",
        example="lacking=1",
    )
    ids: str | None = setting(
        None,
        help="only items of this file, items=N its first N: .tsv or .csv with a column item_id; "
        "items of other editions are ignored",
        example="ids=second_look.tsv",
    )
    per_page: int = setting(4, help="questions per page, checks included")
    gold: float | None = setting(
        None, help="share of pages with a gold item; by default 0.2 in the main round, else 0"
    )
    attention: float | None = setting(
        None, help="share of pages with an attention check; default 0.2 in pilot and main, else 0"
    )
    gold_answers: int = setting(4, help="equal answers of a pilot that make an item gold")
    seed: int = setting(0, help="seed for the choice and order of items and checks")
    again: bool = setting(False, help="write the files of an exported batch again")
    lake: str = setting("lake", **_LAKE)

    def __post_init__(self) -> None:
        check_minimum(self, 1, "items", "per_page", "gold_answers", "lacking")
        most = Rules().answers
        if self.lacking is not None and (self.round != "main" or self.lacking > most):
            got = f"lacking={self.lacking} round={self.round}"
            raise UserError(f"{got}: expected 1 to {most} in round=main")
        _shares(self, "gold", "attention")
        forms.check_path(Path(self.batch), self.format)
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

    def laid_out(self) -> Batch:
        """The batch, with the shares of checks that its round has by default."""
        gold = _CHECKS if self.round == "main" else 0.0
        attention = _CHECKS if self.round in LABELLING else 0.0
        return Batch(
            self.name,
            self.round,
            self.format,
            self.edition,
            self.condition,
            self.per_page,
            gold if self.gold is None else self.gold,
            attention if self.attention is None else self.attention,
            self.seed,
        )


@dataclass(frozen=True)
class ImportSettings:
    batch: str = setting(help="file of answers, as the platform returns it", example="batch=in.csv")
    format: str = setting(
        "auto", help="platform of the file; auto detects it", choices=("auto", *PLATFORMS)
    )
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
class FinishSettings:
    edition: str = setting("clean", help="edition of adept_items that was annotated")
    rounds: list[str] = setting(
        ["pilot", "main"], help="rounds whose answers decide the labels", choices=LABELLING
    )
    attention_failures: int = setting(0, help="failed attention checks that an annotator may have")
    gold_degrees: int = setting(2, help="distance from a gold label that counts as a miss")
    gold_share: float = setting(0.1, help="share of misses that an annotator may have")
    gold_of: str = setting(
        "gold",
        help="what the share is of: the annotator's gold items, or all of their annotations",
        choices=DENOMINATORS,
    )
    drop: str = setting(
        "answers",
        help="what to drop with an excluded annotator: their answers, or all instances they "
        "annotated",
        choices=DROPS,
    )
    per_person: int = setting(100, help="maximum number of items per annotator")
    answers: int = setting(3, help="answers that an item needs")
    agree: int = setting(2, help="answers that must agree")
    models: list[str] = setting(
        ["dawid_skene", "mace"],
        help="models of annotators to compare the labels with; models=[] for none",
        choices=aggregation.MODELS,
    )
    samples: int = setting(1000, help="bootstrap samples of items for an interval")
    report: str | None = setting(
        None, help="file to write the figures to, as JSON", example="report=agreement.json"
    )
    seed: int = setting(0, help="seed of splits, intervals, and the draw of items beyond the limit")
    lake: str = setting("lake", **_LAKE)

    def __post_init__(self) -> None:
        check_minimum(self, 0, "attention_failures")
        check_minimum(self, 1, "gold_degrees", "per_person", "answers", "agree", "samples")
        _shares(self, "gold_share")
        if self.agree > self.answers:
            raise UserError(f"agree={self.agree}: expected answers={self.answers} or fewer")
        if not self.rounds:
            raise UserError(f"rounds=[]: expected {' or '.join(LABELLING)}, or both")

    def rules(self) -> Rules:
        """The settings of the quality rules."""
        return Rules(**{f.name: getattr(self, f.name) for f in dataclasses.fields(Rules)})


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
