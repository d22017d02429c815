"""Cases in processes forked from one that has everything imported, and that never uses an engine.

A fresh interpreter takes seconds to import what a command needs; a fork takes milliseconds. The
parent only ever forks: delta-rs and the engines make threads at their first use, which a fork would
lose.
"""

from __future__ import annotations

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

LONGEST = 120.0
"""Seconds after which a process counts as hung."""


class Child:
    """A function in a forked process, output in a file; `control` says which faults it meets."""

    def __init__(
        self, function: Callable[[], int], output: Path, control: Control | None = None
    ) -> None:
        self._started = time.monotonic()
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
        """Its exit code, -9 for killed, 124 for hung; None once it is stopped, if that is asked."""
        pause = 0.001
        while True:
            pid, status = os.waitpid(self.pid, os.WNOHANG | os.WUNTRACED)
            if pid and os.WIFSTOPPED(status):
                if until_stopped:
                    return None
            elif pid:
                self.kill()
                return os.waitstatus_to_exitcode(status)
            if time.monotonic() - self._started > LONGEST:
                self.kill()
                os.waitpid(self.pid, 0)
                return 124
            time.sleep(pause)
            pause = min(2 * pause, 0.02)

    def go_on(self) -> None:
        """Let it run from where it stopped."""
        os.kill(self.pid, signal.SIGCONT)

    def kill(self) -> None:
        """End it and whatever it has started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)


def answer(function: Callable[[], Any], folder: Path) -> Any:
    """What `function` returns (JSON can hold it), asked of a process of its own.

    Raises:
        RuntimeError: it ended otherwise; the message has its output.
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
