"""Read the rows of users' CSV and TSV files, with one message for each fault."""

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

from adnominal.conf import UserError


def text_of(file: Path, name: str) -> str:
    """The content of a file without a byte order mark; messages call the file `name`.

    Raises:
        UserError: it cannot be read, or is not UTF-8.
    """
    try:
        return file.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise UserError(f"{name}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{name}: not UTF-8 at byte {error.start}; save it as UTF-8") from error


def delimiter_of(text: str) -> str:
    """The delimiter in the header of a CSV file: some languages' spreadsheets write semicolons."""
    header = text.partition("\n")[0]
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
        UserError: a column of `needed` is missing, a row has more fields than columns, or the csv
            module refuses the file (for example because of an open quote).
    """
    lines = io.StringIO(text, newline="")
    delimiter = "\t" if tabs else delimiter_of(text)
    if tabs:
        reader = csv.DictReader(lines, columns, delimiter=delimiter, quoting=csv.QUOTE_NONE)
    else:
        reader = csv.DictReader(lines, columns, delimiter=delimiter, strict=True)
    line = 1
    try:
        names = reader.fieldnames or ()
        if missing := sorted(set(needed) - set(names)):
            raise UserError(
                f"{name}: line 1 has no column {', '.join(missing)}, it has "
                f"{', '.join(names) or 'nothing'}" + (expected and f"; expected {expected}")
            )
        line = reader.line_num + 1
        for row in reader:
            if None in row:  # csv.DictReader's key for fields without a column
                mark = {",": "comma", ";": "semicolon"}.get(delimiter)
                mend = f"quote a field that has a {mark}" if mark else "remove a tab"
                raise UserError(
                    f"{name}: line {line}: more fields than the {len(names)} columns; {mend}"
                )
            yield line, {column: value or "" for column, value in row.items()}
            line = reader.line_num + 1
    except csv.Error as error:
        hint = "" if tabs else "; close every quote, and double those inside a quoted field"
        raise UserError(f"{name}: line {line}: {error}{hint}") from error
