"""The settings of ``etl/build_colours.py``."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from adnominal.conf import setting
from adnominal.etl.engine import EngineSettings


@dataclass(frozen=True)
class Settings(EngineSettings):
    """Settings of ``etl/build_colours.py``."""

    PRESETS: ClassVar[Mapping[str, Mapping[str, Any]]] = {"clean": {}, "demo": {"min_count": 1}}

    preset: str = setting("clean", help="demo is for small corpora", choices=("clean", "demo"))
    edition: str | None = setting(None, help="edition to build; by default the preset's name")
    corpus: list[str] = setting([], help="corpora in amod_pairs to take; all if empty")
    min_count: int = setting(10, help="least number of occurrences of a phrase")
    seed: int = setting(0, help="seed of the splits")
    lake: str = setting("lake", help="folder or URI of the lake")

    @property
    def name(self) -> str:
        """The edition to build."""
        return self.edition or self.preset
