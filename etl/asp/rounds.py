"""Rounds of fine-tuning whose words are drawn before their rows ("Fine-tuning on the ASP").

A round of entailment inference holds out half of the adjectives and is trained on rows of the other
half alone, 1,200 and 300 for validation; its tests are of the half held out. A round of degree
estimation holds out a dimension, and is trained on 3,600 and 862 rows of the three others whose
numbers lie outside of 80 < z < 120. Sizes and labels are those of the release, for every seed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import TypeVar

from conf import UserError
from etl.asp import CONTRADICTION, DISCARD, ENTAILMENT, NEUTRAL, TESTS
from etl.asp.degree import Degree, DegreeRow, Group
from etl.asp.entailment import Entailment, Row
from etl.asp.lexicon import DIMENSIONS, Lexicon
from etl.asp.sampling import digest

__all__ = ["DEGREE_SIZES", "ENTAILMENT_SIZES", "Place", "degree", "entailment", "narrowed"]

AnyRow = TypeVar("AnyRow", Row, DegreeRow)
Place = tuple[str, str, str]
"""Scheme, round and part of table ``asp_splits``."""

# Rows of training and of validation by label, as the release has them.
ENTAILMENT_SIZES: Mapping[str, tuple[int, int]] = {
    ENTAILMENT: (400, 100),
    CONTRADICTION: (400, 100),
    NEUTRAL: (400, 100),
}
DEGREE_SIZES: Mapping[str, tuple[int, int]] = {
    ENTAILMENT: (1200, 300),
    CONTRADICTION: (1200, 300),
    NEUTRAL: (1200, 262),
}


def narrowed(words: Lexicon, vocabulary: frozenset[str]) -> Lexicon:
    """The lexicon with no other adjectives than those of the vocabulary."""
    adjectives = tuple(a for a in words.adjectives if a.word in vocabulary)
    opposites = tuple(o for o in words.opposites if {o[1], o[2]} <= vocabulary)
    return replace(words, adjectives=adjectives, opposites=opposites)


def entailment(
    source: Entailment, outs: list[frozenset[str]], size: int
) -> Iterator[tuple[Place, Row]]:
    """The rows of the four rounds: training, validation, and up to `size` rows of each test.

    `outs` are the adjectives held out in each round, `source` says how rows are drawn.

    Raises:
        UserError: the half that is trained on has too few rows of a label.
    """
    for number, out in enumerate(outs):
        round_ = str(number)
        own = source.of(narrowed(source.words, source.words.words - out), ("train", number))
        rows: dict[str, list[Row]] = {label: [] for label in ENTAILMENT_SIZES}
        wanted = {label: sum(sizes) for label, sizes in ENTAILMENT_SIZES.items()}
        for test, most in (
            ("ordering", wanted[ENTAILMENT] + wanted[CONTRADICTION]),
            ("dimension", wanted[NEUTRAL] // 2),
            ("argument", wanted[NEUTRAL] - wanted[NEUTRAL] // 2),
        ):
            for row in own.rows(test, 0, min(most, own.capacity(test))):
                rows[str(row.label3)].append(row)
        place = ("adjectives", round_)
        have = f"round {round_}: the adjectives trained on give"
        yield from _divided(rows, ENTAILMENT_SIZES, place, own.seed, have, "lexicon")
        tested = source.of(narrowed(source.words, out), ("test", number))
        for test in TESTS:
            for row in tested.rows(test, 0, min(size, tested.capacity(test))):
                yield ("adjectives", round_, "test"), row


def degree(source: Degree, size: int) -> Iterator[tuple[Place, DegreeRow]]:
    """The rows of the four rounds: training, validation, and `size` rows of each test.

    Raises:
        UserError: a dimension has too few groups.
    """
    for out in DIMENSIONS:
        own = source.of(("train", out))
        others = [dimension for dimension in DIMENSIONS if dimension != out]
        rows: dict[str, list[DegreeRow]] = {label: [] for label in DEGREE_SIZES}
        for test, labels in (
            ("ordering", (ENTAILMENT, CONTRADICTION)),
            ("dimension", (NEUTRAL,)),
            ("argument", (NEUTRAL,)),
        ):
            parts = 2 if labels == (NEUTRAL,) else 1
            before = {label: len(rows[label]) for label in labels}
            for group in _groups(own, test, others):
                if all(parts * (len(rows[x]) - before[x]) >= sum(DEGREE_SIZES[x]) for x in labels):
                    break
                for row in own.rows(group):
                    if row.label != DISCARD and not 80 < row.z < 120:
                        rows[str(row.label3)].append(row)
        have = f"round {out}: the other dimensions give"
        yield from _divided(rows, DEGREE_SIZES, ("dimension", out), own.seed, have, "measures")
        tested = source.of(("test", out))
        for test in TESTS:
            groups = size // len(tested.grid)
            for nth in range(min(groups, tested.groups(test, out))):
                for row in tested.rows(tested.of_dimension(test, out, nth)):
                    yield ("dimension", out, "test"), row


def _divided(
    rows: Mapping[str, Sequence[AnyRow]],
    sizes: Mapping[str, tuple[int, int]],
    place: tuple[str, str],
    seed: int,
    have: str,
    extend: str,
) -> Iterator[tuple[Place, AnyRow]]:
    """Of each label's rows as many for training and validation as `sizes` says, chosen by hash.

    Raises:
        UserError: a label has too few rows; `have` says whose they are, `extend` what would help.
    """
    for label, (train, val) in sizes.items():
        found = sorted(rows[label], key=lambda row: digest(seed, "val", row.item_id))
        if len(found) < train + val:
            raise UserError(
                f"{have} {len(found)} rows of {label}; expected {train + val}. Extend the "
                f"{extend}, or take rounds=assigned"
            )
        yield from (((*place, "train"), row) for row in found[:train])
        yield from (((*place, "val"), row) for row in found[train : train + val])


def _groups(source: Degree, test: str, dimensions: list[str]) -> Iterator[Group]:
    """Groups of some dimensions by turns, two of one premise together, until none is left."""
    for at in count(0, 2):
        left = [d for d in dimensions if at + 1 < source.groups(test, d)]
        if not left:
            return
        for dimension in left:
            yield source.of_dimension(test, dimension, at)
            yield source.of_dimension(test, dimension, at + 1)
