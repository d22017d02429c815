"""Imports that a library makes on the side, and that nobody here uses, kept out of a process."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from types import ModuleType


class _NotInstalled(MetaPathFinder):
    def __init__(self, names: Sequence[str]) -> None:
        self._names = names

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> None:
        if name in self._names:
            raise ModuleNotFoundError(f"{name} is not imported here", name=name)


@contextmanager
def hidden(*names: str) -> Iterator[None]:
    """Have imports inside the block find that the modules `names` are not installed.

    For libraries that use another one where it is there and do without it where it is not; a module
    that was imported before stays in use.
    """
    finder = _NotInstalled(names)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
