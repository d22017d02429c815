"""Standard output: of any encoding, and with a reader that may leave early, as ``head`` does."""

import contextlib
import io
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any, TextIO, cast


class _Output:
    """A stream that is redirected to the null device once nobody reads it."""

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
            # The rest of the buffer must not fail when the interpreter flushes it at exit.
            with open(os.devnull, "wb") as null_device:
                os.dup2(null_device.fileno(), self._stream.fileno())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextlib.contextmanager
def output_may_be_closed() -> Iterator[None]:
    """Inside this context, a closed standard output (``| head``) ends only the output.

    The job still has to report failed files, log its run and set the exit code. Closed pipes to
    other processes remain errors.
    """
    if cast("TextIO | None", sys.stdout) is None:  # started without one
        yield
        return
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.encoding.lower() != "utf-8":
        # Characters that the terminal's encoding lacks, as standard error writes them.
        sys.stdout.reconfigure(errors="backslashreplace")
    output = _Output(sys.stdout)
    with contextlib.redirect_stdout(cast("TextIO", output)):
        try:
            yield
        finally:
            output.flush()
