"""Words with similar collocates: a distributional thesaurus (Lin 1998, Rychlý and Kilgarriff 2007).

A word is the vector of the logDice of its strongest collocates; two words are as similar as the
cosine of their vectors. Comparing a word with all others is too slow for a page, so words that
share its strongest collocates are drawn first, and compared with all of their collocates then.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from adnominal.analysis.exploring.merging import best_places, measure_values
from adnominal.analysis.exploring.queries import Query, default_floor
from adnominal.analysis.exploring.sketches import Sketches

DIMENSIONS = 1000
"""The number of a word's strongest collocates that are compared."""

_DRAWING = 20  # strongest collocates whose other words are drawn as candidates
_CANDIDATES = 30  # words that are compared with all their collocates
_SHOWN_SHARED = 8  # shared collocates that are listed


@dataclass(frozen=True)
class _Vector:
    """The strongest collocates of a word with their logDice; norm, the vector's length."""

    weights: dict[str, float]
    norm: float


def similar_words(
    sketches: Sketches, role: str, word: str, corpus: str = "", limit: int = 20
) -> dict[str, Any]:
    """The words whose collocates are most similar to the word's, the most similar first.

    `rows` has the word, its cosine similarity in [0, 1], the number of shared collocates, and the
    strongest of these. Without a corpus, it is the one where the word is most frequent. For a word
    that no pair has, the answer is that of `Sketches.sketch`.

    Raises:
        UserError: the lake does not have the corpus.
    """
    query = sketches.check_query(Query(role, word, corpus=corpus, limit=limit))
    counts = sketches.counts(role, query.word)
    if not counts:
        return sketches.sketch(query)
    if not corpus:
        corpus = max(sorted(counts), key=lambda name: counts[name])
    vector = _vector(sketches, role, query.word, corpus)
    rows = []
    for candidate in _draw_candidates(sketches, query, vector, corpus):
        other = _vector(sketches, role, candidate, corpus)
        row = _compare(vector, other)
        if row["shared"]:
            rows.append({"word": candidate, **row})
    rows.sort(key=lambda row: (-row["similarity"], row["word"]))
    return {
        "rows": rows[:limit] if limit else rows,
        "word": query.word,
        "corpus": corpus,
        "words": counts,
        "nearest": [],
        "hints": [],
    }


def _strongest_collocates(
    sketches: Sketches, role: str, word: str, corpus: str, most: int
) -> tuple[list[str], np.ndarray[Any, Any]]:
    """The collocates with the greatest logDice, and these values; none below 0."""
    query = Query(role, word, corpus=corpus)
    rows = sketches.rows_of_word(query, word, corpus)
    counts = rows.column("count").to_numpy()
    admitted = np.flatnonzero(counts >= default_floor(counts))
    values = np.maximum(measure_values(rows, "log_dice", admitted), 0)
    # Ties with the last are cut by position, so that each word has at most so many.
    best = best_places(values, most)[:most]
    collocates = rows.column(query.partner)
    # One by one, because `take` would merge the dictionaries of all row groups.
    words = [collocates[place].as_py() for place in admitted[best].tolist()]
    return words, values[best]


def _vector(sketches: Sketches, role: str, word: str, corpus: str) -> _Vector:
    words, values = _strongest_collocates(sketches, role, word, corpus, DIMENSIONS)
    weights = dict(zip(words, values.tolist(), strict=True))
    return _Vector(weights, float(np.linalg.norm(values)))


def _draw_candidates(sketches: Sketches, query: Query, vector: _Vector, corpus: str) -> list[str]:
    """The words with the greatest products of weights over the strongest collocates."""
    collocates = sorted(vector.weights, key=lambda name: -vector.weights[name])
    parts = []
    for collocate in collocates[:_DRAWING]:
        words, values = _strongest_collocates(
            sketches, query.partner, collocate, corpus, DIMENSIONS
        )
        products = values * vector.weights[collocate]
        parts.append(pa.table({"word": pa.array(words, pa.string()), "product": products}))
    if not parts:
        return []
    sums = pa.concat_tables(parts).group_by("word").aggregate([("product", "sum")])
    sums = sums.filter(pc.field("word") != query.word)
    order = [("product_sum", "descending"), ("word", "ascending")]
    best = sums.sort_by(order).slice(0, _CANDIDATES)
    words_of_best: list[str] = best.column("word").to_pylist()
    return words_of_best


def _compare(one: _Vector, other: _Vector) -> dict[str, Any]:
    """The cosine of two words' collocates, and the shared collocates that contribute most."""
    shared = one.weights.keys() & other.weights.keys()
    products = {name: one.weights[name] * other.weights[name] for name in shared}
    lengths = one.norm * other.norm
    strongest = sorted(shared, key=lambda name: (-products[name], name))
    similarity = sum(products.values()) / lengths if lengths else 0.0
    return {
        "similarity": similarity,
        "shared": len(shared),
        "collocates": ", ".join(strongest[:_SHOWN_SHARED]),
    }
