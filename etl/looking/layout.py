"""Format tables and numbers for a terminal."""

import json
import unicodedata
from collections.abc import Sequence
from datetime import datetime
from typing import Any

_WIDEST = 60


def width(text: str) -> int:
    """Return the terminal columns of `text`: two per wide character, none per combining one."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def cell(value: Any, widest: int = _WIDEST) -> str:
    """Format a value in one line of at most `widest` columns; ``…`` marks a cut."""
    if value is None:
        return "null"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S")
    if isinstance(value, bytes):
        value = value.hex()
    if isinstance(value, (list, dict)):
        value = json.dumps(value, ensure_ascii=False, default=str)
    text = " ".join(str(value).split()) if isinstance(value, str) else str(value)
    if width(text) <= widest:
        return text
    while width(text) > widest - 1:
        text = text[:-1]
    return text + "…"


def format_table(
    header: Sequence[str], rows: Sequence[Sequence[Any]], widest: int = _WIDEST
) -> str:
    """Format rows under a header; numbers are right-aligned, all else left-aligned."""
    right = [
        bool(rows) and all(isinstance(row[place], (int, float, type(None))) for row in rows)
        for place in range(len(header))
    ]
    lines = [list(header), *[[cell(value, widest) for value in row] for row in rows]]
    widths = [max(width(line[place]) for line in lines) for place in range(len(header))]

    def padded(text: str, place: int) -> str:
        spaces = " " * (widths[place] - width(text))
        return spaces + text if right[place] else text + spaces

    return "\n".join(
        "  ".join(padded(text, place) for place, text in enumerate(line)).rstrip() for line in lines
    )


def size(count: float) -> str:
    """Format a number of bytes with its unit: ``731 B``, ``1.2 MB``."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def number(count: int | None) -> str:
    """Format a count with thousands separators; ``?`` if the table does not record it."""
    return "?" if count is None else f"{count:,}"
