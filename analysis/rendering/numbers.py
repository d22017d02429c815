"""The format of single numbers in a report."""

from decimal import ROUND_HALF_UP, Decimal

from adnominal.analysis.statistics import Interval
from adnominal.conf import numbers


def round_half_up(value: float, digits: int) -> Decimal:
    """Round the value to `digits`; halves are rounded up, as in papers."""
    # Rounding to twelve digits first hides binary representation errors.
    return Decimal(f"{value:.12g}").quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)


def number(value: float, digits: int) -> str:
    """Format a number as ``1,234.5``, with a typographic minus sign if it is negative."""
    return f"{round_half_up(value, digits):,f}".replace("-", "−")


def percent(share: Interval | float | None) -> str:
    """Format a share in percent, without the % sign: ``70.6``, ``70.6 [68.4, 72.8]`` for an
    interval, or ``–`` for None."""
    if not isinstance(share, Interval):
        return numbers.percent(share)
    ends = (number(100 * end, 1) for end in (share.estimate, share.low, share.high))
    return "{} [{}, {}]".format(*ends)


def percent_difference(difference: float, low: float, high: float) -> str:
    """A difference of shares with its interval, in percentage points: ``+1.4 [−0.2, 3.0]``."""
    estimate, *ends = (signed_number(100 * value) for value in (difference, low, high))
    return f"{estimate} [{', '.join(ends)}]"


def p_value(p: float) -> str:
    """Three digits: ``0.042``, or ``< 0.001``."""
    return "< 0.001" if p < 0.0005 else f"{p:.3f}"


def signed_number(value: float, digits: int = 1) -> str:
    """Format a difference as ``+1.4`` or ``−0.2``; one that rounds to zero has no sign."""
    text = f"{value:+.{digits}f}"
    return text.replace("-", "−") if float(text) else text[1:]
