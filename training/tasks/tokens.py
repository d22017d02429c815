"""Words of a sequence model, and texts of its words (Yanaka et al. 2021, section 4.1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from etl.sygns import fol

Splitting: TypeAlias = Literal["words", "formula"]


def split_tokens(text: str, how: Splitting) -> list[str]:
    """The tokens that a model reads or writes.

    ``words`` are split at spaces: sentences, variable-free formulas, and DRS clauses, where
    ``[SEP]``, every box and every variable are tokens. A first-order ``formula`` is split by
    `etl.sygns.fol.tokens`, whose operators keep their spaces.
    """
    return fol.tokens(text) if how == "formula" else text.split(" ")


def join_tokens(tokens: Sequence[str], how: Splitting) -> str:
    """The text of tokens: ``join_tokens(split_tokens(text, how), how) == text``."""
    return ("" if how == "formula" else " ").join(tokens)
