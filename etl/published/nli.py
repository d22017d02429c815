"""Natural-language inference data of MultiNLI, SNLI and AddOne for the table ``nli``.

PLANE's transfer experiments use models trained on these (Bertolini et al. 2022, section 5). Labels
are entailment, neutral and contradiction; AddOne has mean scores of people, from which its authors
derive two labels, entailment and not_entailment. The finding of PLANE's section 5, that a model
tuned on AddOne prefers neutral, needs three.
"""

import re
from collections import Counter
from collections.abc import Iterator
from html import unescape
from io import StringIO
from pathlib import Path
from typing import Any

import pyarrow as pa

from adnominal.conf import UserError
from adnominal.conf.delimited import SURPLUS, Row, read_rows, text_of
from adnominal.conf.numbers import finite_number
from adnominal.conf.texts import NO_TEXT, is_text, json_lines
from adnominal.etl.draws import content_hash
from adnominal.etl.lake.tables import table
from adnominal.etl.published.reading import Reading, relative

LABELS = ("entailment", "neutral", "contradiction")
NOT_ENTAILMENT = "not_entailment"

# Names of the released files.
_FILE = re.compile(
    r"(?P<source>multinli|snli)_[\d.]+_"
    r"(?P<split>train|dev|test|dev_matched|dev_mismatched)\.(?P<kind>jsonl|txt)"
)
_GLUE = re.compile(r"(?P<split>train|dev_matched|dev_mismatched)\.tsv")
_SPLITS = {
    "train": "train",
    "dev": "val",
    "dev_matched": "val",
    "dev_mismatched": "val_mismatched",
    "test": "test",
}
EMPTY = "empty sentence"
# Fields of jsonl and txt, and the columns of GLUE's files.
_FIELDS = ("gold_label", "sentence1", "sentence2")

_ADDONE_FILES = {"data.train": "train", "data.dev": "val", "data.test": "test"}
_ADDONE_COLUMNS = 7
# The source of AddOne's rows by the number of labels, so that both can be in a lake.
ADDONE_SOURCES = {"two": "addone", "three": "addone_three"}
_TAG = re.compile(r"<[^<>]*>")


def item_id(source: str, premise: str, hypothesis: str, occurrence: int = 0) -> str:
    """16 hex digits that identify a row; repeated rows have different ones."""
    return content_hash("nli", source, premise, hypothesis, size=8, occurrence=occurrence)


class _Columns:
    """Rows of the table ``nli``, by column, because the releases have half a million rows."""

    def __init__(self) -> None:
        self.values: dict[str, list[str]] = {name: [] for name in table("nli").schema.names}
        self._occurrences: Counter[tuple[str, str, str]] = Counter()

    def add(self, source: str, split: str, premise: str, hypothesis: str, label: str) -> None:
        """Add a row, with an id that repeated rows do not share."""
        texts = (source, premise, hypothesis)
        row = {
            "item_id": item_id(*texts, self._occurrences[texts]),
            "source": source,
            "premise": premise,
            "hypothesis": hypothesis,
            "label": label,
            "split": split,
        }
        self._occurrences[texts] += 1
        for name, column in self.values.items():
            column.append(row[name])

    def table(self) -> pa.Table:
        return pa.Table.from_pydict(self.values, table("nli").schema)


def read(path: Path) -> Reading:
    """MultiNLI and SNLI below a folder: their jsonl or txt files, or GLUE's tsv files of MNLI.

    If a part has both jsonl and txt, the jsonl is read. Rows without a label (test files, and pairs
    on which the annotators disagree) are dropped by reason.

    Raises:
        UserError: no such folder or no such file in it; a line that is not JSON, or a file without
            the columns, with file and line.
    """
    if not path.is_dir():
        raise UserError(f"nli={path}: no such folder; expected the folder of MultiNLI or SNLI")
    parts: dict[tuple[str, str], Path] = {}
    for file in sorted(path.rglob("*")):
        if name_match := _FILE.fullmatch(file.name):
            # jsonl comes before txt in the order of names and is kept.
            source = "mnli" if name_match["source"] == "multinli" else "snli"
            parts.setdefault((source, _SPLITS[name_match["split"]]), file)
        elif (name_match := _GLUE.fullmatch(file.name)) and file.parent.name.lower() == "mnli":
            parts.setdefault(("mnli", _SPLITS[name_match["split"]]), file)
    if not parts:
        raise UserError(
            f"nli={path}: no file of MultiNLI (multinli_1.0_train.jsonl or .txt, MNLI/train.tsv) "
            "or SNLI (snli_1.0_train.jsonl or .txt) in it"
        )
    columns, reading = _Columns(), Reading()
    for (source, split), file in sorted(parts.items()):
        name = relative(file, path)
        counts = reading.rows_of(name)
        reading.dropped_of.setdefault(source, {})
        for line, row, is_surplus in _rows(file):
            where = f"{name}:{line} {row['sentence1']} {row['sentence2']}"
            label = row["gold_label"]
            premise, hypothesis = row["sentence1"].strip(), row["sentence2"].strip()
            if is_surplus:
                reading.drop("nli", SURPLUS, where, name, source)
            elif label in ("-", "hidden", ""):
                reason = "annotators disagree" if label == "-" else "no label"
                reading.drop("nli", reason, where, name, source)
            elif label not in LABELS:
                reading.drop("nli", f"label {label!r}", where, name, source)
            elif not premise or not hypothesis:
                reading.drop("nli", EMPTY, where, name, source)
            elif not is_text(premise, hypothesis):
                reading.drop("nli", NO_TEXT, where, name, source)
            else:
                counts.read += 1
                columns.add(source, split, premise, hypothesis, label)
    reading.pass_over_others(path, set(parts.values()))
    reading.tables["nli"] = columns.table()
    return reading


def _rows(file: Path) -> Iterator[Row]:
    """The rows of a file, by its suffix."""
    if file.suffix != ".jsonl":
        yield from read_rows(file, str(file), _FIELDS, tabs=True)
        return
    for number, values in json_lines(file, str(file)):
        missing = [name for name in _FIELDS if name not in values]
        if missing:
            raise UserError(
                f"{file}: line {number} has no {', '.join(missing)}; expected {', '.join(_FIELDS)}"
            )
        yield Row(number, {name: _text(values[name]) for name in _FIELDS})


def _text(value: Any) -> str:
    """The text of a value in JSON; empty for null, true, NaN, lists and objects."""
    return "" if value is None or isinstance(value, bool | float | list | dict) else str(value)


def read_addone(path: Path, labels: str = "two") -> Reading:
    """AddOne (Pavlick and Callison-Burch 2016): ``data.train``, ``data.dev`` and ``data.test``.

    A row has seven columns: mean score from one to five, a two-way label, id, adjective, noun, and
    the two sentences with the added word in HTML tags, which are removed. As in the publication,
    scores of at most 3 mean not entailed and scores of at least 4 entailed; rows with scores
    between them are dropped from training and development data. Test data are divided at 3.5.

    With `labels` three, the same rows have the source addone_three, and what is not entailed is a
    contradiction up to a score of 2.5, otherwise neutral. This boundary is ours: on the scale, 1 is
    a contradiction and 3 is unknown, and 2.5 is as far from 3 as the test data's 3.5. Neither
    publication says how three labels were derived.

    Raises:
        UserError: no such folder or file, or a line with other columns, with file and line.
    """
    copies = {name: sorted(path.rglob(name)) for name in _ADDONE_FILES}
    files = [same_name[0] for same_name in copies.values() if same_name]
    if not files:
        raise UserError(
            f"addone={path}: none of {', '.join(_ADDONE_FILES)} in it; expected the folder "
            "addone-entailment/splits of the release"
        )
    columns, reading = _Columns(), Reading()
    for file in files:
        split = _ADDONE_FILES[file.name]
        name = relative(file, path)
        counts = reading.rows_of(name)
        # Not splitlines(): U+2028 and the like are text.
        for number, row in enumerate(StringIO(text_of(file, str(file))), start=1):
            line = row.removesuffix("\n")
            if not line.strip():
                continue
            fields = line.split("\t")
            score = _score(fields)
            if score is None:
                raise UserError(
                    f"{file}:{number}: expected {_ADDONE_COLUMNS} columns separated by tabs, the "
                    f"first a score of 1 to 5; got {line[:80]!r}"
                )
            premise, hypothesis = (_without_tags(text) for text in fields[5:])
            if split != "test" and 3 < score < 4:
                sample = f"{name}:{number} {line}"
                reading.drop("nli", "score between 3 and 4", sample, name)
                continue
            if not premise or not hypothesis:
                reading.drop("nli", EMPTY, f"{name}:{number} {line}", name)
                continue
            counts.read += 1
            label = _addone_label(score, labels)
            columns.add(ADDONE_SOURCES[labels], split, premise, hypothesis, label)
    for first, *others in filter(None, copies.values()):
        for file in others:
            reading.pass_over(file, path, f"the same split is read from {relative(first, path)}")
    reading.pass_over_others(path, files)
    reading.tables["nli"] = columns.table()
    return reading


def _addone_label(score: float, labels: str) -> str:
    """The label of a row of AddOne by its mean score, one of two or of three."""
    if score >= 3.5:
        return "entailment"
    if labels == "two":
        return NOT_ENTAILMENT
    return "contradiction" if score <= 2.5 else "neutral"


def _score(fields: list[str]) -> float | None:
    """The mean score of a row of AddOne; None if the row is malformed."""
    if len(fields) != _ADDONE_COLUMNS:
        return None
    score = finite_number(fields[0])
    return score if score is not None and 1 <= score <= 5 else None


def _without_tags(text: str) -> str:
    """A sentence without tags and with single spaces."""
    return " ".join(unescape(_TAG.sub(" ", text)).split())
