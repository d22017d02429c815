"""Reading a log that a vacuum shortens meanwhile, or that somebody else wrote."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError

from etl.lake.errors import LakeError

_READINGS = 3
_T = TypeVar("_T")


def consistently(read: Callable[[], _T]) -> _T:
    """What `read` finds in a log; read again where a vacuum took away what had just been listed."""
    for _ in range(_READINGS - 1):
        try:
            return read()
        except TableNotFoundError:
            raise
        except (DeltaError, OSError) as error:
            if not re.search("not found|No such file", str(error)):
                raise
    return read()


def transaction_version(handle: DeltaTable, app_id: str) -> int | None:
    """The number of the newest commit that application `app_id` made; None without one.

    The log is read for it: where a vacuum took away commits that `handle` had listed, anew.
    """
    handles = iter([handle])

    def read() -> int | None:
        current = next(handles, None) or DeltaTable(handle.table_uri)
        number: int | None = current.transaction_version(app_id)
        return number

    return consistently(read)


def safe_path(path: str) -> str:
    """`path`, which the log names, once it is known to lie within the table's folder.

    Raises:
        LakeError: it does not: the log of a lake that someone else made could name any file.
    """
    if path.startswith("/") or "://" in path or ".." in path.split("/"):
        raise LakeError(
            f"the table's log names {path!r}, which lies outside its folder; expected paths within "
            "it (a shallow clone has to be written out with its data first)"
        )
    return path
