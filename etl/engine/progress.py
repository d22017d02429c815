"""How much of their input the tasks of this process have read (`conf.progress` shows it)."""

from __future__ import annotations

import threading
from collections.abc import Callable

_send: Callable[[int], None] | None = None
_bytes_read = 0
_lock = threading.Lock()


def advance(size: int) -> None:
    """Tell that a task is done with `size` bytes of input.

    Counted in the embedded engine alone; Spark reports its finished tasks by itself. A task that
    is retried counts twice: nothing but a line in the log depends on it.
    """
    global _bytes_read
    if _send is not None:
        _send(size)
        return
    with _lock:
        _bytes_read += size


def report_to(send: Callable[[int], None]) -> None:
    """Have `advance` pass its sizes on to `send`, in a process that works for another one."""
    global _send
    _send = send


def bytes_read() -> int:
    """The bytes that tasks of this process have told of since it started."""
    return _bytes_read
