"""Look up the positions of words among millions of known ones.

Arrow builds a hash table of all known words for every look-up. The adjectives of a corpus grow with
it, and so do the parts that look them up, so the work would grow almost with the square of the
corpus. A `WordIndex` is built once per process.
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

_PRIME = 1099511628211  # FNV's: odd, so that its powers never vanish
_MIX = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio: spreads the bits of a sum
_LONGEST = 256  # bytes of a word that are hashed; Arrow compares longer ones with equal beginnings
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


def hashes_of(words: pa.StringArray) -> npt.NDArray[np.uint64]:
    """A hash of each word's bytes, with few collisions."""
    pieces = [_hashes(words[at : at + _AT_ONCE]) for at in range(0, len(words), _AT_ONCE)]
    return np.concatenate(pieces) if pieces else np.array([], np.uint64)


def _hashes(words: pa.StringArray) -> npt.NDArray[np.uint64]:
    """A polynomial hash modulo 2^64, of all words at once.

    The hash of a word is the sum of (byte + 1) * prime^(place of the byte in the word, from 1). The
    bytes of an Arrow array lie one after another, so the terms of all words are one array, which is
    summed from the start of each word to that of the next.
    """
    _, offsets_buffer, data = words.buffers()
    all_offsets = np.frombuffer(offsets_buffer, np.int32)
    offsets = all_offsets[words.offset : words.offset + len(words) + 1].astype(np.int64)
    starts = offsets[:-1]
    lengths = np.diff(offsets)
    sums = np.zeros(len(words), np.uint64)
    if data is None or not lengths.any():
        return sums

    first, last = int(offsets[0]), int(offsets[-1])
    content = np.frombuffer(data, np.uint8)[first:last].astype(np.uint64)
    place_in_word = np.arange(first, last) - np.repeat(starts, lengths)
    powers = np.cumprod(np.full(_LONGEST, _PRIME, np.uint64), dtype=np.uint64)
    power_of_byte = powers[np.minimum(place_in_word, _LONGEST - 1)]
    # One is added, so that a word differs from the same word with bytes of zero after it.
    terms = (content + np.uint64(1)) * power_of_byte

    # An empty word keeps the sum 0: `reduceat` would give it the first term of the next word.
    has_bytes = lengths > 0
    sums[has_bytes] = np.add.reduceat(terms, starts[has_bytes] - first)
    # The low bits of a sum depend only on the low bits of the bytes, so high bits are mixed in.
    mixed: npt.NDArray[np.uint64] = (sums ^ (sums >> np.uint64(29))) * _MIX
    return mixed
