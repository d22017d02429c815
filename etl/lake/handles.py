"""Read a log that a concurrent vacuum may shorten or that someone else wrote."""

import re
from collections.abc import Callable
from typing import TypeVar

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError

from adnominal.etl.lake.errors import LakeError

_READINGS = 3
_T = TypeVar("_T")


def retry_if_vacuumed(read: Callable[[], _T]) -> _T:
    """Return the result of `read`, retried if a vacuum removed what had just been listed."""
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
    """Return the number of the newest commit by application `app_id`; None if there is none.

    This reads the log, again from scratch if a vacuum removed commits that `handle` had listed.
    """
    handles = iter([handle])

    def read() -> int | None:
        current = next(handles, None) or DeltaTable(handle.table_uri)
        number: int | None = current.transaction_version(app_id)
        return number

    return retry_if_vacuumed(read)


def safe_path(path: str) -> str:
    """Return `path`, which the log names, after checking that it is in the table's folder.

    Raises:
        LakeError: it is not; the log of a lake that someone else made could name any file.
    """
    if path.startswith("/") or "://" in path or ".." in path.split("/"):
        raise LakeError(
            f"the table's log names {path!r}, which is outside its folder; expected paths within "
            "it (a shallow clone has to be written out with its data first)"
        )
    return path
