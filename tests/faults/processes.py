"""Cases run in processes forked from one that has imported everything.

A new interpreter takes seconds for the imports of a command; a fork takes milliseconds. The parent
uses neither delta-rs nor an engine, because a fork would lose the threads that they start.
"""

import contextlib
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.faults.interposer import Control

TIME_LIMIT = 120.0
"""Seconds after which a process counts as hung."""


class Child:
    """A function in a forked process, with its output in a file and faults by `control`."""

    def __init__(
        self, function: Callable[[], int], output: Path, control: Control | None = None
    ) -> None:
        self._waited = 0.0
        sys.stdout.flush()
        self.pid = os.fork()
        if not self.pid:
            code = 70
            try:
                with output.open("ab") as file:
                    os.dup2(file.fileno(), 1)
                    os.dup2(file.fileno(), 2)
                if control is None:
                    os.setpgid(0, 0)
                else:
                    control.attach()
                code = function()
                sys.stdout.flush()
            except BaseException:
                traceback.print_exc()
                sys.stderr.flush()
            finally:
                os._exit(code)

    def wait(self, *, until_stopped: bool = False) -> int | None:
        """The exit code, -9 if killed, 124 if hung; None if it stops with `until_stopped`."""
        pause = 0.001
        while True:
            pid, status = os.waitpid(self.pid, os.WNOHANG | os.WUNTRACED)
            if pid and os.WIFSTOPPED(status):
                if until_stopped:
                    return None
            elif pid:
                self.kill()
                return os.waitstatus_to_exitcode(status)
            # The time slept counts, not the clock: the machine may be suspended for a while.
            if self._waited > TIME_LIMIT:
                self.kill()
                os.waitpid(self.pid, 0)
                return 124
            time.sleep(pause)
            self._waited += pause
            pause = min(2 * pause, 0.02)

    def resume(self) -> None:
        """Continue the stopped process."""
        os.kill(self.pid, signal.SIGCONT)

    def kill(self) -> None:
        """Kill the process and its children."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)


def problems_of(function: Callable[[], list[str]], folder: Path) -> list[str]:
    """The problems that `function` finds in a separate process, or its failure."""
    try:
        return list(answer(function, folder))
    except RuntimeError as error:
        return [f"the result cannot be checked: {str(error).strip().splitlines()[-1]}"]


def answer(function: Callable[[], Any], folder: Path) -> Any:
    """The return value of `function`, as JSON, from a separate process.

    Raises:
        RuntimeError: the process failed; the message has its output.
    """
    result, output = folder / "answer.json", folder / "answer.txt"
    output.unlink(missing_ok=True)
    result.unlink(missing_ok=True)

    def save() -> int:
        result.write_text(json.dumps(function()))
        return 0

    code = Child(save, output).wait()
    if code != 0:
        raise RuntimeError(f"exit code {code}:\n{output.read_text()[-3000:]}")
    return json.loads(result.read_text())
