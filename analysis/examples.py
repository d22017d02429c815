"""Rows drawn as examples: by (seed, id), so that neither order nor partitioning has a say."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from etl.draws import draw

_T = TypeVar("_T")


def shuffled(rows: Iterable[_T], seed: int, key: Callable[[_T], Any]) -> list[_T]:
    """The rows in a random order, the same every time; `key` gives the id of each."""
    return sorted(rows, key=lambda row: draw(seed, key(row)))


def bracketed(sentence: str, modifier: str) -> str:
    """The sentence with its first token that is the modifier in square brackets, as ADEPT shows
    it; the sentence as it is where there is none."""
    pattern = rf"(?<![\w-])({re.escape(modifier)})(?![\w-])"
    return re.sub(pattern, r"[\1]", sentence, count=1, flags=re.IGNORECASE)
