"""Sentences with their meanings: drawn by number, or all of them.

Draw k of a stream depends on (seed, stream, depth, k) alone, so any partitioning of the numbers
over machines gives the same sentences. Draws may repeat a sentence; who wants n different ones
takes the first n different draws (`sample`, or the same in Spark: `etl.build_sygns`).
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import islice, permutations, product
from typing import Any

import numpy as np

from etl.sygns import drs, fol, polarity, vf
from etl.sygns.grammar import Grammar, Node, Tree, Word, leaves
from etl.sygns.translate import fol_to_drs

__all__ = [
    "Record",
    "Sampler",
    "arrangements",
    "record",
    "sample",
    "sentence_id",
    "sentences",
    "surface",
]


@dataclass(frozen=True, slots=True)
class Record:
    """A row of table ``sygns``, without its edition."""

    sentence_id: str
    depth: int
    sentence: str
    fol: str
    drs: str
    vf: str
    polarity_fol: polarity.Polarities
    polarity_vf: polarity.Polarities
    phenomena: tuple[str, ...]


def sentence_id(sentence: str, depth: int) -> str:
    """16 hex digits that stand for the sentence at its depth.

    The depth counts because the published data list some sentences at two depths.
    """
    digest = hashlib.blake2b(f"sygns\t{depth}\t{sentence}".encode(), digest_size=8)
    return digest.hexdigest()


def surface(tree: Node) -> str:
    """The sentence that a derivation writes."""
    return " ".join([leaf.surface if isinstance(leaf, Word) else leaf for leaf in leaves(tree)])


def record(grammar: Grammar, depth: int, tree: Node, numbering: drs.Numbering) -> Record:
    """The row of the sentence that `tree` derives."""
    meanings = grammar.meanings(tree)
    sentence = surface(tree)
    return Record(
        sentence_id(sentence, depth),
        depth,
        sentence,
        fol.text(meanings.fol),
        drs.text(fol_to_drs(meanings.fol), numbering),
        vf.text(meanings.vf),
        polarity.from_fol(meanings.fol),
        polarity.from_vf(meanings.vf),
        meanings.tags,
    )


def arrangements(pool: int, count: int, repeating: bool = False) -> int:
    """How many ways `count` places of a category can be filled from `pool` words.

    Without repetition these are the permutations; where the words do not suffice, each is there
    `count` times over, as in the published data.
    """
    if repeating:
        return int(pool**count)
    return math.perm(pool if count <= pool else pool * count, count)


class Sampler:
    """Draws sentences of one depth; `words` may narrow categories to some of their words.

    Sentences come in proportion to how many of their pattern the published procedure keeps: of each
    category's arrangements a share that shrinks with depth, at least one (``sampling.keep``).
    """

    def __init__(
        self,
        grammar: Grammar,
        depth: int,
        seed: int,
        stream: str = "main",
        words: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self.grammar = grammar
        self.depth = depth
        self.key = f"{seed}\t{stream}\t{depth}\t"
        narrowed = words or {}
        self.pools = {
            category: [
                word
                for surface, word in entries.items()
                if category not in narrowed or surface in narrowed[category]
            ]
            for category, entries in grammar.lexicon.items()
        }
        keep = grammar.keep[min(depth, len(grammar.keep) - 1)]
        signatures, counts = grammar.word_counts(depth)
        weight_of = {
            signature: math.prod(
                math.ceil(arrangements(len(self.pools[c]), n, c in grammar.repeating) * keep)
                for c, n in by_category.items()
            )
            for signature, by_category in counts.items()
        }
        unique = np.array(sorted(weight_of), dtype=np.int64)
        weights = np.array([weight_of[s] for s in unique.tolist()], dtype=np.int64)
        self.cumulative: np.ndarray[Any, np.dtype[np.int64]] = np.cumsum(
            weights[np.searchsorted(unique, signatures)]
        )
        self.total = int(self.cumulative[-1])
        self._pattern = lru_cache(maxsize=4096)(self._unranked)

    def _unranked(self, number: int) -> tuple[Node, dict[str, int]]:
        """A pattern, and how many words of each category it takes."""
        pattern = self.grammar.pattern(self.depth, number)
        needed = Counter(leaf for leaf in leaves(pattern) if isinstance(leaf, str))
        return pattern, {c: n for c, n in needed.items() if c in self.pools}

    def tree(self, number: int) -> Node:
        """The derivation of draw `number`: pattern by weight, then words from left to right."""
        digest = hashlib.blake2b((self.key + str(number)).encode(), digest_size=64).digest()
        # 512 random bits: far more than the choices of a sentence take, so their remainders are
        # even to any precision that could be measured.
        random = int.from_bytes(digest, "big")
        random, at = divmod(random, self.total)
        pattern, needed = self._pattern(int(self.cumulative.searchsorted(at, side="right")))
        left: dict[str, list[Word]] = {}
        for category, count in needed.items():
            pool = self.pools[category]
            left[category] = list(pool) if count <= len(pool) else pool * count
        repeating = self.grammar.repeating

        def fill(tree: Tree) -> Tree:
            nonlocal random
            if isinstance(tree, Node):
                return Node(tree.rule, tuple([fill(child) for child in tree.children]))
            if isinstance(tree, Word) or tree not in left:
                return tree
            pool = left[tree]
            random, at = divmod(random, len(pool))
            return pool[at] if tree in repeating else pool.pop(at)

        filled = fill(pattern)
        assert isinstance(filled, Node)
        return filled

    def records(
        self, numbers: Iterator[int] | range, numbering: drs.Numbering = "unique"
    ) -> Iterator[Record]:
        """The rows of these draws, repeated sentences included."""
        for number in numbers:
            yield record(self.grammar, self.depth, self.tree(number), numbering)


def sentences(grammar: Grammar, depth: int) -> Iterator[Node]:
    """The derivations of every sentence of `depth`, by pattern, then in the lexicon's order.

    At depth 0 there are 323,400 with 5 adjectives and 5 adverbs; from depth 2 on nobody waits for
    the end.
    """

    @cache
    def filled(category: str, count: int) -> list[tuple[Word, ...]]:
        pool = list(grammar.lexicon[category].values())
        if category in grammar.repeating:
            return list(product(pool, repeat=count))
        return list(
            dict.fromkeys(permutations(pool if count <= len(pool) else pool * count, count))
        )

    for number in range(grammar.patterns(depth)):
        pattern = grammar.pattern(depth, number)
        found = Counter(leaf for leaf in leaves(pattern) if isinstance(leaf, str))
        counts = {c: n for c, n in found.items() if c in grammar.lexicon}
        for choice in product(*(filled(c, n) for c, n in counts.items())):
            words = {c: iter(chosen) for c, chosen in zip(counts, choice, strict=True)}

            def fill(tree: Tree, words: dict[str, Iterator[Word]] = words) -> Tree:
                if isinstance(tree, Node):
                    return Node(tree.rule, tuple([fill(child) for child in tree.children]))
                return next(words[tree]) if isinstance(tree, str) and tree in words else tree

            node = fill(pattern)
            assert isinstance(node, Node)
            yield node


def sample(sampler: Sampler, size: int, numbering: drs.Numbering = "unique") -> list[Record]:
    """The first `size` different sentences of the sampler's draws.

    Raises `ValueError` where the grammar has fewer at this depth than it takes to go on (a hundred
    draws for each sentence asked for gave too few).
    """

    def different() -> Iterator[Record]:
        seen: set[str] = set()
        for row in sampler.records(range(100 * size), numbering):
            if row.sentence_id not in seen:
                seen.add(row.sentence_id)
                yield row

    rows = list(islice(different(), size))
    if len(rows) < size:
        raise ValueError(
            f"{size} different sentences of depth {sampler.depth} asked for, {len(rows)} found"
        )
    return rows
