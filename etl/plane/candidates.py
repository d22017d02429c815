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

        Words become their positions in the list of all words, sorted by spelling, and a list in a
        row becomes rows of its own, one per member.

        Args:
            classes: (adjective, class); an adjective's number is its position here.
            nouns: columns noun, adjectives (list of numbers), hypernyms (list of texts), distances
                (list of numbers, as long) and chain (three hypernyms, or null).
        """
        spellings = nouns["noun"].to_numpy(zero_copy_only=False).astype(object)
        rows = nouns.take(pa.array(np.argsort(spellings))).combine_chunks()
        adjective_rows, adjectives = _flatten_lists(rows["adjectives"])
        hypernym_rows, hypernyms = _flatten_lists(rows["hypernyms"])
        _, distances = _flatten_lists(rows["distances"])
        chain_rows, chain_members = _flatten_lists(rows["chain"])

        words = _sorted_words(rows["noun"], hypernyms, chain_members)
        noun_ids = _positions(rows["noun"], words)
        hypernym_ids = _positions(hypernyms, words)
        chain_ids = _positions(chain_members, words)

        phrases = _sorted_rows(noun_ids[adjective_rows], _numbers(adjectives))
        pairs = _sorted_rows(noun_ids[hypernym_rows], hypernym_ids, _numbers(distances))
        chain_nouns = noun_ids[chain_rows[::3]]
        chains = np.column_stack([chain_nouns, chain_ids.reshape(-1, 3)])
        class_ids = [CLASSES.index(kind) for _, kind in classes]
        return cls(
            adjectives=tuple(word for word, _ in classes),
            classes=np.array(class_ids, np.int64),
            words=tuple(words),
            phrases=phrases,
            pairs=pairs,
            chains=chains,
        )

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


def _flatten_lists(column: pa.ChunkedArray) -> tuple[Ids, pa.Array]:
    """Flatten a column of lists to (row of each member, members)."""
    lists = column.combine_chunks()
    rows = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False).astype(np.int64)
    return rows, pc.list_flatten(lists)


def _sorted_words(*columns: pa.Array) -> list[str]:
    words: set[str] = set()
    for column in columns:
        words.update(pc.unique(column).to_pylist())
    return sorted(words)


def _positions(column: pa.Array, words: Sequence[str]) -> Ids:
    """The position of each member of a column in `words`."""
    positions = pc.index_in(column, value_set=pa.array(words, pa.string()))
    return _numbers(positions)


def _numbers(column: pa.Array) -> Ids:
    numbers: Ids = column.to_numpy(zero_copy_only=False).astype(np.int64)
    return numbers


def _sorted_rows(*columns: Ids) -> Ids:
    """A table of these columns, sorted by the first, then by the second, and so on."""
    table = np.stack(columns, axis=1)
    return table[np.lexsort(columns[::-1])]
