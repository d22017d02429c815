"""How far long work is: a bar on a terminal, a line every few seconds in a log.

Both have the share that is done, the rate and the time left, and both are tqdm's.
"""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import TracebackType
from typing import TextIO

__all__ = ["Progress", "duration", "reported"]

_LOG_INTERVAL = 5.0  # seconds between two lines of a log
_COUNTS = "{n_fmt} of {total_fmt}  {rate_fmt}  {remaining} left{postfix}"
_BAR = f"{{desc}}: {{percentage:3.0f}}% |{{bar}}| {_COUNTS}"
_LOG_LINE = f"{{desc}}: {{percentage:3.0f}}%  {_COUNTS}"

log = logging.getLogger("adnominal")


def duration(seconds: float) -> str:
    """``47 s``, ``3 min 10 s`` or ``2 h 05 min``."""
    rounded = round(seconds)
    if rounded < 60:
        return f"{rounded} s"
    if rounded < 3600:
        return f"{rounded // 60} min {rounded % 60:02d} s"
    return f"{rounded // 3600} h {rounded % 3600 // 60:02d} min"


class _LogStream:
    """A stream whose texts become lines of the log."""

    def write(self, text: str) -> None:
        line = text.strip("\r\n ")
        if line:
            log.info("%s", line)

    def flush(self) -> None:
        """Nothing is held back."""


class Progress:
    """Progress through `total` units of work, to be used in a ``with`` block."""

    def __init__(
        self,
        label: str,
        total: int,
        initial: int = 0,
        unit: str = "samples",
        *,
        silent: bool = False,
        stream: TextIO | None = None,
    ) -> None:
        """Args:
        label: what is being done.
        total: how many units there are.
        initial: how many of them were done before.
        unit: their name in the plural; ``B`` for bytes, which get prefixes.
        silent: another process reports the same work.
        stream: where a bar is drawn, if it is a terminal; standard error.
        """
        # Not at the top: the length of a run is told without it, also on executors of a cluster.
        from tqdm import tqdm

        stream = stream or sys.stderr
        self._terminal = stream.isatty()
        self._stack = ExitStack()
        self._bar = tqdm(
            total=total,
            initial=initial,
            desc=label,
            unit="B" if unit == "B" else f" {unit}",
            unit_scale=unit == "B",
            file=stream if self._terminal else _LogStream(),
            mininterval=0.1 if self._terminal else _LOG_INTERVAL,
            delay=0 if self._terminal else _LOG_INTERVAL,
            miniters=1,
            maxinterval=float("inf"),
            leave=False,
            dynamic_ncols=self._terminal,
            bar_format=_BAR if self._terminal else _LOG_LINE,
            disable=silent,
        )

    def advance(self, units: int, note: str = "") -> None:
        """Count further units; the note stands at the end of the bar or line."""
        if note:
            self._bar.set_postfix_str(note, refresh=False)
        self._bar.update(units)

    def reach(self, total_units: int) -> None:
        """Have `done` units counted in all; fewer than before count as no change."""
        self._bar.update(max(0, min(total_units, self._bar.total) - self._bar.n))

    def __enter__(self) -> Progress:
        if self._terminal and not self._bar.disable:
            from tqdm.contrib.logging import logging_redirect_tqdm

            # Lines of the log are written above the bar.
            self._stack.enter_context(logging_redirect_tqdm())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None
    ) -> None:
        self._bar.close()
        self._stack.close()


@contextmanager
def reported(label: str, size: int, share: Callable[[], float]) -> Iterator[None]:
    """Report the progress of work on `size` bytes while the block runs.

    Args:
        label: what is being done.
        size: of the input, in bytes, for the rate.
        share: gives the share of it that is done, 0 to 1; asked about once a second.
    """
    ended = threading.Event()
    with Progress(label, size, unit="B") as progress:

        def report() -> None:
            while not ended.wait(1.0):
                progress.reach(round(size * share()))

        thread = threading.Thread(target=report, name="progress", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
