"""Entailment inference: pairs of words drawn from the lexicon, two rows to a pair.

An item is a premise and hypothesis and their reverse (in comparative, the two hypotheses), so that
rows 2k and 2k + 1 of a test are item k. Draws do not repeat and depend on (seed, test, k) alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush
from itertools import combinations, permutations
from typing import NamedTuple

from conf import UserError
from etl.asp import TESTS, TRAINED, labels
from etl.asp.lexicon import Adjective, Lexicon
from etl.asp.sampling import Order, digest
from etl.asp.templates import SEEN, WORLD, Pair, item_id, write

__all__ = ["Entailment", "Row"]

_Keyed = tuple[tuple[int, ...], Pair]  # lengths that both sides are to share, and the pair


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
    """Items that take turns: item k is of `parts[k % len(parts)]`."""

    parts: tuple[Sequence[Pair], ...]
    orders: tuple[Order, ...] = ()  # as they stand, if not given

    def __getitem__(self, k: int) -> Pair:
        turn, at = k % len(self.parts), k // len(self.parts)
        return self.parts[turn][self.orders[turn][at] if self.orders else at]

    def __len__(self) -> int:
        return len(self.parts) * min(map(len, self.parts))


class Entailment:
    """The rows of entailment inference that a lexicon and a seed give.

    `balanced` draws ordering pairs so that the stronger word is the longer one as often as the
    shorter one, by as much; negations so that complements are as long as contraries; comparisons
    so that the three standards are alike in lengths. It gives diminishers relative adjectives
    alone: *relatively dirty* does entail *dirty*, and *relatively closed* hardly follows from
    *closed*. Without it every pair is drawn, as the paper did.

    Text ``paper`` is the release's: in ordering, dimension and argument the sentence with an item's
    second word has no full stop, so that in ordering its place tells the label.
    """

    def __init__(
        self,
        words: Lexicon,
        seed: int,
        *,
        boosters: Sequence[str] = (),
        diminishers: Sequence[str] = (),
        balanced: bool = True,
        text: str = "clean",
    ) -> None:
        self.words = words
        self.seed = seed
        self._boosters = tuple(boosters) or words.boosters
        self._diminishers = tuple(diminishers) or words.diminishers
        self._balanced = balanced
        self._paper = text == "paper"
        self._pools: dict[str, _Pool] = {}

    def of(self, words: Lexicon, key: object) -> Entailment:
        """The same rules over other words, with draws of their own."""
        other = copy(self)
        other.words, other.seed, other._pools = words, digest(self.seed, key), {}
        return other

    def capacity(self, test: str) -> int:
        """Rows of a test that there are."""
        return 2 * len(self._pool(test))

    def check(self, size: int) -> None:
        """Raise `UserError` where some test has fewer than `size` rows."""
        short = {t: self.capacity(t) for t in TESTS if self.capacity(t) < size}
        if short:
            listed = ", ".join(f"{test} has {count}" for test, count in short.items())
            raise UserError(
                f"entailment={size}: the lexicon has fewer rows ({listed}); ask for at most "
                f"{min(short.values())} a test, or for the rest of the size by degree="
            )

    def rows(self, test: str, start: int, stop: int) -> Iterator[Row]:
        """Rows `start` to `stop` (exclusive) of a test."""
        pool = self._pool(test)
        for at in range(start, stop):
            pair = pool[at // 2]
            yield self.row(_second(pair) if at % 2 else pair, second=bool(at % 2))

    def row(self, pair: Pair, second: bool = False) -> Row:
        """The row of a pair, the item's first or second; its label by `etl.asp.labels`."""
        premise, hypothesis = write(pair, self.words)
        if self._paper and pair.test in TRAINED:
            # The item's second word is in the hypothesis of its first row, the premise of its next.
            if second:
                premise = premise.removesuffix(".")
            else:
                hypothesis = hypothesis.removesuffix(".")
        label = labels.name(labels.entails(pair, self.words))
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
            self.words.standards[pair.adjective],
        )

    def _pool(self, test: str) -> _Pool:
        if test not in self._pools:
            parts = tuple(getattr(self, f"_{test}")())
            matched = self._balanced and test in (
                "ordering",
                "negation",
                "comparative",
            )
            orders = [Order(len(part), self.seed, test, turn) for turn, part in enumerate(parts)]
            self._pools[test] = _Pool(parts, () if matched else tuple(orders))
        return self._pools[test]

    def _graded(self) -> Iterator[Adjective]:
        return (a for a in self.words.adjectives if a.graded)

    def _ordering(self) -> Sequence[list[Pair]]:
        pairs: dict[tuple[str, str, str], None] = {}
        for noun, own in self.words.by_noun().items():
            for weak in own:
                for strong in own:
                    same = (weak.scale, weak.pole) == (strong.scale, strong.pole)
                    if same and weak.step < strong.step:
                        pairs[noun, weak.word, strong.word] = None
        if not self._balanced:
            return [[Pair("ordering", n, w, None, s) for n, w, s in pairs]]
        longer: list[_Keyed] = []
        shorter: list[_Keyed] = []
        for number, (noun, weak_word, strong_word) in enumerate(pairs):
            difference = len(strong_word) - len(weak_word)
            side = longer if difference > 0 or (difference == 0 and number % 2) else shorter
            pair = Pair("ordering", noun, weak_word, None, strong_word)
            least = len(noun) + min(len(weak_word), len(strong_word))
            side.append(((least, abs(difference)), pair))
        return _matched(self.seed, longer, shorter)

    def _dimension(self) -> list[list[Pair]]:
        found: dict[tuple[str, str, str], None] = {}
        for noun, own in self.words.by_noun().items():
            for one, other in combinations(own, 2):
                if one.family != other.family and one.word != other.word:
                    found[noun, one.word, other.word] = None
        # Which of the two stands in the first row is as good as random, not the file's order.
        return [
            [
                Pair("dimension", n, *((a, None, b) if digest(n, a, b) % 2 else (b, None, a)))
                for n, a, b in found
            ]
        ]

    def _argument(self) -> list[list[Pair]]:
        found: dict[tuple[str, str, str], None] = {}
        for adjective in self.words.adjectives:
            for one, other in combinations(adjective.nouns, 2):
                found[one, adjective.word, other] = None
        return [[Pair("argument", n, a, m) for n, a, m in found]]

    def _modified(self, test: str, marks: Sequence[str], standards: Sequence[str]) -> list[Pair]:
        found: dict[tuple[str, str, str], None] = {}
        for adjective in self._graded():
            if adjective.standard in standards:
                for noun in adjective.nouns:
                    for mark in marks:
                        found[noun, adjective.word, mark] = None
        return [Pair(test, n, a, hypothesis_mark=mark) for n, a, mark in found]

    def _booster(self) -> list[list[Pair]]:
        return [self._modified("booster", self._boosters, ("relative", "minimum", "maximum"))]

    def _diminisher(self) -> list[list[Pair]]:
        standards = (
            ("relative", "maximum") if self._balanced else ("relative", "minimum", "maximum")
        )
        return [self._modified("diminisher", self._diminishers, standards)]

    def _negation(self) -> Sequence[list[Pair]]:
        nouns: Mapping[tuple[str, str], Sequence[str]] = {
            (a.scale, a.word): a.nouns for a in self.words.adjectives
        }
        found: dict[bool, dict[tuple[str, str, str], None]] = {True: {}, False: {}}
        for scale, one, other in self.words.opposites:
            both = set(nouns[scale, one]) & set(nouns[scale, other])
            for noun in nouns[scale, one]:
                if noun in both:
                    kind = found[self.words.complementary[one, other]]
                    kind[noun, one, other] = kind[noun, other, one] = None
        pairs = {
            kind: [
                ((len(n) + len(a),), Pair("negation", n, a, None, b, hypothesis_mark="not"))
                for n, a, b in own
            ]
            for kind, own in found.items()
        }
        if self._balanced:
            return _matched(self.seed, pairs[True], pairs[False])
        return [[pair for _, pair in pairs[kind]] for kind in (True, False)]

    def _comparative(self) -> list[list[Pair]]:
        found: dict[str, dict[tuple[str, str, str], None]] = {}
        for adjective in self._graded():
            kind = found.setdefault(adjective.standard, {})
            for one, other in permutations(adjective.nouns, 2):
                # Nobody compares a cup with a train.
                if self.words.kinds[one] == self.words.kinds[other]:
                    kind[one, adjective.word, other] = None
        pairs = [
            [
                (self._lengths(n, a, m), Pair("comparative", n, a, m))
                for n, a, m in found.get(standard, ())
            ]
            for standard in ("maximum", "minimum", "relative")
        ]
        if self._balanced:
            return _matched(self.seed, *pairs)
        return [[pair for _, pair in own] for own in pairs]

    def _lengths(self, noun: str, adjective: str, other: str) -> tuple[int, ...]:
        """What the lengths of a comparison's sentences differ by."""
        longer = len(self.words.compared(adjective)) - len(adjective)
        return longer, len(noun), len(other)

    def _superlative(self) -> list[list[Pair]]:
        found = {(noun, a.word): None for a in self._graded() for noun in a.nouns}
        return [
            [Pair("superlative", n, a, premise_mark=SEEN, hypothesis_mark=WORLD) for n, a in found]
        ]


def _second(pair: Pair) -> Pair:
    """The other row of an item: premise and hypothesis reversed, or the other hypothesis."""
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


def _matched(seed: int, *parts: Sequence[_Keyed]) -> list[list[Pair]]:
    """As many of each part as of the others for every key, in lists whose places correspond.

    Adjectives take turns in them, so that in the first draws none is frequent enough to stand for
    a label.
    """
    sides: list[dict[tuple[int, ...], list[Pair]]] = []
    for part in parts:
        by_key: dict[tuple[int, ...], list[Pair]] = {}
        for key, pair in sorted(part, key=lambda k: digest(seed, *_words(k[1]))):
            by_key.setdefault(key, []).append(pair)
        sides.append(by_key)
    matches: list[tuple[Pair, ...]] = []
    for key in sorted(sides[0]):
        matches += zip(*(side.get(key, []) for side in sides), strict=False)
    # The match whose most frequent word is rarest so far comes next. Counts only grow, so one that
    # is still least after being looked at again is least of all.
    used: Counter[str] = Counter()
    waiting = [
        (0, digest(seed, *(word for pair in match for word in _words(pair))), match)
        for match in matches
    ]
    heapify(waiting)
    ordered: list[tuple[Pair, ...]] = []
    while waiting:
        before, draw, match = heappop(waiting)
        words = {word for pair in match for word in (pair.adjective, pair.other_adjective) if word}
        now = max(used[word] for word in words)
        if now > before:
            heappush(waiting, (now, draw, match))
            continue
        used.update(words)
        ordered.append(match)
    return [list(side) for side in zip(*ordered, strict=True)] or [[] for _ in parts]


def _words(pair: Pair) -> tuple[str, str, str, str]:
    return pair.noun, pair.adjective, str(pair.other_adjective), str(pair.other_noun)
