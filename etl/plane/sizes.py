"""How many rows the parts of each scheme have."""

from dataclasses import dataclass
from typing import NamedTuple

from adnominal.conf import UserError

UNIT_ROWS = 18
ONE_IT_ROWS = 4  # rows of a unit of one_it, for each pair of a chain
# The pairs of words of a chain: the noun and its hypernyms at distances 1 to 3.
CHAIN_PAIRS = ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))


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
        steps = {
            "train_rows": UNIT_ROWS,
            "test_rows": UNIT_ROWS,
            "one_it_train_rows": self.one_it_unit_rows,
            "one_it_test_rows": self.one_it_unit_rows,
            "two_shot": 1,
            "folds": 1,
        }
        for name, step in steps.items():
            value = getattr(self, name)
            if value < 1 or value % step:
                expected = f"a multiple of {step}" if step > 1 else "1 or more"
                nearest = max(1, round(value / step)) * step
                raise UserError(f"{name}={value}: expected {expected}, as {nearest}")

    @property
    def one_it_unit_rows(self) -> int:
        """The rows of a unit of one_it."""
        return ONE_IT_ROWS * len(CHAIN_PAIRS) if self.chains else ONE_IT_ROWS

    def part(self, scheme: str, part: str) -> "PartSize":
        """The size of a part of a fold."""
        if scheme == "two_shot":
            return PartSize(self.two_shot, "two_shot", 1)
        if scheme == "one_it":
            setting, rows = f"one_it_{part}_rows", self.one_it_unit_rows
        else:
            setting, rows = f"{part}_rows", UNIT_ROWS
        return PartSize(getattr(self, setting) // rows, setting, rows)


class PartSize(NamedTuple):
    """The units that a part needs, the setting for them, and the setting's rows per unit."""

    units: int
    setting: str
    unit_rows: int
