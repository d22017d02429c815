"""The browser of the system, for tests of pages; nothing is downloaded.

Debian's package chromium-headless-shell draws no windows and takes less than half of the time of
its chromium, which is used if only that is installed.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser")


def find() -> str:
    """The path of the browser; without one, the test is skipped."""
    for program in PROGRAMS:
        if path := shutil.which(program):
            return path
    pytest.skip("no chromium on the PATH (Debian: apt-get install chromium-headless-shell)")


@contextmanager
def launch() -> Iterator[Any]:
    """A running browser, as an object of playwright; without it, the test is skipped."""
    path = find()
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with sync_api.sync_playwright() as playwright:
        # Containers do not support the browser's sandbox. The process that emulates a GPU takes a
        # fifth of the time, and no test looks at its pixels.
        arguments = ["--no-sandbox", "--disable-gpu"]
        chromium = playwright.chromium.launch(executable_path=path, args=arguments)
        yield chromium
        chromium.close()
