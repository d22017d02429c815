"""Rows of a word in several corpora as one row for each collocate, and the best rows of many.

The rows have the collocate, its count with the word, the counts of both words, the corpus and the
corpus's total number of pairs (`Sketches`).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from adnominal.analysis.exploring.adjectives import is_in
from adnominal.analysis.exploring.differences import Side
from adnominal.analysis.exploring.queries import DEFAULT_FLOOR, ENOUGH_COLLOCATES, Query
from adnominal.etl.amod.measures import MEASURES as FORMULAS

_ALL = slice(None)

Numbers = npt.NDArray[Any]


def measure_values(rows: pa.Table, measure: str, places: Numbers | slice = _ALL) -> Numbers:
    """The values of a measure (`queries.MEASURES`) for the selected rows."""
    counts: Numbers = rows.column("count").to_numpy()[places]
    if measure == "count":
        return counts
    adjective_counts = rows.column("adjective_count").to_numpy()[places]
    noun_counts = rows.column("noun_count").to_numpy()[places]
    totals = rows.column("total").to_numpy()[places]
    formula = FORMULAS[measure]
    return formula(counts, adjective_counts, noun_counts, totals)


def best_places(values: Numbers, limit: int) -> Numbers:
    """Positions of the `limit` greatest values, including ties with the last; all for 0."""
    if not limit or limit >= len(values):
        return np.arange(len(values))
    rank = len(values) - limit
    least = np.partition(values, rank)[rank]
    return np.flatnonzero(values >= least)


def merge_corpora(rows: pa.Table, query: Query) -> pa.Table:
    """One row for each collocate, from the corpus whose row represents it.

    That is `sort_corpus` if given; else the one where the measure is greatest, but corpora whose
    counts reach the floor come first. Columns: word; value, the measure (minus infinity if
    `sort_corpus` does not have the word); count; place, of the row in `rows`; most and occurrences,
    the maximum and the sum of the counts over the corpora.
    """
    words = rows.column(query.partner).cast(pa.string()).combine_chunks()
    values = measure_values(rows, query.measure).astype(np.float64)
    counts = rows.column("count").to_numpy()
    places = np.arange(len(values))
    corpora = rows.column("corpus").unique().to_pylist()
    if not corpora or _is_single(corpora, query):
        # Each word has one row.
        columns = {"word": words, "value": values, "count": counts, "place": places}
        columns |= {"most": counts, "occurrences": counts}
        return pa.table(columns)
    is_other = np.zeros(len(values), bool)
    if query.sort_corpus:
        is_other = ~is_in(rows.column("corpus"), [query.sort_corpus])
        values[is_other] = -np.inf
    is_rare = counts < (query.floor or 1)
    codes = words.dictionary_encode().indices.to_numpy()
    order = np.lexsort((-values, is_rare, is_other, codes))
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    first_places = order[starts]
    counts_by_word = counts[order]
    columns = {
        "word": words.take(pa.array(first_places)),
        "value": values[first_places],
        "count": counts[first_places],
        "place": first_places,
        "most": np.maximum.reduceat(counts_by_word, starts),
        "occurrences": np.add.reduceat(counts_by_word, starts),
    }
    return pa.table(columns)


def _is_single(corpora: list[str], query: Query) -> bool:
    """Whether the rows are of one corpus, by which they can be sorted."""
    return len(corpora) == 1 and query.sort_corpus in ("", corpora[0])


def side_of(rows: pa.Table, query: Query) -> Side:
    """One side of a difference: the rows of its word."""
    total = 0
    for corpus in rows.column("corpus").unique().to_pylist():
        place = pc.index(rows.column("corpus").cast(pa.string()), corpus).as_py()
        word_counts = rows.column(f"{query.role}_count")
        total += word_counts[place].as_py()
    return Side(merge_corpora(rows, query), total)


def common_floor(sides: Sequence[Side]) -> int:
    """The default minimum count for the collocates of both sides together."""
    frequent_words: set[str] = set()
    for side in sides:
        most = side.collocates.column("most").to_numpy()
        # So many are enough, whatever they are.
        places = np.flatnonzero(most >= DEFAULT_FLOOR)[:ENOUGH_COLLOCATES]
        words = side.collocates.column("word").take(pa.array(places))
        frequent_words.update(words.to_pylist())
    return DEFAULT_FLOOR if len(frequent_words) >= ENOUGH_COLLOCATES else 1
