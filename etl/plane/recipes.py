"""Training and test items: the recipes of the five schemes.

The unit of ``published``, ``strict`` and ``in_distribution`` is one intersective, one subsective
and four intensional adjectives of a noun, each in all three inference types: 18 rows, 9 of them
true. A noun with one of its direct hypernyms takes k units. ``one_it`` takes k I, 2k S and k O in
inference type 3 only, 2k of them true (section 6.2). The recipes were inferred from the published
files, which they fit row by row; the paper gives none.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from adnominal.etl.draws import Keys, mix
from adnominal.etl.plane.candidates import Flags, Ids, Pool
from adnominal.etl.plane.sizes import CHAIN_PAIRS, Sizes
from adnominal.etl.plane.units import (
    DISTANCE,
    HYPERNYM,
    NOUN,
    Draws,
    TooFewUnits,
    draw_adjectives,
    groups_of,
    one_pair_per_noun,
    pair_weights,
    rank_in_group,
    withheld_adjectives,
    without_hubs,
    without_words,
)

# Number of adjectives of each class (I, S, O) in a unit.
_UNIT = (1, 1, 4)
_ONE_IT = (1, 2, 1)
_TWO_SHOT = (1, 1, 1)

# Shares of the adjectives of each class that are held out for testing: of about 300 in the
# published files, 85 to 88 are test adjectives out of domain, 70 to 74 in One-IT.
_WITHHELD = 0.30
_WITHHELD_ONE_IT = 0.25
# Weights of the pairs and their frequencies in the first published split.
_WEIGHTS: Mapping[str, Mapping[int, float]] = {
    "train": {1: 1299, 2: 457, 3: 172, 4: 91, 5: 36, 6: 9, 7: 1},
    "test": {1: 74, 2: 13, 3: 4},
}
_MOST = 7
# The same for the chains of One-IT.
_CHAINS: Mapping[str, Mapping[int, float]] = {
    "train": {1: 76, 2: 113, 4: 113, 8: 123, 16: 51},
    "test": {1: 24, 2: 14, 4: 8},
}
# Test units of in_distribution for each that is needed: some have words that training then lacks.
_SPARE = 1.2


def _out_of_domain(pool: Pool, sizes: Sizes, salt: np.uint64, strict: bool) -> dict[str, Ids]:
    """Adjectives and nouns of testing are not in training; with `strict`, hypernyms neither.

    The test part is made first, because it is small; a pair with one of its words is then closed to
    training. For each part: one pair of a noun and a direct hypernym per noun, a weight (number of
    units) for each pair as far as the noun has adjectives for it, and adjectives by these weights.

    Returns:
        For ``test`` and ``train``, the rows (adjective, noun, hypernym, distance), as positions in
        the lists of `pool`.
    """
    test_adjectives = withheld_adjectives(pool, _WITHHELD, salt)
    direct = pool.pairs[pool.pairs[:, DISTANCE] == 1]
    separated_words = direct[:, [NOUN, HYPERNYM]] if strict else direct[:, [NOUN]]
    is_open = np.ones(len(direct), np.bool_)
    if strict:
        is_open = without_hubs(pool, separated_words)
    parts = {}
    for part, allowed_adjectives in (("test", test_adjectives), ("train", ~test_adjectives)):
        capacity = pool.capacity(allowed_adjectives, _UNIT)
        has_units = capacity[direct[:, NOUN]] > 0
        pairs = one_pair_per_noun(pool, direct[is_open & has_units], salt)
        if strict and part == "test":
            # The first pairs are taken; so many different hypernyms come to be tested.
            keys = mix(pool.word_keys[pairs[:, NOUN]], salt)
            pairs = pairs[_hypernyms_in_turn(pairs[:, HYPERNYM], keys)]
        max_weights = np.minimum(capacity[pairs[:, NOUN]], _MOST)
        units = sizes.part("published", part).units
        weights = pair_weights(_WEIGHTS[part], max_weights, units, part)

        has_weight = weights > 0
        pairs = pairs[has_weight]
        weights = weights[has_weight]
        draws = draw_adjectives(pool, allowed_adjectives, pairs[:, NOUN], weights, _UNIT, salt)
        parts[part] = groups_of(draws, pairs)
        used_words = pairs[:, [NOUN, HYPERNYM]] if strict else pairs[:, NOUN]
        is_open = without_words(pool, separated_words, used_words)
    return parts


def _hypernyms_in_turn(hypernyms: Ids, keys: Keys) -> Ids:
    """An order in which one member of each hypernym comes before any second one, these by key."""
    order: Ids = np.argsort(rank_in_group(hypernyms, keys), kind="stable")
    return order


def _one_inference_type(pool: Pool, sizes: Sizes, salt: np.uint64) -> dict[str, Ids]:
    """Adjectives, nouns and hypernyms of testing are not in training.

    Rows are pairs of a noun and a hypernym or, with ``chains``, a noun and its three hypernyms. The
    test part is made first; a row with one of its words is then closed to training.
    """
    test_adjectives = withheld_adjectives(pool, _WITHHELD_ONE_IT, salt)
    if sizes.chains:
        rows = pool.chains
        words = rows
    else:
        rows = pool.pairs[pool.pairs[:, DISTANCE] <= sizes.reach]
        words = rows[:, [NOUN, HYPERNYM]]
    is_open = without_hubs(pool, words)
    row_keys = mix(*(pool.word_keys[column] for column in words.T), salt)
    parts = {}
    for part, allowed_adjectives in (("test", test_adjectives), ("train", ~test_adjectives)):
        capacity = pool.capacity(allowed_adjectives, _ONE_IT)
        has_units = capacity[rows[:, NOUN]] > 0
        open_rows = np.flatnonzero(is_open & has_units)
        in_random_order = open_rows[np.argsort(row_keys[open_rows], kind="stable")]
        max_weights = capacity[rows[in_random_order, NOUN]]
        units = sizes.part("one_it", part).units
        weights = pair_weights(_CHAINS[part], max_weights, units, part)

        has_weight = weights > 0
        selected = in_random_order[has_weight]
        weights = weights[has_weight]
        # The salt of a draw is the noun's, so a noun's pairs would share adjectives, as the six
        # pairs of a chain do.
        draws = draw_adjectives(
            pool, allowed_adjectives, rows[selected, NOUN], weights, _ONE_IT, salt
        )
        if sizes.chains:
            parts[part] = _groups_of_chains(draws, rows[selected])
        else:
            parts[part] = groups_of(draws, rows[selected])
        is_open = without_words(pool, words, words[selected])
    return parts


def _groups_of_chains(draws: Draws, chains: Ids) -> Ids:
    """Return the groups of every pair of every chain."""
    groups = []
    for low, high in CHAIN_PAIRS:
        distances = np.full(len(chains), high - low)
        pairs = np.stack([chains[:, low], chains[:, high], distances], axis=1)
        groups.append(groups_of(draws, pairs))
    return np.concatenate(groups)


def _in_distribution(pool: Pool, sizes: Sizes, salt: np.uint64) -> dict[str, Ids]:
    """Shared atoms, disjoint compounds (appendix D).

    Units are first drawn for both sides; then whole units move to testing from pairs that keep
    another unit, as long as each of their adjectives also stays in training. Training is then drawn
    again without the phrases of testing, neither as premises nor as conclusions. Test units with a
    word that training then lacks are dropped; a few spare ones take their places.
    """
    train_units = sizes.part("in_distribution", "train").units
    test_units = sizes.part("in_distribution", "test").units

    pairs = _one_direct_pair_per_noun(pool, _UNIT, salt)
    weights = _weights_of_both_parts(_max_weights(pool, pairs), train_units, test_units)
    draws = _draw_units(pool, pairs, weights, salt)

    candidates = _last_units(pool, draws, weights)
    # Units of one hypernym take each other's phrases; they are in a random order already.
    hypernyms = pairs[draws.place[candidates[:, 0]], HYPERNYM]
    positions = np.arange(len(candidates), dtype=np.uint64)
    candidates = candidates[_hypernyms_in_turn(hypernyms, positions)]
    moved = _units_to_move(pool, draws, candidates, test_units * _SPARE)
    if len(moved) < test_units:
        raise TooFewUnits("test", len(moved))
    test = groups_of(draws, pairs)[np.stack(moved)]

    training_pool = _without_phrases(pool, test.reshape(-1, 4), pairs)
    max_weights = _max_weights(training_pool, pairs)
    weights = pair_weights(_WEIGHTS["train"], max_weights, train_units, "train")
    draws = _draw_units(training_pool, pairs, weights, salt)
    train = groups_of(draws, pairs)

    test = test[_has_trained_words(test, train)]
    if len(test) < test_units:
        raise TooFewUnits("test", len(test))
    return {"train": train, "test": test[:test_units].reshape(-1, 4)}


def _one_direct_pair_per_noun(pool: Pool, unit: Sequence[int], salt: np.uint64) -> Ids:
    """For each noun that has a unit, one pair with a direct hypernym; in random order."""
    capacity = pool.capacity(_all_adjectives(pool), unit)
    is_direct = pool.pairs[:, DISTANCE] == 1
    has_units = capacity[pool.pairs[:, NOUN]] > 0
    return one_pair_per_noun(pool, pool.pairs[is_direct & has_units], salt)


def _max_weights(pool: Pool, pairs: Ids) -> Ids:
    capacity = pool.capacity(_all_adjectives(pool), _UNIT)
    return np.minimum(capacity[pairs[:, NOUN]], _MOST)


def _draw_units(pool: Pool, pairs: Ids, weights: Ids, salt: np.uint64) -> Draws:
    return draw_adjectives(pool, _all_adjectives(pool), pairs[:, NOUN], weights, _UNIT, salt)


def _all_adjectives(pool: Pool) -> Flags:
    return np.ones(len(pool.adjectives), np.bool_)


def _weights_of_both_parts(max_weights: Ids, train_units: int, test_units: int) -> Ids:
    """Weights of the pairs for both parts together.

    Raises:
        TooFewUnits: for testing if even its own units are too few, else for training.
    """
    try:
        return pair_weights(_WEIGHTS["train"], max_weights, train_units + test_units, "train")
    except TooFewUnits as error:
        if error.available <= test_units:
            raise TooFewUnits("test", error.available // 2) from None
        raise TooFewUnits("train", error.available - test_units) from None


def _last_units(pool: Pool, draws: Draws, weights: Ids) -> Ids:
    """The last unit of each pair that has several: a row of positions in `draws` for each."""
    sizes = np.array(_UNIT)[pool.classes[draws.adjective]]
    unit_numbers = draws.rank // sizes
    units_of_pair = weights[draws.place]
    is_last = (unit_numbers == units_of_pair - 1) & (units_of_pair > 1)
    members = np.flatnonzero(is_last)
    members = members[np.argsort(draws.place[members], kind="stable")]
    return members.reshape(-1, sum(_UNIT))


def _units_to_move(pool: Pool, draws: Draws, candidates: Ids, most: float) -> list[Ids]:
    """The first candidates, up to `most`, whose adjectives all stay in training as well."""
    remaining = np.bincount(draws.adjective, minlength=len(pool.adjectives))
    moved: list[Ids] = []
    for unit in candidates:
        adjectives = draws.adjective[unit]
        if len(moved) < most and (remaining[adjectives] > 1).all():
            remaining[adjectives] -= 1
            moved.append(unit)
    return moved


def _has_trained_words(test: Ids, train: Ids) -> Flags:
    """The test units whose adjectives and nouns are all in training."""
    has_adjective = np.isin(test[..., 0], train[:, 0])
    has_noun = np.isin(test[..., 1], train[:, 1])
    return np.asarray(np.logical_and(has_adjective, has_noun).all(axis=1))


def _without_phrases(pool: Pool, groups: Ids, pairs: Ids) -> Pool:
    """The pool without the phrases of which an item would share a phrase with those of `groups`.

    An adjective, noun and hypernym have two phrases: adjective and noun, adjective and hypernym.
    `pairs` has the hypernym of each noun.
    """
    size = len(pool.words)
    taken = groups[:, :1] * size + groups[:, 1:3]
    hypernyms = np.arange(size)
    hypernyms[pairs[:, NOUN]] = pairs[:, HYPERNYM]
    nouns, adjectives = pool.phrases.T
    is_taken = np.isin(adjectives * size + nouns, taken)
    is_taken |= np.isin(adjectives * size + hypernyms[nouns], taken)
    return replace(pool, phrases=pool.phrases[~is_taken])


def _two_shot(pool: Pool, sizes: Sizes, salt: np.uint64) -> dict[str, Ids]:
    """Nouns with one adjective of each class, so that no noun reveals the class (section 4)."""
    pairs = _one_direct_pair_per_noun(pool, _TWO_SHOT, salt)
    if len(pairs) < sizes.two_shot:
        raise TooFewUnits("test", len(pairs))
    pairs = pairs[: sizes.two_shot]
    ones = np.ones(len(pairs), np.int64)
    nouns = pairs[:, NOUN]
    draws = draw_adjectives(pool, _all_adjectives(pool), nouns, ones, _TWO_SHOT, salt)
    return {"test": groups_of(draws, pairs)}


Recipe = Callable[[Pool, Sizes, np.uint64], dict[str, Ids]]
RECIPES: Mapping[str, Recipe] = {
    "published": partial(_out_of_domain, strict=False),
    "strict": partial(_out_of_domain, strict=True),
    "one_it": _one_inference_type,
    "in_distribution": _in_distribution,
    "two_shot": _two_shot,
}
"""The groups of each part of a fold, by scheme.

Raises:
    TooFewUnits: the pool gives fewer units than a part needs.
"""
