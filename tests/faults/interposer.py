"""The C library that numbers storage operations: its compilation and its control file."""

import ctypes
import mmap
import os
import shutil
import struct
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).with_name("interposer.c")
FAULTS = ("none", "kill", "stop", "error", "full", "torn", "lie", "short")
"""In the order of their numbers in `interposer.c`.

kill   the process group is killed before the operation
stop   the process is stopped before the operation, until it is continued
error  the operation is not done and fails with EIO
full   the operation and all later ones that need space fail with ENOSPC
torn   half of the data is written, then the process group is killed
lie    the operation is done but reported to have failed
short  half of the data is read or written, as the system may do at any time
"""

_LINES, _WIDTH = 8192, 240
_HEAD = struct.Struct("=iiqqq1000s")
_SIZE = _HEAD.size + _LINES * _WIDTH


def compiler() -> str | None:
    """The C compiler, if there is one."""
    return shutil.which(os.environ.get("CC", "cc")) or shutil.which("gcc")


def library() -> Path:
    """The library, compiled if it is older than its source."""
    target = Path(tempfile.gettempdir()) / f"adnominal-faults-{os.getuid()}.so"
    if not target.exists() or target.stat().st_mtime < SOURCE.stat().st_mtime:
        command = compiler()
        if command is None:
            raise RuntimeError("no C compiler (cc or gcc) to compile interposer.c with")
        fresh = target.with_suffix(f".{os.getpid()}")
        flags = ["-O1", "-Wall", "-shared", "-fPIC"]
        subprocess.run([command, *flags, "-o", fresh, SOURCE, "-ldl"], check=True)
        fresh.replace(target)
    return target


def is_loaded() -> bool:
    """Whether the library is preloaded in this process."""
    return hasattr(ctypes.CDLL(None), "faults_attach")


@dataclass(frozen=True)
class Operation:
    """A storage operation: its kind (r reads, c changes, w writes, s syncs), call and path."""

    kind: str
    call: str
    path: str

    def is_distinct(self, fault: str) -> bool:
        """Whether `fault` at this operation differs from a fault at another one.

        A kill before a read, for example, leaves the same files as one before the next change.
        """
        return {
            "kill": self.kind in "cw",
            "stop": True,
            "error": True,
            "full": self.kind == "w" or self.call in ("create", "mkdir"),
            "torn": self.kind == "w",
            "lie": self.kind in "cw",
            "short": self.kind == "w" or self.call == "read",
        }[fault]


class Control:
    """The file in which a case tells its processes the fault and its place."""

    def __init__(self, path: Path, root: Path, fault: str = "none", target: int = 0) -> None:
        self.path = path
        path.unlink(missing_ok=True)
        with path.open("w+b") as file:
            file.truncate(_SIZE)
            self._map = mmap.mmap(file.fileno(), _SIZE)
        head = _HEAD.pack(FAULTS.index(fault), 0, target, 0, 0, str(root).encode())
        self._map[: _HEAD.size] = head

    def attach(self) -> None:
        """Put this process and its children under control; a kill is for their process group."""
        os.setpgid(0, 0)
        self._map[4:8] = struct.pack("=i", os.getpid())
        os.environ["FAULTS_CONTROL"] = str(self.path)
        if ctypes.CDLL(None).faults_attach(str(self.path).encode()):
            raise OSError(f"{self.path} cannot be mapped")

    @property
    def fired(self) -> int:
        """The number of the disturbed operation; 0 if there is none yet."""
        return int(_HEAD.unpack(self._map[: _HEAD.size])[4])

    def operations(self) -> list[Operation]:
        """The operations so far, in order."""
        count = min(int(_HEAD.unpack(self._map[: _HEAD.size])[3]), _LINES)
        history = []
        for number in range(count):
            start = _HEAD.size + number * _WIDTH
            line = self._map[start : start + _WIDTH].split(b"\0")[0].decode(errors="replace")
            history.append(Operation(*line.split(" ", 2)))
        return history

    def end(self) -> tuple[int, str]:
        """Delete the file; the number and text of the disturbed operation.

        If no operation was disturbed, the number is 0 and the text that of the last operation.
        """
        fired, operations = self.fired, self.operations()
        self._map.close()
        self.path.unlink(missing_ok=True)
        if not operations:
            return fired, "nothing"
        operation = operations[(fired or len(operations)) - 1]
        return fired, f"{operation.call} {operation.path}"
