"""Check what a split keeps apart, its label balance, and repeated rows.

It works for any dataset: rows with a part (train, test, …), columns of words, and a label. `run` is
the job of ``etl/check_splits.py``.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from adnominal.conf import UserError, setting
from adnominal.conf.numbers import percent
from adnominal.etl.lake import arrow
from adnominal.etl.lake.tables import table
from adnominal.etl.looking.layout import aligned

_FOLD = "fold"


@dataclass(frozen=True)
class Part:
    """One part of a split.

    Attributes:
        name: train, val or test.
        rows: number of rows.
        labels: rows by label.
        repeated: rows that repeat an earlier one.
        distinct_values: number of distinct values of each column.
        guess_accuracy: for each column, the accuracy of a guess that knows only its value and
            predicts the most frequent label of rows with that value: 0.5 if it says nothing about
            balanced labels.
    """

    name: str
    rows: int
    labels: Mapping[str, int]
    repeated: int
    distinct_values: Mapping[str, int]
    guess_accuracy: Mapping[str, float]


@dataclass(frozen=True)
class Fold:
    """A fold: its parts and what pairs of parts share.

    Attributes:
        name: name in the split.
        parts: in the order train, val, test, others.
        shared: by (part, other part, column), the number of distinct values that both have; column
            ``rows`` stands for whole rows, and ``A/B`` for the values of columns A and B combined.
    """

    name: str
    parts: tuple[Part, ...]
    shared: Mapping[tuple[str, str, str], int]

    def part(self, name: str) -> Part:
        """Return the part of that name; raise `KeyError` if there is none."""
        return {part.name: part for part in self.parts}[name]


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
    return [
        _fold(str(name), members, columns, label, identity, same_kind)
        for name, members in _by_value(rows, fold)
    ]


def _require(names: Sequence[str], columns: Sequence[str], where: str = "") -> None:
    missing = dict.fromkeys(name for name in columns if name not in names)
    if missing:
        raise UserError(f"{where}no column {', '.join(missing)}; there are {', '.join(names)}")


def _by_value(rows: pa.Table, column: str) -> Iterator[tuple[Any, pa.Table]]:
    order = {"train": 0, "val": 1, "test": 2}
    values = pc.unique(rows[column]).to_pylist()
    for value in sorted(values, key=lambda value: (order.get(value, 3), str(value))):
        yield value, rows.filter(pc.equal(rows[column], value))


def _fold(
    name: str,
    rows: pa.Table,
    columns: Sequence[str],
    label: str,
    identity: Sequence[str],
    same_kind: Sequence[str],
) -> Fold:
    parts, values = [], []
    for part_name, members in _by_value(rows, "part"):
        sets: dict[str, pa.Array] = {c: members[c].unique().drop_null() for c in columns}
        # These separators occur in no text, so ("a b", "c") differs from ("a", "b c").
        texts = [pc.cast(members[column], pa.string()) for column in identity]
        row_texts = pc.binary_join_element_wise(*texts, "\x1f", null_handling="replace")
        sets["rows"] = pc.unique(row_texts)
        if same_kind:
            chunks = [chunk for column in same_kind for chunk in members[column].chunks]
            sets["/".join(same_kind)] = pa.chunked_array(chunks).unique().drop_null()
        values.append((str(part_name), sets))
        label_counts = pc.value_counts(members[label])
        parts.append(
            Part(
                str(part_name),
                members.num_rows,
                {str(c["values"]): c["counts"] for c in label_counts.to_pylist()},
                members.num_rows - len(sets["rows"]),
                {column: len(sets[column]) for column in columns},
                {column: _accuracy_alone(members, column, label) for column in columns},
            )
        )
    shared = {}
    for (one, members), (two, other_values) in combinations(values, 2):
        for column, values_of_column in members.items():
            both = pc.sum(pc.is_in(values_of_column, value_set=other_values[column])).as_py()
            shared[one, two, column] = int(both or 0)
    return Fold(name, tuple(parts), shared)


def _accuracy_alone(rows: pa.Table, column: str, label: str) -> float:
    pairs = pa.table({"value": rows[column], "label": rows[label]})
    counts = pairs.group_by(["value", "label"]).aggregate([([], "count_all")])
    best = counts.group_by("value").aggregate([("count_all", "max")])
    right = int(pc.sum(best["count_all_max"]).as_py())
    return float(right / rows.num_rows)


def text(folds: Sequence[Fold]) -> str:
    """Format the findings as two tables for a terminal: parts, and what two parts share."""
    columns = list(folds[0].parts[0].distinct_values)
    lines: list[Sequence[Any]] = []
    for fold in folds:
        for part in fold.parts:
            labels = ", ".join(f"{name}: {part.labels[name]}" for name in sorted(part.labels))
            cells: list[Any] = [fold.name, part.name, part.rows, labels, part.repeated]
            for column in columns:
                cells += [
                    part.distinct_values[column],
                    percent(part.guess_accuracy[column], sign=" %"),
                ]
            lines.append(cells)
    header = ["fold", "part", "rows", "labels", "repeated"]
    for column in columns:
        header += [column, "tells"]
    blocks = [aligned(header, lines)]
    shared = [
        (fold.name, f"{one} and {two}", column, count, "disjoint" if not count else "shared")
        for fold in folds
        for (one, two, column), count in fold.shared.items()
    ]
    if shared:
        blocks.append(aligned(("fold", "parts", "values", "in both", ""), shared))
    return "\n\n".join(blocks)


def read_rows(path: Path) -> pa.Table:
    """Read a file of rows under a header, every column as text.

    It is tab-separated without quotes, or comma-separated with quotes if the name has ``.csv``.
    Files that end in ``.gz``, ``.bz2`` or ``.zst`` are decompressed.

    Raises:
        UserError: the file does not exist, is a pickle, or has lines that do not fit the header.
    """
    if any(suffix in (".pkl", ".pickle", ".p") for suffix in path.suffixes):
        raise UserError(
            f"{path}: a pickle, which could run any code when it is read; ask its source for "
            "tab-separated text"
        )
    comma = ".csv" in path.suffixes
    parse = pa_csv.ParseOptions(
        delimiter="," if comma else "\t", quote_char='"' if comma else False
    )
    try:
        with pa_csv.open_csv(path, parse_options=parse) as stream:
            kinds = {name: pa.string() for name in stream.schema.names}
        rows = pa_csv.read_csv(
            path, parse_options=parse, convert_options=pa_csv.ConvertOptions(column_types=kinds)
        )
    except (OSError, pa.ArrowInvalid, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not readable as rows under a header: {error}") from error
    names = rows.column_names
    repeated = dict.fromkeys(name for name in names if names.count(name) > 1)
    if repeated:
        raise UserError(f"{path}: more than one column {', '.join(repeated)}; rename all but one")
    return rows


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
    columns= and how well each column alone predicts the label; then what two parts share.
    """
    if settings.files:
        parts = []
        for part, path in settings.files.items():
            part_rows = read_rows(path)
            names = [name for name in part_rows.column_names if name != "part"]
            part_rows = part_rows.select(names)
            parts.append(part_rows.append_column("part", pa.repeat(part, part_rows.num_rows)))
        try:
            rows = pa.concat_tables(parts)
        except pa.ArrowInvalid as error:
            raise UserError(f"the files have different columns: {error}") from error
        identity = [name for name in parts[0].column_names if name != "part"]
    else:
        rows, identity = _tables(settings), [settings.key]
    folds = check(
        rows,
        settings.columns,
        label=settings.label,
        identity=identity,
        same_kind=settings.alike,
        fold=settings.fold,
    )
    print(text(folds))


def _tables(settings: Settings) -> pa.Table:
    edition = ("edition", "=", settings.edition)
    columns = list(
        dict.fromkeys([settings.key, settings.label, *settings.columns, *settings.alike])
    )
    names = table(str(settings.splits)).schema.names
    by_name = [settings.key, "scheme", "part", "edition"]
    fold = settings.fold
    if fold == _FOLD:
        fold = next((name for name in names if name not in by_name), "scheme")
    _require(names, [*by_name, fold], f"{settings.splits}: ")
    _require(table(str(settings.items)).schema.names, columns, f"{settings.items}: ")
    splits = arrow.read(
        settings.lake, str(settings.splits), where=[edition, ("scheme", "=", settings.scheme)]
    )
    if not splits.num_rows:
        raise UserError(
            f"{settings.splits}: no scheme {settings.scheme} of edition {settings.edition}; "
            f"`python -m etl.lake show {settings.splits}` lists what there is"
        )
    ids = splits[settings.key].unique()
    items = arrow.read_items(
        settings.lake, str(settings.items), ids, columns, str(settings.edition)
    )
    if items.num_rows < len(ids):
        raise UserError(
            f"{settings.items}: {items.num_rows} of the {len(ids)} items of {settings.splits}; "
            "expected both tables from one build, and the column that they share (key=)"
        )
    parts = splits.select([settings.key, "part", fold]).rename_columns(
        [settings.key, "part", settings.fold]
    )
    return parts.join(items, settings.key, join_type="inner")
