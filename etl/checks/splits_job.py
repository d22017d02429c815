"""``etl/check_splits.py``: what the parts of a split share, in files or tables."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from conf import UserError, setting
from etl.checks.splits import check, read_rows, text
from etl.lake import arrow


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
    fold: str = setting("fold", help="column that identifies the fold", example="fold=round")
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
            parts.append(
                part_rows.append_column("part", pa.array([part] * part_rows.num_rows, pa.string()))
            )
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
    splits = arrow.read(
        settings.lake, str(settings.splits), where=[edition, ("scheme", "=", settings.scheme)]
    )
    if not splits.num_rows:
        raise UserError(
            f"{settings.splits}: no scheme {settings.scheme} of edition {settings.edition}; "
            f"`python -m etl.lake show {settings.splits}` lists what there is"
        )
    columns = list(
        dict.fromkeys([settings.key, settings.label, *settings.columns, *settings.alike])
    )
    ids = splits[settings.key].unique()
    # A split has few of the many items: they are selected while reading.
    batches = arrow.batches(settings.lake, str(settings.items), where=[edition], columns=columns)
    picked = [batch.filter(pc.is_in(batch[settings.key], value_set=ids)) for batch in batches]
    items = pa.Table.from_batches(picked) if picked else None
    if items is None or items.num_rows < len(ids):
        count = 0 if items is None else items.num_rows
        raise UserError(
            f"{settings.items}: {count} of the {len(ids)} items of {settings.splits}; expected "
            "both tables from one build, and the column that they share (key=)"
        )
    fold = settings.fold if settings.fold in splits.column_names else "scheme"
    parts = splits.select([settings.key, "part", fold]).rename_columns(
        [settings.key, "part", settings.fold]
    )
    return parts.join(items, settings.key, join_type="inner")
