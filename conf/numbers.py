"""Shares as people read them: in percent, to one digit."""

from __future__ import annotations


def percent(share: float | None, absent: str = "–", sign: str = "") -> str:
    """A share (0 to 1) in percent, ``70.6`` with `sign` after it; `absent` where there is none."""
    return absent if share is None else f"{100 * share:.1f}{sign}"


def percent_with_deviation(mean: float, deviation: float | None) -> str:
    """A mean of shares in percent with its standard deviation, ``69.9 ± 38.0``, where known."""
    spread = "" if deviation is None else f" ± {percent(deviation)}"
    return f"{percent(mean)}{spread}"
