"""Degree estimation: groups of forty numbers under a premise that sets two of them.

With premise values a (positive adjective) and b (negative) and the step s = (a - b) / 20, a group's
numbers are alpha = b - 10 s … a + 9 s, which is z = 60, 62 … 138 where a stands at 120 and b at 80;
another range of z gives as many numbers as evenly spread, or as many as are asked for. Group g
depends on (seed, test, g) alone.

Text ``paper`` is the release's: every quantity takes "A" ("A 860 m mall", "A 80°C alcohol"),
comparative rows have "°c", superlative premises stand at z = 60 and 138 whatever the range, and
groups 2k and 2k + 1 ask one premise for its positive and its negative adjective.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from conf import UserError
from etl.asp import DISCARD, NOT_ENTAILMENT, TESTS, labels
from etl.asp.gold import JUDGED, POLARITIES, Gold
from etl.asp.lexicon import DIMENSIONS, Lexicon, Measure, plural
from etl.asp.sampling import Order, digest
from etl.asp.templates import article, item_id, number

__all__ = ["NUMBERS", "TEXTS", "VARIANTS", "Degree", "DegreeRow", "Group"]

TEXTS = ("clean", "paper")

NUMBERS = 40
VARIANTS = ("base", "sentences", "numbers", "both")
# Of fifty groups fourteen measure length and twelve each other dimension.
_TURNS = (0, 1, 2, 3) * 6 + (0,)
# Values are round numbers: multiples of a step of one figure, and at most sixty times that step.
_MOST_STEPS = 60
_STEPS = tuple(digit * 10**power for power in range(6) for digit in (1, 2, 5))


class DegreeRow(NamedTuple):
    """A row of table ``asp_degree``, without its edition."""

    item_id: str
    test: str
    variant: str
    group: int
    dimension: str
    unit: str
    adjective: str
    other_adjective: str | None
    noun: str
    other_noun: str | None
    polarity: str
    positive_value: float
    negative_value: float
    alpha: float
    z: float
    premise: str
    hypothesis: str
    label: str
    label3: str | None
    gold: str
    extrapolated: bool


@dataclass(frozen=True)
class Group:
    """One premise with the adjective whose degree is asked for."""

    number: int
    test: str
    measure: Measure
    noun: str
    other_noun: str | None
    adjectives: tuple[str, str]
    polarity: str
    positive_value: int
    negative_value: int
    modifier: str


@dataclass(frozen=True)
class _Setting:
    """A noun in a measure, with the premises that its range has room for."""

    measure: Measure
    noun: str
    premises: tuple[tuple[int, int], ...]  # step, and the negative adjective's value
    order: Order


class _Room:
    """Nouns that take turns, each until each of its premises was drawn `visits` times."""

    def __init__(self, settings: Sequence[_Setting], visits: int = 2) -> None:
        # A phase ends when the nouns with the fewest premises are done.
        sizes = sorted({visits * len(s.premises) for s in settings})
        self._phases = [
            (before, [(i, s) for i, s in enumerate(settings) if visits * len(s.premises) > before])
            for before in [0, *sizes[:-1]]
        ]
        lengths = [
            (size - before) * len(left)
            for size, (before, left) in zip(sizes, self._phases, strict=True)
        ]
        self._starts = list(accumulate(lengths, initial=0))

    def __len__(self) -> int:
        return self._starts[-1]

    def at(self, nth: int) -> tuple[_Setting, int, int]:
        """The noun of draw `nth`, its place in the list, and how often it was drawn before."""
        phase = bisect_right(self._starts, nth) - 1
        before, left = self._phases[phase]
        visit, turn = divmod(nth - self._starts[phase], len(left))
        place, setting = left[turn]
        return setting, place, before + visit


class Degree:
    """The rows of degree estimation that a lexicon, a seed and a gold give."""

    def __init__(
        self,
        words: Lexicon,
        seed: int,
        gold: Gold,
        *,
        boosters: Sequence[str] = (),
        diminishers: Sequence[str] = (),
        z_range: tuple[float, float] = (60.0, 138.0),
        numbers: int = NUMBERS,
        text: str = "clean",
    ) -> None:
        self.words = words
        self.seed = seed
        self.gold = gold
        # People judged "very" and "relatively": by default no other modifier gets their gold.
        self._boosters = tuple(boosters) or words.boosters[:1]
        self._diminishers = tuple(diminishers) or words.diminishers[:1]
        low, high = z_range
        self.grid = [low + i * (high - low) / (numbers - 1) for i in range(numbers)]
        self._paper = text == "paper"
        # The end points of superlative premises; the release has them in its wider range too.
        self._ends = JUDGED if self._paper else (self.grid[0], self.grid[-1])
        self._contrasts = self._contrasted()
        self._rooms: dict[tuple[str, str], _Room] = {}

    def of(self, key: object) -> Degree:
        """The same rules with draws of their own."""
        other = copy(self)
        other.seed, other._rooms = digest(self.seed, key), {}
        return other

    def capacity(self, test: str) -> int:
        """Groups of a test that there are (in the turns in which dimensions take part)."""
        return min(
            self.groups(test, dimension) * len(_TURNS) // _TURNS.count(turn)
            for turn, dimension in enumerate(DIMENSIONS)
        )

    def groups(self, test: str, dimension: str) -> int:
        """Groups of a test that a dimension has."""
        return len(self._room(test, dimension)) * (2 if self._paper else 1)

    def check(self, size: int) -> None:
        """Raise `UserError` where some test has fewer than `size` rows of a variant."""
        short = {t: c for t in TESTS if (c := len(self.grid) * self.capacity(t)) < size}
        if short:
            listed = ", ".join(f"{test} has {count}" for test, count in short.items())
            raise UserError(
                f"degree={size}: the lexicon has fewer rows a variant ({listed}); ask for at most "
                f"{min(short.values())}, or for more variants"
            )

    def group(self, test: str, at: int) -> Group:
        """Group `at` of a test: dimensions by turns, polarity alternating within each."""
        premise, second = divmod(at, 2) if self._paper else (at, 0)
        turn, rest = divmod(premise, len(_TURNS))
        dimension = _TURNS[rest]
        nth = turn * _TURNS.count(dimension) + _TURNS[:rest].count(dimension)
        return self._group(test, dimension, nth, second, at, digest(self.seed, test, premise))

    def of_dimension(self, test: str, dimension: str, nth: int) -> Group:
        """Group `nth` of those that measure one dimension."""
        premise, second = divmod(nth, 2) if self._paper else (nth, 0)
        draw = digest(self.seed, test, dimension, premise)
        return self._group(test, DIMENSIONS.index(dimension), premise, second, nth, draw)

    def _group(self, test: str, dimension: int, nth: int, second: int, at: int, draw: int) -> Group:
        setting, place, visit = self._room(test, DIMENSIONS[dimension]).at(nth)
        size = len(setting.premises)
        # Polarities alternate; the second half of the visits asks for the other adjective.
        turn = second if self._paper else dimension + place + visit % size + visit // size
        polarity = POLARITIES[turn % 2]
        step, negative = setting.premises[setting.order[visit % size]]
        measure = setting.measure
        adjectives, other, modifier = (measure.positive, measure.negative), None, ""
        if test == "dimension":
            chosen = self._contrasts[measure, setting.noun]
            adjectives = chosen[draw % len(chosen)]
        elif test == "argument":
            others = self._others(measure, setting.noun)
            other = others[draw % len(others)]
        elif test == "booster":
            modifier = self._boosters[draw % len(self._boosters)]
        elif test == "diminisher":
            modifier = self._diminishers[draw % len(self._diminishers)]
        elif test == "negation":
            modifier = "not"
        return Group(
            at,
            test,
            measure,
            setting.noun,
            other,
            adjectives,
            polarity,
            negative + 20 * step,
            negative,
            modifier,
        )

    def rows(self, group: Group, variants: Sequence[str] = ("base",)) -> Iterator[DegreeRow]:
        """The rows of a group, one for each number, in each variant.

        Variants change the premise alone and keep the label: ``sentences`` gives its sentences in
        the other order, ``numbers`` exchanges its two numbers, ``both`` does both.
        """
        test, polarity = group.test, group.polarity
        a, b = group.positive_value, group.negative_value
        asked = group.adjectives[polarity == "negative"]
        subject = group.other_noun or group.noun
        bare = subject in self.words.mass and not self._paper
        unit = self._unit(group)
        tail = (
            f"{subject} is {group.modifier} {asked}."
            if group.modifier
            else (f"{subject} is {asked}.")
        )
        other = group.adjectives[polarity == "positive"]
        judged = test not in ("dimension", "argument")
        own_value = float(a if polarity == "positive" else b)
        hypotheses = []
        for z in self.grid:
            alpha = b + (z - 80) * (a - b) / 40
            text = f"{self._amount(number(alpha), unit, bare)} {tail}"
            if judged:
                label = labels.name(self.gold.entails(test, polarity, z))
                extrapolated = self.gold.extrapolated(test, polarity, z)
            else:
                # The premise's own number: whether it carries over is not what the test asks.
                label = DISCARD if alpha == own_value else NOT_ENTAILMENT
                extrapolated = False
            hypotheses.append((alpha, z, text, label, extrapolated))
        for variant in variants:
            premise = self.premise(group, variant)
            for alpha, z, text, label, extrapolated in hypotheses:
                yield DegreeRow(
                    item_id(test, premise, text),
                    test,
                    variant,
                    group.number,
                    group.measure.dimension,
                    group.measure.unit,
                    asked,
                    other,
                    group.noun,
                    group.other_noun,
                    polarity,
                    float(a),
                    float(b),
                    float(alpha),
                    float(z),
                    premise,
                    text,
                    label,
                    labels.label3(test, label),
                    self.gold.kind if judged else "rule",
                    extrapolated,
                )

    def premise(self, group: Group, variant: str = "base") -> str:
        """The two sentences (table 2), in one of `VARIANTS`."""
        values = [group.positive_value, group.negative_value]
        if group.test == "superlative":
            # The end points of the range, between which the numbers lie.
            span = group.positive_value - group.negative_value
            low, high = self._ends
            texts = [number(group.negative_value + (z - 80) * span / 40) for z in (high, low)]
        else:
            texts = [number(value) for value in values]
        if variant in ("numbers", "both"):
            texts.reverse()
        sentences = [
            self._sentence(group, adjective, text)
            for adjective, text in zip(group.adjectives, texts, strict=True)
        ]
        if variant in ("sentences", "both"):
            sentences.reverse()
        return " ".join(sentences)

    def _sentence(self, group: Group, adjective: str, text: str) -> str:
        noun, unit = group.noun, self._unit(group)
        mass = noun in self.words.mass
        if group.test == "comparative":
            those = noun.capitalize() if mass else plural(noun, self.words.plurals).capitalize()
            verb = "is" if mass else "are"
            compared = self.words.compared(adjective)
            return f"{those} {compared} than {_quantity(text, unit)} {verb} {adjective}."
        if group.test == "superlative":
            top = self.words.topmost(adjective)
            return f"The {top} {noun} in the world is {_quantity(text, unit)}."
        return f"{self._amount(text, unit, mass and not self._paper)} {noun} is {adjective}."

    def _unit(self, group: Group) -> str:
        unit = group.measure.unit
        return "°c" if self._paper and group.test == "comparative" and unit == "°C" else unit

    def _amount(self, figure: str, unit: str, bare: bool) -> str:
        """The quantity before a noun, with an article unless it is `bare`."""
        quantity = _quantity(figure, unit)
        if bare:
            return quantity
        return f"{'A' if self._paper else article(figure)} {quantity}"

    def _contrasted(self) -> dict[tuple[Measure, str], list[tuple[str, str]]]:
        """For each measured noun the opposites that say nothing of the measure."""
        own = {(a.scale, a.word): a for a in self.words.adjectives}
        found: dict[tuple[Measure, str], list[tuple[str, str]]] = {}
        for measure in self.words.measures:
            for noun in measure.nouns:
                pairs = [
                    (one, other)
                    for scale, one, other in self.words.opposites
                    if own[scale, one].family not in measure.related
                    and noun in own[scale, one].nouns
                    and noun in own[scale, other].nouns
                ]
                if pairs:
                    found[measure, noun] = pairs
        return found

    def _others(self, measure: Measure, noun: str) -> list[str]:
        """Nouns of the measure whose numbers are those of `noun`, more or less."""
        low, high = measure.nouns[noun]
        return [
            other
            for other, (least, most) in measure.nouns.items()
            if other != noun and least <= 2 * low and 2 * most >= high
        ]

    def _room(self, test: str, dimension: str) -> _Room:
        """The nouns of a dimension with the premises that they have room for."""
        key = (test, dimension)
        if key in self._rooms:
            return self._rooms[key]
        below, above = (80 - self.grid[0]) / 2, (self.grid[-1] - 80) / 2
        found = []
        for measure in self.words.measures:
            for noun, (low, high) in measure.nouns.items():
                if measure.dimension != dimension:
                    continue
                if test == "dimension" and (measure, noun) not in self._contrasts:
                    continue
                if test == "argument" and not self._others(measure, noun):
                    continue
                premises = tuple(
                    (step, step * times)
                    for step in _STEPS
                    for times in range(1, _MOST_STEPS + 1)
                    if low + below * step <= step * times <= high - above * step
                )
                if premises:
                    name = (measure.unit, measure.positive, noun)
                    order = Order(len(premises), self.seed, test, *name)
                    found.append(
                        (digest(self.seed, *name), _Setting(measure, noun, premises, order))
                    )
        if not found:
            raise UserError(
                f"no noun of {dimension} has room for numbers from z={self.grid[0]:g} to "
                f"{self.grid[-1]:g}; choose a narrower range"
            )
        settings = [setting for _, setting in sorted(found, key=lambda f: f[0])]
        self._rooms[key] = _Room(settings, 1 if self._paper else 2)
        return self._rooms[key]


def _quantity(figure: str, unit: str) -> str:
    """``$80``, ``80°C``, ``80 cm``."""
    if unit == "$":
        return f"${figure}"
    return f"{figure}{unit}" if unit in ("°C", "°c") else f"{figure} {unit}"
