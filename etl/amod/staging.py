"""Storage of a wave's staged rows until its results are committed.

Each attempt writes into a separate folder, since a killed driver's tasks may continue to write for
a while. Once the engine has written all rows, the driver writes a marker beside the folder; a later
run then continues from that attempt without reading the input again.
"""

import re
import uuid
from collections.abc import Collection

import pyarrow.fs as pa_fs
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema

from adnominal.etl.amod.tasks import STAGED
from adnominal.etl.engine import running
from adnominal.etl.lake.staging import create_folder, remove
from adnominal.etl.lake.storage import escape, filesystem, table_uri

_COMPLETE = ".written"


class Staging:
    """The staged waves of one job with one set of settings, below the lake's root."""

    def __init__(self, root: str, job: str) -> None:
        self._uri = table_uri(root, "_staging")
        self._files = filesystem(self._uri)
        self._folder = escape(job)

    def complete(self, wave: int) -> DataFrame | None:
        """The rows of a complete attempt at `wave`, if there is one."""
        for name in self._names(wave):
            if name.endswith(_COMPLETE):
                return self._rows(name.removesuffix(_COMPLETE))
        return None

    def write(self, wave: int, rows: DataFrame) -> DataFrame:
        """Compute and store the rows of `wave` as a new attempt; return the stored rows.

        Raises:
            LakeError: the lake's folder cannot be written to.
        """
        attempt = f"{wave}-{uuid.uuid4().hex}"
        create_folder(self._files, self._folder)
        # The rows are read only once, soon after: zstd would halve them, but take a fifth of the
        # counting time. No packed value occurs twice.
        options = {"compression": "snappy", "parquet.enable.dictionary#packed": "false"}
        rows.write.options(**options).parquet(self._location(attempt))
        with self._files.open_output_stream(f"{self._folder}/{attempt}{_COMPLETE}") as mark:
            mark.write(b"complete")
        return self._rows(attempt)

    def forget(self, wave: int) -> None:
        """Delete every attempt at `wave`."""
        # Delete the markers first: a partly deleted attempt must not look complete.
        for name in sorted(self._names(wave), key=lambda name: not name.endswith(_COMPLETE)):
            remove(self._files, f"{self._folder}/{name}")

    def forget_all_but(self, waves: Collection[int]) -> None:
        """Delete every attempt at a wave that is not in `waves`."""
        staged = {int(name.split("-", 1)[0]) for name in self._names()}
        for wave in staged.difference(waves):
            self.forget(wave)

    def _names(self, wave: int | None = None) -> list[str]:
        """The attempts at `wave` (or at any wave) and their markers."""
        selector = pa_fs.FileSelector(self._folder, allow_not_found=True)
        names = [info.base_name for info in self._files.get_file_info(selector)]
        return [name for name in names if wave is None or name.startswith(f"{wave}-")]

    def _location(self, attempt: str) -> str:
        return running().location(f"{self._uri}/{self._folder}/{attempt}")

    def _rows(self, attempt: str) -> DataFrame:
        reader = running().spark.read.schema(from_arrow_schema(STAGED))
        return reader.parquet(self._location(attempt))


def forget_job(root: str, job: str) -> None:
    """Delete what runs of a job have staged under any settings, and nothing of other jobs."""
    files = filesystem(table_uri(root, "_staging"))
    # The names of `Corpus.app`: the job, the hash of the settings, the number of the restart.
    app = re.compile(re.escape(escape(f"{job}/")) + r"[0-9a-f]+\.2F\d+")
    for info in files.get_file_info(pa_fs.FileSelector("", allow_not_found=True)):
        if app.fullmatch(info.base_name):
            remove(files, info.path)
