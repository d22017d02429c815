"""The settings of ``etl/build_adept.py``."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from adnominal.conf import UserError, setting
from adnominal.conf.checks import check_minimum
from adnominal.etl.adept.predicates import DEFAULT_RELATIONS, RELATIONS
from adnominal.etl.adept.words import RULES
from adnominal.etl.engine import EngineSettings
from adnominal.etl.knowledge import lexicons
from adnominal.etl.knowledge.english import ARTICLE_RULES


@dataclass(frozen=True)
class Settings(EngineSettings):
    PRESETS: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "clean": {},
        "paper": {"rules": "paper", "article": "letter", "templates": False},
        "demo": {"min_count": 1, "relations": list(RELATIONS)},
    }

    preset: str = setting(
        "clean",
        help="clean corrects what paper reproduces (docs/adept.md); demo suits the embedded corpus",
        choices=("clean", "paper", "demo"),
    )
    edition: str | None = setting(
        None, help="edition to build; by default the preset's name", example="edition=mine"
    )
    corpora: list[str] = setting(
        [], help="corpora of amod_pairs to use; by default all", example="corpora=depcc,wikipedia"
    )
    min_count: int = setting(10, help="minimum count of a pair in its own corpus")
    min_adjectives: int = setting(4, help="minimum number of distinct adjectives of a noun")
    relations: list[str] = setting(
        list(DEFAULT_RELATIONS), help="relations whose edges serve as predicates", choices=RELATIONS
    )
    predicates: int = setting(3, help="maximum number of predicates of a noun, chosen by seed")
    variants: int = setting(4, help="maximum number of variants of a sentence")
    nonsubsective: int = setting(2, help="maximum number of non-subsective adjectives among them")
    rules: str = setting(
        "clean", help="rules for words and sentences: corrected, or the release's", choices=RULES
    )
    article: str = setting(
        "sound", help="a or an by sound, or by the first letter", choices=ARTICLE_RULES
    )
    templates: bool = setting(True, help="make sentences from edges without surface text")
    identity: str = setting(
        "keep",
        help="adjectives of gender, age, origin, faith and health (conf/lexicons)",
        choices=("keep", "leave_out"),
    )
    offensive: str | None = setting(
        None,
        help="TSV of further offensive words (word, kind), beside those of conf/lexicons",
        example="offensive=profane.tsv",
    )
    seed: int = setting(0, help="job seed")
    lake: str = setting("lake", help="folder or URI of the lake", example="lake=/data/lake")

    def __post_init__(self) -> None:
        check_minimum(self, 1, "min_count", "min_adjectives", "predicates", "variants")
        check_minimum(self, 0, "nonsubsective")
        if not self.relations:
            raise UserError(f"relations= is empty; expected some of {', '.join(RELATIONS)}")
        lexicons.offensive_words(self.offensive)  # rejects a file that is no such list

    @property
    def name(self) -> str:
        """The edition that the job builds."""
        return self.edition or self.preset
