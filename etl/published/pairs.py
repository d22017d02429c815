"""``etl/import_pairs.py``: import of other people's pairs, and of votes on the labels of items.

Sentences (``premise=``, ``hypothesis=``, ``label=``) become a source of the table nli, either with
two labels (entailment, not_entailment) or with three (entailment, neutral, contradiction); with
``votes=``, people's votes on them go to label_votes. Words (``adjective=``, ``noun=``, ``score=``)
become a source of graded_pairs, minimal pairs (``good=``, ``bad=``) one of minimal_pairs.
`published.votes` imports votes on items that the lake has.
"""

import logging
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from adnominal.conf import UserError, setting
from adnominal.conf.delimited import SURPLUS
from adnominal.conf.numbers import count_of, finite_number
from adnominal.conf.texts import NO_TEXT, is_text
from adnominal.etl.corpora.normalisation import drop_invisible
from adnominal.etl.draws import content_hash
from adnominal.etl.dropped import write_dropped
from adnominal.etl.label_votes import TABLE, NoVotes, Votes, read_votes, replace_votes, votes_table
from adnominal.etl.lake import arrow
from adnominal.etl.lake.tables import table
from adnominal.etl.published.nli import ADDONE_SOURCES, LABELS, NOT_ENTAILMENT, item_id
from adnominal.etl.published.reading import Reading
from adnominal.etl.published.user_files import file_rows
from adnominal.etl.published.votes import ItemVotes, read_item_votes

log = logging.getLogger("adnominal")

OTHER_LABEL = "label"  # the first word of the reason
NOT_ONE_VALUE = "a list, an object or bytes instead of a text"
THREE_WAY = frozenset(LABELS)
TWO_WAY = frozenset({"entailment", NOT_ENTAILMENT})
SPLITS = ("train", "val", "test")
# Usual names of the parts of a dataset.
_SPLIT_OF = {
    "train": "train", "training": "train", "val": "val", "dev": "val", "valid": "val",
    "validation": "val", "test": "test",
}  # fmt: skip
# The columns of each form, by the table that they are for.
_FORMS = {
    "nli": ("premise", "hypothesis", "label"),
    "graded_pairs": ("adjective", "noun", "score"),
    "minimal_pairs": ("good", "bad"),
    TABLE: ("item",),
}
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
    good: str | None = setting(
        None, help="column of the better sentence of minimal pairs", example="good=sentence_good"
    )
    bad: str | None = setting(None, help="column of the worse sentence of minimal pairs")
    votes: str | None = setting(
        None,
        help="column of people's votes: a list of the label that each gave, or counts as "
        "neutral:3,entailment:2 or JSON; of pairs of sentences, or of the items of item=",
        example="votes=annotator_labels",
    )
    item: str | None = setting(
        None, help="column of ids of items that the lake has, for votes= alone", example="item=id"
    )
    dataset: str | None = setting(None, help="dataset of these items, or nli")
    edition: str | None = setting(None, help="edition of these items; of nli the source")
    split: str = setting(
        "test",
        help="train, val or test for all rows, or the column with the split of each row",
        example="split=SemEval_set",
    )
    lake: str = setting("lake", help="folder or URI of the lake", example="lake=/data/lake")

    def __post_init__(self) -> None:
        self._check_form()
        if not self.source.strip() or self.source in _RESERVED_SOURCES:
            raise UserError(
                f"source={self.source}: expected a name other than {', '.join(_RESERVED_SOURCES)}, "
                "which etl/import_published.py writes"
            )
        if self.labels is not None and not self.label:
            raise UserError("labels= is given without label=; rated pairs have a score= instead")
        if self.label:
            self.mapping()

    def _check_form(self) -> None:
        """Raise `UserError` unless the columns are those of exactly one kind of file."""
        forms = {table: [getattr(self, name) for name in names] for table, names in _FORMS.items()}
        named = [table for table, columns in forms.items() if any(columns)]
        if len(named) != 1 or not all(forms[named[0]]):
            raise UserError(
                "expected either premise=, hypothesis= and label= (pairs of sentences), "
                "adjective=, noun= and score= (rated pairs of words), good= and bad= (minimal "
                "pairs), or item= (votes on items), each with its column"
            )
        of_items = (self.votes, self.dataset, self.edition)
        if self.item and not all(of_items):
            raise UserError(f"item={self.item}: expected votes=, dataset= and edition= with it")
        if not self.item and (self.dataset or self.edition):
            raise UserError("dataset= and edition=: expected item= with them")
        if self.votes and self.table not in ("nli", TABLE):
            raise UserError(f"votes={self.votes}: expected premise= or item= with it")

    @property
    def table(self) -> str:
        """The table that the rows of the file are for."""
        return next(name for name, columns in _FORMS.items() if getattr(self, columns[0]))

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


def read(settings: Settings) -> Reading:
    """The rows of the file, by table; votes are rows of label_votes.

    Raises:
        UserError: the file cannot be read, lacks a column, has labels of both schemes, or has no
            valid row.
    """
    file, name = Path(settings.file), settings.table
    if name == TABLE:
        columns = [str(getattr(settings, column)) for column in ItemVotes._fields]
        return read_item_votes(file, ItemVotes(*columns), settings.lake)
    reader = _RowReader(settings)
    for number, fields, is_surplus in file_rows(file, reader.columns_read):
        reader.add(number, fields, is_surplus)
    rows, reading = reader.rows, reader.reading
    if not rows:
        reasons = reading.reasons() or "it is empty"
        has_other_labels = any(reason.startswith(OTHER_LABEL) for _, reason in reading.dropped)
        expected = f"; labels= knows {', '.join(reader.mapping)}" if has_other_labels else ""
        raise UserError(f"file={file}: no row can be read: {reasons}{expected}")
    reading.notes.append(_summary(name, rows, f"file={file}"))
    reading.tables[name] = pa.Table.from_pylist(rows, table(name).schema)
    if settings.votes:
        source = settings.source
        reading.tables[TABLE] = votes_table(name, source, source, reader.votes)
    return reading


class _RowReader:
    """Makes rows of the settings' table from those of a file, and counts what it drops.

    Attributes:
        columns_read: the columns of the file that are needed.
        mapping: our label for each label of the file; empty for data without labels.
        rows: the rows of the table.
        votes: people's votes by the id of their row, with votes=.
        reading: the drops, and the numbers of rows read.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._table = settings.table
        self._columns = [str(getattr(settings, name)) for name in _FORMS[self._table]]
        self._file = Path(settings.file).name
        self._occurrences: Counter[str] = Counter()
        self.columns_read = list(self._columns)
        if settings.split not in SPLITS:
            self.columns_read.append(settings.split)
        if settings.votes:
            self.columns_read.append(settings.votes)
        self.mapping = settings.mapping() if self._table == "nli" else {}
        self.rows: list[dict[str, Any]] = []
        self.votes: dict[str, Votes] = {}
        self.reading = Reading()

    def add(self, number: int, fields: Mapping[str, Any], is_surplus: bool) -> None:
        """Read the row at line `number`, or drop it by reason."""
        values = [_text(fields[column]) for column in self._columns]
        split = _split_of(self._settings, fields)
        reason = _fault(self._table, values, split, self.mapping)
        if any(isinstance(fields[column], list | dict | bytes) for column in self._columns):
            reason = NOT_ONE_VALUE
        if is_surplus:
            reason = SURPLUS
        sample = f"{self._file}:{number} {' '.join(values)}"
        if reason:
            self.reading.drop(self._table, reason, sample, self._file)
            return
        self.reading.rows_of(self._file).read += 1
        key = "\t".join(values[:2])
        row = _row(self._settings, values, self._occurrences[key], self.mapping)
        self._occurrences[key] += 1
        self.rows.append({**row, "split": _SPLIT_OF[split.lower()]})
        if self._settings.votes:
            try:
                self.votes[row["item_id"]] = read_votes(fields[self._settings.votes], self.mapping)
            except NoVotes as fault:
                self.reading.drop(TABLE, str(fault), sample)


def _text(field: Any) -> str:
    """The text of a field, which may be a number; empty for null and for what pandas has for it."""
    is_missing = field is None or (isinstance(field, float) and not math.isfinite(field))
    return "" if is_missing else str(field).strip()


def _split_of(settings: Settings, fields: Mapping[str, Any]) -> str:
    """The name of a row's part: the setting, or the content of its column."""
    if settings.split in SPLITS:
        return settings.split
    return str(fields[settings.split]).strip()


def _fault(name: str, values: Sequence[str], split: str, mapping: Mapping[str, str]) -> str:
    """Why a row cannot be read; empty if it can."""
    if split.lower() not in _SPLIT_OF:
        return f"split {split!r}"
    if name == "graded_pairs" and finite_number(values[2]) is None:
        return "score is not a number"
    if name == "nli" and values[2] not in mapping:
        return f"{OTHER_LABEL} {values[2]!r}"
    if not is_text(*values):
        return NO_TEXT
    if not (values[0] and values[1]):
        return "empty text"
    return "the same sentence twice" if name == "minimal_pairs" and values[0] == values[1] else ""


def _row(
    settings: Settings, values: Sequence[str], occurrence: int, mapping: Mapping[str, str]
) -> dict[str, Any]:
    """A row of the settings' table, without its split."""
    first, second, *further = values
    source = settings.source
    if settings.table == "graded_pairs":
        return _graded_row(source, first, second, further[0], occurrence)
    if settings.table == "minimal_pairs":
        pair_id = content_hash("minimal", source, first, second, size=8, occurrence=occurrence)
        return {"pair_id": pair_id, "source": source, "good": first, "bad": second}
    return {
        "item_id": item_id(source, first, second, occurrence),
        "source": source,
        "premise": first,
        "hypothesis": second,
        "label": mapping[further[0]],
    }


def _graded_row(
    source: str, adjective: str, noun: str, score: str, occurrence: int
) -> dict[str, Any]:
    """A row of the table graded_pairs, without its split."""
    return {
        "pair_id": content_hash("graded", source, adjective, noun, size=8, occurrence=occurrence),
        "source": source,
        "adjective": drop_invisible(adjective).lower(),
        "noun": drop_invisible(noun).lower(),
        "score": finite_number(score),
    }


def _summary(name: str, rows: list[dict[str, Any]], where: str) -> str:
    """The number of rows of each part, and the label scheme of pairs of sentences."""
    parts = Counter(row["split"] for row in rows)
    part_counts = ", ".join(f"{parts[part]} {part}" for part in SPLITS if parts[part])
    if name != "nli":
        kind = "rated pairs" if name == "graded_pairs" else "minimal pairs"
        return f"{kind}: {part_counts}"
    scheme = _label_scheme({row["label"] for row in rows}, where)
    without = "" if parts["train"] else "; no training rows, so it can only be scored"
    return f"{scheme} labels: {part_counts}{without}"


def import_pairs(settings: Settings) -> None:
    """Import pairs of sentences into nli, rated pairs into graded_pairs, minimal pairs into
    minimal_pairs, and people's votes on labels into label_votes.

    The rows of source= are replaced; rows that cannot be read are dropped by reason. Sources
    without training rows are scored by training/score.py, minimal pairs with method=logprob;
    analysis/graded.py correlates rated pairs with counts, PMI and the scores of models.
    """
    reading = read(settings)
    # Sources of different tables may have the same name, so drops are recorded per table.
    job = f"import_pairs/{settings.source}"
    if settings.table != "nli":
        job += f"/{settings.table}"
    for name, rows in reading.tables.items():
        if name == TABLE:
            replace_votes(settings.lake, rows, job)
        else:
            arrow.replace(settings.lake, name, rows, {"source": settings.source}, job=job)
        log.info("%s: %s of %s", name, count_of(rows.num_rows, "row"), settings.source)
    write_dropped(settings.lake, job, reading.drops())
    for line in [*reading.notes, *reading.account()]:
        log.info("%s: %s", settings.source, line)
