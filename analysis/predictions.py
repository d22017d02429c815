"""Runs of the table predictions, and two of them item by item."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from conf import UserError
from etl.lake import arrow

_COLUMNS = (
    "run_id",
    "task",
    "edition",
    "scheme",
    "fold",
    "item_id",
    "gold",
    "predicted",
    "verbaliser",
    "premise_order",
    "seed",
    "model",
)
# Two runs are asked the same thing where these agree; the prompt's own words may differ.
_KEY = ("edition", "scheme", "fold", "item_id", "verbaliser", "premise_order")


@dataclass(frozen=True)
class Paired:
    """Two runs over the same items: lists in one order."""

    item_ids: list[str]
    gold: list[str]
    first: list[str]
    second: list[str]


def read_run(lake: str, run: str) -> pa.Table:
    """A run's labelled predictions, sorted by item, so that their order says nothing.

    Raises:
        UserError: no rows of the run, or none with a gold label.
    """
    table = arrow.read(lake, "predictions", where=[("run_id", "=", run)], columns=_COLUMNS)
    if not table.num_rows:
        raise UserError(
            f"run={run}: no rows in the table predictions of {lake}; expected the id of a run that "
            "training/finetune.py, score.py or prompt.py has written"
        )
    kept = table.filter(table.column("gold").is_valid())
    if not kept.num_rows:
        raise UserError(f"run={run}: {table.num_rows} predictions, none of a labelled item")
    return kept.sort_by([(name, "ascending") for name in (*_KEY, "gold", "predicted")])


def pair(first: pa.Table, second: pa.Table) -> Paired:
    """The items of two runs side by side (`read_run` gives the tables).

    An item that stands several times in a run (a split may list it twice) is paired as often.

    Raises:
        UserError: items that only one of the runs has, or gold labels that differ: then scores
            differ by what was asked, not by who answered.
    """
    one, two = _by_item(first), _by_item(second)
    if one.keys() != two.keys():
        only = sorted(map(str, one.keys() ^ two.keys()))
        raise UserError(
            f"runs {_names(first)} and {_names(second)} have {len(one)} and {len(two)} items, "
            f"{len(only)} of which only one has, as {only[0]}; expected runs over the same "
            "edition, scheme, fold and part"
        )
    other = [key for key in one if one[key][0] != two[key][0]]
    if other:
        raise UserError(
            f"runs {_names(first)} and {_names(second)}: {len(other)} items have another gold "
            f"label, as {other[0]}; expected runs over one version of the table"
        )
    keys = list(one)
    return Paired(
        [str(key[0][_KEY.index("item_id")]) for key in keys],
        [one[key][0] for key in keys],
        [one[key][1] for key in keys],
        [two[key][1] for key in keys],
    )


_Item = tuple[tuple[str | None, ...], int]


def _by_item(table: pa.Table) -> dict[_Item, tuple[str, str]]:
    columns: Sequence[Sequence[str | None]] = [table.column(name).to_pylist() for name in _KEY]
    golds, guesses = table.column("gold").to_pylist(), table.column("predicted").to_pylist()
    seen: Counter[tuple[str | None, ...]] = Counter()
    found: dict[_Item, tuple[str, str]] = {}
    for *values, gold, guess in zip(*columns, golds, guesses, strict=True):
        key = tuple(values)
        found[key, seen[key]] = (gold, "" if guess is None else guess)
        seen[key] += 1
    return found


def _names(table: pa.Table) -> str:
    return "+".join(sorted(set(table.column("run_id").to_pylist())))
