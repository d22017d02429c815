"""Frames that are computed once and read several times, in a temporary folder of the job.

Frames that must not be computed twice are written as Parquet below the lake's root, which tasks on
any machine can reach, and read from there. The embedded engine caches nothing, and it needs the
size of a file to choose the sides of a join.
"""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.fs as pa_fs
import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from adnominal.etl.engine import running
from adnominal.etl.lake.staging import create_folder, remove
from adnominal.etl.lake.storage import filesystem, table_uri

_FOLDER = "_staging"
_PREFIX = "scratch-"
_STAMP = "%Y%m%dT%H%M%S"
_LEFTOVER_AGE = timedelta(days=7)  # no job runs that long


class Scratch:
    """A folder for the DataFrames of one job."""

    def __init__(self, root: str, name: str) -> None:
        self._uri = f"{table_uri(root, _FOLDER)}/{name}"

    def keep(self, frame: DataFrame) -> DataFrame:
        """Compute and store `frame` and return it; its rows come back in no particular order."""
        uri = self.store(frame)
        return running().spark.read.schema(frame.schema).parquet(running().location(uri))

    def store(self, frame: DataFrame) -> str:
        """Compute and store `frame`; return the address of its folder, for `load`."""
        uri = f"{self._uri}/{uuid.uuid4().hex}"
        frame.write.parquet(running().location(uri))
        return uri


def load(uri: str, schema: pa.Schema) -> pa.Table:
    """Read, without the engine, the rows that `Scratch.store` put at `uri`; tasks may call this."""
    files = filesystem(uri)
    selector = pa_fs.FileSelector("", allow_not_found=True)
    paths = [i.path for i in files.get_file_info(selector) if i.base_name.endswith(".parquet")]
    tables = []
    for path in sorted(paths):
        with files.open_input_file(path) as stream:
            tables.append(pq.read_table(stream, columns=schema.names).cast(schema))
    return pa.concat_tables(tables) if tables else schema.empty_table()


@contextmanager
def scratch(root: str) -> Iterator[Scratch]:
    """Provide a folder for frames below the lake's `root`; delete it at the end of the block.

    Folders that killed jobs left over a week ago are deleted too.

    Raises:
        LakeError: the lake's folder cannot be written to.
    """
    name = f"{_PREFIX}{datetime.now(UTC):{_STAMP}}-{uuid.uuid4().hex}"
    files = filesystem(table_uri(root, _FOLDER))
    _clean(files)
    create_folder(files, name)
    try:
        yield Scratch(root, name)
    finally:
        remove(files, name)


def _clean(files: pa_fs.FileSystem) -> None:
    limit = (datetime.now(UTC) - _LEFTOVER_AGE).strftime(_STAMP)
    for info in files.get_file_info(pa_fs.FileSelector("", allow_not_found=True)):
        if info.base_name.startswith(_PREFIX) and info.base_name < _PREFIX + limit:
            remove(files, info.path)
