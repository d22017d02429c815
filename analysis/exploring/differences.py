"""How two words, or two corpora, differ: collocates of the first only, of both, of the second only.

The blocks are those of a sketch difference (Kilgarriff et al. 2014). In each block the strongest
contrast comes first: the log-likelihood ratio of the collocate's counts on the two sides (Dunning
1993), which a rare collocate cannot head, as it would by a difference of logDice.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

BLOCKS = ("first", "both", "second")
"""Collocates that only the first side has, that both have, that only the second has."""

Numbers = npt.NDArray[Any]


@dataclass(frozen=True)
class Side:
    """The collocates of one side.

    Attributes:
        collocates: columns word, value (the measure), count, and occurrences, which is the count
            summed over the corpora of the side.
        total: the occurrences of the side's word in these corpora.
    """

    collocates: pa.Table
    total: int


def contrast(first: Numbers, second: Numbers, first_total: int, second_total: int) -> Numbers:
    """The log-likelihood ratio of counts out of totals, in nats times two; 0 for equal shares."""
    both_totals = max(1, first_total + second_total)
    expected_share = (first + second) / both_totals
    sums = np.zeros(len(first))
    for counts, total in ((first, first_total), (second, second_total)):
        share = counts / max(1, total)
        sums += _log_ratio(counts, share, expected_share)
        sums += _log_ratio(total - counts, 1 - share, 1 - expected_share)
    return 2 * np.maximum(sums, 0)


def _log_ratio(counts: Numbers, observed: Numbers, expected: Numbers) -> Numbers:
    """counts * ln(observed / expected); 0 where the count is 0."""
    is_positive = (counts > 0) & (expected > 0)
    quotient = np.ones(len(counts))
    np.divide(observed, expected, out=quotient, where=is_positive)
    logarithm = np.log(quotient)
    return counts * logarithm


def blocks(first: Side, second: Side, floor: int) -> pa.Table:
    """The collocates that reach the floor on either side, with the values of both.

    Columns word, first, first_count, second, second_count (null and 0 where a side does not have
    the collocate; the counts are those of the contrast), difference (null unless both have it),
    contrast and block.
    """
    # Each word gets a number; the columns of a side are spread over these numbers.
    sides = (first.collocates, second.collocates)
    words = pa.concat_tables([side.select(["word"]) for side in sides]).column("word")
    numbered = pa.concat_arrays(words.chunks).dictionary_encode()
    numbers = np.split(numbered.indices.to_numpy(), [first.collocates.num_rows])
    size = len(numbered.dictionary)
    counts = [_spread(side, "count", own, size) for side, own in zip(sides, numbers, strict=True)]
    places = np.flatnonzero(np.maximum(*counts) >= floor)
    first_count, second_count = (side_counts[places] for side_counts in counts)
    first_value = _spread(sides[0], "value", numbers[0], size)[places]
    second_value = _spread(sides[1], "value", numbers[1], size)[places]
    first_occurrences = _spread(sides[0], "occurrences", numbers[0], size)[places]
    second_occurrences = _spread(sides[1], "occurrences", numbers[1], size)[places]
    strength = contrast(first_occurrences, second_occurrences, first.total, second.total)
    has_first = first_count > 0
    has_second = second_count > 0
    has_both = has_first & has_second
    block = np.where(has_second, "second", "first")
    block[has_both] = "both"
    columns = {
        "word": numbered.dictionary.take(pa.array(places)),
        "first": pa.array(first_value, mask=~has_first),
        "first_count": first_occurrences,
        "second": pa.array(second_value, mask=~has_second),
        "second_count": second_occurrences,
        "difference": pa.array(first_value - second_value, mask=~has_both),
        "contrast": strength,
        "block": block.astype(object),  # text, which Arrow does not read from a fixed width
    }
    return pa.table(columns)


def _spread(side: pa.Table, name: str, numbers: Numbers, size: int) -> Numbers:
    """A column of a side by the numbers of its words; 0 for words that it does not have."""
    values = side.column(name).to_numpy()
    by_number = np.zeros(size, values.dtype)
    by_number[numbers] = values
    return by_number


def strongest_rows(rows: pa.Table, block: str, limit: int) -> tuple[pa.Table, int]:
    """The rows of a block with the strongest contrast, in order, and the number of all of them."""
    is_member = pc.equal(rows.column("block"), block)
    members = rows.filter(is_member)
    order = [("contrast", "descending"), ("word", "ascending")]
    if limit and members.num_rows > limit:
        places = pc.select_k_unstable(members, k=limit, sort_keys=order)
        return members.take(places), members.num_rows
    return members.sort_by(order), members.num_rows
