"""Count the input bytes that the tasks of this process have read, for `conf.progress`."""

import threading
from collections.abc import Callable

_send: Callable[[int], None] | None = None
_bytes_read = 0
_lock = threading.Lock()


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
