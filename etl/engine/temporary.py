"""Temporary folders that outlive no process by more than the next one: spilled rows, sockets."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

_LOCK = "lock"


class TemporaryFolder:
    """A folder of this process below the system's temporary folder.

    `close` deletes it. That of a process which was killed is deleted by the next process that makes
    one of the same prefix: it finds that nobody holds the lock any more.
    """

    def __init__(self, prefix: str) -> None:
        """`prefix`: what the folder's name begins with; it tells what the folders are for."""
        delete_left(prefix)
        while True:
            self.path = Path(tempfile.mkdtemp(prefix=prefix))
            self._lock = (self.path / _LOCK).open("w")
            with suppress(OSError):  # a file system without locks, where nobody can take it
                fcntl.flock(self._lock, fcntl.LOCK_EX)
            if self.path.exists():  # another process can have deleted it before it was locked
                return
            self._lock.close()

    def close(self) -> None:
        """Delete the folder."""
        shutil.rmtree(self.path, ignore_errors=True)
        self._lock.close()


def delete_left(prefix: str) -> None:
    """Delete the folders whose processes have ended without deleting them."""
    for lock in Path(tempfile.gettempdir()).glob(f"{prefix}*/{_LOCK}"):
        with suppress(OSError):  # held, another user's, or just deleted
            descriptor = os.open(lock, os.O_RDWR)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(lock.parent, ignore_errors=True)
            finally:
                os.close(descriptor)
