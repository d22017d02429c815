"""Bugs planted in the code of the lake, to show that the enumeration finds them."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any, cast

from adnominal.etl.lake import committing, log, writing
from adnominal.etl.lake.storage import filesystem


def _lost_transaction_check() -> None:
    """The transaction of a commit is not compared with those in the table."""
    log.done_already = lambda handle, transaction: False


def _cleanup_of_live_staging() -> None:
    """A write deletes the files of other running writes."""
    clean = writing.clean
    writing.clean = lambda uri, table_spec, older_than=None: clean(uri, table_spec, timedelta(0))


def _commit_before_its_files() -> None:
    """Files are written after the commit that names them."""
    commit = committing.commit_files

    def commit_first(uri: str, declared: Any, adds: Any, *rest: Any) -> Any:
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

    committing.commit_files = cast("Any", commit_first)


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
"""The scenarios that reveal each bug."""


def plant(name: str | None) -> None:
    """Plant a bug in this process and its forks."""
    if name is not None:
        BUGS[name]()
