"""Progress of long work: a bar on a terminal, a line every few seconds in a log.

Both show the share that is done, the rate and the time left, and both are written by tqdm.
"""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TextIO

_LOG_INTERVAL = 5.0  # seconds between two lines
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
    """A stream that writes each text as a line of the log."""

    def write(self, text: str) -> None:
        line = text.strip("\r\n ")
        if line:
            log.info("%s", line)

    def flush(self) -> None:
        """Do nothing: nothing is buffered."""


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
        label: the name of the work.
        total: the number of units.
        initial: the number of units that were done before.
        unit: the name of the units in the plural; ``B`` for bytes, which get prefixes.
        silent: whether to write nothing, because another process reports the same work.
        stream: the stream for the bar, if it is a terminal; standard error by default.
        """
        # Imported here because `duration` is used without it on the executors of a cluster.
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
        """Count further units; the note is shown at the end of the bar or line."""
        if note:
            self._bar.set_postfix_str(note, refresh=False)
        self._bar.update(units)

    def reach(self, total_units: int) -> None:
        """Set the number of units done in all; a number smaller than before changes nothing."""
        self._bar.update(max(0, min(total_units, self._bar.total) - self._bar.n))

    def __enter__(self) -> Progress:
        if self._terminal and not self._bar.disable:
            from tqdm.contrib.logging import logging_redirect_tqdm

            # Log lines are written above the bar.
            self._stack.enter_context(logging_redirect_tqdm())
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()
        self._stack.close()


@contextmanager
def report_progress(label: str, size: int, share: Callable[[], float]) -> Iterator[None]:
    """Report the progress of work on `size` bytes while the block runs.

    Args:
        label: the name of the work.
        size: size of the input in bytes, for the rate.
        share: returns the share of the work that is done, 0 to 1; called about once a second.
    """
    end = threading.Event()
    with Progress(label, size, unit="B") as progress:

        def report() -> None:
            while not end.wait(1.0):
                progress.reach(round(size * share()))

        thread = threading.Thread(target=report, name="progress", daemon=True)
        thread.start()
        try:
            yield
        finally:
            end.set()
            thread.join()
