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
    columns = []
    for place, name in enumerate(header):
        values = [row[place] for row in rows]
        columns.append(_aligned_column(name, values, widest))
    lines = ["  ".join(cells).rstrip() for cells in zip(*columns, strict=True)]
    return "\n".join(lines)


def _aligned_column(name: str, values: Sequence[Any], widest: int) -> list[str]:
    """The name and the values of a column, padded to the width of the longest."""
    is_numeric = all(isinstance(value, (int, float, type(None))) for value in values)
    texts = [name, *(cell(value, widest) for value in values)]
    column_width = max(width(text) for text in texts)
    padded_texts = []
    for text in texts:
        spaces = " " * (column_width - width(text))
        padded_texts.append(spaces + text if is_numeric and values else text + spaces)
    return padded_texts


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
