"""The release of SyGNS: TSV files with sentences and their meanings.

The columns are id, depth, sentence, fol, folpol, vf, vfpol, tags, drs. Meanings are stored
unchanged, including their faults (docs/sygns.md).

A clone of the repository has one such file, ``scripts/tmp_results/results.tsv`` with ten rows of
each depth, and the files from which it was made: ``scripts/vocab.yaml``,
``scripts/tmp/depthD.scheme.txt``,
``results.tmp.tsv``. It has no training set; ``build_sygns.py preset=paper`` makes one.
"""

import ast
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from adnominal.conf import UserError
from adnominal.conf.delimited import SURPLUS, read_rows
from adnominal.conf.texts import NO_TEXT, is_text, open_text
from adnominal.etl.lake.tables import table
from adnominal.etl.published.reading import EDITION, Reading, relative
from adnominal.etl.sygns import splits
from adnominal.etl.sygns.generate import sentence_id
from adnominal.etl.sygns.grammar import TAGS

COLUMNS = ("id", "depth", "sentence", "fol", "folpol", "vf", "vfpol", "tags", "drs")
# Rows of the smallest training set of the paper; a release with fewer is a sample.
_MIN_FULL_SET = 1000
_INTERMEDIATE_FILES = {
    "results.tmp.tsv": "the input of results.tsv: no columns folpol and drs",
    "vocab.yaml": "the words of the grammar; conf/sygns has them",
    "scheme.txt": "templates of the grammar; etl/build_sygns.py makes them",
}
_DEPTH_DIGITS = 2
_VF_POLARITY = re.compile(r"\[(?:\[\w+,(?:pos|neg)\](?:,(?!\])|(?=\])))*\]")
_VF_WORD = re.compile(r"\[(\w+),(pos|neg)\]")


def read(path: Path, seed: int = 0) -> Reading:
    """The rows of a file, or of every file of a folder that has the columns, with their splits.

    Rows without a formula, with an invalid polarity or depth, and sentences that are repeated at
    the same depth are dropped by reason. `seed` selects the tenth for validation.

    Raises:
        UserError: no such path, no file with the columns, or one that is not UTF-8.
    """
    if not path.exists():
        raise UserError(f"sygns={path}: no such file or folder")
    files = [path] if path.is_file() else sorted(path.glob("**/*.tsv"))
    reading = Reading()
    rows: dict[str, dict[str, Any]] = {}
    used_files: set[Path] = set()
    for file in files:
        if _add_rows(file, path, reading, rows):
            used_files.add(file)
    if not used_files:
        raise UserError(
            f"sygns={path}: no TSV file with the columns {', '.join(COLUMNS)}; expected the "
            "release's results.tsv or a folder that contains it"
        )
    if len(rows) < _MIN_FULL_SET:
        reading.notes.append(
            f"a sample of {len(rows)} sentences and no training rows; "
            "etl/build_sygns.py preset=paper makes the full set"
        )
    if path.is_dir():
        for file in sorted(path.rglob("*")):
            for ending, reason in _INTERMEDIATE_FILES.items():
                if file not in used_files and file.name.endswith(ending):
                    reading.pass_over(file, path, reason)
        reading.pass_over_others(path, used_files)
    reading.tables["sygns"] = pa.Table.from_pylist(list(rows.values()), table("sygns").schema)
    reading.tables["sygns_splits"] = pa.Table.from_pylist(
        [
            split
            for row in rows.values()
            for split in splits.rows_of(row, splits.SCHEMES, seed, EDITION)
        ],
        table("sygns_splits").schema,
    )
    return reading


def _add_rows(file: Path, path: Path, reading: Reading, rows: dict[str, dict[str, Any]]) -> bool:
    """Add a file's rows by their ids; whether it has the columns at all."""
    with open_text(file, str(file)) as lines:
        header = lines.readline().rstrip("\r\n").split("\t")
    if not set(COLUMNS) <= set(header):
        return False
    name = relative(file, path)
    counts = reading.rows_of(name)
    for line, row, is_surplus in read_rows(file, str(file), COLUMNS, tabs=True):
        where = f"{name}:{line} {row['sentence']}"
        try:
            if is_surplus:
                raise ValueError(SURPLUS)
            sentence_row = _row(row)
        except ValueError as error:
            reading.drop("sygns", str(error), where, name)
            continue
        if sentence_row["sentence_id"] in rows:
            reading.drop("sygns", "repeated sentence", where, name)
            continue
        counts.read += 1
        rows[sentence_row["sentence_id"]] = sentence_row
    return True


def _row(row: Mapping[str, str]) -> dict[str, Any]:
    """A row of table ``sygns``; a `ValueError` whose message is the reason to drop it."""
    text = {name: row[name].strip() for name in COLUMNS}
    for name in ("sentence", "fol", "vf", "drs"):
        if not text[name]:
            raise ValueError(f"no {name}")
    if not is_text(*text.values()):
        raise ValueError(NO_TEXT)
    if not text["depth"].isdecimal():
        raise ValueError("depth is not a number")
    if len(text["depth"]) > _DEPTH_DIGITS:
        raise ValueError("depth is too large")
    depth = int(text["depth"])
    tags = dict(part.partition(":")[::2] for part in text["tags"].split(";"))
    if set(tags) != set(TAGS) or not set(tags.values()) <= {"yes", "no"}:
        raise ValueError("other tags than the grammar's")
    return {
        "sentence_id": sentence_id(text["sentence"], depth),
        "depth": depth,
        "sentence": text["sentence"],
        "fol": text["fol"],
        "drs": text["drs"],
        "vf": text["vf"],
        "polarity_fol": _fol_polarity(text["folpol"]),
        "polarity_vf": _vf_polarity(text["vfpol"]),
        "phenomena": [tag for tag in TAGS if tags[tag] == "yes"],
        "edition": EDITION,
    }


def _fol_polarity(text: str) -> list[dict[str, str]]:
    """From ``[('two', 1), ('run', 0)]``: 1 is upward, 0 downward."""
    try:
        pairs = [(word, {1: "up", 0: "down"}[sign]) for word, sign in ast.literal_eval(text)]
        if not all(isinstance(word, str) and is_text(word) for word, _ in pairs):
            raise TypeError
    except (ValueError, SyntaxError, KeyError, TypeError, RecursionError, MemoryError) as error:
        raise ValueError("folpol is not a list of words and 0 or 1") from error
    return [{"word": word, "direction": direction} for word, direction in pairs]


def _vf_polarity(text: str) -> list[dict[str, str]]:
    """From ``[[lion,pos],[swim,neg]]``."""
    if not _VF_POLARITY.fullmatch(text):
        raise ValueError("vfpol is not a list of words and pos or neg")
    return [
        {"word": word, "direction": "up" if sign == "pos" else "down"}
        for word, sign in _VF_WORD.findall(text)
    ]
