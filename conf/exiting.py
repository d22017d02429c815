"""The end of a command that has used a library whose teardown fails.

Threads of the libraries that reach an object store may still hold Python objects when the
interpreter is torn down; the process then ends with ``terminate called without an active
exception`` and exit code 134, although everything is committed; so may the threads of the embedded
engine in a stage that was interrupted. DuckDB prints a hundred lines about objects that are left.
Such a command leaves without the teardown, after its own handlers at exit.
"""

import atexit
import logging
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from adnominal.conf import ROOT

_FOLDERS = ("adnominal", "analysis", "conf", "etl", "training")


@dataclass
class _State:
    """The exit code of the command, and whether it ends without the teardown."""

    code: int | None = None
    skips_teardown: bool = False


_state = _State()


def skip_teardown() -> None:
    """Note that this process uses a library whose teardown fails."""
    _state.skips_teardown = True


def is_own_command() -> bool:
    """Whether the process runs one of our commands, not a program that calls them."""
    path = Path(getattr(sys.modules.get("__main__"), "__file__", None) or "").absolute()
    if path.name == "adnominal" or path == ROOT / "__main__.py":
        return True
    return any(path.is_relative_to(ROOT / folder) for folder in _FOLDERS)


def leave() -> None:
    """At exit: end the process at once if its command has used such a library."""
    if _state.code is None or not _state.skips_teardown or not is_own_command():
        return
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(_state.code)


def note_code(code: int) -> int:
    """Note the exit code of the command, and return it."""
    _state.code = code
    return code


atexit.register(leave)
