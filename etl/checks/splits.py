"""Check what a split keeps apart, its label balance, repeated rows, and what training gives away.

It works for any dataset: rows with a part (train, test, …), columns of words, and a label. `run` is
the job of ``etl/check_splits.py``; the report's page across datasets reads the same findings.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from adnominal.conf import UserError, setting
from adnominal.conf.numbers import percent
from adnominal.etl.checks.split_rows import (
    SplitTables,
    check_complete,
    read_parts,
    read_rows,
    with_items,
)
from adnominal.etl.lake.tables import table
from adnominal.etl.looking.layout import format_table

_FOLD = "fold"

Comparison: TypeAlias = tuple[str, str, str]
"""A part, another part, and a column."""


@dataclass(frozen=True)
class Part:
    """One part of a split.

    Attributes:
        name: train, val or test.
        rows: number of rows.
        labels: rows by label.
        repeated: rows that repeat an earlier one.
        values: the distinct values of each column, without null.
        guess_accuracy: for each column, the accuracy of a guess that knows only its value and
            predicts the most frequent label of rows with that value: 0.5 if it says nothing about
            balanced labels.
    """

    name: str
    rows: int
    labels: Mapping[str, int]
    repeated: int
    values: Mapping[str, pa.Array]
    guess_accuracy: Mapping[str, float]


@dataclass(frozen=True)
class Fold:
    """A fold: its parts and what pairs of parts share.

    Attributes:
        name: name in the split.
        parts: in the order train, val, test, others.
        shared: by (part, other part, column), the number of distinct values that both have; column
            ``rows`` stands for whole rows, and ``A/B`` for the values of columns A and B combined.
        known_rows: by (part, other part, column), the rows of the other part whose value the first
            part has too.
        right_guesses: by (part, other part, column), the rows of the other part whose label is the
            most frequent one of the first part's rows with the same value (of several, the first in
            alphabetical order); a value that the first part lacks gives no guess.
    """

    name: str
    parts: tuple[Part, ...]
    shared: Mapping[Comparison, int]
    known_rows: Mapping[Comparison, int]
    right_guesses: Mapping[Comparison, int]

    def part(self, name: str) -> Part:
        """Return the part of that name; raise `KeyError` if there is none."""
        return {part.name: part for part in self.parts}[name]


@dataclass(frozen=True)
class _Columns:
    """The columns of `check`, by what they are for."""

    compared: Sequence[str]
    label: str
    identity: Sequence[str]
    same_kind: Sequence[str]


@dataclass(frozen=True)
class _PartRows:
    """The rows of a part, and what comparisons with other parts need.

    `sets` are the distinct values of each column, of whole rows and of the columns of one kind;
    `guesses` has, for each column, the most frequent label of each value and its number of rows.
    """

    name: str
    rows: pa.Table
    sets: Mapping[str, pa.Array]
    guesses: Mapping[str, pa.Table]


def check(
    rows: pa.Table,
    columns: Sequence[str],
    *,
    label: str,
    identity: Sequence[str],
    same_kind: Sequence[str] = (),
    fold: str = _FOLD,
) -> list[Fold]:
    """Return the findings for each fold.

    Args:
        rows: every row, with its part in the column `part`; all rows are one fold if `fold` is the
            default and they have no such column.
        columns: columns whose values are compared between parts.
        label: column of labels.
        identity: columns that make two rows the same.
        same_kind: columns with words of one kind (noun, hypernym), so that a test noun that is a
            hypernym in training is found as well.

    Raises:
        UserError: there are no rows, or a column is missing; the existing columns are listed.
    """
    if fold != _FOLD and fold not in rows.column_names:
        columns = [*columns, fold]
    _require(rows.column_names, ("part", label, *columns, *identity, *same_kind))
    if not rows.num_rows:
        raise UserError("no rows to check")
    if fold not in rows.column_names:
        rows = rows.append_column(fold, pa.repeat("-", rows.num_rows))
    by_use = _Columns(columns, label, identity, same_kind)
    return [_fold(str(name), members, by_use) for name, members in _by_value(rows, fold)]


def _require(names: Sequence[str], columns: Sequence[str], where: str = "") -> None:
    missing = dict.fromkeys(name for name in columns if name not in names)
    if missing:
        raise UserError(f"{where}no column {', '.join(missing)}; there are {', '.join(names)}")


def _by_value(rows: pa.Table, column: str) -> Iterator[tuple[Any, pa.Table]]:
    order = {"train": 0, "val": 1, "test": 2}
    values = pc.unique(rows[column]).to_pylist()
    for value in sorted(values, key=lambda value: (order.get(value, 3), str(value))):
        yield value, rows.filter(pc.equal(rows[column], value))


def _fold(name: str, rows: pa.Table, columns: _Columns) -> Fold:
    """Compare each part of a fold with every later one.

    Of each pair of parts and each column it counts the values in both, the rows of the later part
    whose value the earlier one has, and those of them whose label the earlier part's values tell.
    """
    parts = [_part_rows(str(part), members, columns) for part, members in _by_value(rows, "part")]
    shared: dict[Comparison, int] = {}
    known_rows: dict[Comparison, int] = {}
    right_guesses: dict[Comparison, int] = {}
    for first, second in combinations(parts, 2):
        for column, values in first.sets.items():
            in_both = pc.is_in(values, value_set=second.sets[column])
            shared[first.name, second.name, column] = _number_true(in_both)
        gold_labels = second.rows[columns.label]
        for column in columns.compared:
            comparison = (first.name, second.name, column)
            values = second.rows[column]
            is_known = pc.is_in(values, value_set=first.sets[column])
            known_rows[comparison] = _number_true(is_known)
            guesses = _guesses_for(values, first.guesses[column])
            is_right = pc.equal(guesses, gold_labels)
            right_guesses[comparison] = _number_true(is_right)
    findings = tuple(_part(part, columns) for part in parts)
    return Fold(name, findings, shared, known_rows, right_guesses)


def _number_true(flags: pa.Array | pa.ChunkedArray) -> int:
    return int(pc.sum(flags).as_py() or 0)


def _part_rows(name: str, rows: pa.Table, columns: _Columns) -> _PartRows:
    """The rows of a part with what comparisons need: its distinct values, and its guesses."""
    sets: dict[str, pa.Array] = {}
    for column in columns.compared:
        sets[column] = rows[column].unique().drop_null()
    sets["rows"] = _row_texts(rows, columns.identity).unique()
    if columns.same_kind:
        chunks: list[pa.Array] = []
        for column in columns.same_kind:
            chunks += rows[column].chunks
        sets["/".join(columns.same_kind)] = pa.chunked_array(chunks).unique().drop_null()
    guesses = {column: _guesses(rows, column, columns.label) for column in columns.compared}
    return _PartRows(name, rows, sets, guesses)


def _row_texts(rows: pa.Table, columns: Sequence[str]) -> pa.ChunkedArray:
    """The values of each row as one text."""
    texts = [pc.cast(rows[column], pa.string()) for column in columns]
    # This separator occurs in no text, so ("a b", "c") differs from ("a", "b c").
    separator = "\x1f"
    return pc.binary_join_element_wise(*texts, separator, null_handling="replace")


def _guesses(rows: pa.Table, column: str, label: str) -> pa.Table:
    """The most frequent label of each value of a column: columns value, label and rows."""
    pairs = pa.table({"value": rows[column], "label": rows[label]})
    counts = pairs.group_by(["value", "label"]).aggregate([([], "count_all")])
    ranked = counts.sort_by([("count_all", "descending"), ("label", "ascending")])
    # With threads, "first" would not be the first of the table; without the option, it is the first
    # label that is not null.
    groups = ranked.group_by("value", use_threads=False)
    with_null = pc.ScalarAggregateOptions(skip_nulls=False)
    best = groups.aggregate([("label", "first", with_null), ("count_all", "first")])
    return best.rename_columns(["value", "label", "rows"])


def _guesses_for(values: pa.ChunkedArray, guesses: pa.Table) -> pa.ChunkedArray:
    """The guessed label of each value; null for a value without a guess."""
    places = pc.index_in(values, value_set=guesses["value"].combine_chunks())
    return guesses["label"].take(places)


def _part(part: _PartRows, columns: _Columns) -> Part:
    """What is reported of a part by itself."""
    size = part.rows.num_rows
    label_counts = pc.value_counts(part.rows[columns.label]).to_pylist()
    right = {column: pc.sum(table["rows"]).as_py() for column, table in part.guesses.items()}
    return Part(
        name=part.name,
        rows=size,
        labels={str(entry["values"]): entry["counts"] for entry in label_counts},
        repeated=size - len(part.sets["rows"]),
        values={column: part.sets[column] for column in columns.compared},
        guess_accuracy={column: float(number / size) for column, number in right.items()},
    )


def text(folds: Sequence[Fold]) -> str:
    """Format the findings as tables for a terminal: parts, what two parts share, and what one part
    tells about the rows of another."""
    blocks = [_parts_text(folds)]
    shared = [
        (fold.name, f"{one} and {two}", column, count, "disjoint" if not count else "shared")
        for fold in folds
        for (one, two, column), count in fold.shared.items()
    ]
    if shared:
        blocks.append(format_table(("fold", "parts", "values", "in both", ""), shared))
        blocks.append(_transfer_text(folds))
    return "\n\n".join(blocks)


def _parts_text(folds: Sequence[Fold]) -> str:
    """A table with a row for each part of each fold.

    Of each compared column it has the number of distinct values and, under ``tells``, the accuracy
    of guessing the label from the column alone.
    """
    columns = list(folds[0].parts[0].values)
    header = ["fold", "part", "rows", "labels", "repeated"]
    for column in columns:
        header += [column, "tells"]
    lines: list[Sequence[Any]] = []
    for fold in folds:
        for part in fold.parts:
            labels = ", ".join(f"{name}: {part.labels[name]}" for name in sorted(part.labels))
            cells: list[Any] = [fold.name, part.name, part.rows, labels, part.repeated]
            for column in columns:
                accuracy = percent(part.guess_accuracy[column], sign=" %")
                cells += [len(part.values[column]), accuracy]
            lines.append(cells)
    return format_table(header, lines)


def _transfer_text(folds: Sequence[Fold]) -> str:
    """What one part tells about another: the rows with known values, and the labels guessed."""
    header = ("fold", "from", "about", "values", "known", "guessed")
    lines = []
    for fold in folds:
        for (one, other, column), known in fold.known_rows.items():
            size = fold.part(other).rows
            known_share = percent(known / size, sign=" %")
            guessed_share = percent(fold.right_guesses[one, other, column] / size, sign=" %")
            lines.append((fold.name, one, other, column, known_share, guessed_share))
    return format_table(header, lines)


@dataclass(frozen=True)
class Settings:
    train: str | None = setting(None, help="file of training rows", example="train=train.tsv.gz")
    val: str | None = setting(None, help="file of validation rows")
    test: str | None = setting(None, help="file of test rows", example="test=test.tsv.gz")
    items: str | None = setting(None, help="table of items", example="items=plane_items")
    splits: str | None = setting(None, help="table of splits", example="splits=plane_splits")
    edition: str | None = setting(None, help="edition of the tables", example="edition=clean")
    scheme: str | None = setting(None, help="scheme of the splits", example="scheme=strict")
    key: str = setting("item_id", help="column that both tables have", example="key=sentence_id")
    fold: str = setting(
        _FOLD,
        help="column that identifies the fold; if splits= lacks the default, its remaining column",
        example="fold=round",
    )
    columns: list[str] = setting(
        ["adjective", "noun", "hypernym"], help="columns whose values are compared between parts"
    )
    alike: list[str] = setting(
        [], help="columns of one kind of word, compared together", example="alike=noun,hypernym"
    )
    label: str = setting("label", help="column of labels")
    lake: str = setting("lake", help="folder or URI of the lake", example="lake=/data/lake")

    def __post_init__(self) -> None:
        tables = [self.items, self.splits, self.edition, self.scheme]
        if self.files and any(value is not None for value in tables):
            raise UserError("expected files (train=, val=, test=) or tables (items=, …), not both")
        if not self.files and any(value is None for value in tables):
            raise UserError(
                "expected train=FILE test=FILE, or items=, splits=, edition= and scheme="
            )

    @property
    def files(self) -> dict[str, Path]:
        """The given files, by part."""
        paths = {"train": self.train, "val": self.val, "test": self.test}
        return {part: Path(path) for part, path in paths.items() if path is not None}


def run(settings: Settings) -> None:
    """Show what the parts of a split share, the label balance, and repeated rows.

    Prints for each fold and part its rows, labels, repeated rows, the number of distinct values of
    columns= and how well each column alone predicts the label; then what two parts share; then, for
    each column, the rows of the later part whose value the earlier part has, and the labels guessed
    right from what the earlier part tells about the value.
    """
    if settings.files:
        rows = _rows_of_files(settings.files)
        identity = [name for name in rows.column_names if name != "part"]
    else:
        rows = _rows_of_tables(settings)
        identity = [settings.key]
    folds = check(
        rows,
        settings.columns,
        label=settings.label,
        identity=identity,
        same_kind=settings.alike,
        fold=settings.fold,
    )
    print(text(folds))


def _rows_of_files(files: Mapping[str, Path]) -> pa.Table:
    """The rows of one file for each part, with the part's name in the column ``part``."""
    parts = []
    for part, path in files.items():
        rows = read_rows(path)
        rows = rows.select([name for name in rows.column_names if name != "part"])
        parts.append(rows.append_column("part", pa.repeat(part, rows.num_rows)))
    try:
        return pa.concat_tables(parts)
    except pa.ArrowInvalid as error:
        raise UserError(f"the files have different columns: {error}") from error


def _rows_of_tables(settings: Settings) -> pa.Table:
    """The rows of a split in the lake: items joined with the fold and part of each."""
    items, splits = str(settings.items), str(settings.splits)
    edition = str(settings.edition)
    columns = [settings.key, settings.label, *settings.columns, *settings.alike]
    names = table(splits).schema.names
    by_name = [settings.key, "scheme", "part", "edition"]
    fold = settings.fold
    if fold == _FOLD:
        fold = next((name for name in names if name not in by_name), "scheme")
    _require(names, [*by_name, fold], f"{splits}: ")
    _require(table(items).schema.names, columns, f"{items}: ")
    tables = SplitTables(items, splits, settings.key, fold)
    parts = read_parts(settings.lake, tables, edition, str(settings.scheme))
    if not parts.num_rows:
        raise UserError(
            f"{splits}: no scheme {settings.scheme} of edition {edition}; "
            f"`python -m etl.lake show {splits}` lists what there is"
        )
    rows = with_items(settings.lake, tables, edition, parts, columns)
    check_complete(tables, parts, rows)
    return rows.rename_columns({"fold": settings.fold})
