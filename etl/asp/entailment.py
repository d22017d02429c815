"""Entailment inference: pairs of words drawn from the lexicon, with two rows for each pair.

The two rows of an item are premise and hypothesis and their reverse (in comparative, one premise
with two hypotheses); rows 2k and 2k + 1 of a test are item k. Draws never repeat; they depend on
(seed, test, k).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush
from itertools import combinations, permutations
from typing import NamedTuple

from adnominal.conf import UserError
from adnominal.etl.asp import TESTS, TRAINED, labels
from adnominal.etl.asp.lexicon import STANDARDS, Adjective, Lexicon, ordered_pairs
from adnominal.etl.asp.templates import CLEAN, EVER_SEEN, WORLD, Pair, Style, item_id, write
from adnominal.etl.draws import Order, draw

# A pair, preceded by the word lengths that all pairs of a match share.
_KeyedPair = tuple[tuple[int, ...], Pair]


class Row(NamedTuple):
    """A row of table ``asp_entailment``, without its edition."""

    item_id: str
    test: str
    premise: str
    hypothesis: str
    label: str
    label3: str | None
    adjective: str
    other_adjective: str | None
    noun: str
    other_noun: str | None
    modifier: str | None
    adjective_type: str


@dataclass(frozen=True)
class _Pool:
    """Items of several parts that take turns: item k belongs to ``parts[k % len(parts)]``."""

    parts: tuple[Sequence[Pair], ...]
    orders: tuple[Order, ...] = ()  # without orders, the items are drawn as listed

    def __getitem__(self, number: int) -> Pair:
        row, turn = divmod(number, len(self.parts))
        return self.parts[turn][self.orders[turn][row] if self.orders else row]

    def __len__(self) -> int:
        return len(self.parts) * min(map(len, self.parts))


class Entailment:
    """The rows of entailment inference for a lexicon and a seed.

    With `balanced`, the stronger word of ordering is the longer one as often as the shorter one,
    and by as much; complements in negation are as long as contraries; the three standards of
    comparison in comparative have words of the same lengths. Diminishers then do not modify
    adjectives with a minimum standard: *relatively dirty* does entail *dirty*. Without `balanced`,
    every pair is drawn, as in the paper.

    Text ``paper`` is that of the release: in ordering, dimension and argument the sentence with the
    second word of an item has no full stop, so that in ordering its position reveals the label.
    """

    def __init__(
        self,
        lexicon: Lexicon,
        seed: int,
        style: Style = CLEAN,
        *,
        balanced: bool = True,
    ) -> None:
        self.lexicon = lexicon
        self.seed = seed
        self._boosters = style.boosters or lexicon.boosters
        self._diminishers = style.diminishers or lexicon.diminishers
        self._balanced = balanced
        self._paper = style.text == "paper"
        self._pools: dict[str, _Pool] = {}

    def with_lexicon(self, lexicon: Lexicon, key: object) -> Entailment:
        """The same rules for another lexicon, with draws that depend on the seed and `key`."""
        entailment = copy(self)
        entailment.lexicon, entailment.seed = lexicon, draw(self.seed, key)
        entailment._pools = {}
        return entailment

    def capacity(self, test: str) -> int:
        """The number of rows of a test."""
        return 2 * len(self._pool(test))

    def check(self, size: int) -> None:
        """Raise `UserError` if some test has fewer than `size` rows."""
        short = {t: self.capacity(t) for t in TESTS if self.capacity(t) < size}
        if short:
            listed = ", ".join(f"{test} has {count}" for test, count in short.items())
            raise UserError(
                f"entailment={size}: the lexicon has fewer rows ({listed}); ask for at most "
                f"{min(short.values())} per test, or for the rest of the size by degree="
            )

    def rows(self, test: str, start: int, stop: int) -> Iterator[Row]:
        """Rows `start` to `stop` (exclusive) of a test."""
        pool = self._pool(test)
        for number in range(start, stop):
            pair, second = pool[number // 2], bool(number % 2)
            yield self._row(_reversed_pair(pair) if second else pair, second)

    def _row(self, pair: Pair, second: bool) -> Row:
        """The row of a pair, which is the first or the second of its item."""
        premise, hypothesis = write(pair, self.lexicon)
        if self._paper and pair.test in TRAINED:
            # The second word is in the hypothesis of the first row, in the premise of the second.
            if second:
                premise = premise.removesuffix(".")
            else:
                hypothesis = hypothesis.removesuffix(".")
        label = labels.name(labels.entails(pair, self.lexicon))
        modifier = (
            (pair.premise_mark or pair.hypothesis_mark)
            if pair.test in ("booster", "diminisher")
            else None
        )
        return Row(
            item_id(pair.test, premise, hypothesis),
            pair.test,
            premise,
            hypothesis,
            label,
            labels.label3(pair.test, label),
            pair.adjective,
            pair.other_adjective,
            pair.noun,
            pair.other_noun,
            modifier,
            self.lexicon.standards[pair.adjective],
        )

    def _pool(self, test: str) -> _Pool:
        """All pairs of a test, and the orders in which its rows are drawn from them."""
        if test not in self._pools:
            parts = tuple(getattr(self, f"_{test}")())
            matched = self._balanced and test in ("ordering", "negation", "comparative")
            if matched or test == "dimension":
                orders: tuple[Order, ...] = ()  # the items are in the order of the draws
            else:
                orders = tuple(
                    [Order(len(part), self.seed, test, turn) for turn, part in enumerate(parts)]
                )
            self._pools[test] = _Pool(parts, orders)
        return self._pools[test]

    def _graded_adjectives(self) -> Iterator[Adjective]:
        return (a for a in self.lexicon.adjectives if a.graded)

    def _ordering(self) -> Sequence[list[Pair]]:
        """Pairs of a noun and two adjectives of its scale, a weaker and a stronger one.

        Balanced ones are in two lists, by whether the stronger adjective is longer or shorter, so
        that the length of a sentence does not tell the label.
        """
        triples = {
            (noun, weak.word, strong.word): None
            for noun, adjectives in self.lexicon.by_noun().items()
            for weak, strong in ordered_pairs(adjectives)
        }
        if not self._balanced:
            return [[Pair("ordering", n, w, None, s) for n, w, s in triples]]
        longer: list[_KeyedPair] = []
        shorter: list[_KeyedPair] = []
        for number, (noun, weak_word, strong_word) in enumerate(triples):
            difference = len(strong_word) - len(weak_word)
            side = longer if difference > 0 or (difference == 0 and number % 2) else shorter
            pair = Pair("ordering", noun, weak_word, None, strong_word)
            shortest = len(noun) + min(len(weak_word), len(strong_word))
            side.append(((shortest, abs(difference)), pair))
        return _matched_pairs(self.seed, longer, shorter)

    def _dimension(self) -> list[list[Pair]]:
        """Pairs of a noun and two adjectives of different families, in the order of the draws."""
        families: dict[str, set[str]] = {}
        for adjective in self.lexicon.adjectives:
            families.setdefault(adjective.word, set()).add(adjective.family)
        triples = list(
            dict.fromkeys(
                (noun, first.word, second.word)
                for noun, adjectives in self.lexicon.by_noun().items()
                for first, second in combinations(adjectives, 2)
                if first.family != second.family and first.word != second.word
            )
        )
        order = Order(len(triples), self.seed, "dimension", 0)
        # A word on two scales is related to both: *invaluable* is very valuable or very useful. Its
        # pairs are skipped only after the order is drawn, so that they do not change that of the
        # others.
        # Which of the two is in the first row is decided by hash, not by the order of the file.
        return [
            [
                Pair("dimension", n, *((a, None, b) if draw(n, a, b) % 2 else (b, None, a)))
                for n, a, b in (triples[order[place]] for place in range(len(triples)))
                if families[a].isdisjoint(families[b])
            ]
        ]

    def _argument(self) -> list[list[Pair]]:
        triples = {
            (noun, adjective.word, other_noun): None
            for adjective in self.lexicon.adjectives
            for noun, other_noun in combinations(adjective.nouns, 2)
        }
        return [[Pair("argument", n, a, m) for n, a, m in triples]]

    def _modified_pairs(
        self, test: str, marks: Sequence[str], standards: Sequence[str]
    ) -> list[Pair]:
        """Pairs of a noun, a graded adjective with one of the standards, and one of the marks."""
        triples = {
            (noun, adjective.word, mark): None
            for adjective in self._graded_adjectives()
            if adjective.standard in standards
            for noun in adjective.nouns
            for mark in marks
        }
        return [Pair(test, n, a, hypothesis_mark=mark) for n, a, mark in triples]

    def _booster(self) -> list[list[Pair]]:
        return [self._modified_pairs("booster", self._boosters, STANDARDS)]

    def _diminisher(self) -> list[list[Pair]]:
        standards = ("relative", "maximum") if self._balanced else STANDARDS
        return [self._modified_pairs("diminisher", self._diminishers, standards)]

    def _negation(self) -> Sequence[list[Pair]]:
        """Pairs of a noun and two opposites, in two lists: complementary ones, and others."""
        nouns: Mapping[tuple[str, str], Sequence[str]] = {
            (a.scale, a.word): a.nouns for a in self.lexicon.adjectives
        }
        triples: dict[bool, dict[tuple[str, str, str], None]] = {True: {}, False: {}}
        for scale, word, opposite in self.lexicon.opposites:
            triples_of_kind = triples[self.lexicon.complementary[word, opposite]]
            nouns_of_opposite = set(nouns[scale, opposite])
            for noun in nouns[scale, word]:
                if noun in nouns_of_opposite:
                    triples_of_kind[noun, word, opposite] = None
                    triples_of_kind[noun, opposite, word] = None
        pairs: dict[bool, list[_KeyedPair]] = {True: [], False: []}
        for complementary, triples_of_kind in triples.items():
            for noun, word, opposite in triples_of_kind:
                pair = Pair("negation", noun, word, None, opposite, hypothesis_mark="not")
                lengths = (len(noun) + len(word),)
                pairs[complementary].append((lengths, pair))
        if self._balanced:
            return _matched_pairs(self.seed, pairs[True], pairs[False])
        return [[pair for _, pair in pairs[complementary]] for complementary in (True, False)]

    def _comparative(self) -> list[list[Pair]]:
        """Pairs of two nouns of one class and an adjective of both, in a list for each standard."""
        triples: dict[str, dict[tuple[str, str, str], None]] = {}
        for adjective in self._graded_adjectives():
            triples_of_standard = triples.setdefault(adjective.standard, {})
            for noun, other_noun in permutations(adjective.nouns, 2):
                # A cup is not compared with a train.
                if self.lexicon.noun_classes[noun] == self.lexicon.noun_classes[other_noun]:
                    triples_of_standard[noun, adjective.word, other_noun] = None
        pairs = [
            [
                (self._lengths(n, a, m), Pair("comparative", n, a, m))
                for n, a, m in triples.get(standard, ())
            ]
            for standard in ("maximum", "minimum", "relative")
        ]
        if self._balanced:
            return _matched_pairs(self.seed, *pairs)
        return [[pair for _, pair in keyed_pairs] for keyed_pairs in pairs]

    def _lengths(self, noun: str, adjective: str, other_noun: str) -> tuple[int, ...]:
        """The lengths that decide how long the sentences of a comparison are."""
        difference = len(self.lexicon.comparative_of(adjective)) - len(adjective)
        return difference, len(noun), len(other_noun)

    def _superlative(self) -> list[list[Pair]]:
        words = {(noun, a.word): None for a in self._graded_adjectives() for noun in a.nouns}
        marks = {"premise_mark": EVER_SEEN, "hypothesis_mark": WORLD}
        return [[Pair("superlative", noun, word, **marks) for noun, word in words]]


def _reversed_pair(pair: Pair) -> Pair:
    """The second row of an item: premise and hypothesis reversed, or the other hypothesis."""
    if pair.test == "comparative":
        return replace(pair, hypothesis_mark="not")
    return Pair(
        pair.test,
        pair.other_noun or pair.noun,
        pair.other_adjective or pair.adjective,
        pair.noun if pair.other_noun else None,
        pair.adjective if pair.other_adjective else None,
        pair.hypothesis_mark,
        pair.premise_mark,
    )


def _matched_pairs(seed: int, *parts: Sequence[_KeyedPair]) -> list[list[Pair]]:
    """Equally many pairs of each part for every key, in lists whose positions correspond.

    Adjectives take turns, so that in the first draws none is frequent enough to reveal the label.
    """
    pairs_by_key: list[dict[tuple[int, ...], list[Pair]]] = []
    for part in parts:
        by_key: dict[tuple[int, ...], list[Pair]] = {}
        for key, pair in sorted(part, key=lambda keyed: draw(seed, *_words(keyed[1]))):
            by_key.setdefault(key, []).append(pair)
        pairs_by_key.append(by_key)
    matches: list[tuple[Pair, ...]] = []
    for key in sorted(pairs_by_key[0]):
        matches += zip(*(by_key.get(key, []) for by_key in pairs_by_key), strict=False)
    # Next comes the match whose most frequent word has been used least. Counts only grow, so a
    # match that is still the least after its count has been updated is the least of all.
    uses: Counter[str] = Counter()
    unmatched = [
        (0, draw(seed, *(word for pair in match for word in _words(pair))), match)
        for match in matches
    ]
    heapify(unmatched)
    matched: list[tuple[Pair, ...]] = []
    while unmatched:
        previous_count, place, match = heappop(unmatched)
        words = {word for pair in match for word in (pair.adjective, pair.other_adjective) if word}
        count = max(uses[word] for word in words)
        if count > previous_count:
            heappush(unmatched, (count, place, match))
            continue
        uses.update(words)
        matched.append(match)
    return [list(pairs) for pairs in zip(*matched, strict=True)] or [[] for _ in parts]


def _words(pair: Pair) -> tuple[str, str, str, str]:
    return pair.noun, pair.adjective, str(pair.other_adjective), str(pair.other_noun)
