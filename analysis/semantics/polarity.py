"""How well a predicted meaning gives its words their direction (paper, section 4.3, table 15).

For each direction, the words of the gold meaning with that direction are compared with the same
words of the prediction, regardless of their direction there. Precision, recall and F are computed
for each sentence and averaged; a sentence without a gold word of the direction has no score.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from adnominal.etl.sygns import fol, polarity, vf
from adnominal.etl.sygns.fol import ParseError
from adnominal.etl.sygns.polarity import Direction


class PolarityScore(NamedTuple):
    """Scores of one sentence, or averaged over sentences; shares from 0 to 1."""

    precision: float
    recall: float
    f: float


@lru_cache(maxsize=16)  # both directions of a sentence need the same polarities
def polarities(form: str, text: str) -> tuple[tuple[str, Direction], ...]:
    """Words and directions of a meaning in FOL or VF; `ParseError` for any other text."""
    if form == "fol":
        return tuple(polarity.from_fol(fol.parse(text)))
    if form == "vf":
        return tuple(polarity.from_vf(vf.parse(text)))
    raise ValueError(f"form {form!r}; polarity is defined for fol or vf")


def score(
    form: str, gold: str, predicted: str, direction: Direction, rounding: int | None = None
) -> PolarityScore | None:
    """The score of one sentence for one direction; None if the gold meaning has no such word.

    `rounding` rounds each share to that many decimals, as the published evaluation does with 2. An
    ill-formed prediction has no words and scores 0.
    """
    gold_words = {item for item in polarities(form, gold) if item[1] == direction}
    if not gold_words:
        return None
    names = {word for word, _ in gold_words}
    try:
        predicted_words = {item for item in polarities(form, predicted) if item[0] in names}
    except ParseError:
        predicted_words = set()
    if not predicted_words:
        return PolarityScore(0.0, 0.0, 0.0)
    right = len(predicted_words & gold_words)
    precision, recall = right / len(predicted_words), right / len(gold_words)
    if rounding is not None:
        precision, recall = round(precision, rounding), round(recall, rounding)
    total = precision + recall
    f = 2 * precision * recall / total if total else 0.0
    return PolarityScore(precision, recall, f if rounding is None else round(f, rounding))


def average(scores: Iterable[PolarityScore | None]) -> tuple[PolarityScore | None, int]:
    """The mean of the scores that are not None (None if all are), and their number."""
    available = [s for s in scores if s is not None]
    if not available:
        return None, 0
    size = len(available)
    return PolarityScore(*(sum(column) / size for column in zip(*available, strict=True))), size
