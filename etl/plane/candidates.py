"""The words and phrases that splits are drawn from, as numbers in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from adnominal.etl.draws import Keys, keys_of
from adnominal.etl.plane import CLASSES

Ids = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Pool:
    """The words that splits may use.

    Attributes:
        adjectives: their spellings; `classes` has the position of each one's class in `CLASSES`.
        words: nouns and hypernyms.
        phrases: (noun, adjective) by number, sorted, each once.
        pairs: (noun, hypernym, distance), sorted.
        chains: (noun, hypernym at distance 1, 2, 3), at most one per noun.
    """

    adjectives: tuple[str, ...]
    classes: Ids
    words: tuple[str, ...]
    phrases: Ids
    pairs: Ids
    chains: Ids

    @classmethod
    def of(cls, classes: Sequence[tuple[str, str]], nouns: pa.Table) -> Pool:
        """Build the pool from a table with one row per noun.

        Args:
            classes: (adjective, class); an adjective's number is its position here.
            nouns: columns noun, adjectives (list of numbers), hypernyms (list of texts), distances
                (list of numbers, as long) and chain (three hypernyms, or null).
        """
        order = np.argsort(nouns["noun"].to_numpy(zero_copy_only=False).astype(object))
        rows = nouns.take(pa.array(order)).combine_chunks()
        lists = {name: _flat(rows[name]) for name in ("adjectives", "hypernyms", "chain")}
        distances = _flat(rows["distances"])[1].to_numpy(zero_copy_only=False)
        spoken = [rows["noun"], lists["hypernyms"][1], lists["chain"][1]]
        words = sorted({word for column in spoken for word in pc.unique(column).to_pylist()})
        number = pa.array(words, pa.string())
        ids = [
            pc.index_in(column, value_set=number).to_numpy(zero_copy_only=False).astype(np.int64)
            for column in spoken
        ]
        noun = ids[0]

        def sorted_rows(*columns: npt.NDArray[np.generic]) -> Ids:
            table = np.stack([column.astype(np.int64) for column in columns], axis=1)
            return table[np.lexsort(table.T[::-1])]

        members = lists["adjectives"][1].to_numpy(zero_copy_only=False)
        phrases = sorted_rows(noun[lists["adjectives"][0]], members)
        pairs = sorted_rows(noun[lists["hypernyms"][0]], ids[1], distances)
        owners = lists["chain"][0][::3]
        chains = np.concatenate([noun[owners][:, None], ids[2].reshape(-1, 3)], axis=1)
        kinds = np.array([CLASSES.index(kind) for _, kind in classes], np.int64)
        return cls(tuple(word for word, _ in classes), kinds, tuple(words), phrases, pairs, chains)

    @cached_property
    def word_keys(self) -> Keys:
        """A hash of each word."""
        return keys_of(self.words)

    @cached_property
    def adjective_keys(self) -> Keys:
        """A hash of each adjective."""
        return keys_of(self.adjectives)

    @cached_property
    def starts(self) -> Ids:
        """The start of each word's phrases; one more number than words."""
        counts = np.bincount(self.phrases[:, 0], minlength=len(self.words))
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)

    def capacity(self, side: Flags, unit: Sequence[int]) -> Ids:
        """Return for each word how many units its adjectives in `side` make."""
        phrases = self.phrases[side[self.phrases[:, 1]]]
        places = phrases[:, 0] * len(CLASSES) + self.classes[phrases[:, 1]]
        counts = np.bincount(places, minlength=len(CLASSES) * len(self.words))
        units: Ids = (counts.reshape(-1, len(CLASSES)) // np.array(unit)).min(axis=1)
        return units


def _flat(column: pa.ChunkedArray) -> tuple[Ids, pa.Array]:
    """Flatten a column of lists to (row of each member, members)."""
    lists = column.combine_chunks()
    rows = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False).astype(np.int64)
    return rows, pc.list_flatten(lists)
