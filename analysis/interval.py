"""An estimate with its interval: what statistics give and tables show."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Interval:
    """An estimate with its confidence interval, as shares from 0 to 1; `n` items."""

    estimate: float
    low: float
    high: float
    n: int
    level: float = 0.95
