"""Which tokens of a text are masked: a function of (seed, epoch, id of the text) and nothing else.

Masks are drawn anew in each epoch, as Liu et al. (2019, section 4.1, "dynamic masking") have it.
Every random number is a hash of the text's key and the token's place, so neither the order of the
texts, nor the batch, nor the number of processes changes what is masked.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from training.batching import Ids, seed_of

Keys = npt.NDArray[np.uint64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
# Of the tokens chosen (Devlin et al. 2019, section 3.1): become the mask; become another token.
_MASKED, _OTHER = 0.8, 0.1


def keys(item_ids: list[str]) -> Keys:
    """64 bits for each id."""
    return np.array([seed_of(item) for item in item_ids], dtype=np.uint64)


def _mixed(values: Keys) -> Keys:
    """Each value's bits mixed, one to one (the finaliser of SplitMix64, Steele et al. 2014)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def draws(rows: Keys, width: int, stream: int) -> npt.NDArray[np.float64]:
    """Numbers even in [0, 1), shape [rows, width]; each `stream` has its own.

    Number (i, j) depends on key i, j and the stream alone.
    """
    places = np.arange(1, width + 1, dtype=np.uint64) + np.uint64(stream << 32)
    mixed = _mixed(_mixed(rows)[:, None] + _GOLDEN * places[None, :])
    return (mixed >> np.uint64(11)).astype(np.float64) * 2.0**-53


@dataclass(frozen=True)
class Masked:
    """A batch with masks: what the model reads, and which tokens (true) it is to tell."""

    inputs: Ids
    chosen: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Masking:
    """How tokens are chosen and what becomes of them.

    Each word (with `whole_words`; else each token) is chosen with probability `share`, and one of
    every text at least. In training, of the tokens chosen 80 % become `mask`, 10 % a token drawn
    from all that are not special and 10 % stay (Devlin et al. 2019, section 3.1). `special[t]` says
    whether token t is never chosen, `continues[t]` whether it goes on a word.
    """

    share: float
    whole_words: bool
    mask: int
    special: npt.NDArray[np.bool_]
    continues: npt.NDArray[np.bool_]

    def chosen(self, ids: Ids, rows: Keys) -> npt.NDArray[np.bool_]:
        """Which tokens of a batch are to be told; `ids` [rows, width] has special ones as padding.

        `rows` are the keys of the texts, mixed with seed and epoch.
        """
        able = ~self.special[ids]
        numbers = draws(rows, ids.shape[1], 0)
        if self.whole_words:
            # A word has the number of its first token.
            places = np.where(able & self.continues[ids], 0, np.arange(ids.shape[1]))
            numbers = np.take_along_axis(numbers, np.maximum.accumulate(places, axis=1), axis=1)
        numbers = np.where(able, numbers, 1.0)
        least = numbers.min(axis=1, keepdims=True)
        chosen: npt.NDArray[np.bool_] = able & ((numbers < self.share) | (numbers == least))
        return chosen

    def masked(self, ids: Ids, rows: Keys, *, training: bool) -> Masked:
        """The batch with masks; outside of training every chosen token becomes the mask.

        A token that stays is easy to tell: evaluated as they are trained, models look better than
        they are at telling what is not there.
        """
        chosen = self.chosen(ids, rows)
        if not training:
            return Masked(np.where(chosen, self.mask, ids), chosen)
        fates = draws(rows, ids.shape[1], 1)
        words = np.flatnonzero(~self.special)
        others = words[(draws(rows, ids.shape[1], 2) * len(words)).astype(np.int64)]
        changed = np.where(fates < _MASKED, self.mask, np.where(fates < 1 - _OTHER, others, ids))
        return Masked(np.where(chosen, changed, ids), chosen)
