"""Temporary folders (spilled rows, sockets) that the next process deletes after a kill."""

import fcntl
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

_LOCK = "lock"


class TemporaryFolder:
    """A folder of this process below the system's temporary folder.

    `close` deletes it. If the process was killed, the next process that makes a folder with the
    same prefix deletes it, since nobody holds its lock any more.
    """

    def __init__(self, prefix: str) -> None:
        """`prefix`: beginning of the folder's name, which says what it is for."""
        delete_leftovers(prefix)
        while True:
            self.path = Path(tempfile.mkdtemp(prefix=prefix))
            self._lock = (self.path / _LOCK).open("w")
            with suppress(OSError):  # on a file system without locks nobody can take it
                fcntl.flock(self._lock, fcntl.LOCK_EX)
            if self.path.exists():  # another process may have deleted it before it was locked
                return
            self._lock.close()

    def close(self) -> None:
        """Delete the folder."""
        shutil.rmtree(self.path, ignore_errors=True)
        self._lock.close()


def delete_leftovers(prefix: str) -> None:
    """Delete the folders of processes that ended without deleting them."""
    for lock in Path(tempfile.gettempdir()).glob(f"{prefix}*/{_LOCK}"):
        with suppress(OSError):  # held, another user's, or just deleted
            descriptor = os.open(lock, os.O_RDWR)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(lock.parent, ignore_errors=True)
            finally:
                os.close(descriptor)
