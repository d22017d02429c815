"""How well a single feature of premise and hypothesis predicts the label.

A dataset that one feature solves tests only that feature. For each feature the best rule counts:
the best threshold of a number, or the presence of a token. Each side of the rule gets its most
frequent label. The baseline is the majority label (Gururangan et al. 2018).
`run` is the job of ``etl/audit_pairs.py``.
"""

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adnominal.conf import UserError, setting
from adnominal.etl.lake import arrow
from adnominal.etl.looking.layout import aligned

NEGATION = frozenset(
    ("not", "no", "never", "nothing", "nobody", "none", "neither", "nor", "cannot", "without")
)
_TOKEN = re.compile(r"\d+(?:\.\d+)?|\w+(?:-\w+)*|[^\w\s]")
_SIDES = ("premise", "hypothesis")


@dataclass(frozen=True)
class Rule:
    """The best rule of a feature: its accuracy, that of the majority label, and its description."""

    feature: str
    accuracy: float
    majority: float
    rule: str

    @property
    def gain(self) -> float:
        """Percentage points above the majority label."""
        return 100 * (self.accuracy - self.majority)


def tokens(text: str) -> list[str]:
    """Return lower-cased words, numbers and punctuation marks."""
    return _TOKEN.findall(text.lower())


def features(premise: str, hypothesis: str) -> dict[str, float]:
    """Return length, punctuation, overlap and negation of a pair; `audit` adds single tokens."""
    texts = (premise, hypothesis)
    words = [tokens(text) for text in texts]
    vocabularies = [set(side_tokens) for side_tokens in words]
    values: dict[str, float] = {}
    for side, text, side_tokens in zip(_SIDES, texts, words, strict=True):
        values[f"characters of {side}"] = len(text)
        values[f"words of {side}"] = len(side_tokens)
        values[f"{side} ends in a full stop"] = text.rstrip().endswith(".")
        values[f"marks in {side}"] = sum(not token[0].isalnum() for token in side_tokens)
        values[f"negation in {side}"] = any(token in NEGATION for token in side_tokens)
    for unit in ("characters", "words", "marks"):
        first, second = (
            values[f"{unit} {'in' if unit == 'marks' else 'of'} {side}"] for side in _SIDES
        )
        values[f"{unit}, hypothesis less premise"] = second - first
    values["negation in one of them"] = (
        values["negation in premise"] != values["negation in hypothesis"]
    )
    shared = vocabularies[0] & vocabularies[1]
    values["share of hypothesis in premise"] = len(shared) / max(1, len(vocabularies[1]))
    values["overlap over union"] = len(shared) / max(1, len(vocabularies[0] | vocabularies[1]))
    values["word order kept"] = [w for w in words[0] if w in shared] == [
        w for w in words[1] if w in shared
    ]
    return values


def audit(
    rows: Iterable[tuple[str, str, str]], *, min_rows: int = 2, leave_out: Sequence[str] = ()
) -> list[Rule]:
    """Return the best rule of each feature, best first, for (premise, hypothesis, label) rows.

    Tokens in fewer than `min_rows` rows are ignored, as are rows with a label in `leave_out`.

    Raises:
        ValueError: there are no rows.
    """
    counted_rows = [row for row in rows if row[2] not in leave_out]
    if not counted_rows:
        raise ValueError("no rows to audit")
    total: Counter[str] = Counter(label for _, _, label in counted_rows)
    size = len(counted_rows)
    majority = max(total.values()) / size
    values: dict[str, dict[float, Counter[str]]] = {}
    label_counts: dict[tuple[str, str], Counter[str]] = {}
    for premise, hypothesis, label in counted_rows:
        for name, value in features(premise, hypothesis).items():
            values.setdefault(name, {}).setdefault(float(value), Counter())[label] += 1
        sides = (set(tokens(premise)), set(tokens(hypothesis)))
        for side, vocabulary in zip(
            (*_SIDES, "either"), (*sides, sides[0] | sides[1]), strict=True
        ):
            for token in vocabulary:
                label_counts.setdefault((token, side), Counter())[label] += 1
    rules = [_threshold(name, by_value, total, majority) for name, by_value in values.items()]
    for (token, side), counts in label_counts.items():
        if min_rows <= counts.total() < size:
            label, right = _best(counts)
            other_label, other_right = _best(total - counts)
            rule = f"{label} if present, else {other_label}"
            accuracy = (right + other_right) / size
            rules.append(Rule(f"{token!r} in {side}", accuracy, majority, rule))
    return sorted(rules, key=lambda r: (-r.accuracy, r.feature))


def _best(counts: Mapping[str, int]) -> tuple[str, int]:
    return max(sorted(counts.items()), key=lambda item: item[1], default=("", 0))


def _threshold(
    name: str, values: Mapping[float, Counter[str]], total: Counter[str], majority: float
) -> Rule:
    label, most_right = _best(total)
    rule = f"{label} always"
    below: Counter[str] = Counter()
    for value in sorted(values)[:-1]:
        below += values[value]
        label_below, right_below = _best(below)
        label_above, right_above = _best(total - below)
        if right_below + right_above > most_right:
            most_right = right_below + right_above
            rule = f"{label_below} up to {value:g}, {label_above} above"
    return Rule(name, most_right / total.total(), majority, rule)


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
    rows_read: Iterable[Mapping[str, Any]]
    if settings.file:
        rows_read = _rows_of_file(Path(settings.file))
    else:
        rows_read = arrow.read(settings.lake, str(settings.table), where=where).to_pylist()
    for row in rows_read:
        missing = [name for name in columns if row.get(name) is None]
        if missing:
            raise UserError(
                f"no {', '.join(missing)} in a row with {', '.join(filter(None, row))}; "
                "name the columns by premise=, hypothesis=, label= and by="
            )
        premise, hypothesis, label, *rest = (str(row[name]) for name in columns)
        if label not in settings.leave_out:
            groups.setdefault(rest[0] if rest else "all", []).append((premise, hypothesis, label))
    if not groups:
        edition = f" edition={settings.edition}" if settings.edition else ""
        raise UserError(f"{settings.file or f'table={settings.table}'}{edition}: no rows to audit")
    lines = []
    for name, rows in sorted(groups.items()):
        for rule in audit(rows, min_rows=settings.least)[: settings.top]:
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
