"""The settings of ``etl/build_sygns.py``."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from adnominal.conf import UserError, setting
from adnominal.conf.checks import check_distinct, check_minimum
from adnominal.etl.engine import EngineSettings
from adnominal.etl.sygns.splits import SCHEMES

MAX_DEPTH = 4  # the grammar has sampling rates (sampling.keep) up to this depth


@dataclass(frozen=True)
class Settings(EngineSettings):
    PRESETS: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "clean": {},
        "paper": {"rules": "paper", "adjectives": 5, "adverbs": 5, "boxes": "nesting"},
        "scripts": {
            "rules": "paper",
            "adjectives": 5,
            "adverbs": 5,
            "boxes": "counter",
            "arguments": "right",
        },
        "demo": {"sentences": 1000, "per_depth": 200, "embedded": 50},
    }

    preset: str = setting(
        "clean",
        help="paper reproduces oddities that clean corrects, as in the published sample; scripts, "
        "as the release's own scripts write them (docs/sygns.md); demo is small",
        choices=("clean", "paper", "scripts", "demo"),
    )
    edition: str | None = setting(
        None, help="edition to build; by default the name of the preset", example="edition=mine"
    )
    rules: str = setting(
        "clean",
        help="grammar: corrected, or with the published oddities",
        choices=("clean", "paper"),
    )
    boxes: str = setting(
        "unique",
        help="numbering of DRS boxes: unique, by nesting as in the published sample (siblings "
        "share numbers), or by a running counter as in table 18",
        choices=("unique", "nesting", "counter"),
    )
    arguments: str = setting(
        "auto",
        help="arguments of subject relatives in FOL and DRS: right, or swapped as in the published "
        "sample; auto: swapped with rules=paper",
        choices=("auto", "right", "swapped"),
    )
    adjectives: int = setting(10, help="number of adjectives to use, the first of ten")
    adverbs: int = setting(10, help="number of adverbs to use, the first of ten")
    sentences: int = setting(50_000, help="sentences of depth 0 (systematicity)")
    per_depth: int = setting(20_000, help="sentences of each depth for productivity")
    embedded: int = setting(
        2_000,
        help="sentences of each depth with trained embedded quantifiers, and with unseen ones; "
        "0 for none",
    )
    max_depth: int = setting(4, help="maximum depth: number of embedded clauses")
    schemes: list[str] = setting(
        list(SCHEMES), help="splits to build; [] for none", choices=SCHEMES
    )
    seed: int = setting(0, help="job seed")
    lake: str = setting("lake", help="folder or URI of the lake", example="lake=/data/lake")
    task_size: int = setting(5_000, help="sentences drawn by one Spark task")

    def __post_init__(self) -> None:
        for name in ("adjectives", "adverbs"):
            if not 1 <= getattr(self, name) <= 10:
                raise UserError(f"{name}={getattr(self, name)}: expected 1 to 10")
        if self.arguments == "swapped" and self.rules == "clean":
            raise UserError(
                "arguments=swapped is an oddity of rules=paper; expected both, or neither"
            )
        check_minimum(self, 1, "sentences", "per_depth", "task_size")
        check_minimum(self, 0, "embedded")
        check_distinct(self, "schemes")
        if not 0 <= self.max_depth <= MAX_DEPTH:
            raise UserError(f"max_depth={self.max_depth}: expected 0 to {MAX_DEPTH}")

    @property
    def name(self) -> str:
        """The edition to build."""
        return self.edition or self.preset
