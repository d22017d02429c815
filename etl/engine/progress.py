"""One line every few seconds: the share of a job that is done, its rate, the time left."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

log = logging.getLogger("adnominal")

_send: Callable[[int], None] | None = None
_done = 0
_lock = threading.Lock()


def advance(size: int) -> None:
    """Tell that a task is done with `size` bytes of input.

    Counted in the embedded engine alone; Spark reports its finished tasks by itself. A task that
    is retried counts twice: nothing but a line in the log depends on it.
    """
    global _done
    if _send is not None:
        _send(size)
        return
    with _lock:
        _done += size


def report_to(send: Callable[[int], None]) -> None:
    """Have `advance` pass its sizes on to `send`, in a process that works for another one."""
    global _send
    _send = send


def done() -> int:
    """The bytes that tasks of this process have told of since it started."""
    return _done


def duration(seconds: float) -> str:
    """``47 s``, ``3 min 10 s`` or ``2 h 05 min``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def line(label: str, share: float, size: int, seconds: float) -> str:
    """The progress line of a job over `size` bytes of which `share` (0 to 1) is done."""
    speed = size * share / seconds / 1e6 if seconds > 0 else 0.0
    left = f"{duration(seconds * (1 - share) / share)} left" if share > 0 else "starting"
    return (
        f"{label}: {share:4.0%}  {size * share / 1e6:.1f} of {size / 1e6:.1f} MB  "
        f"{speed:.2f} MB/s  {left}"
    )


@contextmanager
def reported(
    label: str, size: int, share: Callable[[], float], every: float = 5.0
) -> Iterator[None]:
    """Log a progress line every few seconds while the block runs.

    Args:
        label: what is being done.
        size: of the input, in bytes, for the rate.
        share: gives the share of it that is done, 0 to 1.
        every: seconds between two lines.
    """
    ended = threading.Event()
    started = time.monotonic()

    def report() -> None:
        while not ended.wait(every):
            log.info("%s", line(label, min(share(), 1.0), size, time.monotonic() - started))

    thread = threading.Thread(target=report, name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
