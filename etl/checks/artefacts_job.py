"""The job of ``etl/audit_pairs.py``: the artefact audit of premise/hypothesis pairs."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conf import UserError, setting
from etl.checks.artefacts import audit
from etl.lake import arrow
from etl.looking.layout import aligned


@dataclass(frozen=True)
class Settings:
    file: str | None = setting(
        None, help="TSV (or CSV, by its first line) with a header", example="file=pairs.tsv"
    )
    table: str | None = setting(None, help="table of the lake", example="table=asp_entailment")
    edition: str | None = setting(None, help="edition of the table; by default all")
    by: str | None = setting(
        None, help="column whose values are audited separately", example="by=test"
    )
    premise: str = setting("premise", help="column of premises")
    hypothesis: str = setting("hypothesis", help="column of hypotheses")
    label: str = setting("label", help="column of labels")
    leave_out: list[str] = setting(["discard"], help="labels whose rows do not count")
    top: int = setting(5, help="rules to show, the best first")
    least: int = setting(2, help="least number of rows with a token")
    lake: str = setting("lake", help="folder or URI of the lake", example="lake=/data/lake")

    def __post_init__(self) -> None:
        if (self.file is None) == (self.table is None):
            raise UserError("expected one of file=FILE and table=TABLE")
        if self.top < 1:
            raise UserError(f"top={self.top}: expected 1 or more")


def run(settings: Settings) -> None:
    """Show how well one feature predicts the label of premise/hypothesis pairs.

    Prints the best one-feature rules (length, punctuation, overlap, negation words, each single
    token) with their accuracy and that of the majority label, for all rows or by=COLUMN.
    """
    columns = [settings.premise, settings.hypothesis, settings.label]
    columns += [settings.by] if settings.by else []
    groups: dict[str, list[tuple[str, str, str]]] = {}
    where = [("edition", "=", settings.edition)] if settings.edition else None
    for row in (
        _rows_of_file(Path(settings.file))
        if settings.file
        else arrow.read(settings.lake, str(settings.table), where=where).to_pylist()
    ):
        missing = [name for name in columns if row.get(name) is None]
        if missing:
            raise UserError(
                f"no {', '.join(missing)} in a row with {', '.join(filter(None, row))}; "
                "name the columns by premise=, hypothesis=, label= and by="
            )
        premise, hypothesis, label, *rest = (str(row[name]) for name in columns)
        groups.setdefault(rest[0] if rest else "all", []).append((premise, hypothesis, label))
    if not groups:
        raise UserError("no rows to audit")
    lines = []
    for name, rows in sorted(groups.items()):
        try:
            rules = audit(rows, min_rows=settings.least, leave_out=settings.leave_out)
        except ValueError as error:
            raise UserError(f"{name}: {error}") from error
        for rule in rules[: settings.top]:
            figures = (f"{rule.accuracy:.3f}", f"{rule.majority:.3f}", f"{rule.gain:+.1f}")
            lines.append((name, len(rows), rule.feature, *figures, rule.rule))
    header = (settings.by or "rows of", "rows", "feature", "accuracy", "majority", "points", "rule")
    print(aligned(header, lines))


def _rows_of_file(path: Path) -> Iterator[Mapping[str, Any]]:
    try:
        lines = path.open(encoding="utf-8-sig", newline="")
    except OSError as error:
        raise UserError(f"file={path}: {error.strerror}") from error
    with lines:
        try:
            tabs = "\t" in lines.readline()
            lines.seek(0)
            if tabs:  # quotes are literal there, as in import_pairs
                yield from csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
            else:
                yield from csv.DictReader(lines, strict=True)
        except (csv.Error, UnicodeDecodeError) as error:
            raise UserError(f"file={path}: not a table in UTF-8: {error}") from error
