"""The release of PLANE: the splits of two schemes, one file for each part of each fold.

The release has ``supervised_learning/OoD/OOV_Train_N.pkl`` and ``OOV_test_N.pkl``,
``supervised_learning/One-IT/IT3_OoV_Train_N.pkl`` and ``IT3_OoV_test_N.pkl``, N from 1 to 5:
pickles of lists of texts and integers, which are read without any class or function
(`etl.published.pickles`). Text files with a header under these names, or named ``ood_train_1`` and
``one_it_test_1`` (``.tsv``, ``.csv`` or ``.txt``, compressed or not), are read too, and have
priority over a pickle of the same split. The columns are sentence, label, adj_class, adjective,
noun, hypernym; a seventh, noun_hypernym, is not needed. Class N means subsective in some copies and
intensional in others, and the label of a row decides which. Sentences stay unchanged ("A artificial
load is a load").
"""

import logging
import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from adnominal.conf import UserError
from adnominal.conf.texts import NO_TEXT, is_text
from adnominal.etl.checks.split_rows import read_rows
from adnominal.etl.checks.splits import check, text
from adnominal.etl.lake.tables import table
from adnominal.etl.plane import CLASSES, rules
from adnominal.etl.plane.rules import group_id, inference_type, item_id
from adnominal.etl.published import pickles
from adnominal.etl.published.reading import EDITION, Reading, relative

COLUMNS = ("sentence", "label", "adj_class", "adjective", "noun", "hypernym")
_KINDS = (*CLASSES, "N")
_NAME = re.compile(
    r"(?P<kind>ood|oov|good|one[-_]?it|it3[-_]oov)[-_](?P<part>train|val|test)[-_](?P<fold>\w+)"
    r"\.(?P<form>tsv|csv|txt|pkl|pickle|p)(\.\w+)?",
    re.IGNORECASE,
)
_PICKLES = ("pkl", "pickle", "p")
_ONE_IT_PREFIXES = ("one", "it3")
_WORDS = ("adjective", "noun", "hypernym")
_FOLDS = 5

log = logging.getLogger("adnominal")


def read(path: Path) -> Reading:
    """The rows of a release as items and splits; a report on overlaps of the splits is logged.

    Each item is in plane_items once, even if several files have it; plane_splits has a row for
    every row of the files, also repeated ones. Labels are the published ones.

    Raises:
        UserError: no such folder, no file with a name of the release, a pickle that names a class
            or function, or a file without the columns.
    """
    if not path.is_dir():
        raise UserError(f"plane={path}: no such folder; expected the folder of the release")
    reading = Reading()
    files = _files(path, reading)
    if not files:
        raise UserError(
            f"plane={path}: no file named as supervised_learning/OoD/OOV_Train_1.pkl, "
            "ood_train_1.tsv or one_it_test_1.tsv (or .tsv.gz); expected a clone of the release's "
            "repository, or the folder of its splits"
        )
    labels: dict[str, int] = {}
    parts = [_rows(file, path, key, reading, labels) for key, file in sorted(files.items())]
    rows = pa.concat_tables(parts)
    if not rows.num_rows:
        reasons = "; ".join(reason for _, reason in reading.dropped)
        raise UserError(f"plane={path}: no row of the files can be read: {reasons or 'all empty'}")
    reading.notes += _incomplete_schemes(files)
    reading.pass_over_others(path, set(files.values()))
    numbered = rows.append_column("at", pa.array(range(rows.num_rows)))
    distinct = numbered.group_by("item_id").aggregate([("at", "min")])["at_min"].sort()
    items = table("plane_items").schema
    reading.tables["plane_items"] = rows.take(distinct).select(items.names).cast(items)
    splits = table("plane_splits").schema
    reading.tables["plane_splits"] = rows.select(splits.names).cast(splits)
    for scheme in pc.unique(rows["scheme"]).to_pylist():
        scheme_rows = rows.filter(pc.equal(rows["scheme"], scheme))
        folds = check(
            scheme_rows, _WORDS, label="label", identity=["item_id"], same_kind=_WORDS[1:]
        )
        log.info("what scheme %s shares\n%s", scheme, text(folds))
    return reading


def _files(path: Path, reading: Reading) -> dict[tuple[str, str, str], Path]:
    """The file of each (scheme, fold, part): text before a pickle, then the first name."""
    files: dict[tuple[str, str, str], Path] = {}
    named = [(file, name) for file in path.rglob("*") if (name := _NAME.fullmatch(file.name))]
    for file, name in sorted(named, key=lambda f: (f[1]["form"].lower() in _PICKLES, f[0])):
        scheme = "one_it" if name["kind"].lower().startswith(_ONE_IT_PREFIXES) else "published"
        key = (scheme, name["fold"], name["part"].lower())
        if key in files:
            reading.pass_over(file, path, f"the same split is read from {files[key].name}")
        else:
            files[key] = file
    return files


def _incomplete_schemes(files: dict[tuple[str, str, str], Path]) -> list[str]:
    """A line for each scheme that lacks parts of its five folds."""
    lines = []
    for scheme in ("published", "one_it"):
        lacking = {
            part: [str(n) for n in range(1, _FOLDS + 1) if (scheme, str(n), part) not in files]
            for part in ("train", "test")
        }
        if all(len(folds) == _FOLDS for folds in lacking.values()):
            lines.append(f"no file of scheme {scheme}")
        elif any(lacking.values()):
            listed = "; ".join(
                f"no {part} rows of fold {', '.join(folds)}"
                for part, folds in lacking.items()
                if folds
            )
            lines.append(f"scheme {scheme}: {listed}")
    return lines


def _values(file: Path, reading: Reading, name: str) -> Iterator[tuple[int, list[str]]]:
    """Line number and the six columns of each row, as text."""
    if _NAME.fullmatch(file.name)["form"].lower() not in _PICKLES:  # type: ignore[index]
        rows = read_rows(file)
        if "adj_class" not in rows.column_names:
            names = ["adj_class" if c == "class" else c for c in rows.column_names]
            rows = rows.rename_columns(names)
        missing = [column for column in COLUMNS if column not in rows.column_names]
        if missing:
            raise UserError(
                f"{file}: no column {', '.join(missing)}; expected {', '.join(COLUMNS)}, got "
                f"{', '.join(rows.column_names)}"
            )
        columns = (rows[column].to_pylist() for column in COLUMNS)
        yield from enumerate((list(row) for row in zip(*columns, strict=True)), 2)
        return
    rows = pickles.read_plain_values(file)
    if not isinstance(rows, list):
        raise UserError(f"{file}: expected a list of rows, got {type(rows).__name__}")
    for number, row in enumerate(rows, 1):
        values = [_text(value) for value in row] if isinstance(row, list | tuple) else []
        if len(values) not in (len(COLUMNS), len(COLUMNS) + 1) or None in values:
            reading.drop(
                "plane_items",
                "row is not a list of six or seven texts",
                f"{name}:{number} {values}",
                name,
            )
        elif tuple(values[: len(_HEADER)]) != _HEADER:
            yield number, [str(value) for value in values[: len(COLUMNS)]]


def _text(value: object) -> str | None:
    """The text of a value in a pickle; None for other values than texts and integers."""
    if isinstance(value, str):
        return value
    is_number = isinstance(value, int) and value.bit_length() < 64
    return str(value) if is_number else None


_HEADER = ("sentence", "label")


def _class(kind: str, inference: int, label: int) -> str:
    """The class of a row; for N the one of S and O that has the row's label."""
    if kind != "N":
        return kind
    return "S" if rules.label("S", inference) == label else "O"


def _rows(
    file: Path, root: Path, key: tuple[str, str, str], reading: Reading, labels: dict[str, int]
) -> pa.Table:
    """The rows of a file with the columns of both tables.

    `labels` holds the labels of the items so far and is updated.
    """
    scheme, fold, part = key
    name = relative(file, root)
    counts = reading.rows_of(name)
    rows = []
    for line, (sentence, label, kind, adjective, noun, hypernym) in _values(file, reading, name):
        inference = inference_type(sentence, adjective, noun, hypernym)
        reason = ""
        if not is_text(sentence, hypernym):
            reason = NO_TEXT
        elif inference is None:
            reason = "sentence is none of the three inferences of its words"
        elif kind not in _KINDS:
            reason = f"class {kind!r}, not I, S, N or O"
        elif label not in ("0", "1"):
            reason = f"label {label!r}, not 0 or 1"
        else:
            item = item_id(EDITION, inference, adjective, noun, hypernym)
            if labels.setdefault(item, int(label)) != int(label):
                reason = "another label than an earlier row of the same item"
        if inference is None or reason:
            reading.drop("plane_items", reason, f"{name}:{line} {sentence}", name)
            continue
        counts.read += 1
        rows.append(
            {
                "item_id": item,
                "group_id": group_id(adjective, noun, hypernym),
                "adjective": adjective,
                "class": _class(kind, inference, int(label)),
                "noun": noun,
                "hypernym": hypernym,
                "distance": None,
                "inference_type": inference,
                "premise": f"{adjective} {noun}",
                "conclusion": sentence.removeprefix(f"A {adjective} {noun} is a "),
                "label": int(label),
                "sentence": sentence,
                "edition": EDITION,
                "scheme": scheme,
                "fold": fold,
                "part": part,
            }
        )
    fields = {f.name: f for f in [*table("plane_items").schema, *table("plane_splits").schema]}
    return pa.Table.from_pylist(rows, pa.schema(fields.values()))
