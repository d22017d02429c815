"""Faults of the storage are told in one line, whichever library met them."""

from __future__ import annotations

import errno
import os

import pytest

from etl.lake.errors import storage_failure

FULL = "the storage failed (No space left on device): {}; mend it and run the same command again"


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (
            OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "a"),
            "[Errno 28] No space left on device: 'a'",
        ),
        (RuntimeError("Object store:\nwriting a (os error 28)"), "writing a (os error 28)"),
        (
            RuntimeError(
                "a task failed. Traceback (most recent call last):\n"
                '  File "task.py", line 1, in <module>\n'
                "OSError: a: full (os error 28)\n"
            ),
            "OSError: a: full (os error 28)",
        ),
    ],
)
def test_the_line_that_names_the_system_s_error_is_told(error: Exception, line: str) -> None:
    assert storage_failure(error) == FULL.format(line)


@pytest.mark.parametrize("error", [ValueError("rows"), OSError(errno.ENOENT, "no file", "a")])
def test_other_errors_are_left_to_others(error: Exception) -> None:
    assert storage_failure(error) is None
