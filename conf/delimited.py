"""Read the rows of users' CSV and TSV files, with one message for each fault."""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from adnominal.conf import UserError
from adnominal.conf.texts import decoding_fault, open_text

SURPLUS = "more fields than columns"
"""The reason to drop a row with `Row.is_surplus`."""


class Row(NamedTuple):
    """A row of a file.

    Attributes:
        line: its first line, from 1.
        fields: text by column; a missing field is empty.
        is_surplus: whether it has more fields than the header, so that any of them may be in a
            wrong column.
    """

    line: int
    fields: dict[str, str]
    is_surplus: bool = False


def text_of(file: Path, name: str) -> str:
    """The content of a file without a byte order mark; messages call the file `name`.

    Raises:
        UserError: it cannot be read, or is not UTF-8.
    """
    try:
        text = file.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise UserError(f"{name}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{name}: {decoding_fault(file)}") from error
    if "\0" in text:
        raise UserError(f"{name}: {decoding_fault(file)}")
    return text


def delimiter_of(header: str) -> str:
    """The delimiter in the header of a CSV file: some languages' spreadsheets write semicolons."""
    return ";" if ";" in header and "," not in header else ","


def rows_of(
    text: str,
    name: str,
    needed: Sequence[str] = (),
    *,
    tabs: bool = False,
    expected: str = "",
    columns: Sequence[str] | None = None,
) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows below the header, each with the number of its first line; missing fields are empty.

    Fields are separated by commas (or semicolons) and may be quoted; with `tabs` they are separated
    by tabs and never quoted. `expected` describes a file with the columns `needed`. `columns` names
    the columns of a file without a header, whose rows begin in line 1.

    Raises:
        UserError: a column of `needed` is missing, two columns have one name, a row has more fields
            than columns, or the csv module refuses the file (for example because of an open quote).
    """
    lines = io.StringIO(text, newline="")
    delimiter = "\t" if tabs else delimiter_of(text.partition("\n")[0])
    reader = _Reader(lines, name, delimiter)
    names = reader.header(needed, expected) if columns is None else list(columns)
    for row in reader.rows(names):
        if row.is_surplus:
            mark = {",": "comma", ";": "semicolon"}.get(delimiter)
            mend = f"quote a field that has a {mark}" if mark else "remove a tab"
            raise UserError(
                f"{name}: line {row.line}: more fields than the {len(names)} columns; {mend}"
            )
        yield row.line, row.fields


def read_rows(
    file: Path, name: str, needed: Sequence[str] = (), *, tabs: bool = False, expected: str = ""
) -> Iterator[Row]:
    """The rows of a file of any length, read line by line; messages call the file `name`.

    As in `rows_of`, but the caller decides on rows with more fields than columns.

    Raises:
        UserError: as `rows_of`; the file cannot be read, or is not UTF-8.
    """
    with open_text(file, name) as lines:
        header = lines.readline()
        if "\0" in header:
            raise UserError(f"{name}: {decoding_fault(file)}")
        delimiter = "\t" if tabs else delimiter_of(header)
        lines.seek(0)
        reader = _Reader(lines, name, delimiter)
        yield from reader.rows(reader.header(needed, expected))


class _Reader:
    """Reads a file row by row, and reports faults with its name and the line."""

    def __init__(self, lines: Iterable[str], name: str, delimiter: str) -> None:
        if delimiter == "\t":
            self._reader = csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_NONE)
        else:
            self._reader = csv.reader(lines, delimiter=delimiter, strict=True)
        self._name = name
        self._hint = ""
        self._is_tabs = delimiter == "\t"
        if not self._is_tabs:
            self._hint = "; close every quote, and double those inside a quoted field"
        self._line = 1

    def header(self, needed: Sequence[str], expected: str) -> list[str]:
        """The names of the columns, which must have those in `needed`, and no name twice."""
        names = [name.strip() for name in next(self._fields(), [])]
        if names and names[0].lower().startswith("sep="):
            raise UserError(
                f"{self._name}: line 1 is a spreadsheet's mark of the separator; remove it"
            )
        if missing := sorted(set(needed) - set(names)):
            if len(names) == 1 and "\t" in names[0]:
                raise UserError(
                    f"{self._name}: tabs separate the columns in line 1; name the file .tsv"
                )
            if len(names) == 1 and self._is_tabs and delimiter_of(names[0]) in names[0]:
                raise UserError(f"{self._name}: no tab in line 1; expected columns between tabs")
            raise UserError(
                f"{self._name}: line 1 has no column {', '.join(missing)}, it has "
                f"{', '.join(names) or 'nothing'}" + (expected and f"; expected {expected}")
            )
        repeated = dict.fromkeys(name for name in names if name and names.count(name) > 1)
        if repeated:
            raise UserError(
                f"{self._name}: line 1 has more than one column {', '.join(repeated)}; rename or "
                "remove all but one"
            )
        return names

    def rows(self, names: Sequence[str]) -> Iterator[Row]:
        for fields in self._fields():
            missing = len(names) - len(fields)
            values = fields if missing <= 0 else fields + [""] * missing
            yield Row(self._line, dict(zip(names, values, strict=False)), missing < 0)

    def _fields(self) -> Iterator[list[str]]:
        """The fields of each row that is not blank; `_line` is its first line."""
        self._line = self._reader.line_num + 1
        try:
            for fields in self._reader:
                if any(map(str.strip, fields)):
                    yield fields
                self._line = self._reader.line_num + 1
        except csv.Error as error:
            raise UserError(f"{self._name}: line {self._line}: {error}{self._hint}") from error
