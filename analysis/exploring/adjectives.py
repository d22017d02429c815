"""What the explorer knows of adjectives: their classes, and which act as determiners."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from adnominal.analysis.rows import tuples
from adnominal.etl.adept.words import lists
from adnominal.etl.lake import arrow


def determiners() -> list[str]:
    """Adjectives that replace a determiner or require one: *same*, *other*, *many*."""
    return sorted(lists()["determiners"])


@dataclass(frozen=True)
class Lexicon:
    """Classes of adjectives; if sources disagree on an adjective, the first class is used."""

    classes: dict[str, str] = field(default_factory=dict)

    def class_of(self, adjective: str) -> str:
        """I, S, O or none."""
        return self.classes.get(adjective, "none")

    def class_mask(self, adjectives: pa.ChunkedArray, classes: Sequence[str]) -> npt.NDArray[Any]:
        """A mask of the adjectives that belong to one of the classes."""
        members = [adjective for adjective, one in self.classes.items() if one in classes]
        selected = is_in(adjectives, members)
        if "none" in classes:
            selected = selected | ~is_in(adjectives, list(self.classes))
        return selected


def read_lexicon(lake: str) -> Lexicon:
    """The classes of table `adjective_classes`; none if the lake does not have it."""
    if "adjective_classes" not in arrow.tables(lake):
        return Lexicon()
    classes = arrow.read(lake, "adjective_classes", columns=["adjective", "class"])
    # Only the first class of an adjective is kept.
    first_classes = reversed(tuples(classes, "adjective", "class"))
    return Lexicon(dict(first_classes))


def is_in(words: pa.ChunkedArray, members: Sequence[str]) -> npt.NDArray[Any]:
    """A mask of the words that are among the members."""
    values = pa.array(members, pa.string())
    mask = pc.is_in(words.cast(pa.string()), value_set=values)
    return np.asarray(mask.to_numpy())
