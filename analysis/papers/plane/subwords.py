"""PLANE's subword analyses of fine-tuned models: figures 2 and 3, and overlaps from section 6."""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from scipy import stats

from adnominal.analysis.estimates import Interval, wilson
from adnominal.analysis.papers.exhibits import Chart, Finding, Missing, exhibit
from adnominal.analysis.papers.plane.sources import (
    PAPERS_MODEL,
    SCHEMES,
    TRAIN,
    FineTuned,
    Plane,
    Tokenize,
)
from adnominal.analysis.regression import slope
from adnominal.analysis.report_numbers import Cells, CellValues, Key, Value
from adnominal.analysis.rows import distinct_values, is_right, lists, where_equal
from adnominal.conf import UserError
from adnominal.etl.plane import CLASSES

_WORDS = ("adjective", "noun", "hypernym")
_TABLES = ("predictions", "plane_items")
# The axes of figures 2 and 3.
_SPLIT, _ACCURACY = "share of items with a word of several subwords", "accuracy"


def split_items(rows: pa.Table, tokenize: Tokenize) -> pd.DataFrame:
    """Whether the tokenizer splits the adjective of each answered item, and its noun or hypernym.

    `rows` are those of `FineTuned.rows`. Columns class, fold, adjective, split_adjective,
    split_noun, split (any word of the item) and right.
    """
    columns = lists(rows, *_WORDS)
    is_split = {word: len(tokenize(word)) > 1 for word in set().union(*columns)}
    adjective, noun, hypernym = ([is_split[word] for word in column] for column in columns)
    items: pd.DataFrame = rows.select(["class", "fold", "adjective"]).to_pandas()
    items["split_adjective"] = adjective
    items["split_noun"] = np.logical_or(noun, hypernym)
    items["split"] = items["split_adjective"] | items["split_noun"]
    items["right"] = is_right(rows)
    return items


def by_class_and_fold(items: pd.DataFrame) -> dict[str, CellValues]:
    """The share of split items, and accuracy, of each class by fold (figures 2 and 3)."""
    by_class: dict[str, CellValues] = {}
    for kind in CLASSES:
        of_class = items[items["class"] == kind]
        for fold, members in of_class.groupby("fold"):
            right = int(members["right"].sum())
            cells = by_class.setdefault(kind, {})
            cells[f"fold {fold}", _SPLIT] = float(members["split"].mean())
            cells[f"fold {fold}", _ACCURACY] = wilson(right, len(members))
    return by_class


def line(cells: Mapping[Key, Value]) -> tuple[float, float] | None:
    """(intercept, slope) of accuracy over the share of split items (least squares); None for fewer
    than two distinct shares."""
    shares = [value for value in cells.values() if not isinstance(value, Interval)]
    accuracies = [value.estimate for value in cells.values() if isinstance(value, Interval)]
    if len(set(shares)) < 2:
        return None
    fit = stats.linregress(shares, accuracies)
    return float(fit.intercept), float(fit.slope)


def _effects(items: pd.DataFrame) -> CellValues:
    """The effect of splitting a word on the odds of a right answer, over items, in each class."""
    cells: CellValues = {}
    columns = {"adjective": "split_adjective", "noun or hypernym": "split_noun"}
    for kind, (name, column) in itertools.product(CLASSES, columns.items()):
        members = items[items["class"] == kind]
        row = f"{kind}, {name}"
        is_split = members[column].astype(float).to_list()
        is_right_answer = members["right"].to_list()
        adjectives = members["adjective"].to_list()
        effect = slope(is_split, is_right_answer, adjectives)
        cells[row, "items"] = float(len(members))
        cells[row, "share split"] = sum(is_split) / max(1, len(members))
        if effect is not None:
            cells[row, "odds ratio"] = effect.odds_ratio
            cells[row, "p"] = effect.p
    return cells


def _findings(answers: FineTuned) -> Iterator[Finding]:
    items = split_items(answers.rows, answers.tokenize())
    lines = {}
    for kind, cells in by_class_and_fold(items).items():
        name = f"Class {kind}, by test split"
        yield Cells(name, cells, unit="share", model=answers.model)
        lines[name] = line(cells)
    caption = (
        "Each point is a class and a test split; lines are least-squares fits. "
        f"{answers.description()}"
    )
    axes = (_SPLIT, _ACCURACY)
    yield Chart("scatter", caption, list(lines), *axes, options={"lines": lines})
    yield Cells(
        "Odds ratio of a correct answer when a word of the item is split",
        _effects(items),
        decimals=3,
        interval="logistic regression, clustered by adjective",
        model=answers.model,
        runs=answers.runs,
    )


@exhibit("Figure 2", "subwords, out of distribution", fills=TRAIN["published"], reads=_TABLES)
def out_of_distribution(page: Plane) -> Iterator[Finding]:
    """Accuracy over the share of split items, with adjectives and nouns unseen in training."""
    yield from _findings(page.fine_tuned["published"])


@exhibit("Figure 3", "subwords, One-IT", fills=TRAIN["one_it"], reads=_TABLES)
def one_inference_type(page: Plane) -> Iterator[Finding]:
    """Accuracy over the share of split items, for one inference type."""
    yield from _findings(page.fine_tuned["one_it"])


def subword_overlap(items: pa.Table, tokenize: Tokenize) -> pa.Table:
    """Overlap of the subwords of a class's adjectives with those of other words (section 6.1).

    Only subwords of split words count. Columns class, adjective_subwords, noun_subwords (of nouns
    and hypernyms in items of the class), with_nouns (share of the adjectives' subwords that are
    among noun_subwords), nouns_with_other_adjectives (share of noun_subwords that are among the
    subwords of other classes' adjectives), and with_I, with_S, with_O (share of the adjectives'
    subwords that are among those of another class's adjectives). Shares of empty sets are null.
    """

    def subwords(words: Iterable[str]) -> set[str]:
        parts = [tokenize(word) for word in set(words)]
        return {part for pieces in parts if len(pieces) > 1 for part in pieces}

    def share(pieces: set[str], other: set[str]) -> float | None:
        return len(pieces & other) / len(pieces) if pieces else None

    adjectives: dict[str, set[str]] = {}
    nouns: dict[str, set[str]] = {}
    for kind in CLASSES:
        of_adjectives, of_nouns, of_hypernyms = lists(where_equal(items, "class", kind), *_WORDS)
        adjectives[kind] = subwords(of_adjectives)
        nouns[kind] = subwords([*of_nouns, *of_hypernyms])
    rows = []
    for kind in CLASSES:
        of_other_classes = set().union(*(adjectives[other] for other in CLASSES if other != kind))
        row = {
            "class": kind,
            "adjective_subwords": len(adjectives[kind]),
            "noun_subwords": len(nouns[kind]),
            "with_nouns": share(adjectives[kind], nouns[kind]),
            "nouns_with_other_adjectives": share(nouns[kind], of_other_classes),
        }
        for other in CLASSES:
            same = other == kind
            row[f"with_{other}"] = None if same else share(adjectives[kind], adjectives[other])
        rows.append(row)
    return pa.Table.from_pylist(rows)


@exhibit(
    "Section 6",
    "overlap of subwords",
    fills=" && ".join(TRAIN[scheme] for scheme in SCHEMES),
    reads=_TABLES,
    printed=("section 6", "section 6.2"),
)
def overlap(page: Plane) -> Iterator[Finding]:
    """Shares of subwords that classes have in common in the test rows of each fold; the paper's are
    for BERT's tokenizer."""
    for scheme, answers in page.fine_tuned.items():
        try:
            rows, tokenize = answers.rows, answers.tokenize()
        except UserError as error:
            yield Missing(SCHEMES[scheme], TRAIN[scheme], str(error))
            continue
        tables = {
            fold: subword_overlap(where_equal(rows, "fold", fold), tokenize).to_pylist()
            for fold in distinct_values(rows, "fold")
        }
        by_class = [{row["class"]: row for row in table} for table in tables.values()]
        is_other = answers.model != PAPERS_MODEL
        shares = _extremes(scheme, by_class)
        yield Cells("section 6", shares, model=answers.model, is_other_model=is_other)
        if scheme == "one_it":
            most = max(table["O"]["adjective_subwords"] for table in by_class)
            count: CellValues = {("O", "subwords"): float(most)}
            note = "Ours is of the fold with most."
            yield Cells(
                "section 6.2", count, model=answers.model, is_other_model=is_other, note=note
            )
        for fold, table in tables.items():
            name = f"Shares of common subwords, test rows of {SCHEMES[scheme]}, fold {fold}"
            yield Cells(name, _table_cells(table), unit="share", model=answers.model)


def _table_cells(table: Sequence[Mapping[str, Any]]) -> CellValues:
    """The cells of `subword_overlap`, without those of empty sets."""
    cells: CellValues = {}
    for row in table:
        for column, value in row.items():
            if column != "class" and value is not None:
                cells[row["class"], column.replace("_", " ")] = float(value)
    return cells


def _extremes(scheme: str, tables: Sequence[Mapping[str, Mapping[str, float]]]) -> CellValues:
    """The smallest and largest share over folds, for those that the paper gives."""
    printed = {
        "published": {
            "I": ("I", "with_nouns"),
            "S, of N/h(N) with I and O": ("S", "nouns_with_other_adjectives"),
            "O": ("O", "with_nouns"),
            "O, with I": ("O", "with_I"),
        },
        "one_it": {"I, one_it": ("I", "with_nouns")},
    }[scheme]
    cells: CellValues = {}
    for row, (kind, column) in printed.items():
        shares = [table[kind][column] for table in tables if table[kind][column] is not None]
        if shares:
            cells[row, "to"] = max(shares)
            if row == "I":
                cells[row, "from"] = min(shares)
    return cells
