"""Where a table is: the only module that maps roots to what each library expects.

A root is a local path, a ``file://`` URI, or the URI of a store that both Spark and delta-rs reach
(s3a, gs, abfss, hdfs). delta-rs takes its credentials from the environment (``AWS_*``, ``AZURE_*``,
``GOOGLE_*``, ``HADOOP_CONF_DIR``), Spark from its own configuration.
"""

import re
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import pyarrow as pa
import pyarrow.fs as pa_fs
from deltalake.fs import DeltaStorageHandler

from adnominal.conf import UserError
from adnominal.conf.exiting import skip_teardown
from adnominal.etl.lake.errors import LakeError

# Spark's name of a store -> delta-rs's name
_SCHEMES = {"s3a": "s3", "s3n": "s3"}
_STORES = ("s3", "s3a", "s3n", "gs", "gcs", "abfs", "abfss", "az", "azure", "adl", "hdfs", "viewfs")
# An address ends before the first two and drops the others.
_REFUSED = re.compile(r"[#?\x00-\x1f\x7f]")
# delta-rs decodes local addresses once too often when it reads a log.
_REFUSED_LOCALLY = re.compile(r"[%#?\\]")
_NULL = "__HIVE_DEFAULT_PARTITION__"
AS_NULL = ("", _NULL)  # the texts that Delta cannot tell from null
NULL_TEXT = f"a partition value is the empty string or {_NULL}, which Delta stores as null"
_REFUSED_VALUE = "."  # no value escapes to this: there, two digits follow every point


def local_path(root: str) -> Path | None:
    """Return the absolute local path of `root`, or None if it is elsewhere."""
    parts = urlsplit(root)
    if parts.scheme == "file":
        return Path(unquote(parts.path))
    if "://" in root:
        return None
    return Path(root).absolute()


def table_uri(root: str, name: str) -> str:
    """Return the address of table `name` as delta-rs takes it.

    Raises:
        LakeError: the store is not supported, or the root has a character that delta-rs misreads.
    """
    path = local_path(root)
    refused = _REFUSED.search(root) or (path and _REFUSED_LOCALLY.search(str(path)))
    if refused:
        raise LakeError(
            f"lake={root}: the path has the character {refused[0]!r}, with which no log of a table "
            "can be read; choose another folder"
        )
    if path is None:
        scheme, address = root.split("://", 1)
        if scheme not in _STORES:
            raise LakeError(
                f"lake={root}: no store is known by {scheme}://; expected a folder, s3://, gs://, "
                "abfss:// or hdfs://"
            )
        return f"{_SCHEMES.get(scheme, scheme)}://{address.rstrip('/')}/{name}"
    return (path / name).as_uri()


class _Output:
    """An output stream of delta-rs that passes on plain bytes: it accepts no other buffer."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, data: Any) -> int:
        return int(self._stream.write(bytes(data)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class Store(DeltaStorageHandler):  # type: ignore[misc]
    """An Arrow file system over delta-rs's access to a store: one set of credentials for both."""

    def open_output_stream(
        self, path: str, metadata: dict[str, str] | None = None
    ) -> pa.PythonFile:
        return pa.PythonFile(_Output(self._handler.open_output_stream(path, metadata)), mode="w")


def filesystem(uri: str) -> pa_fs.FileSystem:
    """Return a file system with paths relative to the table at `uri` (from `table_uri`)."""
    local = local_path(uri)
    if local is None:
        skip_teardown()
        return pa_fs.PyFileSystem(Store(uri))
    return pa_fs.SubTreeFileSystem(str(local), pa_fs.LocalFileSystem())


_MOST_BYTES = 180  # of a partition value; most file systems allow names of 255, with their prefix


def check_name(setting: str, value: str) -> None:
    """Raise `UserError` for a partition value that cannot be the name of a folder."""
    if value in AS_NULL:
        raise UserError(f"{setting}={value}: Delta stores this as null; give another name")
    size = len(escape(value))
    if size > _MOST_BYTES:
        raise UserError(
            f"{setting}={value}: its folder would have a name of {size} bytes, more than "
            f"{_MOST_BYTES}; give a shorter name (letters beyond ASCII take six bytes or more)"
        )


def escape(value: str | None) -> str:
    """Escape a partition value for a folder name of letters, digits, ``_``, ``-`` and ``.``.

    Every other character, and ``.`` itself, becomes ``.`` and two hexadecimal digits per byte.
    Spark's own escapes (``%2F``) are escaped again in the Delta log, and readers differ on how
    often to undo that; these names need no further escape. polars takes the values from the names
    of the folders, so that it shows values of other characters with their escapes.
    """
    if value is None:
        return _NULL
    if value in AS_NULL:
        return _REFUSED_VALUE
    return quote(value, safe="").replace("~", "%7E").replace(".", "%2E").replace("%", ".")


def unescape(name: str) -> str | None:
    """Return the partition value that `escape` turned into `name`.

    Raises:
        ValueError: the value is a text that a Delta table cannot tell from null (`AS_NULL`).
    """
    if name == _NULL:
        return None
    if name == _REFUSED_VALUE:
        raise ValueError(NULL_TEXT)
    return unquote(name.replace(".", "%"))
