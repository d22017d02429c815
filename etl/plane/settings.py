"""The settings of ``etl/build_plane.py``."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from adnominal.conf import UserError, setting
from adnominal.conf.checks import check_minimum
from adnominal.etl.engine import EngineSettings
from adnominal.etl.knowledge.lexicons import TAGS
from adnominal.etl.plane import SCHEMES
from adnominal.etl.plane.rules import TEXTS
from adnominal.etl.plane.sizes import Sizes


@dataclass(frozen=True)
class Settings(EngineSettings):
    PRESETS: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "clean": {},
        "paper": {"text": "paper", "chains": True},
        "demo": {"every_class": False, "schemes": ["two_shot"], "two_shot": 5},
    }

    preset: str = setting(
        "clean",
        help="paper writes and splits as the paper did (docs/plane.md); demo is for small corpora",
        choices=("clean", "paper", "demo"),
    )
    edition: str | None = setting(
        None, help="edition to build; by default the preset's name", example="edition=mine"
    )
    corpus: list[str] = setting(
        [], help="corpora in amod_pairs to use; by default all", example="corpus=depcc"
    )
    min_count: int = setting(1, help="minimum occurrences of a phrase, over all corpora used")
    classes: str | None = setting(
        None,
        help="TSV of further adjectives with their class, I, S or O, and perhaps tags",
        example="classes=my_classes.tsv",
    )
    drop_tags: list[str] = setting(
        ["context-dependent"],
        help="tags of adjectives of classes= that are not used (section 3.2); [] for none",
        choices=TAGS,
    )
    every_class: bool = setting(
        True, help="keep only nouns that occur with adjectives of all three classes (section 3.2)"
    )
    distance: int = setting(3, help="steps up to a hypernym, 1 to 3, for classes I and S")
    intensional_distance: int = setting(1, help="steps up to a hypernym, 1 to 3, for class O")
    text: str = setting(
        "clean",
        help="sentences in correct English, or as published (always A, no full stop)",
        choices=TEXTS,
    )
    association: bool = setting(
        True, help="write the PMI of the phrases to plane_association (appendix A)"
    )
    schemes: list[str] = setting(
        list(SCHEMES), help="split schemes to make (docs/plane.md); [] for none", choices=SCHEMES
    )
    folds: int = setting(5, help="folds of each scheme except two_shot, which has one")
    train_rows: int = setting(60_012, help="training rows per fold, a multiple of 18")
    test_rows: int = setting(2_016, help="test rows per fold, a multiple of 18")
    one_it_train_rows: int = setting(60_024, help="training rows per fold of one_it")
    one_it_test_rows: int = setting(2_016, help="test rows per fold of one_it")
    chains: bool = setting(
        False, help="one_it with all pairs of a noun and its hypernyms, with repeated rows"
    )
    two_shot: int = setting(500, help="number of nouns of two_shot, nine rows each")
    seed: int = setting(0, help="seed of the splits; items are the same for every seed")
    lake: str = setting("lake", help="folder or URI of the lake", example="lake=/data/lake")
    task_size: int = setting(2_000_000, help="approximate number of items made by one Spark task")

    def __post_init__(self) -> None:
        check_minimum(self, 1, "min_count", "task_size")
        for name in ("distance", "intensional_distance"):
            if not 1 <= getattr(self, name) <= 3:
                raise UserError(f"{name}={getattr(self, name)}: expected 1, 2 or 3")
        if self.intensional_distance > self.distance:
            raise UserError(
                f"intensional_distance={self.intensional_distance}: expected at most "
                f"distance={self.distance}"
            )
        if self.chains and self.distance < 3 and "one_it" in self.schemes:
            raise UserError(f"chains=true distance={self.distance}: expected distance=3")
        if self.schemes:
            _ = self.sizes  # rejects sizes that are not a whole number of units

    @property
    def name(self) -> str:
        """The edition that the job builds."""
        return self.edition or self.preset

    @property
    def sizes(self) -> Sizes:
        """The sizes of the splits."""
        return Sizes(
            train_rows=self.train_rows,
            test_rows=self.test_rows,
            one_it_train_rows=self.one_it_train_rows,
            one_it_test_rows=self.one_it_test_rows,
            two_shot=self.two_shot,
            folds=self.folds,
            reach=self.intensional_distance,
            chains=self.chains,
        )
