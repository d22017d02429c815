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
    the collocate), difference (null unless both have it), contrast and block.
    """
    names = ["word", "value", "count", "occurrences"]
    left, right = (side.collocates.select(names) for side in (first, second))
    both = left.join(right, "word", join_type="full outer", right_suffix="_second")
    counts = [_filled(both, name) for name in ("count", "count_second")]
    if floor > 1:
        # A mask, because filtering by an expression starts an engine.
        is_frequent = np.maximum(*counts) >= floor
        both = both.filter(pa.array(is_frequent))
        counts = [side_counts[is_frequent] for side_counts in counts]
    first_occurrences = _filled(both, "occurrences")
    second_occurrences = _filled(both, "occurrences_second")
    strength = contrast(first_occurrences, second_occurrences, first.total, second.total)
    values = [both.column(name) for name in ("value", "value_second")]
    has_first, has_second = (value.is_valid().to_numpy() for value in values)
    block = np.where(has_second, "second", "first")
    block[has_first & has_second] = "both"
    columns = {
        "word": both.column("word"),
        "first": values[0],
        "first_count": counts[0],
        "second": values[1],
        "second_count": counts[1],
        "difference": pc.subtract(values[0], values[1]),
        "contrast": strength,
        "block": block,
    }
    return pa.table(columns)


def strongest(rows: pa.Table, block: str, limit: int) -> tuple[pa.Table, int]:
    """The rows of a block with the strongest contrast, in order, and the number of all of them."""
    is_member = pc.equal(rows.column("block"), block)
    members = rows.filter(is_member)
    order = [("contrast", "descending"), ("word", "ascending")]
    if limit and members.num_rows > limit:
        places = pc.select_k_unstable(members, k=limit, sort_keys=order)
        return members.take(places), members.num_rows
    return members.sort_by(order), members.num_rows


def _filled(table: pa.Table, name: str) -> Numbers:
    filled = pc.fill_null(table.column(name), 0)
    return np.asarray(filled.to_numpy())
