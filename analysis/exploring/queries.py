"""What a view is asked for: the word, the filters and the order of its rows."""

import shlex
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from adnominal.analysis.exploring.words import ROLES
from adnominal.conf import UserError
from adnominal.conf.help import spelling_hint

MEASURES = ("log_dice", "pmi", "npmi", "count")
CLASSES = ("I", "S", "O", "none")
"""Classes of adjectives: intersective, subsective, intensional, and adjectives without a class."""

DEFAULT_FLOOR = 3
"""The minimum count of a pair where none is given and `ENOUGH_COLLOCATES` reach it."""

ENOUGH_COLLOCATES = 10
"""A word with fewer collocates that reach `DEFAULT_FLOOR` is rare: all its pairs are shown."""


@dataclass(frozen=True)
class Query:
    """The parameters of a view.

    Attributes:
        role: role of the word, noun or adjective.
        word: the word whose collocates are shown.
        other: second word of the same role, for a difference; empty for none.
        corpus: the corpus to look up; empty for all.
        other_corpus: second corpus, for a difference of one word; empty for none.
        measure: measure to sort rows by (`MEASURES`).
        floor: minimum count of a pair in any of the corpora; in a difference, of the pair on either
            side; None for `default_floor`.
        classes: `CLASSES` of the adjectives shown; empty for all.
        limit: maximum number of rows, in a difference of each block; 0 for all.
        sort_corpus: of all corpora, the one by whose measure rows are sorted; empty for the corpus
            where the measure of the pair is greatest.
        hide_determiners: leave out adjectives that act as determiners (same, other, many).
        fold: count comparatives and superlatives as their positive form.
    """

    role: str
    word: str
    other: str = ""
    corpus: str = ""
    other_corpus: str = ""
    measure: str = "log_dice"
    floor: int | None = None
    classes: tuple[str, ...] = ()
    limit: int = 100
    sort_corpus: str = ""
    hide_determiners: bool = False
    fold: bool = False

    def __post_init__(self) -> None:
        _check_choice("role", self.role, ROLES)
        _check_choice("measure", self.measure, MEASURES)
        for one in self.classes:
            _check_choice("classes", one, CLASSES)
        if self.floor is not None and self.floor < 1:
            raise UserError(f"floor={self.floor}: expected 1 or more")
        if self.limit < 0:
            raise UserError(f"limit={self.limit}: expected 0 (all rows) or more")
        if self.other_corpus and not self.corpus:
            raise UserError("other_corpus= compares with corpus=, which is empty; give both")
        if self.sort_corpus and (self.corpus or self.compares):
            raise UserError(
                "sort_corpus= orders the rows of all corpora; omit it with corpus= or in a "
                "comparison"
            )

    @property
    def partner(self) -> str:
        """The role of the collocates."""
        return ROLES[1 - ROLES.index(self.role)]

    @property
    def compares(self) -> bool:
        """Whether the view compares two words, or one word in two corpora."""
        return bool(self.other or self.other_corpus)

    def command(self, lake: str, floor: int) -> str:
        """The command line that prints the same rows, of pairs with a count of at least `floor`."""
        values = {"lake": lake, self.role: self.word, "other": self.other, "corpus": self.corpus}
        values["other_corpus"] = self.other_corpus
        values["measure"] = self.measure
        values["sort_corpus"] = self.sort_corpus
        values["floor"] = str(floor)
        values["classes"] = ",".join(self.classes)
        values["limit"] = str(self.limit)
        for name in ("hide_determiners", "fold"):
            values[name] = "true" if getattr(self, name) else ""
        words = [f"{name}={value}" for name, value in values.items() if value]
        return shlex.join(["adnominal", "explore", *words])


def default_floor(counts: npt.NDArray[Any]) -> int:
    """The minimum count for collocates with these counts.

    Association measures put pairs that occur once or twice on top (Evert 2005, chapter 4), so they
    are left out where enough others remain.
    """
    frequent = np.count_nonzero(counts >= DEFAULT_FLOOR)
    return DEFAULT_FLOOR if frequent >= ENOUGH_COLLOCATES else 1


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        expected = ", ".join(choices)
        raise UserError(
            f"{name}={value}: expected one of {expected}{spelling_hint(value, choices)}"
        )
