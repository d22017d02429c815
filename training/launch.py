"""Processes: one under plain ``python``, several under the ``deepspeed`` launcher.

The launcher sets RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT for each process. If
DeepSpeed runs in one process, this module sets them for a world of one; otherwise DeepSpeed would
require mpi4py. Nothing here imports torch before the environment is set.
"""

import ctypes
import gc
import logging
import os
import signal
import socket
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any, TypeVar

from adnominal import conf
from adnominal.conf import JobFailed, UserError

_T = TypeVar("_T")
# M_MMAP_THRESHOLD in malloc.h.
_MMAP_THRESHOLD = -3
# From sys/prctl.h.
_PR_SET_PDEATHSIG = 1
# Read when torch is imported. Each process of a group would warn about a search for unused
# parameters, which Trainer requests.
os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")

# The environment variable with the process that started this run.
PARENT = "ADNOMINAL_PARENT"
log = logging.getLogger("adnominal")


class RankFailed(JobFailed):
    """A failure of this process, which the others need not meet: each that does reports it."""


def rank() -> int:
    """Return this process's number among all, from 0."""
    return int(os.environ.get("RANK", "0"))


def local_rank() -> int:
    """Return this process's number on its machine, from 0."""
    return int(os.environ.get("LOCAL_RANK", "0"))


def world_size() -> int:
    """Return the number of processes that train together."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def run(
    cls: type[_T],
    job: Callable[[_T], object],
    argv: Sequence[str] | None = None,
    next_step: str | Callable[[_T], str] = "",
    more_help: Callable[[], str] = str,
) -> int:
    """Run `conf.run` in several processes, of which the first one does the reporting.

    A user's mistake is the same in every process, so it is reported once per machine; settings and
    progress are reported once in total. Every process reports a `RankFailed` and its own
    tracebacks. ``--dry-run`` stands for ``dry_run=`` with the number of processes. The help ends
    with `more_help`.
    """
    _end_with_parent()
    words = sys.argv[1:] if argv is None else argv
    words = [f"dry_run={world_size()}" if word == "--dry-run" else word for word in words]
    try:
        code = conf.run(cls, job, words, next_step) if rank() == 0 else _silent_run(cls, job, words)
    finally:
        stop()
    if conf.HELP_WORDS & set(words) and rank() == 0:
        print(more_help(), end="")
    return code


def _end_with_parent() -> None:
    """Let the kernel end this process when the process that distributes a grid ends."""
    parent = os.environ.pop(PARENT, None)
    if parent is None:
        return
    with suppress(AttributeError, OSError):  # only on Linux
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != int(parent):
        raise SystemExit(1)


def _silent_run(cls: type[_T], job: Callable[[_T], object], argv: Sequence[str]) -> int:
    """Run a job and return its exit code; of an error that all processes meet, the first reports.

    A user's mistake gives 2, a failure 1, an interrupt 130. Help and settings are printed by the
    first process.
    """
    if conf.HELP_WORDS & set(argv):
        return 0
    try:
        job(conf.load(cls, [word for word in argv if word != conf.SHOW_SETTINGS]))
    except (UserError, JobFailed) as error:
        code = 2 if isinstance(error, UserError) else 1
        is_reported = local_rank() == 0 or isinstance(error, RankFailed)
        return conf.complain(error, code) if is_reported else code
    except KeyboardInterrupt:
        return 130  # the first process reports it
    except Exception:
        traceback.print_exc()
        return 1
    return 0


def start(
    deepspeed: bool = False, *, backend: str | None = None, timeout: float | None = None
) -> None:
    """Join the group of processes; do nothing if called again, or alone without DeepSpeed.

    Args:
        deepspeed: whether DeepSpeed is started on the group.
        backend: torch's backend; default: nccl on GPUs, else gloo.
        timeout: seconds that a process waits for the others; default: torch's.

    Raises:
        UserError: MASTER_PORT is taken.
    """
    environment()
    if world_size() == 1 and not deepspeed:
        return
    import torch
    import torch.distributed as dist

    cuda = torch.cuda.is_available()
    backend = backend or ("nccl" if cuda else "gloo")
    if not dist.is_initialized():
        check_port()
        if cuda:
            torch.cuda.set_device(local_rank())
        wait = None if timeout is None else timedelta(seconds=timeout)
        dist.init_process_group(backend, timeout=wait)
    if deepspeed:
        _start_deepspeed(backend)


def _start_deepspeed(backend: str) -> None:
    """Start DeepSpeed on torch's group, with fewer messages."""
    _return_freed_memory()
    with silence():  # DeepSpeed tries out which operators would compile.
        import deepspeed
    from deepspeed.utils import logger

    logger.setLevel(logging.ERROR)
    # DeepSpeed calls torch's collectives by deprecated names.
    warnings.filterwarnings("ignore", category=FutureWarning, module="torch.distributed")
    if backend == "gloo":
        # Collectives over shared memory are compiled on first use, which takes minutes without a
        # message, and the lock of a killed run blocks the next run. Gloo is used instead.
        deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False
    deepspeed.init_distributed(dist_backend=backend, verbose=False)


def trim_memory() -> None:
    """Return freed memory, which the C library keeps, to the system."""
    gc.collect()
    with suppress(AttributeError):  # only in glibc
        ctypes.CDLL(None).malloc_trim(0)


def _return_freed_memory() -> None:
    """Let glibc return large blocks to the system as soon as they are freed.

    By default it keeps blocks of up to 32 MiB. Weights are gathered and freed one by one between
    the shards that remain, and the gaps would take as much memory as the weights.
    """
    with suppress(AttributeError):  # other C libraries have no such option
        ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, 8 << 20)


@contextmanager
def group(deepspeed: bool) -> Iterator[None]:
    """Run the block in a process group, which DeepSpeed needs even for a single process.

    The launcher's variables are set only for DeepSpeed: with them, other libraries would take a
    single process for one of several.
    """
    place: dict[str, str] = {}
    if deepspeed and "RANK" not in os.environ:
        place = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1"}
        place["MASTER_PORT"] = "0"  # any free port
    added_variables = {name: value for name, value in place.items() if name not in os.environ}
    os.environ.update(added_variables)
    try:
        start(deepspeed)
        yield
    finally:
        for name in added_variables:
            os.environ.pop(name, None)


def stop() -> None:
    """Leave the group, if this process is in one; otherwise exiting takes long."""
    if "torch" in sys.modules:
        import torch.distributed as dist

        if dist.is_available() and dist.is_initialized():
            dist.destroy_process_group()


def environment() -> None:
    """Set the environment variables for torch and DeepSpeed before they are imported."""
    import torch

    if not torch.cuda.is_available():
        os.environ.setdefault("DS_ACCELERATOR", "cpu")


@contextmanager
def silence() -> Iterator[None]:
    """Suppress all output of the block, including that of compilers; errors are raised."""
    sys.stdout.flush()
    sys.stderr.flush()
    streams = {stream: os.dup(stream) for stream in (1, 2)}
    devnull = os.open(os.devnull, os.O_WRONLY)
    try:
        for stream in streams:
            os.dup2(devnull, stream)
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for stream, copy in streams.items():
            os.dup2(copy, stream)
            os.close(copy)
        os.close(devnull)


def check_port() -> None:
    """Raise `UserError` if the first process cannot listen on MASTER_PORT.

    Under torchrun its agent already listens there, and the processes connect to it.
    """
    if rank() != 0 or os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True":
        return
    port = os.environ["MASTER_PORT"]
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", int(port)))
        except (OSError, ValueError, OverflowError) as error:
            raise UserError(
                f"MASTER_PORT={port}: {error}; choose a free one "
                "(deepspeed --master_port=N, or MASTER_PORT=N)"
            ) from error


def broadcast(value: _T) -> _T:
    """Return the value of the first process in every process."""
    if world_size() == 1:
        return value
    import torch.distributed as dist

    box: list[Any] = [value]
    dist.broadcast_object_list(box, src=0)
    received: _T = box[0]
    return received


def barrier() -> None:
    """Wait for all processes."""
    if world_size() > 1:
        import torch.distributed as dist

        dist.barrier()


def gather(value: _T) -> list[_T]:
    """Return the values of all processes, in the order of ranks, in every process."""
    if world_size() == 1:
        return [value]
    import torch.distributed as dist

    gathered: list[Any] = [None] * world_size()
    dist.all_gather_object(gathered, value)
    return gathered
