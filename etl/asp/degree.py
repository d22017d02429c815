"""Degree estimation: groups of forty numbers for a premise that gives two of them.

With the premise values a (positive adjective) and b (negative) and the step s = (a - b) / 20, the
numbers of a group are alpha = b - 10 s … a + 9 s. These are z = 60, 62 … 138 on the scale where a
is 120 and b is 80. Another range of z, or another number of numbers, is spread evenly as well.
Group g depends only on (seed, test, g).

Text ``paper`` is that of the release: every quantity has the article "A" ("A 860 m mall", "A 80°C
alcohol"), comparative rows have "°c", superlative premises are at z = 60 and 138 whatever the
range, and groups 2k and 2k + 1 have the same premise, with its positive and its negative adjective.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import NamedTuple

from adnominal.conf import UserError
from adnominal.etl.asp import DISCARD, NOT_ENTAILMENT, TESTS, labels
from adnominal.etl.asp.gold import JUDGED, POLARITIES, Gold
from adnominal.etl.asp.lexicon import DIMENSIONS, Lexicon, Measure, plural
from adnominal.etl.asp.templates import CLEAN, Style, article, item_id, number
from adnominal.etl.draws import Order, draw

NUMBERS = 40
VARIANTS = ("base", "sentences", "numbers", "both")


@dataclass(frozen=True)
class Grid:
    """The numbers of a group: their count, evenly spread from the smallest z to the largest."""

    least: float = 60.0
    greatest: float = 138.0
    numbers: int = NUMBERS

    @property
    def values(self) -> list[float]:
        """The numbers, on the scale of z, without the last digits of binary fractions."""
        span, steps = self.greatest - self.least, self.numbers - 1
        return [round(self.least + i * span / steps, 9) for i in range(self.numbers)]


# The dimensions of 25 consecutive groups: seven of length, six of each other dimension.
_DIMENSION_TURNS = (0, 1, 2, 3) * 6 + (0,)
# Premise values are round numbers: at most sixty times a step with one significant digit.
_MAX_MULTIPLE = 60
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
    """One premise, with the adjective (by its polarity) that the hypotheses have."""

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
class _MeasuredNoun:
    """A noun in a measure, with the premises that fit into its range of numbers."""

    measure: Measure
    noun: str
    premises: tuple[tuple[int, int], ...]  # step, and the value of the negative adjective
    order: Order


class _Rotation:
    """Nouns that take turns, each until each of its premises has been drawn `visits` times.

    A noun with more premises has more turns. In a phase the same nouns are active; it ends when
    those with the fewest turns have had them all. So the noun of any draw is computed from its
    number alone, without the draws before it.
    """

    def __init__(self, nouns: Sequence[_MeasuredNoun], visits: int) -> None:
        turns = [visits * len(noun.premises) for noun in nouns]
        # Of each phase: how many turns each active noun has had before, and (position, noun).
        self._phases: list[tuple[int, list[tuple[int, _MeasuredNoun]]]] = []
        draw_counts: list[int] = []
        begin = 0
        for end in sorted(set(turns)):
            active = [(i, noun) for i, noun in enumerate(nouns) if turns[i] > begin]
            self._phases.append((begin, active))
            draw_counts.append((end - begin) * len(active))
            begin = end
        # The number of the first draw of each phase, and that of all draws.
        self._starts = list(accumulate(draw_counts, initial=0))

    def __len__(self) -> int:
        return self._starts[-1]

    def noun_of_draw(self, number: int) -> tuple[_MeasuredNoun, int, int]:
        """The noun of a draw, its position in the list, and how often it was drawn before."""
        phase = bisect_right(self._starts, number) - 1
        begin, active = self._phases[phase]
        visit, turn = divmod(number - self._starts[phase], len(active))
        position, noun = active[turn]
        return noun, position, begin + visit


class Degree:
    """The rows of degree estimation for a lexicon, a seed and gold thresholds."""

    def __init__(
        self,
        lexicon: Lexicon,
        seed: int,
        gold: Gold,
        style: Style = CLEAN,
        grid: Grid = Grid(),
    ) -> None:
        self.lexicon = lexicon
        self.seed = seed
        self.gold = gold
        # People judged only "very" and "relatively", so these are the default modifiers.
        self._boosters = style.boosters or lexicon.boosters[:1]
        self._diminishers = style.diminishers or lexicon.diminishers[:1]
        self.grid = grid.values
        self._paper = style.text == "paper"
        # The end points of superlative premises; the release has the same in its wider range.
        self._ends = JUDGED if self._paper else (self.grid[0], self.grid[-1])
        self._contrasts = self._find_contrasts()
        self._rotations: dict[tuple[str, str], _Rotation] = {}

    def with_seed_of(self, key: object) -> Degree:
        """The same rules with independent draws, which depend on the seed and `key`."""
        degree = copy(self)
        degree.seed, degree._rotations = draw(self.seed, key), {}
        return degree

    def capacity(self, test: str) -> int:
        """The number of groups of a test, as long as every dimension has its turns."""
        return min(
            self.groups(test, dimension) * len(_DIMENSION_TURNS) // _DIMENSION_TURNS.count(turn)
            for turn, dimension in enumerate(DIMENSIONS)
        )

    def groups(self, test: str, dimension: str) -> int:
        """The number of groups of a test that measure one dimension."""
        return len(self._rotation(test, dimension)) * (2 if self._paper else 1)

    def check(self, size: int) -> None:
        """Raise `UserError` if some test has fewer than `size` rows of a variant."""
        short = {t: c for t in TESTS if (c := len(self.grid) * self.capacity(t)) < size}
        if short:
            listed = ", ".join(f"{test} has {count}" for test, count in short.items())
            raise UserError(
                f"degree={size}: the lexicon has fewer rows per variant ({listed}); ask for at "
                f"most {min(short.values())}, or for more variants"
            )

    def group(self, test: str, number: int) -> Group:
        """A group of a test: dimensions take turns, and polarities alternate within each."""
        premise, second = divmod(number, 2) if self._paper else (number, 0)
        cycle, turn = divmod(premise, len(_DIMENSION_TURNS))
        dimension = _DIMENSION_TURNS[turn]
        nth = cycle * _DIMENSION_TURNS.count(dimension) + _DIMENSION_TURNS[:turn].count(dimension)
        group = self._group(test, dimension, nth, second, draw(self.seed, test, premise))
        return replace(group, number=number)

    def group_of_dimension(self, test: str, dimension: str, number: int) -> Group:
        """A group of those that measure one dimension."""
        premise, repeat = divmod(number, 2) if self._paper else (number, 0)
        pick = draw(self.seed, test, dimension, premise)
        group = self._group(test, DIMENSIONS.index(dimension), premise, repeat, pick)
        return replace(group, number=number)

    def _group(self, test: str, dimension: int, number: int, repeat: int, pick: int) -> Group:
        """The group of premise `number` of a dimension; `repeat` is 1 for a premise used before."""
        measured, position, visit = self._rotation(test, DIMENSIONS[dimension]).noun_of_draw(number)
        size = len(measured.premises)
        # Polarities alternate; the second half of the visits has the other adjective.
        turn = repeat if self._paper else dimension + position + visit % size + visit // size
        step, negative = measured.premises[measured.order[visit % size]]
        measure = measured.measure
        adjectives, other_noun, modifier = (measure.positive, measure.negative), None, ""
        if test == "dimension":
            contrasts = self._contrasts[measure, measured.noun]
            adjectives = contrasts[pick % len(contrasts)]
        elif test == "argument":
            nouns = self._comparable_nouns(measure, measured.noun)
            other_noun = nouns[pick % len(nouns)]
        elif test == "booster":
            modifier = self._boosters[pick % len(self._boosters)]
        elif test == "diminisher":
            modifier = self._diminishers[pick % len(self._diminishers)]
        elif test == "negation":
            modifier = "not"
        return Group(
            number=number,
            test=test,
            measure=measure,
            noun=measured.noun,
            other_noun=other_noun,
            adjectives=adjectives,
            polarity=POLARITIES[turn % 2],
            positive_value=negative + 20 * step,
            negative_value=negative,
            modifier=modifier,
        )

    def rows(self, group: Group, variants: Sequence[str] = ("base",)) -> Iterator[DegreeRow]:
        """The rows of a group, one for each number in each variant.

        Variants change only the premise and keep the label: ``sentences`` exchanges its sentences,
        ``numbers`` exchanges its two numbers, ``both`` does both.
        """
        test, polarity = group.test, group.polarity
        positive, negative = group.positive_value, group.negative_value
        adjective = group.adjectives[polarity == "negative"]
        other_adjective = group.adjectives[polarity == "positive"]
        subject = group.other_noun or group.noun
        bare = subject in self.lexicon.mass and not self._paper
        unit = self._unit(group)
        predicate = f"{group.modifier} {adjective}" if group.modifier else adjective
        judged = test not in ("dimension", "argument")
        premise_value = float(positive if polarity == "positive" else negative)
        hypotheses = []
        for z in self.grid:
            alpha = round(negative + (z - 80) * (positive - negative) / 40, 6)
            text = f"{self._amount(number(alpha), unit, bare)} {subject} is {predicate}."
            if judged:
                label = labels.name(self.gold.entails(test, polarity, z))
                extrapolated = self.gold.is_extrapolated(test, polarity, z)
            else:
                # The test does not ask whether the number of the premise itself carries over.
                label = DISCARD if alpha == premise_value else NOT_ENTAILMENT
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
                    adjective,
                    other_adjective,
                    group.noun,
                    group.other_noun,
                    polarity,
                    float(positive),
                    float(negative),
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
        if group.test == "superlative":
            # The end points of the range of numbers.
            span = group.positive_value - group.negative_value
            low, high = self._ends
            figures = [number(group.negative_value + (z - 80) * span / 40) for z in (high, low)]
        else:
            figures = [number(group.positive_value), number(group.negative_value)]
        if variant in ("numbers", "both"):
            figures.reverse()
        sentences = [
            self._sentence(group, adjective, figure)
            for adjective, figure in zip(group.adjectives, figures, strict=True)
        ]
        if variant in ("sentences", "both"):
            sentences.reverse()
        return " ".join(sentences)

    def _sentence(self, group: Group, adjective: str, figure: str) -> str:
        """A sentence of a premise: the noun of the group has this amount and is so."""
        noun = group.noun
        is_mass = noun in self.lexicon.mass
        unit = self._unit(group)
        quantity = _quantity(figure, unit)
        if group.test == "comparative":
            subject = noun if is_mass else plural(noun, self.lexicon.plurals)
            verb = "is" if is_mass else "are"
            comparative = self.lexicon.comparative_of(adjective)
            return f"{subject.capitalize()} {comparative} than {quantity} {verb} {adjective}."
        if group.test == "superlative":
            superlative = self.lexicon.superlative_of(adjective)
            return f"The {superlative} {noun} in the world is {quantity}."
        has_no_article = is_mass and not self._paper
        amount = self._amount(figure, unit, has_no_article)
        return f"{amount} {noun} is {adjective}."

    def _unit(self, group: Group) -> str:
        unit = group.measure.unit
        return "°c" if self._paper and group.test == "comparative" and unit == "°C" else unit

    def _amount(self, figure: str, unit: str, bare: bool) -> str:
        """The quantity before a noun, with an article unless `bare`."""
        quantity = _quantity(figure, unit)
        if bare:
            return quantity
        return f"{'A' if self._paper else article(figure)} {quantity}"

    def _find_contrasts(self) -> dict[tuple[Measure, str], list[tuple[str, str]]]:
        """For each measured noun, the opposites that are unrelated to the measure."""
        by_word = {(a.scale, a.word): a for a in self.lexicon.adjectives}
        contrasts: dict[tuple[Measure, str], list[tuple[str, str]]] = {}
        for measure in self.lexicon.measures:
            for noun in measure.nouns:
                pairs = [
                    (word, opposite)
                    for scale, word, opposite in self.lexicon.opposites
                    if by_word[scale, word].family not in measure.related
                    and noun in by_word[scale, word].nouns
                    and noun in by_word[scale, opposite].nouns
                ]
                if pairs:
                    contrasts[measure, noun] = pairs
        return contrasts

    def _comparable_nouns(self, measure: Measure, noun: str) -> list[str]:
        """The other nouns of the measure with similar numbers, by a factor of two at most."""
        low, high = measure.nouns[noun]
        return [
            other_noun
            for other_noun, (least, greatest) in measure.nouns.items()
            if other_noun != noun and least <= 2 * low and 2 * greatest >= high
        ]

    def _rotation(self, test: str, dimension: str) -> _Rotation:
        """The nouns of a test in a dimension, in the order of their turns."""
        key = (test, dimension)
        if key in self._rotations:
            return self._rotations[key]
        nouns = []
        measures = [m for m in self.lexicon.measures if m.dimension == dimension]
        for measure in measures:
            for noun, (low, high) in measure.nouns.items():
                if test == "dimension" and (measure, noun) not in self._contrasts:
                    continue
                if test == "argument" and not self._comparable_nouns(measure, noun):
                    continue
                premises = self._premises(low, high)
                if premises:
                    name = (measure.unit, measure.positive, noun)
                    order = Order(len(premises), self.seed, test, *name)
                    measured = _MeasuredNoun(measure, noun, premises, order)
                    nouns.append((draw(self.seed, *name), measured))
        if not nouns:
            nouns_left = ", ".join(noun for measure in measures for noun in measure.nouns)
            raise UserError(
                f"test {test}: no noun of {dimension} suits z_from={self.grid[0]:g} "
                f"z_to={self.grid[-1]:g} (nouns of {dimension}: {nouns_left or 'none'}); give a "
                "narrower range, a larger corpus= or a lower min_count=, which leave more nouns, "
                "or degree=0"
            )
        in_order = [noun for _, noun in sorted(nouns, key=lambda keyed: keyed[0])]
        self._rotations[key] = _Rotation(in_order, 1 if self._paper else 2)
        return self._rotations[key]

    def _premises(self, low: int, high: int) -> tuple[tuple[int, int], ...]:
        """Step and negative value of each premise whose numbers are all from `low` to `high`."""
        below, above = (80 - self.grid[0]) / 2, (self.grid[-1] - 80) / 2
        return tuple(
            (step, step * multiple)
            for step in _STEPS
            for multiple in range(1, _MAX_MULTIPLE + 1)
            if low + below * step <= step * multiple <= high - above * step
        )


def _quantity(figure: str, unit: str) -> str:
    """``$80``, ``80°C``, ``80 cm``."""
    if unit == "$":
        return f"${figure}"
    return f"{figure}{unit}" if unit in ("°C", "°c") else f"{figure} {unit}"
