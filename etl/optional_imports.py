"""Suppress optional imports of libraries that are not used here."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder


class _NotInstalled(MetaPathFinder):
    def __init__(self, names: Sequence[str]) -> None:
        self._names = names

    def find_spec(self, name: str, path: object, target: object = None) -> None:
        if name in self._names:
            raise ModuleNotFoundError(f"{name} is not imported here", name=name)


@contextmanager
def hide_modules(*names: str) -> Iterator[None]:
    """Make imports inside the block behave as if the modules `names` were not installed.

    For libraries that use another library only if it is installed. Modules that were imported
    before stay available.
    """
    finder = _NotInstalled(names)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
