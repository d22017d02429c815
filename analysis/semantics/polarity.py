"""How well a predicted meaning gives its words their direction (paper, section 4.3, table 15).

For each direction: gold are the words of the gold meaning with that direction, predicted are the
words of the prediction that are among these, whatever their direction. Precision, recall and F are
taken for each sentence and averaged; a sentence without a gold word of the direction has no score.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from etl.sygns import fol, polarity, vf
from etl.sygns.fol import ParseError
from etl.sygns.polarity import Direction, Polarities

__all__ = ["PolarityScore", "average", "polarities", "score"]


class PolarityScore(NamedTuple):
    """Of one sentence, or averaged over sentences; shares from 0 to 1."""

    precision: float
    recall: float
    f: float


def polarities(form: str, text: str) -> Polarities:
    """Words and directions of a meaning in FOL or VF; `ParseError` where it is none."""
    if form == "fol":
        return polarity.from_fol(fol.parse(text))
    if form == "vf":
        return polarity.from_vf(vf.parse(text))
    raise ValueError(f"form {form!r}; polarity is read off fol or vf")


def score(
    form: str, gold: str, predicted: str, direction: Direction, rounding: int | None = None
) -> PolarityScore | None:
    """The score of one sentence for one direction; None where gold has no such word.

    `rounding` rounds each share to that many decimals, as the published evaluation does with 2. A
    prediction that is no meaning has no words and scores 0.
    """
    wanted = {item for item in polarities(form, gold) if item[1] == direction}
    if not wanted:
        return None
    words = {word for word, _ in wanted}
    try:
        got = {item for item in polarities(form, predicted) if item[0] in words}
    except ParseError:
        got = set()
    if not got:
        return PolarityScore(0.0, 0.0, 0.0)
    right = len(got & wanted)
    precision, recall = right / len(got), right / len(wanted)
    if rounding is not None:
        precision, recall = round(precision, rounding), round(recall, rounding)
    total = precision + recall
    f = 2 * precision * recall / total if total else 0.0
    return PolarityScore(precision, recall, f if rounding is None else round(f, rounding))


def average(scores: Iterable[PolarityScore | None]) -> tuple[PolarityScore | None, int]:
    """The mean of the scores that there are, and their number; None of none."""
    there = [s for s in scores if s is not None]
    if not there:
        return None, 0
    size = len(there)
    return PolarityScore(*(sum(column) / size for column in zip(*there, strict=True))), size
