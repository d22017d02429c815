"""The splits of PLANE: which groups of items are for training and which for testing.

Everything is chosen from a `Pool` of words in memory, whose size is bounded by WordNet and the
lexicon, not by the corpus. Choices come from hashes of (seed, scheme, fold, words), so the order of
the input does not matter. `recipes` has the rules of the schemes.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from adnominal.conf import UserError
from adnominal.etl.draws import salt_of
from adnominal.etl.plane import CLASSES, SCHEMES
from adnominal.etl.plane.candidates import Ids, Pool
from adnominal.etl.plane.recipes import RECIPES
from adnominal.etl.plane.sizes import Sizes
from adnominal.etl.plane.units import TooFewUnits

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

_ATTEMPTS = 10

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
        except TooFewUnits as short:
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
    short: list[TooFewUnits] = []
    for attempt in range(_ATTEMPTS):
        try:
            return RECIPES[scheme](pool, sizes, salt_of(seed, scheme, fold, attempt))
        except TooFewUnits as error:
            short.append(error)
    part = "train" if any(error.part == "train" for error in short) else "test"
    available = max(error.available for error in short if error.part == part)
    raise TooFewUnits(part, available, fold)


def _complaint(pool: Pool, scheme: str, sizes: Sizes, seed: int, short: TooFewUnits) -> str:
    units = sizes.part(scheme, short.part).units
    enough = _fitting_sizes(pool, scheme, sizes, seed, short) or "more pairs"
    return (
        f"scheme {scheme}, fold {short.fold}: its {short.part} part needs {units} {NEEDS[scheme]}; "
        f"the pairs give {short.available}; expected {enough}, or schemes= without {scheme}, or a "
        "larger corpus"
    )


def _fitting_sizes(pool: Pool, scheme: str, sizes: Sizes, seed: int, short: TooFewUnits) -> str:
    """The settings, as words of a command, with which every fold was seen to be filled; or none."""
    changes: dict[str, Any] = {}
    while short.available:
        _, setting, unit_rows = sizes.part(scheme, short.part)
        changes[setting] = short.available * unit_rows
        sizes = replace(sizes, **changes)
        try:
            _folds(pool, scheme, sizes, seed)
        except TooFewUnits as error:
            short = error
        else:
            return " ".join(f"{setting}={value}" for setting, value in changes.items())
    return ""


def _table(pool: Pool, scheme: str, fold: str, part: str, groups: Ids) -> pa.Table:
    """The groups of a part, which are numbers of words in the pool, as rows of `GROUPS`."""
    adjective, noun, hypernym, distance = groups.T
    words = pa.array(pool.words)
    class_names = pa.array([CLASSES[kind] for kind in pool.classes])
    size = len(groups)
    columns = [
        pa.repeat(scheme, size),
        pa.repeat(fold, size),
        pa.repeat(part, size),
        pa.array(pool.adjectives).take(pa.array(adjective)),
        class_names.take(pa.array(adjective)),
        words.take(pa.array(noun)),
        words.take(pa.array(hypernym)),
        pa.array(distance.astype(np.int32)),
    ]
    return pa.Table.from_arrays(columns, schema=GROUPS)
