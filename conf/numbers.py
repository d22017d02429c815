"""Format counts and shares for people, and read the numbers of their files."""

import math


def finite_number(text: str) -> float | None:
    """The number that a text is; None for other texts, NaN, infinities, and Python's ``1_000``."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and "_" not in text else None


def percent(share: float | None, absent: str = "–", sign: str = "") -> str:
    """A share (0 to 1) in percent, ``70.6`` followed by `sign`; `absent` if it is None."""
    return absent if share is None else f"{100 * share:.1f}{sign}"


def percent_with_deviation(mean: float, deviation: float | None) -> str:
    """A mean of shares in percent, with its standard deviation if known: ``69.9 ± 38.0``."""
    spread = "" if deviation is None else f" ± {percent(deviation)}"
    return f"{percent(mean)}{spread}"


def count_of(number: int, noun: str) -> str:
    """A count with its noun: ``1 file``, ``1,204 files``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
