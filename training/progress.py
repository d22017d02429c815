"""How far a run is: a bar on a terminal, a line every few seconds elsewhere."""

from __future__ import annotations

import logging
import sys
import time
from types import TracebackType

from training import launch

__all__ = ["Progress", "duration", "line"]

_EVERY = 5.0
log = logging.getLogger("adnominal")


def duration(seconds: float) -> str:
    """``47 s``, ``3 min 10 s`` or ``2 h 05 min``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def line(
    label: str, done: int, total: int, rate: float, note: str = "", unit: str = "samples"
) -> str:
    """One line: share done, samples a second, time left, and a note."""
    left = f"{duration((total - done) / rate)} left" if rate > 0 else "starting"
    text = (
        f"{label}: {done / max(1, total):4.0%}  {done:,} of {total:,}  {rate:.1f} {unit}/s  {left}"
    )
    return f"{text}  {note}" if note else text


class Progress:
    """Progress through `total` samples, `done` of them before; the first process tells it."""

    def __init__(self, label: str, total: int, done: int = 0, unit: str = "samples") -> None:
        self._unit = unit
        self._label, self._total, self._done = label, total, done
        self._start_done, self._started, self._told = done, time.monotonic(), time.monotonic()
        self._bar = None
        self._speaks = launch.rank() == 0
        if self._speaks and sys.stderr.isatty():
            from tqdm import tqdm

            self._bar = tqdm(total=total, initial=done, unit=unit, desc=label, dynamic_ncols=True)

    def advance(self, samples: int, note: str = "") -> None:
        """Count further samples."""
        self._done += samples
        if self._bar is not None:
            self._bar.set_postfix_str(note, refresh=False)
            self._bar.update(samples)
        elif self._speaks and time.monotonic() - self._told >= _EVERY:
            self._told = time.monotonic()
            rate = (self._done - self._start_done) / (self._told - self._started)
            log.info("%s", line(self._label, self._done, self._total, rate, note, self._unit))

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close()
