"""Open users' text files and read JSON in them, with one message for each fault."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from adnominal.conf import UserError

UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")
# First bytes of other files that are renamed as text, and what to do about them.
_OTHER_CONTENT = {
    b"\x1f\x8b": "gzip data; unpack it",
    b"BZh": "bzip2 data; unpack it",
    b"\xfd7zXZ": "xz data; unpack it",
    b"\x28\xb5\x2f\xfd": "Zstandard data; unpack it",
    b"PK\x03\x04": "a zip archive or a workbook of a spreadsheet; unpack or export it",
    b"\xd0\xcf\x11\xe0": "a workbook of a spreadsheet; export it as CSV",
    b"PAR1": "Parquet; name the file .parquet",
}


NO_TEXT = "half a surrogate pair or NUL, which is no text"


def is_text(*values: str) -> bool:
    """Whether the values are text: JSON and pickles may contain NUL and half a surrogate pair."""
    try:
        return b"\0" not in "".join(values).encode()
    except UnicodeEncodeError:
        return False


def first_line(message: object) -> str:
    """The first line of an error or its message, which other programs may continue for pages."""
    lines = str(message).strip().splitlines()
    return lines[0].strip() if lines else type(message).__name__


@contextmanager
def open_text(file: Path, name: str) -> Iterator[TextIO]:
    """The text of a file without a byte order mark; messages call the file `name`.

    Line ends stay as they are in the file.

    Raises:
        UserError: it cannot be read, or is not UTF-8, with the first line that is not.
    """
    try:
        with file.open(encoding="utf-8-sig", newline="") as lines:
            yield lines
    except OSError as error:
        raise UserError(f"{name}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{name}: {decoding_fault(file)}") from error


def other_content(file: Path) -> str | None:
    """What a file is by its first bytes, if that is no text in UTF-8, and what to do about it."""
    with file.open("rb") as stream:
        head = stream.read(6)
    if head.startswith(UTF_16_MARKS) or b"\0" in head[:2]:
        return "UTF-16; save it as UTF-8"
    return next((what for mark, what in _OTHER_CONTENT.items() if head.startswith(mark)), None)


def decoding_fault(file: Path) -> str:
    """Why a file is not text in UTF-8, and how to mend it."""
    if fault := other_content(file):
        return fault
    position = 0
    with file.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if b"\0" in line:
                return f"NUL, which is no text, in line {number}; save it as UTF-8"
            try:
                line.decode()
            except UnicodeDecodeError as error:
                byte = position + error.start
                return f"not UTF-8 at byte {byte}, in line {number}; save it as UTF-8"
            position += len(line)
    return "not UTF-8; save it as UTF-8"


def json_value(text: str | bytes) -> Any:
    """The value that a text in JSON contains.

    Raises:
        ValueError: it is not JSON, an object has a name twice, it is nested too deeply to read, or
            a whole number has thousands of digits.
    """
    try:
        return json.loads(text, object_pairs_hook=_object)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    except ValueError as error:
        if "integer string conversion" in str(error):
            raise ValueError("a number of thousands of digits") from error
        raise


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the name {repeated!r} twice in one object")
    return values


def json_lines(file: Path, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a file in JSON lines, each with the number of its line from 1.

    Lines of white space are skipped. Messages call the file `name`.

    Raises:
        UserError: the file cannot be read, is not UTF-8, or has a line that is not a JSON object.
    """
    with open_text(file, name) as lines:
        for number, line in enumerate(lines, start=1):
            content = line.strip().strip("\ufeff").strip()
            if not content:
                continue
            try:
                value = json_value(content)
            except ValueError as error:
                raise UserError(
                    f"{name}: line {number}: not JSON ({error}); is the file complete?"
                ) from error
            if not isinstance(value, dict):
                raise UserError(
                    f"{name}: line {number}: expected a JSON object, got {content[:40]!r}"
                )
            yield number, value
