"""Python processes forked from a server that has imported their modules, which takes seconds.

`python` gives the path of a program that is called like ``python``: with a script, ``-m`` or
``-c``, arguments, environment, folder and standard streams. A server forks the process, which the
program represents: whatever kills one of them also ends the other.
"""

import atexit
import contextlib
import fcntl
import gc
import importlib
import json
import os
import runpy
import selectors
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
# The modules that each level adds to those of the level before; processes are forked from each.
LEVELS = {
    "libraries": ("tests.fork_imports",),
    "product": ("tests.training.rank_imports",),
}
# How long a server without connections waits for another test process.
_LINGER_SECONDS = 5.0
_connections: list[socket.socket] = []


@cache
def python(level: str = "product") -> str:
    """A program to call like ``python``, whose processes have the modules of a level of `LEVELS`.

    All processes of a test run share the server.
    """
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    folder = Path(tempfile.gettempdir(), f"adnominal-fork-{run[:12]}")
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return start(folder, LEVELS, os.environ)[level]


def settle(program: str | None = None) -> None:
    """Wait until processes whose programs were killed have ended."""
    subprocess.run([program or python(), "-c", ""], check=True)


def start(
    folder: Path, levels: Mapping[str, Sequence[str]], environment: Mapping[str, str]
) -> dict[str, str]:
    """The program of each level of the server in `folder`, which is started if necessary.

    The server ends after the processes that have called this function.
    """
    addresses = {level: os.fspath(folder / f"{level}.socket") for level in levels}
    if not _can_connect(addresses.values()):
        for level, address in addresses.items():
            program = folder / level
            program.write_text(
                f"#!{sys.executable} -ISE\n"
                + Path(__file__).with_name("fork_client.py").read_text()
                + f"\nsys.exit(main({address!r}))\n"
            )
            program.chmod(0o755)
        with (folder / "log.txt").open("ab") as log:
            server = subprocess.Popen(
                [sys.executable, "-m", "tests.fork_server", folder, json.dumps(dict(levels))],
                cwd=ROOT,
                env={**environment, "OMP_NUM_THREADS": "1"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        while not _can_connect(addresses.values()):
            if server.poll() is not None:
                raise RuntimeError(f"no fork server:\n{(folder / 'log.txt').read_text()}")
            time.sleep(0.02)
    return {level: os.fspath(folder / level) for level in levels}


def _can_connect(addresses: Iterable[str]) -> bool:
    """Whether this process could connect to all addresses; open connections keep the server
    alive."""
    connections = []
    for address in addresses:
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(address)
        except OSError:
            return False
        connections.append(connection)
    _connections.extend(connections)
    return True


def main(folder: Path, levels: Mapping[str, Sequence[str]]) -> None:
    """Serve each level; in a forked process, run the requested program."""
    listeners = {}
    for level in levels:
        address = folder / f"{level}.socket"
        address.unlink(missing_ok=True)
        # Programs that connect before the imports are finished wait.
        listeners[level] = socket.socket(socket.AF_UNIX)
        listeners[level].bind(os.fspath(address))
        listeners[level].listen(64)
    last = list(levels)[-1]
    gc.set_threshold(50_000, 20, 10)
    for level, modules in levels.items():
        for module in modules:
            importlib.import_module(module)
        gc.collect()
        gc.freeze()  # so that forked processes share the memory of imported modules
        if level != last and os.fork():
            continue
        for other, listener in listeners.items():
            if other != level:
                listener.close()
        request = _Server(listeners[level]).serve()
        if request is None:
            shutil.rmtree(folder, ignore_errors=True)
        else:
            _end(_exit_code(request))
        return


class _Server:
    """Forks a process for each request and returns its exit code to the requesting program."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._process: dict[socket.socket, int] = {}
        """The process of each connection; 0 before its request."""

    def serve(self) -> dict[str, Any] | None:
        """None when there are no connections any more; in a forked process, the request to run."""
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._selector = selectors.DefaultSelector()
        self._selector.register(reader, selectors.EVENT_READ)
        self._selector.register(self._listener, selectors.EVENT_READ)
        while True:
            events = self._selector.select(None if self._process else _LINGER_SECONDS)
            if not events and not self._process:
                return None
            ready = {key.fileobj for key, _ in events}
            if reader in ready:
                os.read(reader, 4096)
            # Ends are handled first, so that killed processes are gone when the next one starts.
            for connection in self._process.keys() & ready:
                if self._process[connection]:
                    self._forward_signals(connection)
            self._reap()
            for connection in self._process.keys() & ready:
                if not self._process[connection] and (request := self._fork(connection)):
                    os.close(reader)
                    os.close(writer)
                    return request
            if self._listener in ready:
                connection, _ = self._listener.accept()
                self._process[connection] = 0
                self._selector.register(connection, selectors.EVENT_READ)

    def _forward_signals(self, connection: socket.socket) -> None:
        """Forward the signals that the program received; kill its process if the program ended."""
        process, numbers = self._process[connection], connection.recv(16)
        for number in numbers:
            os.kill(process, number)
        if not numbers:
            os.killpg(process, signal.SIGKILL)
            os.waitpid(process, 0)
            self._forget(connection)

    def _reap(self) -> None:
        for connection, process in list(self._process.items()):
            if not process:
                continue
            ended, status = os.waitpid(process, os.WNOHANG)
            if ended:
                with contextlib.suppress(OSError):
                    connection.sendall(struct.pack("!i", os.waitstatus_to_exitcode(status)))
                self._forget(connection)

    def _forget(self, connection: socket.socket) -> None:
        self._selector.unregister(connection)
        connection.close()
        del self._process[connection]

    def _fork(self, connection: socket.socket) -> dict[str, Any] | None:
        """Fork the requested process, in which the request is returned."""
        head, streams, _, _ = socket.recv_fds(connection, 4, 3)
        if not head:
            self._forget(connection)
            return None
        (length,) = struct.unpack("!I", head)
        request: dict[str, Any] = json.loads(connection.recv(length, socket.MSG_WAITALL))
        process = os.fork()
        if process:
            with contextlib.suppress(OSError):
                os.setpgid(process, process)
            for stream in streams:
                os.close(stream)
            self._process[connection] = process
            return None
        os.setpgid(0, 0)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._selector.close()
        self._listener.close()
        for other in self._process:
            other.close()
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        return request


def _exit_code(request: dict[str, Any]) -> int:
    try:
        _run(request)
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def _end(code: int) -> None:
    """End this process without unloading all modules, which takes half a second."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _run(request: dict[str, Any]) -> None:
    """Do in this process what ``python`` does with these arguments."""
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    os.getppid = lambda: int(request["parent"])
    sys.executable = request["program"]
    words = list(request["arguments"])
    options = set()
    while words[0] in ("-u", "-P"):
        options.add(words.pop(0))
    option = words.pop(0) if words[0] in ("-c", "-m") else None
    path = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[1:1] = [entry for entry in path if entry]
    if option == "-c":
        sys.path[0], sys.argv = "", ["-c", *words[1:]]
        if "-P" in options:
            del sys.path[0]
        exec(compile(words[0], "<string>", "exec"), {"__name__": "__main__"})
    elif option == "-m":
        sys.path[0], sys.argv = os.getcwd(), words
        runpy.run_module(words[0], run_name="__main__", alter_sys=True)
    else:
        sys.path[0], sys.argv = os.path.dirname(os.path.abspath(words[0])), words
        runpy.run_path(words[0], run_name="__main__")


if __name__ == "__main__":
    main(Path(sys.argv[1]), json.loads(sys.argv[2]))
