"""CSV and TSV files that users give: their rows, with one message for each fault."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

from conf import UserError


def text_of(file: Path, name: str) -> str:
    """The content of a file, which messages call `name`, without a byte order mark.

    Raises:
        UserError: it cannot be read, or is not UTF-8.
    """
    try:
        return file.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise UserError(f"{name}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{name}: not UTF-8 at byte {error.start}; save it as UTF-8") from error


def rows_of(
    text: str, name: str, needed: Sequence[str] = (), *, tabs: bool = False, expected: str = ""
) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows under the header, each with the line that it begins on; absent fields are empty.

    Fields are separated by commas and may be quoted, or by `tabs` and never are. `expected` says
    which file has the columns `needed`.

    Raises:
        UserError: a column of `needed` is not there; a row with more fields than columns; a quote
            that is not closed, or what else the csv module refuses.
    """
    lines = io.StringIO(text, newline="")
    if tabs:
        reader = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
    else:
        reader = csv.DictReader(lines)
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
            if None in row:  # csv.DictReader's name for what no column is left for
                raise UserError(
                    f"{name}: line {line}: more fields than the {len(names)} columns; "
                    f"{'remove a tab' if tabs else 'quote a field that has a comma'}"
                )
            yield line, {column: value or "" for column, value in row.items()}
            line = reader.line_num + 1
    except csv.Error as error:
        raise UserError(f"{name}: line {line}: {error}") from error
