"""Places of words among millions of known ones, looked up by every task for a few of them.

Arrow builds a hash table anew for every look-up: of all known words, each time. The adjectives of a
corpus grow with it, and so do the parts that look some of them up, so that the work would grow
almost with the square of the corpus. A `WordIndex` is built once a process.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

_PRIME = 1099511628211  # FNV's: odd, so that its powers never vanish
_LONGEST = 256  # bytes of a word that count; of longer ones with equal beginnings Arrow decides
_AT_ONCE = 1 << 18  # words hashed together: some tens of MB


class WordIndex:
    """The places of `words`, each of which occurs once among them."""

    def __init__(self, words: pa.StringArray) -> None:
        self.words = words
        hashes = hashes_of(words)
        self._order = np.argsort(hashes)
        self._hashes = hashes[self._order]
        # Words that share a hash cannot be told apart by it: Arrow looks them up.
        self._is_unique = bool((self._hashes[1:] != self._hashes[:-1]).all())

    def places(self, words: pa.StringArray) -> npt.NDArray[np.int64]:
        """The place of each word, -1 for one that is not known."""
        if not len(words) or not len(self.words):
            return np.full(len(words), -1, np.int64)
        if not self._is_unique:
            place_or_minus_one = pc.fill_null(pc.index_in(words, value_set=self.words), -1)
            return np.asarray(place_or_minus_one.to_numpy(zero_copy_only=False), np.int64)
        at = np.searchsorted(self._hashes, hashes_of(words))
        places = self._order[np.minimum(at, len(self._order) - 1)].astype(np.int64)
        is_same = pc.equal(self.words.take(pa.array(places)), words)
        places[~is_same.to_numpy(zero_copy_only=False)] = -1
        return places


def hashes_of(words: pa.StringArray) -> npt.NDArray[np.uint64]:
    """A hash of each word's bytes: equal words have equal ones, others hardly ever."""
    pieces = [_hashes(words[at : at + _AT_ONCE]) for at in range(0, len(words), _AT_ONCE)]
    return np.concatenate(pieces) if pieces else np.array([], np.uint64)


def _hashes(words: pa.StringArray) -> npt.NDArray[np.uint64]:
    powers = np.cumprod(np.full(_LONGEST, _PRIME, np.uint64), dtype=np.uint64)
    _, offsets_buffer, data = words.buffers()
    offsets = np.frombuffer(offsets_buffer, np.int32)[words.offset : words.offset + len(words) + 1]
    starts, lengths = offsets[:-1].astype(np.int64), np.diff(offsets)
    if data is None or not lengths.any():
        return np.zeros(len(words), np.uint64)
    first, last = int(offsets[0]), int(offsets[-1])
    content = np.frombuffer(data, np.uint8)[first:last].astype(np.uint64)
    within = np.arange(first, last) - np.repeat(starts, lengths)
    content = (content + np.uint64(1)) * powers[np.minimum(within, _LONGEST - 1)]
    is_empty = lengths == 0
    sums = np.zeros(len(words), np.uint64)
    sums[~is_empty] = np.add.reduceat(content, starts[~is_empty] - first)
    # Its low bits hang on the low bits of the letters alone.
    mixed: npt.NDArray[np.uint64] = (sums ^ (sums >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15)
    return mixed
