"""Standard output whose reader may leave before a job ends, as ``head`` does."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any, TextIO, cast


class _Output:
    """The stream `stream`, which turns into the null device once nobody reads it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        self._unless_closed(lambda: self._stream.write(text))
        return len(text)

    def flush(self) -> None:
        self._unless_closed(self._stream.flush)

    def _unless_closed(self, action: Callable[[], object]) -> None:
        try:
            action()
        except BrokenPipeError:
            # What the stream still holds must not fail when the interpreter flushes it at its end.
            with open(os.devnull, "wb") as null_device:
                os.dup2(null_device.fileno(), self._stream.fileno())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextlib.contextmanager
def output_may_be_closed() -> Iterator[None]:
    """Inside, a closed pipe at standard output (``| head``) ends the output and nothing else.

    A job has more to do than to print: it reports files that failed, logs its run, sets the exit
    code. Closed pipes to other processes remain errors.
    """
    if cast("TextIO | None", sys.stdout) is None:  # started without one
        yield
        return
    output = _Output(sys.stdout)
    with contextlib.redirect_stdout(cast("TextIO", output)):
        try:
            yield
        finally:
            output.flush()
