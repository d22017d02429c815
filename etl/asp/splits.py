"""Rounds of fine-tuning: training rows and held-out rows (paper, "Fine-tuning on the ASP").

``adjectives`` (entailment inference): in each of four rounds half of the adjectives are held out.
Training has the rows of ordering, dimension and argument without held-out adjectives, the test has
the rows of all tests whose adjectives are all held out. Scales are never divided. ``dimension``
(degree estimation): one physical dimension is held out, and training leaves out the middle of the
scale, 80 < z < 120.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from adnominal.etl.asp import DISCARD, TRAINED
from adnominal.etl.asp.lexicon import DIMENSIONS, Lexicon
from adnominal.etl.draws import draw

SCHEMES = ("adjectives", "dimension")
ROUNDS = 4
# The paper has 1,200 training and 300 validation rows per round: one in five is for validation.
_VALIDATION_STEP = 5


def held_out_adjectives(lexicon: Lexicon, seed: int) -> list[frozenset[str]]:
    """The adjectives held out in each round: half of them, whole scales at a time."""
    groups = _connected_scales(lexicon)
    limit = len(lexicon.words) / 2 + 1
    rounds = []
    for number in range(ROUNDS):
        adjectives: set[str] = set()
        for group in sorted(groups, key=lambda g: draw(seed, "adjectives", number, min(g))):
            if len(adjectives) + len(group) <= limit:
                adjectives |= group
        rounds.append(frozenset(adjectives))
    return rounds


def _connected_scales(lexicon: Lexicon) -> list[set[str]]:
    """The adjectives of each scale, together with those of scales that share a word with it."""
    scales: dict[str, set[str]] = {}
    for adjective in lexicon.adjectives:
        scales.setdefault(adjective.scale, set()).add(adjective.word)
    groups: list[set[str]] = []
    for words in scales.values():
        unvisited = set(words)
        separate = []
        for group in groups:
            if group & unvisited:
                unvisited |= group
            else:
                separate.append(group)
        groups = [*separate, unvisited]
    return groups


def _train_or_val(seed: int, number: object, key: object) -> str:
    return "val" if draw(seed, "val", number, key) % _VALIDATION_STEP == 0 else "train"


def assign_entailment(
    held_out_words: Sequence[frozenset[str]], seed: int, row: Mapping[str, Any]
) -> list[tuple[str, str, str]]:
    """(scheme, round, part) of a row of entailment inference.

    `held_out_words` is what `held_out` returns.
    """
    words = {row["adjective"], row["other_adjective"] or row["adjective"]}
    nouns = {row["noun"], row["other_noun"] or row["noun"]}
    # The same for both rows of an item, which always belong to the same part.
    pair = f"{row['test']} {sorted(words)} {sorted(nouns)} {row['modifier']}"
    places = []
    for number, held_out_of_round in enumerate(held_out_words):
        if words <= held_out_of_round:
            places.append(("adjectives", str(number), "test"))
        elif words.isdisjoint(held_out_of_round) and row["test"] in TRAINED:
            places.append(("adjectives", str(number), _train_or_val(seed, number, pair)))
    return places


def assign_degree(seed: int, row: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """(scheme, round, part) of a row of degree estimation; the round is the dimension held out."""
    if row["label"] == DISCARD:
        return []
    places = []
    for dimension in DIMENSIONS:
        if row["dimension"] == dimension:
            places.append(("dimension", dimension, "test"))
        elif row["test"] in TRAINED and not 80 < row["z"] < 120:
            # The premises are at 80 and 120 on the scale of z; as in the release, training has no
            # number between them.
            part = _train_or_val(seed, dimension, row["item_id"])
            places.append(("dimension", dimension, part))
    return places
