"""Count the input bytes that the tasks of this process have read, for `conf.progress`."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

_send: Callable[[int], None] | None = None
_bytes_read = 0
_lock = threading.Lock()
_of_thread = threading.local()


@dataclass
class _Unit:
    """The stored bytes of a file from `reported` to `end` that a thread reads."""

    reported: int
    end: int


@contextmanager
def unit_in_work(start: int, end: int) -> Iterator[None]:
    """Report a unit of a file, from byte `start` to `end`, as it is read; whole when it is done.

    A failure of the task reports nothing more, because the unit is read again.
    """
    unit = _Unit(start, end)
    _of_thread.unit = unit
    try:
        yield
    finally:
        _of_thread.unit = None
    advance(unit.end - unit.reported)


def reached(position: int) -> None:
    """Report that the file of this thread's unit has been read up to the stored byte `position`.

    Nothing is reported for files that are read otherwise.
    """
    unit: _Unit | None = getattr(_of_thread, "unit", None)
    if unit is None or position <= unit.reported:
        return
    position = min(position, unit.end)
    size = position - unit.reported
    unit.reported = position
    advance(size)


def advance(size: int) -> None:
    """Report that a task has processed `size` bytes of input.

    Only the embedded engine counts them; Spark reports its finished tasks by itself. A retried task
    counts twice, which affects only the progress line in the log.
    """
    global _bytes_read
    if _send is not None:
        _send(size)
        return
    with _lock:
        _bytes_read += size


def report_to(send: Callable[[int], None]) -> None:
    """Make `advance` pass its sizes on to `send`, in a process that works for another one."""
    global _send
    _send = send


def bytes_read() -> int:
    """Return the bytes that tasks have reported in this process since it started."""
    return _bytes_read
