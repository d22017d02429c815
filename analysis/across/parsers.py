"""What changes in pairs, associations and built datasets when another parser reads the same text.

Two lakes hold the tables that the same jobs built from the same text, each read by another parser.
Pairs are compared as multisets, so that a pair that one parser finds three times and the other
twice agrees twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from analysis.across.fine_tuned import Across
from analysis.papers.page import exhibit
from analysis.rendering.blocks import Block, Table, Text
from conf import UserError
from etl.lake import arrow

TOP = 300
# Associations are compared for pairs that both parsers find at least this often.
MIN_COUNT = 3
Pairs = Counter[tuple[str, str]]


@dataclass(frozen=True)
class Agreement:
    """How far two countings of the same text agree.

    Attributes:
        pairs, other_pairs: the pairs of each counting.
        f: F1 of one multiset of pairs against the other.
        top: share of the `TOP` most frequent pairs that both have.
        adjectives, nouns: correlation of the logarithms of the marginal counts, over the words
            that both have.
    """

    pairs: int
    other_pairs: int
    f: float
    top: float
    adjectives: float
    nouns: float


def agreement(pairs: Pairs, other: Pairs) -> Agreement:
    """The agreement of two countings."""
    common = (pairs & other).total()
    frequent, other_frequent = most_frequent(pairs), most_frequent(other)
    return Agreement(
        pairs=pairs.total(),
        other_pairs=other.total(),
        f=2 * common / max(1, pairs.total() + other.total()),
        top=len(frequent & other_frequent) / max(1, min(TOP, len(frequent | other_frequent))),
        adjectives=_correlation_of_logs(_marginal(pairs, 0), _marginal(other, 0)),
        nouns=_correlation_of_logs(_marginal(pairs, 1), _marginal(other, 1)),
    )


def most_frequent(pairs: Pairs, limit: int = TOP) -> Set[tuple[str, str]]:
    """The `limit` most frequent pairs, equal counts in alphabetical order."""
    ranked = sorted(pairs.items(), key=lambda entry: (-entry[1], entry[0]))
    return {pair for pair, _ in ranked[:limit]}


def _marginal(pairs: Pairs, place: int) -> Counter[str]:
    counts: Counter[str] = Counter()
    for pair, count in pairs.items():
        counts[pair[place]] += count
    return counts


def _correlation_of_logs(counts: Mapping[Any, float], other: Mapping[Any, float]) -> float:
    return _correlation(counts, other, np.log)


def _correlation(
    values: Mapping[Any, float],
    other: Mapping[Any, float],
    scale: Callable[[Any], Any] = np.asarray,
) -> float:
    """Pearson's correlation over the keys that both have; NaN for fewer than two."""
    keys = sorted(values.keys() & other.keys())
    if len(keys) < 2:
        return float("nan")
    columns = [scale([side[key] for key in keys]) for side in (values, other)]
    return float(np.corrcoef(columns[0], columns[1])[0, 1])


# ------------------------------------------------------------------------------------- two lakes


def corpora(root: str) -> list[str]:
    """The corpora whose pairs a lake holds."""
    return sorted(set(arrow.read(root, "amod_pairs", columns=["corpus"])["corpus"].to_pylist()))


def pairs_of(root: str, corpus: str) -> Pairs:
    """The pairs of a corpus in a lake."""
    rows = arrow.read(
        root,
        "amod_pairs",
        where=[("corpus", "=", corpus)],
        columns=["adjective", "noun", "count"],
    )
    return Counter({(row["adjective"], row["noun"]): row["count"] for row in rows.to_pylist()})


def association_of(root: str, corpus: str) -> dict[tuple[str, str], float]:
    """logDice of the pairs of a corpus that occur at least `MIN_COUNT` times."""
    rows = arrow.read(
        root,
        "amod_association",
        where=[("corpus", "=", corpus), ("count", ">=", MIN_COUNT)],
        columns=["adjective", "noun", "log_dice"],
    )
    return {(row["adjective"], row["noun"]): row["log_dice"] for row in rows.to_pylist()}


def pair_table(root: str, other_root: str, corpus: str) -> pa.Table:
    """One row per figure of the pairs and associations of a corpus."""
    figures = agreement(pairs_of(root, corpus), pairs_of(other_root, corpus))
    dice, other_dice = association_of(root, corpus), association_of(other_root, corpus)
    best, other_best = (
        {pair for pair, _ in sorted(side.items(), key=lambda e: (-e[1], e[0]))[:TOP]}
        for side in (dice, other_dice)
    )
    rows = [
        ("pairs of the first lake", f"{figures.pairs:,}"),
        ("pairs of the second lake", f"{figures.other_pairs:,}"),
        ("F1 of the pairs", f"{figures.f:.3f}"),
        (f"share of the {TOP} most frequent pairs in both", f"{figures.top:.3f}"),
        ("correlation of log counts of adjectives", f"{figures.adjectives:.3f}"),
        ("correlation of log counts of nouns", f"{figures.nouns:.3f}"),
        (
            f"correlation of logDice, pairs of at least {MIN_COUNT}",
            f"{_correlation(dice, other_dice):.3f}",
        ),
        (
            f"share of the {TOP} pairs of highest logDice in both",
            f"{len(best & other_best) / max(1, min(TOP, len(best | other_best))):.3f}",
        ),
    ]
    return pa.table({"figure": [name for name, _ in rows], corpus: [text for _, text in rows]})


def difference_table(root: str, other_root: str, corpus: str, limit: int = 20) -> pa.Table:
    """The pairs whose counts differ most, with both counts."""
    pairs, other = pairs_of(root, corpus), pairs_of(other_root, corpus)
    ranked = sorted(
        pairs.keys() | other.keys(), key=lambda pair: (-abs(pairs[pair] - other[pair]), pair)
    )[:limit]
    return pa.table(
        {
            "pair": [" ".join(pair) for pair in ranked],
            "first": [pairs[pair] for pair in ranked],
            "second": [other[pair] for pair in ranked],
        }
    )


# The rows of each built dataset that are compared, as the columns that identify one.
DATASETS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "ADEPT entries: nouns": ("adept_entries", ("noun",)),
    "ADEPT items: noun, predicate, adjective": (
        "adept_items",
        ("noun", "relation", "predicate", "adjective"),
    ),
    "PLANE items: inference type, adjective, noun, hypernym": (
        "plane_items",
        ("inference_type", "adjective", "noun", "hypernym"),
    ),
    "PLANE pairs: adjective, noun": ("plane_items", ("adjective", "noun")),
}


def dataset_table(root: str, other_root: str) -> pa.Table:
    """How many rows of the built datasets both lakes have; a table that one lacks is left out."""
    rows = []
    common = set(arrow.tables(root)) & set(arrow.tables(other_root))
    for name, (table, columns) in DATASETS.items():
        if table not in common:
            continue
        first, second = (_keys(side, table, columns) for side in (root, other_root))
        rows.append(
            {
                "dataset": name,
                "first": len(first),
                "second": len(second),
                "both": len(first & second),
                "F1": 2 * len(first & second) / max(1, len(first) + len(second)),
            }
        )
    if "adept_entries" in common:
        rows.append(_adjectives_of_entries(root, other_root))
    return pa.Table.from_pylist(rows)


def _keys(root: str, table: str, columns: tuple[str, ...]) -> set[tuple[Any, ...]]:
    read = arrow.read(root, table, columns=list(columns)).to_pydict()
    return set(zip(*(read[column] for column in columns), strict=True))


def _adjectives_of_entries(root: str, other_root: str) -> dict[str, Any]:
    first, second = (_listed_adjectives(side) for side in (root, other_root))
    return {
        "dataset": "ADEPT entries: noun, adjective listed for it",
        "first": len(first),
        "second": len(second),
        "both": len(first & second),
        "F1": 2 * len(first & second) / max(1, len(first) + len(second)),
    }


def _listed_adjectives(root: str) -> set[tuple[str, str]]:
    rows = arrow.read(root, "adept_entries", columns=["noun", "adjectives"]).to_pylist()
    return {(row["noun"], entry["adjective"]) for row in rows for entry in row["adjectives"]}


# ------------------------------------------------------------------------------------ the report


@exhibit(
    "",
    "two parsers of the same text",
    command="python etl/extract_amod.py source=wikipedia input=FILE corpus=NAME parser=fast "
    "lake=OTHER && python -m analysis.report lake=LAKE other_lake=OTHER",
)
def compared(page: Across) -> list[Block]:
    """The comparison of the report's lake with `Lake.other_root`."""
    root, other = page.lake.root, page.lake.other_root
    if other is None:
        raise UserError("no other_lake=, a lake whose corpora were read by another parser")
    common = set(corpora(root)) & set(corpora(other))
    if not common:
        raise UserError(f"no corpus has pairs in both {root} and {other}")
    blocks: list[Block] = [
        Text(
            f"The first lake is this report's; the second is {other}. Pairs are compared as "
            "multisets; rows of a dataset are the same if they have the same words."
        )
    ]
    for corpus in sorted(common):
        blocks += [
            Table(f"Pairs and associations of {corpus}", pair_table(root, other, corpus)),
            Table(
                f"Pairs of {corpus} whose counts differ most",
                difference_table(root, other, corpus),
                folded=True,
            ),
        ]
    datasets = dataset_table(root, other)
    if datasets.num_rows:
        blocks.append(Table("Rows of the built datasets", datasets, digits=3))
    return blocks
