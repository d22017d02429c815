"""How pairs, associations and built datasets change when another parser reads the same text.

Two lakes hold the tables that the same jobs built from the same text with different parsers. Pairs
are compared as multisets: a pair found three times by one parser and twice by the other agrees
twice.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from adnominal.analysis.across.fine_tuned import Across
from adnominal.analysis.papers.exhibits import Finding, Note, exhibit
from adnominal.analysis.report_numbers import Cells, CellValues
from adnominal.analysis.rows import distinct_values, tuples
from adnominal.conf import UserError
from adnominal.etl.lake import arrow

TOP = 300
# Associations are compared for pairs that both parsers find at least this many times.
MIN_COUNT = 3
Pair = tuple[str, str]
Pairs = Counter[Pair]


def agreement(pairs: Pairs, other: Pairs) -> dict[str, float]:
    """How far two pair counts of the same text agree.

    The figures are pairs and other_pairs, the numbers of pairs on each side; f, F1 of one multiset
    of pairs against the other; top, the share of the `TOP` most frequent pairs that are in both;
    and adjectives and nouns, correlations of the logarithms of the marginal counts, over the words
    in both.
    """
    adjectives, nouns = (
        _correlation(_marginal(pairs, place), _marginal(other, place), np.log) for place in (0, 1)
    )
    common = (pairs & other).total()
    return {
        "pairs": pairs.total(),
        "other_pairs": other.total(),
        "f": 2 * common / max(1, pairs.total() + other.total()),
        "top": _share_of_best(pairs, other),
        "adjectives": adjectives,
        "nouns": nouns,
    }


def _share_of_best(values: Mapping[Pair, float], other: Mapping[Pair, float]) -> float:
    """The share of the `TOP` pairs with the highest values that are in both; ties are broken
    alphabetically."""
    best, other_best = (
        set(sorted(side, key=lambda pair: (-side[pair], pair))[:TOP]) for side in (values, other)
    )
    return len(best & other_best) / max(1, min(TOP, len(best | other_best)))


def _marginal(pairs: Pairs, place: int) -> Counter[str]:
    counts: Counter[str] = Counter()
    for pair, count in pairs.items():
        counts[pair[place]] += count
    return counts


def _correlation(
    values: Mapping[Any, float], other: Mapping[Any, float], scale: Callable[[Any], Any]
) -> float:
    """Pearson's correlation over the keys in both; NaN for fewer than two."""
    keys = sorted(values.keys() & other.keys())
    if len(keys) < 2:
        return float("nan")
    columns = [scale([side[key] for key in keys]) for side in (values, other)]
    return float(np.corrcoef(*columns)[0, 1])


def corpora(root: str) -> list[str]:
    """The corpora with pairs in a lake."""
    return list(distinct_values(arrow.read(root, "amod_pairs", columns=["corpus"]), "corpus"))


def pairs_of(root: str, corpus: str) -> Pairs:
    """The pairs of a corpus in a lake."""
    names = ["adjective", "noun", "count"]
    rows = arrow.read(root, "amod_pairs", where=[("corpus", "=", corpus)], columns=names)
    return Counter({(adjective, noun): count for adjective, noun, count in tuples(rows)})


def association_of(root: str, corpus: str) -> dict[Pair, float]:
    """The logDice of each pair of a corpus that occurs at least `MIN_COUNT` times."""
    where = [("corpus", "=", corpus), ("count", ">=", MIN_COUNT)]
    names = ["adjective", "noun", "log_dice"]
    rows = arrow.read(root, "amod_association", where=where, columns=names)
    return {(adjective, noun): log_dice for adjective, noun, log_dice in tuples(rows)}


def pair_cells(root: str, other_root: str, corpus: str) -> CellValues:
    """The figures that compare the pairs and associations of a corpus, one per row."""
    figures = agreement(pairs_of(root, corpus), pairs_of(other_root, corpus))
    dice = association_of(root, corpus), association_of(other_root, corpus)
    values = {
        "pairs of the first lake": float(figures["pairs"]),
        "pairs of the second lake": float(figures["other_pairs"]),
        "F1 of the pairs": figures["f"],
        f"share of the {TOP} most frequent pairs in both": figures["top"],
        "correlation of log counts of adjectives": figures["adjectives"],
        "correlation of log counts of nouns": figures["nouns"],
        f"correlation of logDice, pairs of at least {MIN_COUNT}": _correlation(*dice, np.asarray),
        f"share of the {TOP} pairs of highest logDice in both": _share_of_best(*dice),
    }
    return {(name, corpus): value for name, value in values.items()}


def difference_cells(root: str, other_root: str, corpus: str) -> CellValues:
    """The twenty pairs whose counts differ most, with both counts."""
    pairs, other = pairs_of(root, corpus), pairs_of(other_root, corpus)
    ranked_pairs = sorted(
        pairs.keys() | other.keys(), key=lambda pair: (-abs(pairs[pair] - other[pair]), pair)
    )[:20]
    cells: CellValues = {}
    for pair in ranked_pairs:
        cells[" ".join(pair), "first"] = float(pairs[pair])
        cells[" ".join(pair), "second"] = float(other[pair])
    return cells


# The rows of the built datasets that are compared, as table and identifying columns.
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
    "ADEPT entries: noun, adjective listed for it": ("adept_entries", ("noun", "adjectives")),
}


def dataset_cells(root: str, other_root: str) -> CellValues:
    """The numbers of rows of the built datasets in either lake and in both, for common tables."""
    cells: CellValues = {}
    common = set(arrow.tables(root)) & set(arrow.tables(other_root))
    for name, (table, columns) in DATASETS.items():
        if table not in common:
            continue
        first = _keys(root, table, columns)
        second = _keys(other_root, table, columns)
        common_rows = len(first & second)
        cells[name, "first"] = float(len(first))
        cells[name, "second"] = float(len(second))
        cells[name, "both"] = float(common_rows)
        cells[name, "F1"] = 2 * common_rows / max(1, len(first) + len(second))
    return cells


def _keys(root: str, table: str, columns: tuple[str, ...]) -> set[tuple[Any, ...]]:
    rows = arrow.read(root, table, columns=columns)
    if "adjectives" in columns:
        listed = tuples(rows, *columns)
        return {(noun, entry["adjective"]) for noun, entries in listed for entry in entries}
    return set(tuples(rows, *columns))


@exhibit(
    "",
    "two parsers of the same text",
    fills="python etl/extract_amod.py source=wikipedia input=FILE corpus=NAME parser=fast "
    "lake=OTHER && python -m analysis.report lake=LAKE other_lake=OTHER",
)
def parser_comparison(page: Across) -> Iterator[Finding]:
    """How far do pairs, associations and datasets change with the parser of the same text?"""
    root, other = page.lake.root, page.lake.other_root
    if other is None:
        raise UserError("no other_lake=, a lake whose corpora were read by another parser")
    common = set(corpora(root)) & set(corpora(other))
    if not common:
        raise UserError(f"no corpus has pairs in both {root} and {other}")
    yield Note(
        f"The first lake is that of this report; the second is {other}. Pairs are compared as "
        "multisets; rows of a dataset are the same if they have the same words."
    )
    for corpus in sorted(common):
        compared = pair_cells(root, other, corpus)
        yield Cells(f"Pairs and associations of {corpus}", compared, decimals=3)
        name = f"Pairs of {corpus} whose counts differ most"
        yield Cells(name, difference_cells(root, other, corpus), decimals=0)
    yield Cells("Rows of the built datasets", dataset_cells(root, other), decimals=3)
