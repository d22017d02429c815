"""Training and test items: the recipes of the five schemes.

Everything is chosen from a `Pool` of words in memory, whose size is bounded by WordNet and the
lexicon, not by the corpus. Choices come from hashes of (seed, scheme, fold, words), so the order of
the input does not matter.

The unit of ``published``, ``strict`` and ``in_distribution`` is one intersective, one subsective
and four intensional adjectives of a noun, each in all three inference types: 18 rows, 9 of them
true. A noun with one of its direct hypernyms takes k units. ``one_it`` takes k I, 2k S and k O in
inference type 3 only, 2k of them true (section 6.2). The recipes were inferred from the published
files, which they fit row by row; the paper gives none.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from adnominal.conf import UserError
from adnominal.etl.draws import Keys, mix, salt_of
from adnominal.etl.plane import CLASSES, SCHEMES
from adnominal.etl.plane.candidates import Flags, Ids, Pool

GROUPS = pa.schema(
    [
        ("scheme", pa.string()),
        ("fold", pa.string()),
        ("part", pa.string()),
        ("adjective", pa.string()),
        ("class", pa.string()),
        ("noun", pa.string()),
        ("hypernym", pa.string()),
        ("distance", pa.int32()),
    ]
)
"""The result of `plan`: the groups (adjective, noun, hypernym) of each part.

In ``one_it`` a group stands for its item of inference type 3, elsewhere for all three of its items.
"""

# Number of adjectives of each class (I, S, O) in a unit.
_UNIT = (1, 1, 4)
_ONE_IT = (1, 2, 1)
_TWO_SHOT = (1, 1, 1)
UNIT_ROWS = 18
_ONE_IT_ROWS = 4  # rows of a unit of one_it, for each pair of a chain
_CHAIN_PAIRS = ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))

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
# With disjoint nouns and hypernyms, words in more than this share of the pairs always stay in
# training: testing on "person" would remove every kind of person from it.
_HUB = 0.01
_ATTEMPTS = 10
# Test units of in_distribution for each that is needed: some have words that training then lacks.
_SPARE = 1.2

_DRAWS = "draws of 1 I, 1 S and 4 O adjectives of one noun with a one-word direct hypernym"
NEEDS = {
    "published": f"{_DRAWS}, with test adjectives and nouns disjoint from training",
    "strict": f"{_DRAWS}, with test adjectives, nouns and hypernyms disjoint from training",
    "one_it": "draws of 1 I, 2 S and 1 O adjectives of one noun with a one-word hypernym, with "
    "test adjectives, nouns and hypernyms disjoint from training",
    "in_distribution": f"{_DRAWS}, two or more of each test noun",
    "two_shot": "nouns with a one-word direct hypernym and an adjective of each class",
}
"""The input that each scheme needs; `Sizes` says how much."""


@dataclass(frozen=True)
class Sizes:
    """The sizes of the splits.

    Attributes:
        train_rows, test_rows: rows of each fold, multiples of 18 (not for one_it).
        one_it_train_rows, one_it_test_rows: rows of one_it, multiples of 4, or 24 with `chains`.
        two_shot: nouns of two_shot, nine rows each.
        folds: number of folds.
        reach: maximum distance of hypernyms in items of intensional adjectives.
        chains: whether one_it has all pairs of a noun and its hypernyms at distances 1 to 3, as
            published, where chains that share hypernyms repeat rows; else only pairs from the noun.
    """

    train_rows: int = 60_012
    test_rows: int = 2_016
    one_it_train_rows: int = 60_024
    one_it_test_rows: int = 2_016
    two_shot: int = 500
    folds: int = 5
    reach: int = 1
    chains: bool = False

    def __post_init__(self) -> None:
        chain = _ONE_IT_ROWS * (len(_CHAIN_PAIRS) if self.chains else 1)
        steps = {
            "train_rows": UNIT_ROWS,
            "test_rows": UNIT_ROWS,
            "one_it_train_rows": chain,
            "one_it_test_rows": chain,
            "two_shot": 1,
            "folds": 1,
        }
        for name, step in steps.items():
            value = getattr(self, name)
            if value < 1 or value % step:
                expected = f"a multiple of {step}" if step > 1 else "1 or more"
                nearest = max(1, round(value / step)) * step
                raise UserError(f"{name}={value}: expected {expected}, as {nearest}")


class _Draws(NamedTuple):
    """Drawn adjectives: for each, the position of its noun or pair and its rank in its class."""

    place: Ids
    adjective: Ids
    rank: Ids


class _Short(Exception):
    """There are fewer units than a part of a fold needs."""

    def __init__(self, part: str, available: int, fold: int = 1) -> None:
        super().__init__(part, available, fold)
        self.part, self.available, self.fold = part, available, fold


def _rank(groups: Ids, keys: Keys) -> Ids:
    """Return the rank of each member within its group, by key, from 0."""
    order = np.lexsort((keys, groups))
    sorted_groups = groups[order]
    new = np.concatenate([[True], sorted_groups[1:] != sorted_groups[:-1]])
    first = np.maximum.accumulate(np.where(new, np.arange(len(order)), 0))
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order)) - first
    return ranks


# --------------------------------------------------------------------------------------- recipes


def plan(pool: Pool, schemes: Sequence[str], sizes: Sizes, seed: int) -> pa.Table:
    """Choose the groups of every part of every fold, as rows of `GROUPS`.

    Raises:
        UserError: the pool has less than a scheme needs; the message states both numbers.
    """
    tables = []
    for scheme in SCHEMES:
        if scheme not in schemes:
            continue
        try:
            tables += _folds(pool, scheme, sizes, seed)
        except _Short as short:
            raise UserError(_complaint(pool, scheme, sizes, seed, short)) from None
    return pa.concat_tables(tables) if tables else GROUPS.empty_table()


def _folds(pool: Pool, scheme: str, sizes: Sizes, seed: int) -> list[pa.Table]:
    """The parts of all folds of a scheme."""
    folds = 1 if scheme == "two_shot" else sizes.folds
    return [
        _table(pool, scheme, str(fold), part, groups)
        for fold in range(1, folds + 1)
        for part, groups in _attempts(pool, scheme, sizes, seed, fold).items()
    ]


def _attempts(pool: Pool, scheme: str, sizes: Sizes, seed: int, fold: int) -> dict[str, Ids]:
    """Choose a fold: of a few draws of test words, the first that leaves enough for training."""
    short: list[_Short] = []
    for attempt in range(_ATTEMPTS):
        try:
            return _RECIPES[scheme](pool, sizes, salt_of(seed, scheme, fold, attempt))
        except _Short as error:
            short.append(error)
    part = "train" if any(error.part == "train" for error in short) else "test"
    available = max(error.available for error in short if error.part == part)
    raise _Short(part, available, fold)


def _complaint(pool: Pool, scheme: str, sizes: Sizes, seed: int, short: _Short) -> str:
    units = _sizes(scheme, short.part, sizes)[0]
    enough = _fitting_sizes(pool, scheme, sizes, seed, short) or "more pairs"
    return (
        f"scheme {scheme}, fold {short.fold}: its {short.part} part needs {units} {NEEDS[scheme]}; "
        f"the pairs give {short.available}; expected {enough}, or schemes= without {scheme}, or a "
        "larger corpus"
    )


def _fitting_sizes(pool: Pool, scheme: str, sizes: Sizes, seed: int, short: _Short) -> str:
    """The settings, as words of a command, with which every fold was seen to be filled; or none."""
    changes: dict[str, Any] = {}
    while short.available:
        _, setting, rows = _sizes(scheme, short.part, sizes)
        changes[setting] = short.available * rows
        sizes = replace(sizes, **changes)
        try:
            _folds(pool, scheme, sizes, seed)
        except _Short as error:
            short = error
        else:
            return " ".join(f"{setting}={value}" for setting, value in changes.items())
    return ""


def _sizes(scheme: str, part: str, sizes: Sizes) -> tuple[int, str, int]:
    """Return the units that a part needs, the setting for them, and the setting's rows per unit."""
    if scheme == "two_shot":
        return sizes.two_shot, "two_shot", 1
    if scheme == "one_it":
        rows = _ONE_IT_ROWS * (len(_CHAIN_PAIRS) if sizes.chains else 1)
        name = f"one_it_{part}_rows"
    else:
        rows, name = UNIT_ROWS, f"{part}_rows"
    return getattr(sizes, name) // rows, name, rows


def _withheld(pool: Pool, share: float, salt: np.uint64) -> Flags:
    """Hold out adjectives for testing: a share of each class, among those that have phrases."""
    has_phrases = np.bincount(pool.phrases[:, 1], minlength=len(pool.adjectives)) > 0
    ranks = _rank(np.where(has_phrases, pool.classes, len(CLASSES)), mix(pool.adjective_keys, salt))
    sizes = np.bincount(pool.classes[has_phrases], minlength=len(CLASSES))
    flags: Flags = has_phrases & (ranks < np.rint(share * sizes)[pool.classes])
    return flags


def _pair_weights(shape: Mapping[int, float], max_weights: Ids, target: int, part: str) -> Ids:
    """Return weights that add up to `target`, in the proportions of `shape`, first pairs first.

    `max_weights` has the maximum weight of each pair. If too few pairs can be heavy, more are
    light; if too few are left for that, weights are raised up to the maxima.

    Raises:
        _Short: `max_weights` does not add up to the target.
    """
    if int(max_weights.sum()) < target:
        raise _Short(part, int(max_weights.sum()))
    size = target / sum(weight * share for weight, share in shape.items()) * sum(shape.values())
    weights = np.zeros(len(max_weights), np.int64)
    missing = 0.0
    for weight in sorted(shape, reverse=True):
        pairs = size * shape[weight] / sum(shape.values()) + missing / weight
        raisable = np.flatnonzero((weights == 0) & (max_weights >= weight))[: round(pairs)]
        weights[raisable] = weight
        missing = max(0.0, (pairs - len(raisable)) * weight)
    for weight_so_far in range(int(max_weights.max(initial=0))):
        # Pairs with no weight yet come before those with more.
        raisable = np.flatnonzero((weights == weight_so_far) & (max_weights > weight_so_far))
        weights[raisable[: max(0, target - int(weights.sum()))]] += 1
    # The excess is taken from the last pairs, one of which is cut.
    offsets = np.cumsum(weights) - weights
    cut: Ids = np.clip(target - offsets, 0, weights)
    return cut


def _draws(
    pool: Pool,
    allowed_words: Flags,
    nouns: Ids,
    weights: Ids,
    unit: Sequence[int],
    salt: np.uint64,
) -> _Draws:
    """Draw for each noun weight times the unit of distinct adjectives in `allowed_words`."""
    lengths = pool.starts[nouns + 1] - pool.starts[nouns]
    place = np.repeat(np.arange(len(nouns)), lengths)
    offset = np.arange(len(place)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    adjective = pool.phrases[pool.starts[nouns][place] + offset, 1]
    in_side = allowed_words[adjective]
    place, adjective = place[in_side], adjective[in_side]
    kind = pool.classes[adjective]
    keys = mix(pool.word_keys[nouns][place], pool.adjective_keys[adjective], salt)
    rank = _rank(place * len(CLASSES) + kind, keys)
    offset = rank < weights[place] * np.array(unit)[kind]
    return _Draws(place[offset], adjective[offset], rank[offset])


def _one_each(pool: Pool, pairs: Ids, salt: np.uint64) -> Ids:
    """Return one pair per noun, in random order."""
    keys = mix(pool.word_keys[pairs[:, 0]], pool.word_keys[pairs[:, 1]], salt)
    first: Ids = pairs[_rank(pairs[:, 0], keys) == 0]
    return first[np.argsort(mix(pool.word_keys[first[:, 0]], salt, salt), kind="stable")]


def _groups(draws: _Draws, pairs: Ids) -> Ids:
    """Return (adjective, noun, hypernym, distance) of adjectives drawn for pairs."""
    return np.concatenate([draws.adjective[:, None], pairs[draws.place][:, :3]], axis=1)


def _hubs(pool: Pool, rows: Ids) -> Flags:
    """Return the words that are in more than a hundredth of the rows."""
    return np.bincount(rows.ravel(), minlength=len(pool.words)) > max(1, _HUB * len(rows))


def _out_of_domain(pool: Pool, sizes: Sizes, salt: np.uint64, strict: bool) -> dict[str, Ids]:
    withheld = _withheld(pool, _WITHHELD, salt)
    sides = {"test": withheld, "train": ~withheld}
    direct = pool.pairs[pool.pairs[:, 2] == 1]
    is_free_pair = np.ones(len(direct), np.bool_)
    if strict:
        is_free_pair = ~_hubs(pool, direct[:, :2])[direct[:, :2]].any(axis=1)
    parts = {}
    for part, allowed_words in sides.items():
        capacity = pool.capacity(allowed_words, _UNIT)
        open_pairs = direct[is_free_pair & (capacity[direct[:, 0]] > 0)]
        pairs = _one_each(pool, open_pairs, salt)
        if strict and part == "test":
            # One pair of each hypernym before any second one, for as many hypernyms as possible.
            keys = mix(pool.word_keys[pairs[:, 0]], salt)
            order = np.lexsort((np.arange(len(pairs)), _rank(pairs[:, 1], keys)))
            pairs = pairs[order]
        max_weights = np.minimum(capacity[pairs[:, 0]], _MOST)
        weights = _pair_weights(
            _WEIGHTS[part], max_weights, _sizes("published", part, sizes)[0], part
        )
        used_pairs = pairs[weights > 0]
        draws = _draws(pool, allowed_words, used_pairs[:, 0], weights[weights > 0], _UNIT, salt)
        parts[part] = _groups(draws, used_pairs)
        words = np.zeros(len(pool.words), np.bool_)
        words[used_pairs[:, :2] if strict else used_pairs[:, 0]] = True
        is_free_pair = ~(words[direct[:, :2]].any(axis=1) if strict else words[direct[:, 0]])
    return parts


def _one_inference_type(pool: Pool, sizes: Sizes, salt: np.uint64) -> dict[str, Ids]:
    withheld = _withheld(pool, _WITHHELD_ONE_IT, salt)
    rows = pool.chains if sizes.chains else pool.pairs[pool.pairs[:, 2] <= sizes.reach]
    words = rows if sizes.chains else rows[:, :2]
    is_free_row = ~_hubs(pool, words)[words].any(axis=1)
    row_keys = mix(*(pool.word_keys[column] for column in words.T), salt)
    parts = {}
    for part, allowed_words in (("test", withheld), ("train", ~withheld)):
        capacity = pool.capacity(allowed_words, _ONE_IT)
        rows_used = np.flatnonzero(is_free_row & (capacity[rows[:, 0]] > 0))
        rows_used = rows_used[np.argsort(row_keys[rows_used], kind="stable")]
        max_weights = capacity[rows[rows_used, 0]]
        weights = _pair_weights(_CHAINS[part], max_weights, _sizes("one_it", part, sizes)[0], part)
        rows_used, weights = rows_used[weights > 0], weights[weights > 0]
        # The salt of a draw is the noun's, so a noun's pairs would share adjectives, as the six
        # pairs of a chain do.
        draws = _draws(pool, allowed_words, rows[rows_used, 0], weights, _ONE_IT, salt)
        if sizes.chains:
            parts[part] = np.concatenate(
                [_step(draws, rows[rows_used], a, b) for a, b in _CHAIN_PAIRS]
            )
        else:
            parts[part] = _groups(draws, rows[rows_used])
        words_used = np.zeros(len(pool.words), np.bool_)
        words_used[words[rows_used]] = True
        is_free_row = ~words_used[words].any(axis=1)
    return parts


def _step(draws: _Draws, chains: Ids, low: int, high: int) -> Ids:
    """Return the groups of one pair of every chain."""
    steps = np.full(len(chains), high - low)
    return _groups(draws, np.stack([chains[:, low], chains[:, high], steps], axis=1))


def _in_distribution(pool: Pool, sizes: Sizes, salt: np.uint64) -> dict[str, Ids]:
    """Shared atoms, disjoint compounds (appendix D).

    Units are first drawn for both sides; then whole units move to testing from pairs that keep
    another unit, as long as each of their adjectives also stays in training. Training is then drawn
    again without the phrases of testing, neither as premises nor as conclusions.
    """
    everything = np.ones(len(pool.adjectives), np.bool_)
    capacity = pool.capacity(everything, _UNIT)
    direct = pool.pairs[(pool.pairs[:, 2] == 1) & (capacity[pool.pairs[:, 0]] > 0)]
    pairs = _one_each(pool, direct, salt)
    units = {part: _sizes("in_distribution", part, sizes)[0] for part in ("train", "test")}
    max_weights = np.minimum(capacity[pairs[:, 0]], _MOST)
    try:
        weights = _pair_weights(_WEIGHTS["train"], max_weights, sum(units.values()), "train")
    except _Short as error:
        if error.available <= units["test"]:
            raise _Short("test", error.available // 2) from None
        raise _Short("train", error.available - units["test"]) from None
    draws = _draws(pool, everything, pairs[:, 0], weights, _UNIT, salt)
    number = draws.rank // np.array(_UNIT)[pool.classes[draws.adjective]]
    last = (number == weights[draws.place] - 1) & (weights[draws.place] > 1)
    members = np.flatnonzero(last)
    members = members[np.argsort(draws.place[members], kind="stable")]
    candidates = members.reshape(-1, sum(_UNIT))
    # The pairs are in an order of chance already. Units of one hypernym take each other's phrases.
    hypernyms = pairs[draws.place[candidates[:, 0]], 1]
    nth_of_hypernym = _rank(hypernyms, np.arange(len(hypernyms), dtype=np.uint64))
    remaining = np.bincount(draws.adjective, minlength=len(pool.adjectives))
    chosen: list[Ids] = []
    for unit in candidates[np.argsort(nth_of_hypernym, kind="stable")]:
        adjectives = draws.adjective[unit]
        if len(chosen) < units["test"] * _SPARE and (remaining[adjectives] > 1).all():
            remaining[adjectives] -= 1
            chosen.append(unit)
    if len(chosen) < units["test"]:
        raise _Short("test", len(chosen))
    test = _groups(draws, pairs)[np.stack(chosen)]
    rest = _without_phrases(pool, test.reshape(-1, 4), pairs)
    max_weights = np.minimum(rest.capacity(everything, _UNIT)[pairs[:, 0]], _MOST)
    weights = _pair_weights(_WEIGHTS["train"], max_weights, units["train"], "train")
    train = _groups(_draws(rest, everything, pairs[:, 0], weights, _UNIT, salt), pairs)
    is_trained = np.isin(test[..., 0], train[:, 0]) & np.isin(test[..., 1], train[:, 1])
    test = test[is_trained.all(axis=1)][: units["test"]]
    if len(test) < units["test"]:
        raise _Short("test", len(test))
    return {"train": train, "test": test.reshape(-1, 4)}


def _without_phrases(pool: Pool, groups: Ids, pairs: Ids) -> Pool:
    """The pool without the phrases of which an item would share a phrase with those of `groups`.

    An adjective, noun and hypernym have two phrases: adjective and noun, adjective and hypernym.
    `pairs` has the hypernym of each noun.
    """
    size = len(pool.words)
    taken = groups[:, :1] * size + groups[:, 1:3]
    hypernyms = np.arange(size)
    hypernyms[pairs[:, 0]] = pairs[:, 1]
    nouns, adjectives = pool.phrases.T
    is_taken = np.isin(adjectives * size + nouns, taken)
    is_taken |= np.isin(adjectives * size + hypernyms[nouns], taken)
    return replace(pool, phrases=pool.phrases[~is_taken])


def _two_shot(pool: Pool, sizes: Sizes, salt: np.uint64) -> dict[str, Ids]:
    """Nouns with one adjective of each class, so that no noun reveals the class (section 4)."""
    everything = np.ones(len(pool.adjectives), np.bool_)
    capacity = pool.capacity(everything, _TWO_SHOT)
    direct = pool.pairs[(pool.pairs[:, 2] == 1) & (capacity[pool.pairs[:, 0]] > 0)]
    pairs = _one_each(pool, direct, salt)
    if len(pairs) < sizes.two_shot:
        raise _Short("test", len(pairs))
    pairs = pairs[: sizes.two_shot]
    ones = np.ones(len(pairs), np.int64)
    draws = _draws(pool, everything, pairs[:, 0], ones, _TWO_SHOT, salt)
    return {"test": _groups(draws, pairs)}


_RECIPES: Mapping[str, Callable[[Pool, Sizes, np.uint64], dict[str, Ids]]] = {
    "published": partial(_out_of_domain, strict=False),
    "strict": partial(_out_of_domain, strict=True),
    "one_it": _one_inference_type,
    "in_distribution": _in_distribution,
    "two_shot": _two_shot,
}


def _table(pool: Pool, scheme: str, fold: str, part: str, groups: Ids) -> pa.Table:
    size = len(groups)
    adjectives, words = pa.array(pool.adjectives), pa.array(pool.words)
    kinds = pa.array([CLASSES[kind] for kind in pool.classes])
    columns = [
        *(pa.repeat(value, size) for value in (scheme, fold, part)),
        adjectives.take(pa.array(groups[:, 0])),
        kinds.take(pa.array(groups[:, 0])),
        words.take(pa.array(groups[:, 1])),
        words.take(pa.array(groups[:, 2])),
        pa.array(groups[:, 3].astype(np.int32)),
    ]
    return pa.Table.from_arrays(columns, schema=GROUPS)
