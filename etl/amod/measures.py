"""Measures of association of pairs, computed from counts.

PMI is in bits (the PLANE paper's appendix A leaves the base open; its cut-off of 15 fits base 2),
NPMI is Bouma's (2009) normalisation, logDice Rychlý's (2008). Here c is the count of a pair, a and
n are the counts of its adjective and its noun, and N is the count of all pairs of the corpus.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Counts: TypeAlias = npt.NDArray[np.int64]
    Total: TypeAlias = int | Counts  # of one corpus, or of the corpus of each pair
    Values: TypeAlias = npt.NDArray[np.float64]


def pmi(count: Counts, adjective_count: Counts, noun_count: Counts, total: Total) -> Values:
    """Pointwise mutual information log2(c N / (a n)), in bits."""
    bits: Values = np.log2(
        count / (adjective_count.astype(np.float64) * noun_count.astype(np.float64)) * total
    )
    return bits


def npmi(
    count: Counts,
    adjective_count: Counts,
    noun_count: Counts,
    total: Total,
    bits: Values | None = None,
) -> Values:
    """PMI (`bits`, if known) / -log2(c / N); exactly 1 if the words occur only together."""
    if bits is None:
        bits = pmi(count, adjective_count, noun_count, total)
    is_exclusive = (count == adjective_count) & (count == noun_count)
    with np.errstate(divide="ignore", invalid="ignore"):
        # The quotient of exclusive pairs is undefined (a corpus of one pair) or 1 up to rounding.
        return np.where(is_exclusive, 1.0, np.clip(bits / -np.log2(count / total), -1, 1))


def log_dice(count: Counts, adjective_count: Counts, noun_count: Counts, total: Total) -> Values:
    """14 + log2(2 c / (a + n)), independent of N."""
    values: Values = 14 + np.log2(2 * count / (adjective_count + noun_count))
    return values


MEASURES: Mapping[str, Callable[[Counts, Counts, Counts, Total], Values]] = {
    "pmi": pmi,
    "npmi": npmi,
    "log_dice": log_dice,
}
"""The measures by the name of their column in ``amod_association``."""


def measures(
    count: Counts, adjective_count: Counts, noun_count: Counts, total: Total
) -> dict[str, Values]:
    """All `MEASURES` of some pairs; PMI is computed once."""
    bits = pmi(count, adjective_count, noun_count, total)
    return {
        "pmi": bits,
        "npmi": npmi(count, adjective_count, noun_count, total, bits),
        "log_dice": log_dice(count, adjective_count, noun_count, total),
    }
