"""Units of adjectives, drawn for nouns and their hypernyms: the steps that the recipes share.

A unit is a number of adjectives of each class (I, S, O) of one noun; a pair of a noun and a
hypernym takes as many units as its weight. Choices come from hashes, so the order of the input does
not matter.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from adnominal.etl.draws import Keys, mix
from adnominal.etl.plane import CLASSES
from adnominal.etl.plane.candidates import Flags, Ids, Pool

# Columns of `Pool.pairs`.
NOUN, HYPERNYM, DISTANCE = range(3)
# With disjoint nouns and hypernyms, words in more than this share of the pairs always stay in
# training: testing on "person" would remove every kind of person from it.
_HUB = 0.01


class Draws(NamedTuple):
    """Drawn adjectives: for each, the position of its noun or pair and its rank in its class."""

    place: Ids
    adjective: Ids
    rank: Ids


class TooFewUnits(Exception):
    """There are fewer units than a part of a fold needs."""

    def __init__(self, part: str, available: int, fold: int = 1) -> None:
        super().__init__(part, available, fold)
        self.part, self.available, self.fold = part, available, fold


def rank_in_group(groups: Ids, keys: Keys) -> Ids:
    """Return the rank of each member within its group, by key, from 0."""
    order = np.lexsort((keys, groups))
    sorted_groups = groups[order]
    new = np.concatenate([[True], sorted_groups[1:] != sorted_groups[:-1]])
    first = np.maximum.accumulate(np.where(new, np.arange(len(order)), 0))
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order)) - first
    return ranks


# ----------------------------------------------------------------------------------------- words


def withheld_adjectives(pool: Pool, share: float, salt: np.uint64) -> Flags:
    """Hold out adjectives for testing: a share of each class, among those that have phrases."""
    has_phrases = np.bincount(pool.phrases[:, 1], minlength=len(pool.adjectives)) > 0
    classes = np.where(has_phrases, pool.classes, len(CLASSES))
    ranks = rank_in_group(classes, mix(pool.adjective_keys, salt))
    sizes = np.bincount(pool.classes[has_phrases], minlength=len(CLASSES))
    flags: Flags = has_phrases & (ranks < np.rint(share * sizes)[pool.classes])
    return flags


def without_words(pool: Pool, rows: Ids, words: Ids) -> Flags:
    """Return the rows that have none of these words."""
    is_listed = np.zeros(len(pool.words), np.bool_)
    is_listed[words] = True
    flags: Flags = np.logical_not(is_listed[rows].any(axis=1))
    return flags


def without_hubs(pool: Pool, rows: Ids) -> Flags:
    """Return the rows without a word that is in more than a hundredth of the rows."""
    counts = np.bincount(rows.ravel(), minlength=len(pool.words))
    is_hub = counts > max(1, _HUB * len(rows))
    hubs: Ids = np.flatnonzero(is_hub)
    return without_words(pool, rows, hubs)


def one_pair_per_noun(pool: Pool, pairs: Ids, salt: np.uint64) -> Ids:
    """Return one pair per noun, in random order."""
    keys = mix(pool.word_keys[pairs[:, NOUN]], pool.word_keys[pairs[:, HYPERNYM]], salt)
    first: Ids = pairs[rank_in_group(pairs[:, NOUN], keys) == 0]
    noun_keys = mix(pool.word_keys[first[:, NOUN]], salt, salt)
    return first[np.argsort(noun_keys, kind="stable")]


# --------------------------------------------------------------------------------------- weights


def pair_weights(shape: Mapping[int, float], max_weights: Ids, target: int, part: str) -> Ids:
    """Return weights that add up to `target`, in the proportions of `shape`, first pairs first.

    `max_weights` has the maximum weight of each pair. The heaviest weights are given first, because
    the fewest pairs can have them; units that find no pair go on to the next lighter weight. Then
    weights are raised one at a time, up to the maxima, until the target is reached; if it is
    exceeded, the last pairs lose what is too much.

    Raises:
        TooFewUnits: `max_weights` does not add up to the target.
    """
    available = int(max_weights.sum())
    if available < target:
        raise TooFewUnits(part, available)
    weights = _weights_in_proportion(shape, max_weights, target)
    _raise_weights(weights, max_weights, target)
    units_before = np.cumsum(weights) - weights
    cut: Ids = np.clip(target - units_before, 0, weights)
    return cut


def _weights_in_proportion(shape: Mapping[int, float], max_weights: Ids, target: int) -> Ids:
    """Weights in the proportions of `shape`, as far as the maxima allow; about `target` in sum."""
    total_share = sum(shape.values())
    mean_times_share = sum(weight * share for weight, share in shape.items())
    pair_count = target / mean_times_share * total_share
    weights = np.zeros(len(max_weights), np.int64)
    units_left = 0.0
    for weight in sorted(shape, reverse=True):
        wanted = pair_count * shape[weight] / total_share + units_left / weight
        is_free = (weights == 0) & (max_weights >= weight)
        pairs = np.flatnonzero(is_free)[: round(wanted)]
        weights[pairs] = weight
        units_left = max(0.0, (wanted - len(pairs)) * weight)
    return weights


def _raise_weights(weights: Ids, max_weights: Ids, target: int) -> None:
    """Raise weights, the lightest first, until they add up to the target."""
    for weight in range(int(max_weights.max(initial=0))):
        missing = max(0, target - int(weights.sum()))
        can_rise = (weights == weight) & (max_weights > weight)
        raised = np.flatnonzero(can_rise)[:missing]
        weights[raised] += 1


# ----------------------------------------------------------------------------------------- draws


def draw_adjectives(
    pool: Pool,
    allowed_adjectives: Flags,
    nouns: Ids,
    weights: Ids,
    unit: Sequence[int],
    salt: np.uint64,
) -> Draws:
    """Draw for each noun weight times the unit of distinct adjectives that are allowed.

    The phrases of the nouns are laid out in one column; within a noun and a class they are ranked
    by a hash, and the first ones are drawn.
    """
    counts = pool.starts[nouns + 1] - pool.starts[nouns]
    place = np.repeat(np.arange(len(nouns)), counts)
    first_places = np.repeat(np.cumsum(counts) - counts, counts)
    offsets = np.arange(len(place)) - first_places
    adjective = pool.phrases[pool.starts[nouns][place] + offsets, 1]

    is_allowed = allowed_adjectives[adjective]
    place = place[is_allowed]
    adjective = adjective[is_allowed]

    kind = pool.classes[adjective]
    keys = mix(pool.word_keys[nouns][place], pool.adjective_keys[adjective], salt)
    rank = rank_in_group(place * len(CLASSES) + kind, keys)
    is_drawn = rank < weights[place] * np.array(unit)[kind]
    return Draws(place[is_drawn], adjective[is_drawn], rank[is_drawn])


def groups_of(draws: Draws, pairs: Ids) -> Ids:
    """Return (adjective, noun, hypernym, distance) of adjectives drawn for pairs."""
    return np.concatenate([draws.adjective[:, None], pairs[draws.place][:, :3]], axis=1)
