"""Rounds of fine-tuning whose words are drawn before their rows (paper, "Fine-tuning on the ASP").

A round of entailment inference holds out half of the adjectives: it has 1,200 training and 300
validation rows of the other half, and test rows of the held-out half. A round of degree estimation
holds out a dimension: it has 3,600 training and 862 validation rows of the three other dimensions,
with numbers outside 80 < z < 120. Sizes and labels are those of the release, for every seed.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import TypeVar

from adnominal.conf import UserError
from adnominal.etl.asp import CONTRADICTION, DISCARD, ENTAILMENT, NEUTRAL, TESTS
from adnominal.etl.asp.degree import Degree, DegreeRow, Group
from adnominal.etl.asp.entailment import Entailment, Row
from adnominal.etl.asp.lexicon import DIMENSIONS, Lexicon
from adnominal.etl.draws import draw

AnyRow = TypeVar("AnyRow", Row, DegreeRow)
Place = tuple[str, str, str]
"""Scheme, round and part of the table ``asp_splits``."""

# The numbers of training and validation rows by label, as in the release.
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


def restricted_lexicon(lexicon: Lexicon, vocabulary: frozenset[str]) -> Lexicon:
    """The lexicon with only the adjectives of the vocabulary."""
    adjectives = tuple(a for a in lexicon.adjectives if a.word in vocabulary)
    opposites = tuple(o for o in lexicon.opposites if {o[1], o[2]} <= vocabulary)
    return replace(lexicon, adjectives=adjectives, opposites=opposites)


def entailment(
    source: Entailment, held_out_words: list[frozenset[str]], size: int
) -> Iterator[tuple[Place, Row]]:
    """The rows of the rounds: training, validation, and up to `size` rows of each test.

    `held_out_words` are the adjectives held out in each round; `source` says how rows are drawn.

    Raises:
        UserError: the adjectives for training give too few rows of a label.
    """
    totals = {label: sum(sizes) for label, sizes in ENTAILMENT_SIZES.items()}
    sizes_by_test = {
        "ordering": totals[ENTAILMENT] + totals[CONTRADICTION],
        "dimension": totals[NEUTRAL] // 2,
        "argument": totals[NEUTRAL] - totals[NEUTRAL] // 2,
    }
    for number, held_out in enumerate(held_out_words):
        round_ = str(number)
        vocabulary = source.lexicon.words - held_out
        training_source = source.with_lexicon(
            restricted_lexicon(source.lexicon, vocabulary), ("train", number)
        )
        rows: dict[str, list[Row]] = {label: [] for label in ENTAILMENT_SIZES}
        for test, test_size in sizes_by_test.items():
            for row in training_source.rows(
                test, 0, min(test_size, training_source.capacity(test))
            ):
                rows[str(row.label3)].append(row)
        words = f"round {round_}: the adjectives trained on give"
        for part, row in _shares_of_rounds(
            rows, ENTAILMENT_SIZES, training_source.seed, words, "lexicon"
        ):
            yield ("adjectives", round_, part), row
        tested = source.with_lexicon(restricted_lexicon(source.lexicon, held_out), ("test", number))
        for test in TESTS:
            for row in tested.rows(test, 0, min(size, tested.capacity(test))):
                yield ("adjectives", round_, "test"), row


def degree(source: Degree, size: int) -> Iterator[tuple[Place, DegreeRow]]:
    """The rows of the four rounds: training, validation, and `size` rows of each test.

    Raises:
        UserError: a dimension has too few groups.
    """
    for held_out in DIMENSIONS:
        trained = source.with_seed_of(("train", held_out))
        rows = _training_rows(trained, [d for d in DIMENSIONS if d != held_out])
        words = f"round {held_out}: the other dimensions give"
        for part, row in _shares_of_rounds(rows, DEGREE_SIZES, trained.seed, words, "measures"):
            yield ("dimension", held_out, part), row
        tested = source.with_seed_of(("test", held_out))
        for test in TESTS:
            groups = size // len(tested.grid)
            for number in range(min(groups, tested.groups(test, held_out))):
                for row in tested.rows(tested.group_of_dimension(test, held_out, number)):
                    yield ("dimension", held_out, "test"), row


def _training_rows(source: Degree, dimensions: Sequence[str]) -> dict[str, list[DegreeRow]]:
    """Enough rows of each label, for training and validation, in order of their groups."""
    rows: dict[str, list[DegreeRow]] = {label: [] for label in DEGREE_SIZES}
    for test, labels in (
        ("ordering", (ENTAILMENT, CONTRADICTION)),
        ("dimension", (NEUTRAL,)),
        ("argument", (NEUTRAL,)),
    ):
        # The neutral rows come from two tests, half of them from each.
        tests = 2 if labels == (NEUTRAL,) else 1
        previous_counts = {label: len(rows[label]) for label in labels}
        for group in _groups(source, test, dimensions):
            counts = {label: len(rows[label]) - previous_counts[label] for label in labels}
            if all(tests * counts[label] >= sum(DEGREE_SIZES[label]) for label in labels):
                break
            for row in source.rows(group):
                if row.label != DISCARD and not 80 < row.z < 120:
                    rows[str(row.label3)].append(row)
    return rows


def _shares_of_rounds(
    rows: Mapping[str, Sequence[AnyRow]],
    sizes: Mapping[str, tuple[int, int]],
    seed: int,
    source: str,
    remedy: str,
) -> Iterator[tuple[str, AnyRow]]:
    """Training and validation rows with their part: `sizes` rows of each label, by hash.

    Raises:
        UserError: a label has too few rows; `source` says where they come from, `remedy` what to
            extend.
    """
    for label, (train, val) in sizes.items():
        in_order = sorted(rows[label], key=lambda row: draw(seed, "val", row.item_id))
        if len(in_order) < train + val:
            raise UserError(
                f"{source} {len(in_order)} rows of {label}; expected {train + val}. Extend the "
                f"{remedy}, or use rounds=assigned"
            )
        yield from (("train", row) for row in in_order[:train])
        yield from (("val", row) for row in in_order[train : train + val])


def _groups(source: Degree, test: str, dimensions: Sequence[str]) -> Iterator[Group]:
    """Yield all groups of some dimensions in turn, keeping the two of one premise together."""
    for number in count(0, 2):
        remaining = [d for d in dimensions if number + 1 < source.groups(test, d)]
        if not remaining:
            return
        for dimension in remaining:
            yield source.group_of_dimension(test, dimension, number)
            yield source.group_of_dimension(test, dimension, number + 1)
