"""Run Python functions in worker processes, for an engine that calls them one at a time.

The embedded engine calls Python functions inside its own process, under one interpreter lock. A
`Pool` has as many worker processes as there are cores; a task's function runs in one of them and
asks for its input batch by batch, as Arrow messages over a socket. Tasks may wait for each other
(one reads what another one writes), so a worker accepts any number of tasks, one thread each. A
lock of the worker lets one thread run at a time; a task releases it while it waits for input or for
its messages to be read. Models are loaded once per process, and no code needs to be thread-safe.

Workers start when the first task needs them, ignore interrupts, which the job handles, and end with
the process that started them, however it ends.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
import traceback
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import cloudpickle
import pyarrow as pa

from adnominal.etl.engine import progress
from adnominal.etl.engine.temporary import TemporaryFolder

FUNCTION, NEXT, BATCH, FINISHED, FAILED, ADVANCED = (bytes([number]) for number in range(6))
_KNOWN_FUNCTIONS = 8  # that a worker keeps
_START = "from adnominal.etl.engine.workers import serve; serve({path!r})"

log = logging.getLogger("adnominal")


class WorkerFailed(Exception):
    """A task's function raised, or its worker process died; the message says which."""


def to_message(batch: pa.RecordBatch) -> bytes:
    """Serialise a record batch in Arrow's stream format, schema included."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue())


def from_message(message: bytes | memoryview) -> pa.RecordBatch:
    """Return the batch in a message of `to_message`."""
    with pa.ipc.open_stream(message) as reader:
        return reader.read_next_batch()


# --------------------------------------------------------------------------- in a worker process


def serve(path: str) -> None:
    """Run a worker process: accept tasks at the socket `path` until the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.basicConfig(format="%(asctime)s %(message)s", datefmt="%H:%M:%S", level=logging.WARNING)
    pa.set_cpu_count(1)
    with Listener(path, "AF_UNIX", backlog=64) as listener:
        print("ready", flush=True)
        threading.Thread(target=_end_with_parent, daemon=True).start()
        turn_lock = threading.Lock()
        functions: OrderedDict[str, Any] = OrderedDict()
        while True:
            task = (listener.accept(), turn_lock, functions)
            threading.Thread(target=_run_task, args=task, daemon=True).start()


def _end_with_parent() -> None:
    sys.stdin.buffer.read()  # the parent holds the other end of this pipe and never writes
    os._exit(0)


def _run_task(
    connection: Connection, turn_lock: threading.Lock, functions: OrderedDict[str, Any]
) -> None:
    # Both errors mean that an interrupt or a failure elsewhere has cancelled the task.
    with suppress(EOFError, OSError), connection, turn_lock:
        _answer(connection, turn_lock, functions)


def _function(connection: Connection, functions: OrderedDict[str, Any]) -> Any:
    name = connection.recv_bytes().decode()
    if name not in functions:
        connection.send_bytes(FUNCTION)
        functions[name] = cloudpickle.loads(connection.recv_bytes())
        while len(functions) > _KNOWN_FUNCTIONS:
            functions.popitem(last=False)
    return functions[name]


def _answer(
    connection: Connection, turn_lock: threading.Lock, functions: OrderedDict[str, Any]
) -> None:
    """Run one task for the engine and send its batches, or its failure, over the connection.

    A process has several tasks but computes for one at a time: `turn_lock` is the turn. It is given
    up while a task waits for its input or for its reader.
    """

    def report_here() -> None:
        progress.report_to(lambda size: send(ADVANCED + str(size).encode()))

    @contextmanager
    def turn_given_up() -> Iterator[None]:
        turn_lock.release()
        try:
            yield
        finally:
            turn_lock.acquire()
            report_here()  # another task of the process may have run, and ended, in between

    def send(message: bytes) -> None:
        # Even a short message waits if its reader waits for another task of this process.
        with turn_given_up():
            connection.send_bytes(message)

    def batches() -> Iterator[pa.RecordBatch]:
        while True:
            with turn_given_up():
                connection.send_bytes(NEXT)
                message = connection.recv_bytes()
            if not message:
                return
            yield from_message(message)

    try:
        function = _function(connection, functions)
        report_here()
        for batch in function(batches()):
            send(BATCH + to_message(batch))
        send(FINISHED)
    except (EOFError, BrokenPipeError):
        raise
    except Exception as error:
        line = " ".join(f"{type(error).__name__}: {error}".split())
        send(FAILED + f"{line}\n{traceback.format_exc()}".encode())


# ---------------------------------------------------------------------- in the process of the job


class _Worker:
    """One worker process and the number of its tasks."""

    def __init__(self, path: Path) -> None:
        self._path = str(path)
        self.tasks = 0
        self._starting = threading.Lock()
        self._ready = False
        environment = dict(os.environ)
        environment["PYTHONPATH"] = os.pathsep.join(entry for entry in sys.path if entry)
        environment.setdefault("OMP_NUM_THREADS", "1")
        # In the folder of the job, where relative paths of its settings lead; -P: no module of
        # that folder is imported.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _START.format(path=self._path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
        )

    def connect(self) -> Connection:
        assert self._process.stdout is not None
        with self._starting:
            if not self._ready and self._process.stdout.readline() != b"ready\n":
                raise WorkerFailed(f"a worker process did not start (exit {self._process.wait()})")
            self._ready = True
        return Client(self._path, "AF_UNIX")

    def how_it_ended(self) -> str:
        """Describe how the process ended."""
        try:
            code = self._process.wait(5)
        except subprocess.TimeoutExpired:
            return "a worker process closed its connection"
        killed = code == -signal.SIGKILL
        return f"a worker process died ({'killed, perhaps for lack of memory' if killed else code})"

    def end(self) -> None:
        self._process.kill()
        self._process.wait()


class Pool:
    """Worker processes that run the functions of this process's tasks.

    Args:
        size: number of processes.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._workers: list[_Worker] = []
        self._folder: TemporaryFolder | None = None

    def run(
        self, name: str, function: bytes, batches: Iterator[pa.RecordBatch]
    ) -> Iterator[pa.RecordBatch]:
        """Run a function over the batches of a task in the least busy worker; yield its results.

        Args:
            name: name of the function; a worker that knows it is not sent the function again.
            function: pickled by cloudpickle.
            batches: the task's input, read as the function asks for it.

        Raises:
            WorkerFailed: the function raised (its traceback is logged), or the worker died.
        """
        worker = self._free_worker()
        try:
            with worker.connect() as connection:
                connection.send_bytes(name.encode())
                while (message := connection.recv_bytes()) != FINISHED:
                    kind, content = message[:1], memoryview(message)[1:]
                    if kind == FUNCTION:
                        connection.send_bytes(function)
                    elif kind == NEXT:
                        batch = next(batches, None)
                        connection.send_bytes(b"" if batch is None else to_message(batch))
                    elif kind == BATCH:
                        yield from_message(content)
                    elif kind == ADVANCED:
                        progress.advance(int(bytes(content)))
                    else:
                        line, _, trace = bytes(content).decode().partition("\n")
                        log.error("a task failed in a worker process:\n%s", trace.rstrip())
                        raise WorkerFailed(line)
        except (EOFError, ConnectionError) as error:
            raise WorkerFailed(worker.how_it_ended()) from error
        finally:
            with self._lock:
                worker.tasks -= 1

    def _free_worker(self) -> _Worker:
        """The worker with the fewest tasks, with one added; the first call starts all workers."""
        with self._lock:
            if not self._workers:
                self._folder = TemporaryFolder("adnominal-workers-")
                paths = [self._folder.path / str(number) for number in range(self._size)]
                self._workers = [_Worker(path) for path in paths]
            worker = min(self._workers, key=lambda worker: worker.tasks)
            worker.tasks += 1
            return worker

    def close(self) -> None:
        """End the processes; the next `run` starts new ones."""
        with self._lock:
            for worker in self._workers:
                worker.end()
            self._workers = []
            if self._folder is not None:
                self._folder.close()
                self._folder = None


_functions: WeakValueDictionary[str, LocalFunction] = WeakValueDictionary()


class LocalFunction:
    """A function of batches for an engine in this process, which plans refer to by name.

    It is pickled as a name, whatever the size of what it refers to, and runs in this process or,
    with a pool, in one of the pool's processes.
    """

    def __init__(self, function: Callable[[Any], Any], pool: Pool | None) -> None:
        self._function = function
        self._pool = pool
        self._name = uuid.uuid4().hex
        _functions[self._name] = self

    def __call__(self, argument: Any) -> Any:
        if self._pool is None:
            return self._function(argument)
        return self._pool.run(self._name, self._pickled_function, argument)

    def __reduce__(self) -> tuple[Callable[[str], LocalFunction], tuple[str]]:
        return _local_function, (self._name,)

    @cached_property
    def _pickled_function(self) -> bytes:
        return bytes(cloudpickle.dumps(self._function))


def _local_function(name: str) -> LocalFunction:
    return _functions[name]
