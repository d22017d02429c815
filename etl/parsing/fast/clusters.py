"""Clusters of words by their neighbours: a feature of words that the treebanks lack.

Words with similar neighbours share a cluster, so that what the tagger and the head finder learn
about one word also holds for another that occurs only in plain text (Turian, Ratinov and Bengio
2010, section 3). A word is described by how often each of the most frequent words occurs directly
before and after it; these counts are weighted by positive pointwise mutual information, reduced by
a singular value decomposition, and grouped by k-means.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]
Matrix = npt.NDArray[np.float32]

NEIGHBOURS = 2000  # the most frequent words, by which all words are described
DIMENSIONS = 80
ROUNDS = 25


def clusters(
    words: Sequence[str],
    sentence_starts: npt.NDArray[np.uint32],
    *,
    number: int,
    min_count: int,
    seed: int,
) -> dict[str, int]:
    """The cluster, from 1 to `number`, of each word that occurs at least `min_count` times.

    `words` are lower-cased tokens in the order of the text, and `sentence_starts` the places of the
    first tokens of sentences.
    """
    counts = sorted(Counter(words).items(), key=lambda entry: (-entry[1], entry[0]))
    frequent = [word for word, count in counts if count >= min_count]
    # A decomposition needs more rows than dimensions; so few words need no clusters.
    if len(frequent) <= DIMENSIONS:
        return {}
    place_of = {word: place for place, word in enumerate(frequent)}
    tokens = np.array([place_of.get(word, -1) for word in words], dtype=np.int64)
    vectors = _vectors(tokens, sentence_starts, len(frequent))
    labels = _k_means(vectors, min(number, len(frequent)), seed)
    return {word: label + 1 for word, label in zip(frequent, labels.tolist(), strict=True)}


def _vectors(tokens: Numbers, sentence_starts: npt.NDArray[np.uint32], size: int) -> Matrix:
    """One row of unit length per word."""
    from scipy.sparse import coo_array
    from scipy.sparse.linalg import svds

    contexts = min(NEIGHBOURS, size)
    is_inner = np.ones(len(tokens), dtype=np.bool_)
    is_inner[sentence_starts] = False
    rows, columns = [], []
    for side, (word, neighbour) in enumerate(
        ((tokens[1:], tokens[:-1]), (tokens[:-1], tokens[1:]))
    ):
        counted = is_inner[1:] & (word >= 0) & (neighbour >= 0) & (neighbour < contexts)
        rows.append(word[counted])
        columns.append(neighbour[counted] + side * contexts)
    row, column = np.concatenate(rows), np.concatenate(columns)
    # Equal entries are summed.
    table = coo_array((np.ones(len(row)), (row, column)), shape=(size, 2 * contexts)).tocsr()
    row_sums, column_sums = table.sum(axis=1), table.sum(axis=0)
    # Sums of contexts are smoothed (Levy, Goldberg and Dagan 2015, section 3.1).
    smoothed = column_sums**0.75 / (column_sums**0.75).sum()
    entries = table.tocoo()
    share = entries.data / row_sums[entries.row]
    entries.data = np.maximum(0, np.log(share / smoothed[entries.col]))
    start = np.ones(min(entries.shape))  # without it the start, and so the result, is random
    left, values, _ = svds(entries.tocsr(), k=min(DIMENSIONS, min(entries.shape) - 1), v0=start)
    vectors: Matrix = _unit_rows(left * np.sqrt(values)).astype(np.float32)
    return vectors


def _k_means(vectors: Matrix, count: int, seed: int) -> Numbers:
    """Spherical k-means that starts from the most frequent words."""
    random = np.random.default_rng(seed)
    centres = vectors[:count]
    for _ in range(ROUNDS):
        nearest = np.argmax(vectors @ centres.T, axis=1)
        sums = np.zeros_like(centres)
        np.add.at(sums, nearest, vectors)
        empty = ~sums.any(axis=1)
        sums[empty] = vectors[random.integers(0, len(vectors), int(empty.sum()))]
        centres = _unit_rows(sums)
    labels: Numbers = np.argmax(vectors @ centres.T, axis=1)
    return labels


def _unit_rows(matrix: Any) -> Any:
    return matrix / np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-9)
