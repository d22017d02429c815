"""Any Spark Connect server, at the address in ``SPARK_REMOTE``.

The server's workers need the libraries that the package imports (docs/cluster.md); the package
itself is sent to them as an archive.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from adnominal.conf import UserError
from adnominal.conf.progress import report_progress
from adnominal.etl.engine.spark import REQUIRED, Spark, pack

_CORES = 8  # used if the server does not report its number of cores
_PATIENCE = 10  # seconds that a server has to accept the connection


def _wait_for_server(address: str) -> None:
    """Raise `TimeoutError` if nothing answers; pyspark itself would try for ten minutes."""
    import grpc
    from pyspark.sql.connect.client import DefaultChannelBuilder

    with DefaultChannelBuilder(address).toChannel() as channel:
        try:
            grpc.channel_ready_future(channel).result(timeout=_PATIENCE)
        except grpc.FutureTimeoutError as error:
            raise TimeoutError(f"no connection within {_PATIENCE} s") from error


def start(app: str, **_: Any) -> Connect:
    """Start a session with the server.

    Raises:
        UserError: no server answers at the address.
    """
    return Connect(app, os.environ["SPARK_REMOTE"])


class Connect(Spark):
    """A session with a Spark Connect server."""

    name = "connect"

    def __init__(self, app: str, address: str) -> None:
        from pyspark.errors import PySparkException

        builder = SparkSession.builder.remote(address).appName(app)
        try:
            _wait_for_server(address)
            session = builder.getOrCreate()
            for key, value in REQUIRED.items():
                session.conf.set(key, value)
        except (PySparkException, ValueError, OSError) as error:
            # Errors of gRPC say what is wrong in the line of their details.
            text = str(error).strip() or type(error).__name__
            match = re.search(r'details = "(.*)"', text)
            reason = match[1] if match else text.splitlines()[0]
            raise UserError(
                f"SPARK_REMOTE={address}: no Spark Connect server answers there ({reason}); start "
                "one, or unset SPARK_REMOTE to use the embedded engine"
            ) from error
        super().__init__(session, is_cluster=True)
        folder = Path(tempfile.mkdtemp(prefix="adnominal-"))
        try:
            self.spark.addArtifacts(f"{pack(folder)}#adnominal", archive=True)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        self._share_done = 0.0

    @property
    def cores(self) -> int:
        return int(self.spark.conf.get("spark.default.parallelism", str(_CORES)) or _CORES)

    @contextmanager
    def watch(self, label: str, size: int) -> Iterator[None]:
        """Report the progress of the block, from what the server says of its stages."""
        self._share_done = 0.0

        def note(stages: Any, **_: Any) -> None:
            total = sum(stage.num_tasks for stage in stages)
            self._share_done = sum(stage.num_completed_tasks for stage in stages) / max(total, 1)

        self.spark.clearProgressHandlers()
        self.spark.registerProgressHandler(note)
        with report_progress(label, size, lambda: self._share_done):
            yield

    def check_store(self, uri: str) -> None:
        return  # the server's classpath is not known here

    def has_class(self, name: str) -> bool:
        return False
