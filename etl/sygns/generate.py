"""Sentences with their meanings: drawn by number, or all of them.

Draw k of a stream depends only on (seed, stream, depth, k), so any partitioning of the numbers over
machines gives the same sentences. Draws may repeat a sentence; a sample of n different sentences is
that of the first n different draws (`sample`, and in Spark `etl.sygns.job`).
"""

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import permutations, product
from typing import Any

import numpy as np

from adnominal.etl.draws import content_hash
from adnominal.etl.sygns import drs, fol, polarity, vf
from adnominal.etl.sygns.grammar import Grammar, Node, Word, leaves
from adnominal.etl.sygns.translate import fol_to_drs


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
    """16 hex digits that identify the sentence at its depth.

    The id depends on the depth because the published data have some sentences at two depths.
    """
    return content_hash("sygns", depth, sentence, size=8)


def surface(tree: Node) -> str:
    """The sentence of a derivation."""
    return " ".join([leaf.surface if isinstance(leaf, Word) else leaf for leaf in leaves(tree)])


def record(grammar: Grammar, depth: int, tree: Node, numbering: drs.Numbering) -> Record:
    """The row of the sentence with the derivation `tree`."""
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
    """Return the number of ways to fill `count` places of a category from `pool` words.

    Without repetition these are the permutations. If there are fewer words than places, each word
    is in the pool `count` times, as in the published data.
    """
    if repeating:
        return int(pool**count)
    return math.perm(pool if count <= pool else pool * count, count)


def _pool(words: Sequence[Word], count: int) -> list[Word]:
    """The words that `count` places are filled from."""
    return list(words) * (1 if count <= len(words) else count)


def _category_counts(pattern: Node, categories: Container[str]) -> dict[str, int]:
    """Return the number of words of each category in the pattern."""
    counts = Counter(leaf for leaf in leaves(pattern) if isinstance(leaf, str))
    return {category: n for category, n in counts.items() if category in categories}


def _filled_pattern(pattern: Node, word_of: Callable[[str], Word | str]) -> Node:
    """The derivation with its leaves, from left to right, replaced by what `word_of` returns."""
    return Node(
        pattern.rule,
        tuple(
            [
                _filled_pattern(child, word_of) if isinstance(child, Node) else word_of(str(child))
                for child in pattern.children
            ]
        ),
    )


class Sampler:
    """Draws sentences of one depth; `words` may narrow categories to some of their words.

    The weight of a pattern is the number of its sentences that the published procedure keeps: of
    the arrangements of each category a share that shrinks with depth, at least one
    (``sampling.keep``).
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
        self.words = {
            category: [
                word
                for surface, word in entries.items()
                if category not in narrowed or surface in narrowed[category]
            ]
            for category, entries in grammar.lexicon.items()
        }
        kept_share = grammar.kept_shares[min(depth, len(grammar.kept_shares) - 1)]
        signatures, counts = grammar.word_counts(depth)
        ways = {
            signature: [
                arrangements(len(self.words[c]), n, c in grammar.repeating)
                for c, n in by_category.items()
            ]
            for signature, by_category in counts.items()
        }
        weight_of = {
            signature: math.prod(math.ceil(n * kept_share) for n in numbers)
            for signature, numbers in ways.items()
        }
        unique = np.array(sorted(weight_of), dtype=np.int64)
        weights = np.array([weight_of[s] for s in unique.tolist()], dtype=np.int64)
        self.cumulative: np.ndarray[Any, np.dtype[np.int64]] = np.cumsum(
            weights[np.searchsorted(unique, signatures)]
        )
        self.total = int(self.cumulative[-1])
        pattern_counts = Counter(signatures.tolist())
        # An upper bound, since different arrangements of repeated words may be the same sentence.
        self.sentences = sum(pattern_counts[s] * math.prod(numbers) for s, numbers in ways.items())
        self._pattern = lru_cache(maxsize=4096)(self._pattern_and_counts)

    def _pattern_and_counts(self, number: int) -> tuple[Node, dict[str, int]]:
        pattern = self.grammar.pattern(self.depth, number)
        return pattern, _category_counts(pattern, self.words)

    def tree(self, number: int) -> Node:
        """The derivation of draw `number`: pattern by weight, then words from left to right."""
        digest = hashlib.blake2b((self.key + str(number)).encode(), digest_size=64).digest()
        # 512 random bits are far more than the choices of a sentence use up, so the remainders of
        # the divisions are even to any precision that could be measured.
        random = int.from_bytes(digest, "big")
        random, weight = divmod(random, self.total)
        pattern, counts = self._pattern(int(self.cumulative.searchsorted(weight, side="right")))
        pools = {c: _pool(self.words[c], count) for c, count in counts.items()}

        def word_of(leaf: str) -> Word | str:
            nonlocal random
            if leaf not in pools:
                return leaf
            pool = pools[leaf]
            random, place = divmod(random, len(pool))
            return pool[place] if leaf in self.grammar.repeating else pool.pop(place)

        return _filled_pattern(pattern, word_of)

    def records(
        self, numbers: Iterator[int] | range, numbering: drs.Numbering = "unique"
    ) -> Iterator[Record]:
        """The rows of these draws, repeated sentences included."""
        for number in numbers:
            yield record(self.grammar, self.depth, self.tree(number), numbering)


def sentences(grammar: Grammar, depth: int) -> Iterator[Node]:
    """The derivations of all sentences of `depth`, by pattern, then in the order of the lexicon.

    There are 323,400 at depth 0 with 5 adjectives and 5 adverbs; from depth 2 on there are too many
    to list them all.
    """

    @cache
    def word_sequences(category: str, count: int) -> list[tuple[Word, ...]]:
        words = list(grammar.lexicon[category].values())
        if category in grammar.repeating:
            return list(product(words, repeat=count))
        return list(dict.fromkeys(permutations(_pool(words, count), count)))

    for number in range(grammar.pattern_count(depth)):
        pattern = grammar.pattern(depth, number)
        counts = _category_counts(pattern, grammar.lexicon)
        for sequences in product(*(word_sequences(c, n) for c, n in counts.items())):
            words = {c: iter(sequence) for c, sequence in zip(counts, sequences, strict=True)}

            def word_of(leaf: str, words: dict[str, Iterator[Word]] = words) -> Word | str:
                return next(words[leaf]) if leaf in words else leaf

            yield _filled_pattern(pattern, word_of)


def sample(sampler: Sampler, size: int, numbering: drs.Numbering = "unique") -> list[Record]:
    """The first `size` different sentences of the sampler's draws.

    Raises:
        ValueError: a hundred draws for each requested sentence gave too few different ones.
    """
    rows: dict[str, Record] = {}
    for number in range(100 * size):
        tree = sampler.tree(number)
        sentence = surface(tree)
        if sentence not in rows:
            rows[sentence] = record(sampler.grammar, sampler.depth, tree, numbering)
            if len(rows) == size:
                break
    if len(rows) < size:
        raise ValueError(
            f"{size} different sentences of depth {sampler.depth} requested, {len(rows)} found"
        )
    return list(rows.values())
