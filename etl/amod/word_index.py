"""Look up the positions of words among millions of known ones.

Arrow builds a hash table of all known words for every look-up. The adjectives of a corpus grow with
it, and so do the parts that look them up, so the work would grow almost with the square of the
corpus. A `WordIndex` is built once per process, by which alone it is used.
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

_AT_ONCE = 1 << 18  # words hashed at once: some tens of MB


class WordIndex:
    """An index of the positions of `words`, which are distinct."""

    def __init__(self, words: pa.StringArray) -> None:
        self.words = words
        hashes = hashes_of(words)
        self._order = np.argsort(hashes)
        self._hashes = hashes[self._order]
        # If words share a hash, Arrow looks them up instead.
        self._is_unique = bool((self._hashes[1:] != self._hashes[:-1]).all())

    def places(self, words: pa.StringArray) -> npt.NDArray[np.int64]:
        """The position of each word; -1 for unknown words."""
        if not len(words) or not len(self.words):
            return np.full(len(words), -1, np.int64)
        if not self._is_unique:
            place_or_minus_one = pc.fill_null(pc.index_in(words, value_set=self.words), -1)
            return np.asarray(place_or_minus_one.to_numpy(zero_copy_only=False), np.int64)
        at = np.searchsorted(self._hashes, hashes_of(words))
        # The word at a place may be another one: an unknown word is between the known hashes.
        places = self._order[np.minimum(at, len(self._order) - 1)].astype(np.int64)
        is_same = pc.equal(self.words.take(pa.array(places)), words)
        places[~is_same.to_numpy(zero_copy_only=False)] = -1
        return places


def hashes_of(words: pa.StringArray) -> npt.NDArray[np.int64]:
    """Python's hash of each word, which differs from process to process."""
    pieces = [np.array([], np.int64)]
    for start in range(0, len(words), _AT_ONCE):
        texts = words.slice(start, _AT_ONCE).to_pylist()
        pieces.append(np.fromiter(map(hash, texts), np.int64, len(texts)))
    return np.concatenate(pieces)
