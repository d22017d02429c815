"""Bugs put into the lake's code, to see that the enumeration finds them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, cast

from etl.lake import log, writing
from etl.lake.storage import filesystem


def _lost_transaction_check() -> None:
    """What a commit's transaction says is in the table is not looked at."""
    log.done_already = lambda handle, transaction: False


def _cleanup_of_live_staging() -> None:
    """A write cleans what others are still writing."""
    clean = writing.clean
    writing.clean = lambda uri, table_spec, older_than=None: clean(uri, table_spec, timedelta(0))


def _commit_before_its_files() -> None:
    """Files come to their place after the commit that names them."""
    commit = log.commit_files

    def hasty(uri: str, declared: Any, adds: Any, *rest: Any) -> Any:
        files = filesystem(uri)
        contents = {}
        for add in adds:
            with files.open_input_file(add.path) as stream:
                contents[add.path] = stream.read()
            files.delete_file(add.path)
        version = commit(uri, declared, adds, *rest)
        for path, data in contents.items():
            with files.open_output_stream(path) as stream:
                stream.write(data)
        return version

    log.commit_files = cast("Any", hasty)


BUGS: dict[str, Callable[[], None]] = {
    "lost transaction check": _lost_transaction_check,
    "cleanup of live staging": _cleanup_of_live_staging,
    "commit before its files": _commit_before_its_files,
}


SEEN_BY = {
    "lost transaction check": ("append",),
    "cleanup of live staging": ("append + other append",),
    "commit before its files": ("append",),
}
"""The scenarios that show each bug."""


def plant(name: str | None) -> None:
    """Put a bug into this process, and all forked from it."""
    if name is not None:
        BUGS[name]()
