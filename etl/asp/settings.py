"""The settings of ``etl/build_asp.py``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from conf import UserError, setting
from etl.asp.degree import NUMBERS, TEXTS, VARIANTS
from etl.engine import EngineSettings

__all__ = ["Settings"]


@dataclass(frozen=True)
class Settings(EngineSettings):
    """Settings of ``etl/build_asp.py``."""

    PRESETS: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "clean": {},
        "paper": {
            "boosters": ["very"],
            "diminishers": ["relatively"],
            "balanced": False,
            "text": "paper",
            "rounds": "drawn",
        },
        "demo": {"entailment": 100, "degree": 160},
    }

    preset: str = setting(
        "clean",
        help="paper draws as the paper did (docs/asp.md); demo is clean and small",
        choices=("clean", "paper", "demo"),
    )
    edition: str | None = setting(
        None, help="edition to build; the preset's name if not given", example="edition=mine"
    )
    entailment: int = setting(1000, help="rows of entailment inference a test; 0 for none")
    degree: int = setting(
        2000,
        help="rows of degree estimation a test and variant, by groups of numbers=; 0 for none",
    )
    variants: list[str] = setting(
        ["base"],
        help="premises of degree estimation: as they are, with sentences or numbers exchanged",
        choices=VARIANTS,
    )
    z_from: float = setting(60.0, help="least number, where premises stand at 80 and 120")
    z_to: float = setting(138.0, help="greatest number", example="z_from=20 z_to=176")
    numbers: int = setting(
        NUMBERS,
        help="numbers asked for with a premise; the paper's wider range has 60",
        example="z_from=40 z_to=158 numbers=60 degree=3000",
    )
    text: str = setting(
        "clean",
        help="clean, or as the release writes: full stops and articles missing, °c (docs/asp.md)",
        choices=TEXTS,
    )
    boosters: list[str] = setting(
        [], help="boosters to use; if empty all of the lexicon's, in degree estimation very alone"
    )
    diminishers: list[str] = setting(
        [], help="diminishers to use; if empty all, in degree estimation relatively alone"
    )
    balanced: bool = setting(True, help="keep word lengths from telling the label (docs/asp.md)")
    gold: str = setting(
        "sigmoid",
        help="labels by the fitted threshold, or by the share of people itself",
        choices=("sigmoid", "empirical"),
    )
    human: str | None = setting(
        None,
        help="source in table asp_human whose judgements to use; the published thresholds if empty",
        example="human=mine",
    )
    corpus: str | None = setting(
        None,
        help="corpus in amod_pairs that must have an adjective with its noun; none if empty",
        example="corpus=depcc",
    )
    min_count: int = setting(1, help="occurrences that a combination needs in the corpus")
    splits: bool = setting(True, help="make the rounds of fine-tuning")
    rounds: str = setting(
        "assigned",
        help="rounds take rows of the edition, or draw their words first and then rows of them, of "
        "the paper's sizes, into edition NAME_tuning",
        choices=("assigned", "drawn"),
    )
    seed: int = setting(0, help="job seed")
    lake: str = setting("lake", help="folder or URI of the lake", example="lake=/data/lake")
    task_size: int = setting(50_000, help="rows made by one Spark task")

    def __post_init__(self) -> None:
        for name in ("entailment", "degree"):
            if getattr(self, name) < 0:
                raise UserError(f"{name}={getattr(self, name)}: expected 0 or more")
        if not self.entailment and not self.degree:
            raise UserError("entailment=0 degree=0: nothing to build; expected one of them above 0")
        for name in ("min_count", "task_size"):
            if getattr(self, name) < 1:
                raise UserError(f"{name}={getattr(self, name)}: expected 1 or more")
        if not self.z_from < self.z_to:
            raise UserError(f"z_from={self.z_from:g} z_to={self.z_to:g}: expected a range")
        if not self.variants:
            raise UserError(f"variants=[]: expected some of {', '.join(VARIANTS)}")
        if self.numbers < 2:
            raise UserError(f"numbers={self.numbers}: expected 2 or more")
        if self.degree % self.numbers:
            raise UserError(f"degree={self.degree}: expected a multiple of {self.numbers}, a group")
        if self.gold == "empirical" and self.human is None:
            raise UserError(
                "gold=empirical: expected human=SOURCE as well, judgements in table asp_human "
                "(etl/judge_asp.py, or etl/import_published.py asp=…)"
            )

    @property
    def name(self) -> str:
        """The edition that the job builds."""
        return self.edition or self.preset

    @property
    def tuning(self) -> str:
        """The edition of rows that rounds=drawn makes."""
        return f"{self.name}_tuning"
