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
    """One row of unit length per word.

    The idea: words of similar use have similar neighbours, so a word is described by how much more
    often than by chance each frequent word occurs directly before and directly after it. Two counts
    for each frequent word make a wide and mostly empty matrix; its singular value decomposition
    keeps the `DIMENSIONS` directions in which words differ most.

    `tokens` are the numbers of words by frequency, from 0 to `size` - 1, or -1 for a rare word.
    """
    counts = _neighbour_counts(tokens, sentence_starts, size)
    weights = _positive_pmi(counts)
    left, singular_values = _largest_singular_vectors(weights)
    coordinates = left * np.sqrt(singular_values)
    vectors: Matrix = _unit_rows(coordinates).astype(np.float32)
    return vectors


def _neighbour_counts(tokens: Numbers, sentence_starts: npt.NDArray[np.uint32], size: int) -> Any:
    """How often each word has each frequent word as its neighbour, a sparse matrix.

    There is a row for each word; the first half of the columns is for the neighbours before it, the
    second half for those after it.
    """
    from scipy.sparse import coo_array

    contexts = min(NEIGHBOURS, size)
    previous, following = tokens[:-1], tokens[1:]
    opens_sentence = np.zeros(len(tokens), dtype=np.bool_)
    opens_sentence[sentence_starts] = True
    in_one_sentence = ~opens_sentence[1:]

    def with_frequent(words: Numbers, neighbours: Numbers) -> tuple[Numbers, Numbers]:
        """The pairs in one sentence whose word is not rare and whose neighbour is frequent."""
        is_frequent = (neighbours >= 0) & (neighbours < contexts)
        counted = in_one_sentence & (words >= 0) & is_frequent
        return words[counted], neighbours[counted]

    rows_before, columns_before = with_frequent(words=following, neighbours=previous)
    rows_after, columns_after = with_frequent(words=previous, neighbours=following)
    rows = np.concatenate([rows_before, rows_after])
    columns = np.concatenate([columns_before, columns_after + contexts])
    ones = np.ones(len(rows))
    occurrences = coo_array((ones, (rows, columns)), shape=(size, 2 * contexts))
    return occurrences.tocsr()  # which adds up equal entries


def _positive_pmi(counts: Any) -> Any:
    """The counts weighted by positive pointwise mutual information.

    The totals of the neighbours are smoothed, so that rare neighbours do not get the highest
    weights (Levy, Goldberg and Dagan 2015, section 3.1).
    """
    word_totals = counts.sum(axis=1)
    smoothed_totals = counts.sum(axis=0) ** 0.75
    expected_share = smoothed_totals / smoothed_totals.sum()
    entries = counts.tocoo()
    share = entries.data / word_totals[entries.row]
    pmi = np.log(share / expected_share[entries.col])
    entries.data = np.maximum(0, pmi)
    return entries.tocsr()


def _largest_singular_vectors(matrix: Any) -> tuple[Any, Any]:
    """The left singular vectors of the `DIMENSIONS` largest singular values, and these values."""
    from scipy.sparse.linalg import svds

    smaller_side = min(matrix.shape)
    # Without a given start, the solver takes a random one, and the result is random as well.
    start = np.ones(smaller_side)
    left, singular_values, _ = svds(matrix, k=min(DIMENSIONS, smaller_side - 1), v0=start)
    return left, singular_values


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
