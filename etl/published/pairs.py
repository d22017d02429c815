"""``etl/import_pairs.py``: import of labelled pairs of sentences or of rated pairs of words.

Sentences (``premise=``, ``hypothesis=``, ``label=``) become a source of the table nli, either with
two labels (entailment, not_entailment) or with three (entailment, neutral, contradiction). Words
(``adjective=``, ``noun=``, ``score=``) become a source of the table graded_pairs.
"""

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from adnominal.conf import UserError, setting
from adnominal.conf.delimited import SURPLUS, read_rows
from adnominal.conf.texts import json_lines
from adnominal.etl.draws import content_hash
from adnominal.etl.dropped import write_dropped
from adnominal.etl.lake import arrow
from adnominal.etl.lake.tables import table
from adnominal.etl.published.nli import ADDONE_SOURCES, LABELS, NOT_ENTAILMENT, item_id
from adnominal.etl.published.reading import NO_TEXT, Reading, is_text

log = logging.getLogger("adnominal")

THREE_WAY = frozenset(LABELS)
TWO_WAY = frozenset({"entailment", NOT_ENTAILMENT})
SPLITS = ("train", "val", "test")
# Usual names of the parts of a dataset.
_SPLIT_OF = {
    "train": "train", "training": "train", "val": "val", "dev": "val", "valid": "val",
    "validation": "val", "test": "test",
}  # fmt: skip
_KINDS = (".csv", ".tsv", ".jsonl", ".parquet")
# Sources that import_published.py writes.
_RESERVED_SOURCES = ("mnli", "snli", *ADDONE_SOURCES.values())


@dataclass(frozen=True)
class Settings:
    file: str = setting(
        help="CSV (with quotes), TSV (without), JSON lines or Parquet, by the suffix of its name",
        example="file=sick.tsv",
    )
    source: str = setting(help="name of the data in the table", example="source=sick")
    premise: str | None = setting(None, help="column of the premise", example="premise=sentence_A")
    hypothesis: str | None = setting(
        None, help="column of the hypothesis", example="hypothesis=sentence_B"
    )
    label: str | None = setting(
        None, help="column of the label", example="label=entailment_judgment"
    )
    labels: str | None = setting(
        None,
        help="the file's labels and ours: entailment, neutral, contradiction, or entailment, "
        "not_entailment; the same names by default",
        example="labels=ENTAILMENT:entailment,NEUTRAL:neutral,CONTRADICTION:contradiction",
    )
    adjective: str | None = setting(
        None, help="column of the adjective of rated pairs", example="adjective=modifier"
    )
    noun: str | None = setting(None, help="column of the noun of rated pairs", example="noun=head")
    score: str | None = setting(
        None, help="column of the rating, a number", example="score=mean_rating"
    )
    split: str = setting(
        "test",
        help="train, val or test for all rows, or the column with the split of each row",
        example="split=SemEval_set",
    )
    lake: str = setting("lake", help="folder or URI of the lake", example="lake=/data/lake")

    def __post_init__(self) -> None:
        sentences = (self.premise, self.hypothesis, self.label)
        words = (self.adjective, self.noun, self.score)
        if all(sentences) == all(words) or (any(sentences) and any(words)):
            raise UserError(
                "expected either premise=, hypothesis= and label= (pairs of sentences) or "
                "adjective=, noun= and score= (rated pairs of words), each with its column"
            )
        if not self.source.strip() or self.source in _RESERVED_SOURCES:
            raise UserError(
                f"source={self.source}: expected a name other than {', '.join(_RESERVED_SOURCES)}, "
                "which etl/import_published.py writes"
            )
        if self.labels is not None and not self.label:
            raise UserError("labels= is given without label=; rated pairs have a score= instead")
        if self.label:
            self.mapping()

    def mapping(self) -> dict[str, str]:
        """Our label for each label of the file.

        Raises:
            UserError: an entry that is not ``theirs:ours``, or labels of both schemes.
        """
        if self.labels is None:
            return {label: label for label in (*LABELS, NOT_ENTAILMENT)}
        our_labels = {}
        for entry in self.labels.split(","):
            theirs, colon, ours = (part.strip() for part in entry.rpartition(":"))
            if not colon or ours not in THREE_WAY | TWO_WAY:
                raise UserError(
                    f"labels={self.labels}: got {entry!r}; expected THEIRS:OURS, ours one of "
                    f"{', '.join((*LABELS, NOT_ENTAILMENT))}"
                )
            our_labels[theirs] = ours
        _label_scheme(set(our_labels.values()), f"labels={self.labels}")
        return our_labels


def _label_scheme(labels: set[str], where: str) -> str:
    """The scheme of the labels, ``two-way`` or ``three-way``.

    Raises:
        UserError: labels of both schemes.
    """
    if labels <= TWO_WAY and NOT_ENTAILMENT in labels:
        return "two-way"
    if labels <= THREE_WAY:
        return "three-way"
    raise UserError(
        f"{where}: labels {', '.join(sorted(labels))}; expected those of one reading, three-way "
        f"({', '.join(LABELS)}) or two-way ({', '.join(sorted(TWO_WAY))})"
    )


def _rows(file: Path, columns: Sequence[str]) -> Iterator[tuple[int, Mapping[str, Any], bool]]:
    """Line (in Parquet, number) and fields of each row, and whether it has surplus fields.

    Raises:
        UserError: the file does not exist, has another format, or cannot be read; there is no such
            column, or more than one.
    """
    name, kind = f"file={file}", file.suffix.lower()
    if not file.is_file() or kind not in _KINDS:
        got = "no such file" if not file.is_file() else f"a file {file.suffix or 'without ending'}"
        raise UserError(f"{name}: {got}; expected one of {', '.join(_KINDS)}")
    if kind in (".csv", ".tsv"):
        yield from read_rows(file, name, columns, tabs=kind == ".tsv")
    elif kind == ".jsonl":
        for number, row in json_lines(file, name):
            _check_columns(row, columns, f"{name}: line {number}")
            yield number, row, False
    else:
        yield from _parquet_rows(file, columns, name)


def _parquet_rows(
    file: Path, columns: Sequence[str], name: str
) -> Iterator[tuple[int, Mapping[str, Any], bool]]:
    try:
        names = pq.read_schema(file).names
        _check_columns(names, columns, name)
        repeated = [column for column in columns if names.count(column) > 1]
        if repeated:
            raise UserError(f"{name}: more than one column {', '.join(repeated)}")
        rows = pq.read_table(file, columns=list(dict.fromkeys(columns))).to_pylist()
    except (OSError, ValueError) as error:
        raise UserError(f"{name}: not readable: {error}") from error
    for number, row in enumerate(rows, 1):
        yield number, row, False


def read(settings: Settings) -> Reading:
    """The rows of the file in the table nli or graded_pairs.

    Raises:
        UserError: the file cannot be read, lacks a column, has labels of both schemes, or has no
            valid row.
    """
    file = Path(settings.file)
    is_graded = settings.score is not None
    name = "graded_pairs" if is_graded else "nli"
    words = (settings.adjective, settings.noun, settings.score)
    sentences = (settings.premise, settings.hypothesis, settings.label)
    required_columns = [str(column) for column in (words if is_graded else sentences)]
    by_row = settings.split not in SPLITS
    mapping = {} if is_graded else settings.mapping()
    reading, occurrences, rows = Reading(), Counter[str](), []
    used_columns = [*required_columns, *([settings.split] if by_row else [])]
    for number, row, is_surplus in _rows(file, used_columns):
        first, second, value = (
            str(row[c]).strip() if row[c] is not None else "" for c in required_columns
        )
        part = str(row[settings.split]).strip() if by_row else settings.split
        split = _SPLIT_OF.get(part.lower())
        reason = "" if first and second else "empty text"
        if split is None:
            reason = f"split {part!r}"
        elif is_graded and _number(value) is None:
            reason = "score is not a number"
        elif not is_graded and value not in mapping:
            reason = f"label {value!r}"
        elif not is_text(first, second):
            reason = NO_TEXT
        if is_surplus:
            reason = SURPLUS
        if reason:
            reading.drop(name, reason, f"{file.name}:{number} {first} {second}", file.name)
            continue
        reading.rows_of(file.name).read += 1
        occurrence = occurrences[f"{first}\t{second}"]
        occurrences[f"{first}\t{second}"] += 1
        if is_graded:
            columns_of_row = _graded_row(settings.source, first, second, value, occurrence)
        else:
            columns_of_row = {
                "item_id": item_id(settings.source, first, second, occurrence),
                "source": settings.source,
                "premise": first,
                "hypothesis": second,
                "label": mapping[value],
            }
        rows.append({**columns_of_row, "split": split})
    if not rows:
        reasons = ", ".join(reason for _, reason in reading.dropped) or "it is empty"
        expected = f"; labels= knows {', '.join(mapping)}" if mapping else ""
        raise UserError(f"file={file}: no row can be read: {reasons}{expected}")
    reading.notes.append(_summary(rows, is_graded, f"file={file}"))
    reading.tables[name] = pa.Table.from_pylist(rows, table(name).schema)
    return reading


def _check_columns(names: Iterable[str], columns: Sequence[str], where: str) -> None:
    missing = [name for name in columns if name not in names]
    if missing:
        raise UserError(f"{where} has no column {', '.join(missing)}, it has {', '.join(names)}")


def _graded_row(
    source: str, adjective: str, noun: str, score: str, occurrence: int
) -> dict[str, Any]:
    """A row of the table graded_pairs, without its split."""
    return {
        "pair_id": content_hash("graded", source, adjective, noun, size=8, occurrence=occurrence),
        "source": source,
        "adjective": adjective.lower(),
        "noun": noun.lower(),
        "score": _number(score),
    }


def _summary(rows: list[dict[str, Any]], is_graded: bool, where: str) -> str:
    """The number of rows of each part, and the label scheme of pairs of sentences."""
    parts = Counter(row["split"] for row in rows)
    part_counts = ", ".join(f"{parts[part]} {part}" for part in SPLITS if parts[part])
    if is_graded:
        return f"rated pairs: {part_counts}"
    scheme = _label_scheme({row["label"] for row in rows}, where)
    without = "" if parts["train"] else "; no training rows, so it can only be scored"
    return f"{scheme} labels: {part_counts}{without}"


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if value == value and abs(value) != float("inf") else None


def import_pairs(settings: Settings) -> None:
    """Import labelled pairs of sentences into the table nli, rated pairs into graded_pairs.

    The rows of source= are replaced; rows that cannot be read are dropped by reason. Sources
    without training rows are scored by training/score.py; analysis/graded.py correlates rated pairs
    with counts, PMI and the scores of models.
    """
    reading = read(settings)
    (name,) = reading.tables
    # Sources of both tables may have the same name, so drops are recorded per table.
    job = f"import_pairs/{settings.source}" + (f"/{name}" if settings.score else "")
    for name, rows in reading.tables.items():
        arrow.replace(settings.lake, name, rows, {"source": settings.source}, job=job)
        log.info("%s: %d rows of %s", name, rows.num_rows, settings.source)
    write_dropped(settings.lake, job, reading.drops())
    for line in [*reading.notes, *reading.account()]:
        log.info("%s: %s", settings.source, line)
